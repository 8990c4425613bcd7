//! One `[[variant]]`, from its text to what the runner carries out.

use super::expand::{ExpandedVariant, plain};
use super::shared_keys::{PLAN, Word, Words, parameters};
use super::source::{KeyValue, Source, Span, ValueKind, get};
use crate::args::{self, Limited, SHARDS_MAX, Stores};
use crate::run::{broker_wanted, check_message_options, has_outbox, server_settings};
use anyhow::Result;
use deploy::subjects::{self, Route, Subject};
use deploy::{SourceSubjects, Spec};
use model::Tier;
use schedule::factors;
use schedule::plan::Variant;
use sql::{Dialect, SqliteUrl, UrlError};
use std::path::Path;
use targets::Driven;

/// Keys of a variant besides those of a plan.
const OWN: &[&str] = &[
    "name",
    "subject",
    "server",
    "against",
    "base",
    "factor",
    "pool",
    "server-threads",
    "transport",
    "connections",
    "sink",
    "polling",
    "batch",
    "relay-connections",
    "partitions",
    "consumer",
    "shards",
    "durability",
    "limits",
    "engine-bin",
    "settings",
    "sqlite",
    "statement-statistics",
];

/// What is the same for all variants.
#[derive(Debug)]
pub(super) struct Common<'a> {
    pub(super) source: Source<'a>,
    pub(super) workload: &'static str,
    pub(super) scale: u32,
    pub(super) plan: Words,
}

/// A variant whose name and base are not known yet.
#[derive(Debug)]
pub(super) struct Draft {
    /// `name` and `base` are still open.
    pub(super) variant: Variant,
    pub(super) subject: &'static Subject,
    /// The variant's header, for errors.
    pub(super) span: Span,
    /// The name that was chosen, and where.
    pub(super) named: Option<(String, Span)>,
    /// What was chosen of lists, as it is in a name.
    pub(super) chosen: Vec<String>,
    pub(super) against: Option<(String, Span)>,
    pub(super) is_base: bool,
}

/// All keys of a variant.
pub(super) fn keys<W: Driven>() -> Vec<&'static str> {
    OWN.iter().chain(PLAN).copied().chain(parameters::<W>()).collect()
}

