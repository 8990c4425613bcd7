//! Who may know whom: the rules of `ARCHITECTURE.md` on dependencies.

use crate::repository::{Dependency, Metadata, Package};
use std::collections::BTreeSet;

/// A package as its manifest declares it.
#[derive(Debug, Clone, Default)]
pub struct Unit {
    pub name: String,
    /// The folder of the repository that it is in: `crates`.
    pub under: String,
    pub needs: Vec<Need>,
    /// Whether it takes the lints of the workspace.
    pub workspace_lints: bool,
}

/// One declared dependency.
#[derive(Debug, Clone)]
pub struct Need {
    /// The package needed.
    pub name: String,
    /// Whether it is a crate of this workspace.
    pub ours: bool,
    /// Whether only tests, benchmarks and examples need it.
    pub dev: bool,
    /// The version as required.
    pub version: String,
    /// Whether the version comes from the table of the workspace.
    pub from_workspace: bool,
}

/// Crates of ours that speak to an engine, or to a service, through a library.
const DRIVERS: &[&str] = &[
    "diesel",
    "libsqlite3-sys",
    "mysql",
    "mysql_async",
    "postgres",
    "rdkafka",
    "redis",
    "rskafka",
    "rusqlite",
    "sea-orm",
    "sqlx",
    "tokio-postgres",
];
const HTTP: &[&str] = &[
    "actix-web",
    "axum",
    "http",
    "httparse",
    "hyper",
    "hyper-util",
    "reqwest",
    "tower",
    "tower-http",
    "ureq",
    "warp",
];
const RUNTIMES: &[&str] = &["async-std", "futures-executor", "monoio", "pollster", "smol", "tokio"];
const RANDOMNESS: &[&str] =
    &["fastrand", "getrandom", "nanorand", "oorandom", "rand", "rand_core", "rand_xoshiro"];

/// The whole of what `model` may need.
const MODEL_NEEDS: &[&str] = &["rand_xoshiro", "serde", "thiserror"];

/// What a crate may need: of ours by name or prefix, and of others all but the named groups.
struct Rule {
    ours: &'static [&'static str],
    never: &'static [&'static [&'static str]],
}

