//! `stackmark doctor`: what is installed, what is missing, and what makes numbers noisy on this machine.

use crate::outcome::CommandOutcome;
use crate::ui::Ui;
use anyhow::Result;
use deploy::subjects;
use measure::Monotonic;
use observe::{FileSystem, Probing};
use result::Machine;
use rig::Engine;
use serde::Serialize;
use std::fmt::Write;

/// Share of the machine's cores that other processes may use before that is mentioned.
const LOAD_MAX: f64 = 0.1;
/// Flushes that take less are answered by something that is not a disk.
const FLUSH_NS_MIN: u64 = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// Not installed: what needs it cannot be measured.
    Missing,
    /// Makes numbers noisy or unlike those of other machines.
    Warning,
}

#[derive(Debug, Serialize)]
struct Finding {
    about: String,
    status: Status,
    /// What was found, or what is missing.
    found: String,
    /// What to do about it; missing where there is nothing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    fn new(about: impl Into<String>, status: Status, found: impl Into<String>) -> Finding {
        Finding { about: about.into(), status, found: found.into(), hint: None }
    }

    fn hinting(self, hint: impl Into<String>) -> Finding {
        Finding { hint: Some(hint.into()), ..self }
    }

    /// What is missing according to an error, with the hint that it ends with.
    fn missing(about: impl Into<String>, error: &str) -> Finding {
        let (found, hint) = match error.split_once("\nhint: ") {
            Some((found, hint)) => (found, Some(hint.to_owned())),
            None => (error, None),
        };
        Finding { hint, ..Finding::new(about, Status::Missing, found) }
    }
}

pub(crate) fn doctor(ui: &Ui) -> Result<CommandOutcome> {
    let mut findings = engines();
    findings.extend(servers()?);
    findings.extend(machine(&observe::machine(), load()));
    findings.extend(storage());
    if ui.json {
        ui.data(&(serde_json::to_string_pretty(&findings)? + "\n"));
    } else {
        ui.data(&text(&findings)?);
    }
    Ok(CommandOutcome::Good)
}

fn engines() -> Vec<Finding> {
    let embedded = Finding::new("SQLite", Status::Ok, "compiled in");
    let others = Engine::ALL.into_iter().map(|engine| match rig::find(engine) {
        Ok(found) => Finding::new(engine.title(), Status::Ok, found.version),
        Err(error) => Finding::missing(engine.title(), &error.to_string()),
    });
    std::iter::once(embedded).chain(others).collect()
}

/// Each server once, whatever it serves.
fn servers() -> Result<Vec<Finding>> {
    let mut findings: Vec<Finding> = Vec::new();
    for subject in subjects::all()? {
        let (Some(name), Some(language)) = (subject.server(), subject.language()) else { continue };
        let about = format!("server {name}");
        if findings.iter().any(|known| known.about == about) {
            continue;
        }
        findings.push(match subject.can_start() {
            Ok(()) => Finding::new(about, Status::Ok, format!("in {language}")),
            Err(error) => Finding::missing(about, &error.to_string()),
        });
    }
    Ok(findings)
}

fn machine(machine: &Machine, load: Option<(f64, f64)>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |about: &str, is_noisy: bool, found: String, hint: &str| {
        let status = if is_noisy { Status::Warning } else { Status::Ok };
        let finding = Finding::new(about, status, found);
        findings.push(if is_noisy { finding.hinting(hint) } else { finding });
    };
    find(
        "cores",
        machine.cores < 2,
        format!(
            "{} of {}",
            machine.cores,
            if machine.cpu.is_empty() { "an unknown CPU" } else { &machine.cpu }
        ),
        "load generator, server and engine share one core: results say little about other machines",
    );
    if let Some(hypervisor) = machine.virtualised.as_deref().filter(|hypervisor| *hypervisor != "none") {
        find(
            "virtual machine",
            true,
            format!("hypervisor: {hypervisor}"),
            "other guests may take CPU time: compare subjects in one run, and not runs with each other",
        );
    }
    if let Some(governor) = &machine.governor {
        find(
            "CPU frequency",
            governor != "performance",
            format!("governor {governor}"),
            "`cpupower frequency-set --governor performance`",
        );
    }
    if let Some((load, cores)) = load {
        find(
            "other processes",
            load > LOAD_MAX * cores,
            format!("{load:.2} were running on average in the last minute"),
            "end them, or wait: they take CPU time from what is measured",
        );
    }
    findings
}