impl Common<'_> {
    /// One combination of a variant.
    pub(super) fn draft<W: Driven>(&self, combination: &ExpandedVariant, span: &Span) -> Result<Draft> {
        let (source, entries) = (&self.source, combination.entries.as_slice());
        let subject = self.subject(entries, span)?;
        let shards = get(entries, "shards").map(|entry| self.shards::<W>(entry)).transpose()?.unwrap_or(1);
        let settles = subject.how.style.is_settled_over(shards as usize);
        let mut words = Words::default();
        for entry in entries {
            let key = entry.key.as_str();
            let at_server = ["pool", "server-threads", "transport", "connections"].contains(&key);
            if at_server && subject.route() == Route::Direct {
                return Err(source.wrong(&entry.key_span, no_server(key, subject)));
            }
            let at_relay = ["polling", "batch", "relay-connections"].contains(&key);
            let at_sink = ["sink", "partitions", "consumer"].contains(&key);
            let missing = match key {
                "polling" if !has_outbox(subject) => Some("an outbox relay"),
                "batch" if !has_outbox(subject) && !settles => Some("a relay"),
                "relay-connections" if !settles => Some("a relay between stores"),
                "consumer" if !subject.publishes_events() => Some("events that are published"),
                _ if at_sink && !subject.publishes() => Some("messages that are published"),
                _ => None,
            };
            if let Some(what) = missing {
                let message = format!("`{key}` needs {what}; {} has none", subject.path);
                return Err(source.wrong(&entry.key_span, message));
            }
            if PLAN.contains(&key)
                || at_server
                || at_relay
                || at_sink
                || key == "durability"
                || parameters::<W>().any(|parameter| parameter == key)
            {
                words.0.push(Word::read(source, entry)?);
            }
        }
        let mut asked: Vec<(String, String)> =
            words.0.iter().map(|word| (word.key.clone(), word.value.clone())).collect();
        if let Some(limits) = get(entries, "limits") {
            let limits = self.limits(limits, subject)?;
            asked.extend(limits.iter().map(|word| (format!("{} limits", word.key), word.value.clone())));
            words.0.extend(limits);
        }
        let settings = get(entries, "settings").map(|entry| self.settings(entry, subject)).transpose()?;
        let options = get(entries, "sqlite").map(|entry| self.sqlite(entry, subject, entries)).transpose()?;
        let (settings, mut options) = (settings.unwrap_or_default(), options.unwrap_or_default());
        asked.extend(settings.iter().chain(&options).cloned());
        let programs = get(entries, "engine-bin").map(|entry| self.programs(entry, subject)).transpose()?;
        asked.extend(programs.iter().map(|programs| ("engine-bin".to_owned(), programs.clone())));
        let statement_statistics = self.statement_statistics(entries, subject, &mut asked)?;

        if shards > 1 {
            asked.push(("shards".into(), shards.to_string()));
        }

        let words = words.over(&self.plan);
        let args = words.line(source, span)?;
        let plan = words.plan::<W>(source, span, &args.plan, self.scale)?;
        let server = server_settings(&args.server, &args.engine, plan.workers);
        subject.check_http(server.http).map_err(|error| source.wrong(span, error.to_string()))?;
        let text_of = |who| args.engine.limits_of(who).map(|limits| limits.to_string());
        let no_stores = Stores::of(&[], Some(shards))?;
        check_message_options(&args.server, &args.engine, &no_stores, &[subject], false)
            .map_err(|error| source.wrong(span, error.to_string()))?;
        let chosen = words.chosen::<W>(source, span, &args.data)?;
        // Places are equal whatever the order in which their options were written, and whether defaults were written.
        let is_durable = args.engine.durability.tier() == Tier::Durable;
        options.retain(|option| !is_default(option) || option.0 == "synchronous" && !is_durable);
        options.sort();
        let spec = Spec {
            engine: subject.how.dialect.name().to_owned(),
            shards,
            named: Vec::new(),
            options: joined(&options),
            settings,
            programs,
            durability: args.engine.durability.tier().to_string(),
            limits: text_of(Limited::Engine),
            statement_statistics,
            power_cut: false,
            broker: broker_wanted(subject, &args.server, &args.engine, &no_stores),
            chosen,
        };
        spec.suits::<W>(subject.how).map_err(|error| source.wrong(span, error.to_string()))?;
        let variant = Variant {
            name: String::new(),
            subject: subject.path.to_owned(),
            base: None,
            factors: get(entries, "factor").map(|entry| self.factors(entry)).transpose()?.unwrap_or_default(),
            plan,
            pool: server.pool,
            server_threads: server.threads,
            http: server.http,
            server_limits: text_of(Limited::Server),
            relaying: server.relaying,
            spec,
            through_checkpoints: args.plan.through_checkpoints,
            whole: args.trials,
            asked,
        };
        let text = |key, such| -> Result<Option<(String, Span)>> {
            let Some(entry) = get(entries, key) else { return Ok(None) };
            let text = source.text(entry, such)?.trim();
            if text.is_empty() || text.contains(char::is_control) {
                return Err(
                    source.wrong(&entry.value.span, format!("`{key}` is a name on one line, such as {such}"))
                );
            }
            Ok(Some((text.to_owned(), entry.value.span.clone())))
        };
        Ok(Draft {
            named: text("name", "\"through HTTP\"")?,
            chosen: combination.chosen.iter().map(|(key, value)| self.spoken(key, value)).collect(),
            against: text("against", "\"direct\"")?,
            is_base: get(entries, "base").map(|entry| source.truth(entry)).transpose()?.unwrap_or(false),
            span: span.clone(),
            variant,
            subject,
        })
    }

    /// Stores that the data is split over.
    fn shards<W: Driven>(&self, entry: &KeyValue) -> Result<u32> {
        let wrong = |error: anyhow::Error| self.source.wrong(&entry.value.span, error);
        let shards = self.scalar(entry)?.parse().ok().filter(|shards| (1..=SHARDS_MAX).contains(shards));
        let shards = shards.ok_or_else(|| {
            wrong(anyhow::anyhow!("`shards` is a number of stores from 1 to {SHARDS_MAX}, such as 2"))
        })?;
        workload::split::<W>(W::standard(self.scale), shards).map_err(wrong)?;
        Ok(shards)
    }

    fn subject(&self, entries: &[KeyValue], span: &Span) -> Result<&'static Subject> {
        let such = format!("\"{}\"", subjects::find(self.workload)?.path);
        let server = get(entries, "server");
        let Some(entry) = get(entries, "subject").or(server) else {
            return Err(self
                .source
                .wrong(span, format!("a variant needs a `subject`, such as {such}, or a `server`")));
        };
        let text = self.source.text(entry, if entry.key == "server" { "\"./mine@main\"" } else { &such })?;
        let first = text.split('/').next().unwrap_or_default();
        // The workload may be left out, which is said once for the experiment.
        let path = if first == self.workload || subjects::workloads().contains(&first) {
            text.to_owned()
        } else {
            format!("{}/{text}", self.workload)
        };
        let found = match server {
            None => subjects::find_here(&path),
            Some(server) => {
                // Of what it serves all of this workload, or what the subject says.
                let wanted = if entry.key == "server" { self.workload } else { &path };
                let text = self.source.text(server, "\"./mine@main\"")?;
                SourceSubjects::of(text).and_then(|offered| offered.only(Some(wanted)))
            }
        };
        let subject = found.map_err(|error| self.source.wrong(&entry.value.span, format!("{error:#}")))?;
        if subject.workload() == self.workload {
            return Ok(subject);
        }
        Err(self.source.wrong(
            &entry.value.span,
            format!(
                "{} is another workload than {}, and rates of the two cannot be compared",
                subject.path, self.workload
            ),
        ))
    }

    fn limits(&self, entry: &KeyValue, subject: &Subject) -> Result<Vec<Word>> {
        let such = "{ engine = \"cpu=1,mem=1GiB\" }";
        let entries = self.source.table(entry, such)?;
        self.source.known(entries, "`limits`", &["engine", "server", "relay", "broker"])?;
        let mut words = Vec::new();
        for entry in entries {
            match (entry.key.as_str(), subject.route(), subject.how.dialect) {
                ("server", Route::Direct, _) => {
                    return Err(self.source.wrong(&entry.key_span, no_server("server", subject)));
                }
                ("relay", ..) if !subject.how.style.is_relayed() || !subject.speaks_through_ours() => {
                    return Err(self.source.wrong(
                        &entry.key_span,
                        format!("{} has no relay to limit: its calls leave nothing to one", subject.path),
                    ));
                }
                ("engine", _, Dialect::Sqlite) => {
                    return Err(self.source.wrong(
                        &entry.key_span,
                        "SQLite has no process to limit: it runs inside the generator or the server",
                    ));
                }
                _ => {}
            }
            let value = self.source.text(entry, "\"cpu=1,mem=1GiB\"")?.to_owned();
            let typed = format!("--limit={}:{value}", entry.key);
            words.push(Word::new(&self.source, &entry.key, value, typed, &entry.value.span)?);
        }
        Ok(words)
    }

    /// The folder or the version of a private engine.
    fn programs(&self, entry: &KeyValue, subject: &Subject) -> Result<String> {
        let programs = args::programs(&self.scalar(entry)?)
            .map_err(|message| self.source.wrong(&entry.value.span, message))?;
        let Some(engine) = rig::Engine::of(subject.how.dialect) else {
            let message = "`engine-bin` is for a private PostgreSQL or MariaDB; SQLite is compiled in";
            return Err(self.source.wrong(&entry.key_span, message));
        };
        rig::find_in(engine, Some(Path::new(&programs)))
            .map_err(|error| self.source.wrong(&entry.value.span, error.to_string()))?;
        Ok(programs)
    }

    fn settings(&self, entry: &KeyValue, subject: &Subject) -> Result<Vec<(String, String)>> {
        let entries = self.source.table(entry, "{ shared_buffers = \"1GB\" }")?;
        if subject.how.dialect == Dialect::Sqlite {
            return Err(self.source.wrong(
                &entry.key_span,
                "`settings` applies to private PostgreSQL and MariaDB engines only\nhint: use `sqlite` for SQLite options",
            ));
        }
        let mut settings = Vec::new();
        for entry in entries {
            let plain_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
            if entry.key.is_empty() || !entry.key.bytes().all(plain_byte) {
                return Err(self
                    .source
                    .wrong(&entry.key_span, format!("`{}` is not a name of a setting", entry.key)));
            }
            let (name, value) = (entry.key.to_ascii_lowercase(), self.scalar(entry)?);
            sql::check_setting(subject.how.dialect, &name, &value)
                .map_err(|wrong| self.source.wrong(&entry.value.span, wrong))?;
            settings.push((name, value));
        }
        settings.sort();
        Ok(settings)
    }

    /// Options of a SQLite database, as its own address knows them.
    fn sqlite(
        &self,
        entry: &KeyValue,
        subject: &Subject,
        variant: &[KeyValue],
    ) -> Result<Vec<(String, String)>> {
        let (source, entries) = (&self.source, self.source.table(entry, "{ journal = \"wal\" }")?);
        if subject.how.dialect != Dialect::Sqlite {
            return Err(source.wrong(
                &entry.key_span,
                format!(
                    "`sqlite` is for subjects on SQLite; {} runs on {}\nhint: its settings are under `settings`",
                    subject.path,
                    subject.how.dialect.name()
                ),
            ));
        }
        if let Some(durability) = get(variant, "durability")
            && let Some(twice) =
                entries.iter().find(|entry| ["journal", "synchronous"].contains(&entry.key.as_str()))
        {
            return Err(source.wrong(
                &durability.key_span,
                format!("`durability` and `sqlite.{}` both set the durability; leave one out", twice.key),
            ));
        }
        let mut options = Vec::new();
        for entry in entries {
            let value = self.scalar(entry)?;
            if value.contains(['&', '#', '?']) {
                return Err(
                    source.wrong(&entry.value.span, "an option of SQLite has none of the letters & # ?")
                );
            }
            options.push((entry.key.clone(), value));
        }
        if let Err(error) = address(&options) {
            // The one that is wrong by itself, or all that do not go together.
            let single = options.iter().zip(entries).find_map(|(option, entry)| {
                let single = address(std::slice::from_ref(option)).err()?;
                let unknown = single.why.starts_with("no option");
                (single.why == error.why)
                    .then(|| if unknown { entry.key_span.clone() } else { entry.value.span.clone() })
            });
            return Err(source.wrong(&single.unwrap_or_else(|| entry.value.span.clone()), error.why));
        }
        Ok(options)
    }

    fn statement_statistics(
        &self,
        entries: &[KeyValue],
        subject: &Subject,
        asked: &mut Vec<(String, String)>,
    ) -> Result<bool> {
        let Some(entry) = get(entries, "statement-statistics") else { return Ok(false) };
        let wanted = self.source.truth(entry)?;
        if wanted && subject.how.dialect != Dialect::Postgres {
            return Err(self.source.wrong(
                &entry.key_span,
                format!("statements are counted by PostgreSQL, and {} does not run on it", subject.path),
            ));
        }
        if wanted {
            asked.push((entry.key.clone(), "on".to_owned()));
        }
        Ok(wanted)
    }

    fn factors(&self, entry: &KeyValue) -> Result<Vec<String>> {
        let wrong_type =
            || self.source.mistyped(entry, "text or a list of texts", "[\"engine\", \"adapter\"]");
        let values = match &entry.value.kind {
            ValueKind::Text(_) => std::slice::from_ref(&entry.value),
            ValueKind::List(values) if !values.is_empty() => values,
            _ => return Err(wrong_type()),
        };
        let mut factors = Vec::new();
        for value in values {
            let ValueKind::Text(factor) = &value.kind else { return Err(wrong_type()) };
            factors::check(factor).map_err(|error| self.source.wrong(&value.span, error.to_string()))?;
            factors.push(factor.clone());
        }
        Ok(factors)
    }

    /// A plain value of a setting.
    fn scalar(&self, entry: &KeyValue) -> Result<String> {
        if matches!(entry.value.kind, ValueKind::List(_) | ValueKind::Table(_) | ValueKind::Date) {
            return Err(self.source.mistyped(entry, "text, a number, or true or false", "\"1GB\""));
        }
        let text = plain(&entry.value);
        if text.contains(char::is_control) {
            return Err(self.source.wrong(&entry.value.span, "a setting has no control characters"));
        }
        Ok(text)
    }

    /// What was asked for, as the name of a variant says it: `wal`, but `cache 2MiB`.
    pub(super) fn spoken(&self, key: &str, value: &str) -> String {
        match key {
            "journal" | "synchronous" | "durability" | "arrivals" => value.to_owned(),
            "subject" => value.strip_prefix(&format!("{}/", self.workload)).unwrap_or(value).to_owned(),
            _ => format!("{key} {value}"),
        }
    }
}

fn no_server(key: &str, subject: &Subject) -> String {
    format!("`{key}` is for a server, and {} is direct: each client has a session of its own", subject.path)
}

fn joined(options: &[(String, String)]) -> String {
    let options: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    options.join("&")
}

/// Whether an option of SQLite says what holds without it.
fn is_default(option: &(String, String)) -> bool {
    address(std::slice::from_ref(option)).ok() == address(&[]).ok()
}

fn address(options: &[(String, String)]) -> Result<SqliteUrl, UrlError> {
    format!("sqlite:file.db?{}", joined(options)).parse()
}