fn rule(unit: &Unit) -> Option<Rule> {
    let name = unit.name.as_str();
    let rule = match name {
        _ if name == "cli" || unit.under != "crates" => Rule {
            ours: &[
                "model",
                "contract",
                "workload",
                "sql",
                "measure",
                "observe",
                "judge",
                "report",
                "result",
                "drive",
                "relay",
                "broker",
                "consumer",
                "admin",
                "server",
                "transport",
                "adapter-*",
                "workload-*",
                "pair-*",
                "targets",
                "rig",
                "deploy",
                "schedule",
                "trial",
                "drill",
                "verify",
                "cli",
            ],
            never: &[RANDOMNESS],
        },
        // What reads published messages, whatever is in them; its inbox is a SQLite file.
        "consumer" => Rule {
            ours: &["model", "sql", "measure", "result", "relay", "broker"],
            never: &[HTTP, RANDOMNESS],
        },
        // The loop of a relay, whatever is relayed and through what.
        "relay" => {
            Rule { ours: &["model", "sql", "measure", "result", "broker"], never: &[DRIVERS, RANDOMNESS] }
        }
        // Topics of a broker, whatever is in their records.
        "broker" => Rule { ours: &["model", "sql", "measure"], never: &[HTTP, RANDOMNESS] },
        // Both ends of a connection, whatever is said on it.
        "transport" => Rule { ours: &["model", "sql"], never: &[DRIVERS, HTTP, RANDOMNESS] },
        // The document stands under everybody.
        "model" | "result" => Rule { ours: &[], never: &[DRIVERS, HTTP, RUNTIMES] },
        "contract" => Rule { ours: &["model"], never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS] },
        "sql" => Rule { ours: &["model"], never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS] },
        "measure" => Rule { ours: &["model", "result"], never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS] },
        // `judge` for its statistics: the same functions on a document as on what was just measured.
        "observe" | "judge" => {
            Rule { ours: &["model", "measure", "result"], never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS] }
        }
        // Sample documents are for tests of the others alone.
        "report" | "sample-documents" => Rule {
            ours: &["model", "measure", "result", "judge"],
            never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS],
        },
        "workload" => Rule {
            ours: &["model", "contract", "sql", "measure", "result"],
            never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS],
        },
        "drive" => Rule { ours: &["model", "measure", "result"], never: &[DRIVERS, HTTP, RANDOMNESS] },
        // Its drivers of servers are asynchronous; it runs them on runtimes of its own. `observe` for the words in which it
        // answers what an engine reports.
        "admin" => Rule {
            ours: &["model", "sql", "measure", "observe", "result", "transport"],
            never: &[HTTP, RANDOMNESS],
        },
        // Starts programs and waits for them to answer; what they then say is for others.
        "rig" => Rule {
            ours: &["model", "sql", "measure", "result"],
            never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS],
        },
        // What a subject stands on and runs in. Whether a server is ready it asks over a plain socket; `targets` says why a
        // database cannot be opened.
        "deploy" => Rule {
            ours: &[
                "model", "contract", "workload", "sql", "measure", "observe", "rig", "admin", "result",
                "relay", "broker", "consumer", "targets",
            ],
            never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS],
        },
        // Which trial is next: functions of plans and results. `deploy` and `drive` for what is planned, `judge` for its rules.
        "schedule" => Rule {
            ours: &["model", "workload", "sql", "measure", "drive", "judge", "result", "rig", "deploy"],
            never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS],
        },
        // A trial from a deployment to a result. It prints nothing and knows no workload.
        "trial" => Rule {
            ours: &[
                "model",
                "contract",
                "workload",
                "sql",
                "measure",
                "observe",
                "judge",
                "result",
                "drive",
                "admin",
                "adapter-http",
                "targets",
                "rig",
                "deploy",
                "consumer",
                "schedule",
            ],
            never: &[DRIVERS, RANDOMNESS],
        },
        // Faults under load: on the way of a trial, next to its runner.
        "drill" => Rule {
            ours: &[
                "model",
                "contract",
                "workload",
                "sql",
                "measure",
                "result",
                "drive",
                "admin",
                "targets",
                "slow-storage",
                "rig",
                "deploy",
                "trial",
            ],
            never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS],
        },
        // A server from outside: over HTTP, and who looks at its database next to it.
        "verify" => Rule {
            ours: &[
                "model",
                "contract",
                "workload",
                "sql",
                "measure",
                "result",
                "admin",
                "adapter-http",
                "targets",
                "deploy",
                "trial",
            ],
            never: &[DRIVERS, RANDOMNESS],
        },
        "server" => Rule {
            ours: &[
                "model",
                "contract",
                "sql",
                "measure",
                "admin",
                "transport",
                "adapter-*",
                "workload-*",
                "pair-*",
            ],
            never: &[RANDOMNESS],
        },
        // All drivers and all workloads meet here, and nothing of a trial but its loop.
        "targets" => Rule {
            ours: &[
                "model",
                "contract",
                "workload",
                "sql",
                "measure",
                "drive",
                "relay",
                "adapter-*",
                "workload-*",
                "pair-*",
            ],
            never: &[HTTP, RANDOMNESS],
        },
        // A file system for SQLite to stand on: of ours it knows what can be asked of storage, and the clock.
        "slow-storage" => Rule { ours: &["model", "sql", "measure"], never: &[HTTP, RUNTIMES, RANDOMNESS] },
        _ if name.starts_with("workload-") => {
            let ours = &["model", "contract", "workload", "sql", "measure", "result"];
            Rule { ours, never: &[DRIVERS, HTTP, RUNTIMES, RANDOMNESS] }
        }
        "adapter-http" => Rule { ours: &["model", "contract", "transport"], never: &[DRIVERS, RANDOMNESS] },
        _ if name.starts_with("adapter-") => {
            Rule { ours: &["model", "contract", "sql", "slow-storage", "transport"], never: &[RANDOMNESS] }
        }
        "pair-transfer" => {
            let ours = &["model", "sql", "measure", "relay", "adapter-*", "workload-transfer"];
            Rule { ours, never: &[] }
        }
        _ if name.starts_with("pair-") => {
            Rule { ours: &["model", "sql", "slow-storage", "adapter-*", "workload-*"], never: &[RANDOMNESS] }
        }
        _ => return None,
    };
    Some(rule)
}

/// Everything in `units` that breaks a rule, a sentence each.
pub fn violations(units: &[Unit]) -> Vec<String> {
    units.iter().flat_map(|unit| edge_violations(unit).into_iter().chain(manifest_violations(unit))).collect()
}