/// Processes that were running on average in the last minute, and the cores of the whole machine, of which this process may have
/// fewer. Nothing where the system does not tell.
fn load() -> Option<(f64, f64)> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load = load.split(' ').next()?.parse().ok()?;
    let processors = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let cores = processors.lines().filter(|line| line.starts_with("processor")).count();
    (cores > 0).then_some((load, cores as f64))
}

/// What private databases are on.
fn storage() -> Vec<Finding> {
    const ABOUT: &str = "storage of private engines";
    let folder = rig::base_folder();
    // The first private engine makes it.
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(&folder);
    let Ok(on) = FileSystem::of(there) else { return Vec::new() };
    let place = format!("{} on {}", folder.display(), on.describe());
    if on.in_memory {
        let finding = Finding::new(ABOUT, Status::Warning, format!("{place}, which is in memory"));
        return vec![
            finding
                .hinting("set STACKMARK_RIG_DIR to a folder on a disk: flushing a commit costs nothing here"),
        ];
    }
    if there != folder {
        return vec![Finding::new(ABOUT, Status::Ok, format!("{place}; the first private engine makes it"))];
    }
    let probing = Probing { ours: &folder, data: std::slice::from_ref(&folder) };
    let Some(flush_ns) = probing.speed(&Monotonic::start()).flush_ns else {
        let finding = Finding::new(ABOUT, Status::Warning, format!("{place}; nothing can be written there"));
        return vec![
            finding
                .hinting("make room or change its permissions, or set STACKMARK_RIG_DIR to another folder"),
        ];
    };
    let found = format!("{place}; a flush takes {:.2} ms", flush_ns as f64 / 1e6);
    vec![match flush_ns < FLUSH_NS_MIN {
        true => Finding::new(ABOUT, Status::Warning, found).hinting(
            "faster than a disk flushes: device or hypervisor may ignore flushes, and a power cut lose commits",
        ),
        false => Finding::new(ABOUT, Status::Ok, found),
    }]
}

fn text(findings: &[Finding]) -> Result<String> {
    let width = findings.iter().map(|finding| finding.about.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Finding { about, status, found, hint } in findings {
        let word = match status {
            Status::Ok => "ok",
            Status::Missing => "missing",
            Status::Warning => "warning",
        };
        let found = found.replace('\n', " ");
        writeln!(text, "{word:8} {about:width$}  {found}")?;
        if let Some(hint) = hint {
            writeln!(text, "{:8} {:width$}  hint: {}", "", "", hint.replace('\n', " "))?;
        }
    }
    let count = |wanted: Status| findings.iter().filter(|finding| finding.status == wanted).count();
    let (missing, warnings) = (count(Status::Missing), count(Status::Warning));
    writeln!(text, "{missing} missing, {warnings} warnings")?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_results_noisy_is_a_warning_with_a_hint() {
        let quiet = Machine {
            cores: 1_000,
            cpu: "a CPU".into(),
            governor: Some("performance".into()),
            ..observe::machine()
        };
        let quiet = Machine { virtualised: Some("none".into()), ..quiet };
        assert!(
            machine(&quiet, Some((0.1, 4.0))).iter().all(|finding| finding.status == Status::Ok),
            "{:?}",
            machine(&quiet, None)
        );
        let noisy = Machine {
            cores: 1,
            governor: Some("powersave".into()),
            virtualised: Some("kvm".into()),
            ..quiet
        };
        let warned: Vec<String> = machine(&noisy, Some((2.0, 4.0)))
            .into_iter()
            .filter(|finding| finding.status == Status::Warning && finding.hint.is_some())
            .map(|finding| finding.about)
            .collect();
        for about in ["cores", "virtual machine", "CPU frequency", "other processes"] {
            assert!(warned.contains(&about.to_owned()), "{about}: {warned:?}");
        }
    }

    #[test]
    fn the_hint_of_an_error_is_one_of_a_finding() {
        let finding = Finding::missing("MariaDB", "no mariadbd was found\nhint: install mariadb-server");
        assert_eq!(
            (finding.found.as_str(), finding.hint.as_deref()),
            ("no mariadbd was found", Some("install mariadb-server"))
        );
        let text = text(&[finding]).unwrap();
        assert!(
            text.contains("missing  MariaDB  no mariadbd was found\n")
                && text.contains("1 missing, 0 warnings"),
            "{text}"
        );
    }
}