/// Dependencies that only tests need are free: a test may compose what the crate itself must not know.
fn edge_violations(unit: &Unit) -> Vec<String> {
    let name = &unit.name;
    let Some(rule) = rule(unit) else {
        return vec![format!("no rule says what `{name}` may know; add one")];
    };
    let mut found = Vec::new();
    for need in unit.needs.iter().filter(|need| !need.dev) {
        let other = &need.name;
        if need.ours {
            // Nothing that is shipped has sample documents in it; benchmarks and tests are not shipped.
            let is_sample = other == "sample-documents" && unit.under != "crates";
            if !is_sample && !rule.ours.iter().any(|pattern| matches(pattern, other)) {
                found.push(format!("`{name}` may not know `{other}`"));
            }
        } else if name == "model" && !MODEL_NEEDS.contains(&other.as_str()) {
            found.push(format!("`model` needs nothing but {}; not `{other}`", MODEL_NEEDS.join(", ")));
        } else if rule.never.iter().any(|group| group.contains(&other.as_str())) {
            found.push(format!("`{name}` may not use `{other}`"));
        }
    }
    found
}

fn manifest_violations(unit: &Unit) -> Vec<String> {
    let name = &unit.name;
    let mut found = Vec::new();
    if !unit.workspace_lints {
        found.push(format!("`{name}` does not say `[lints] workspace = true`"));
    }
    for need in &unit.needs {
        if !need.from_workspace {
            found
                .push(format!("`{name}` gives `{}` a version of its own; say `workspace = true`", need.name));
        }
        if !need.ours && !need.version.starts_with('=') {
            found.push(format!("`{}` is not pinned: `{}` should begin with `=`", need.name, need.version));
        }
    }
    found
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

/// The units of a workspace: edges and versions from cargo, inheritance from the manifests as written.
///
/// # Panics
/// When a manifest cannot be read, which cargo has just done.
pub fn units(metadata: &Metadata) -> Vec<Unit> {
    let unit = |package: &Package| {
        let text = std::fs::read_to_string(&package.manifest_path).expect("cargo has read it");
        let manifest: toml::Table = text.parse().expect("cargo has parsed it");
        let own = own_versions(&manifest);
        let need = |dependency: &Dependency| Need {
            name: short(&dependency.name),
            ours: dependency.path.is_some(),
            dev: dependency.kind.as_deref() == Some("dev"),
            version: dependency.req.clone(),
            from_workspace: !own.contains(dependency.rename.as_ref().unwrap_or(&dependency.name)),
        };
        let place = package.manifest_path.strip_prefix(&metadata.workspace_root);
        let under = place.ok().and_then(|place| place.components().next());
        Unit {
            name: short(&package.name),
            under: under.map_or_else(String::new, |folder| folder.as_os_str().to_string_lossy().into_owned()),
            needs: package.dependencies.iter().map(need).collect(),
            workspace_lints: inherits(manifest.get("lints")),
        }
    };
    metadata.packages.iter().map(unit).collect()
}

/// What a package is called here: registries know ours by a longer name.
fn short(name: &str) -> String {
    match name {
        "stackmark" => "cli",
        name => name.strip_prefix("stackmark-").unwrap_or(name),
    }
    .to_owned()
}

/// Names of dependencies that a manifest, in any of its tables, does not inherit from the workspace.
fn own_versions(manifest: &toml::Table) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if matches!(key.as_str(), "dependencies" | "dev-dependencies" | "build-dependencies") {
            let not_inherited = table.iter().filter(|(_, need)| !inherits(Some(need)));
            own.extend(not_inherited.map(|(name, _)| name.clone()));
        } else if key == "target" {
            own.extend(table.values().filter_map(toml::Value::as_table).flat_map(own_versions));
        }
    }
    own
}

fn inherits(value: Option<&toml::Value>) -> bool {
    let workspace = value.and_then(|value| value.get("workspace"));
    workspace.and_then(toml::Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_its_own_is_seen_in_every_table() {
        let check = |text: &str, expected: &[&str]| {
            let own = own_versions(&text.parse().expect("valid"));
            assert_eq!(own.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
        };
        check("[dependencies]\na.workspace = true\nb = { workspace = true, features = ['x'] }", &[]);
        check("[dependencies]\na = '=1.0.0'", &["a"]);
        check("[dev-dependencies]\na = { path = '../a' }", &["a"]);
        check("[target.'cfg(unix)'.dependencies]\na = '=1.0.0'", &["a"]);
        check("[features]\na = []", &[]);
    }
}
