//! `stackmark verify`: whether a server keeps a contract and answers rightly.

use crate::args::{self, EngineArgs, Stores};
use crate::outcome::CommandOutcome;
use crate::run;
use crate::ui::Ui;
use ::verify::{Failure, Fresh, Plan, Rule, TheServer, Verification, Witness, is_golden, verify_fresh};
use anyhow::{Context, Result, bail};
use deploy::database::LoadOptions;
use deploy::subjects::Subject;
use deploy::{
    Databases, Deployment, EngineOptions, Interrupt, RelayOptions, Reporter, ServerSettings, SinkAddress,
    Spec, announce,
};
use measure::Monotonic;
use model::Clock;
use report::junit::{Case, Outcome};
use result::Check;
use sql::DbUrl;
use std::cell::RefCell;
use std::fmt::Write;
use targets::Driven;
use trial::{Folder, ServerAdmin, reach};
use workload::Chosen;

/// What the server writes to standard error, in the folder of the run.
const SERVER_LOG: &str = "server.log";

/// Clients of whose number a server's pool is made, where it is not said.
const CLIENTS: u32 = 8;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Verified<'a> {
    /// A subject that is started here.
    Started(&'static Subject),
    /// A server that is running at this address.
    Running(&'a str),
}

pub(crate) fn verify<W: Driven>(what: Verified<'_>, args: &args::Verify, ui: &Ui) -> Result<CommandOutcome> {
    ::verify::check_names::<W>(&args.only)?;
    if let Some((_, option, _)) =
        run::message_options(&args.server).into_iter().find(|(.., is_given)| *is_given)
    {
        bail!(
            "{option} has no effect on verify, which discards messages and leaves relays at their defaults\nhint: leave {option} out"
        );
    }
    if args.server.transport.is_some() || args.server.connections.is_some() {
        bail!(
            "verify always uses TCP and opens its own connections\nhint: leave --transport and --connections out"
        );
    }
    let stores = Stores::of(&args.db, args.shards.shards)?;
    let interrupt = Interrupt::listen()?;
    let (found, folder) = match what {
        Verified::Started(subject) => {
            let named = stores.urls(Some(subject.how.dialect))?;
            started::<W>(subject, &named, stores.shards, args, ui, &interrupt)?
        }
        Verified::Running(url) => {
            running::<W>(url, &stores.urls(None)?, stores.shards, args, ui, &interrupt)?
        }
    };
    let json = serde_json::to_string_pretty(&found)? + "\n";
    let path = folder.put("verify.json", json.as_bytes())?;
    if let Some(file) = &args.junit {
        std::fs::write(file, junit(&found)).with_context(|| format!("could not write {}", file.display()))?;
    }
    if ui.json {
        ui.data(&json);
    } else {
        ui.data(&text(&found)?);
        ui.remark(&format!("verdicts: {}", path.display()));
    }
    Ok(if found.is_good() { CommandOutcome::Good } else { CommandOutcome::Bad })
}

/// Starts a server on private data of its own, and verifies it.
fn started<W: Driven>(
    subject: &'static Subject,
    named: &[DbUrl],
    shards: u32,
    args: &args::Verify,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<(Verification, Folder)> {
    workload::split_for::<W>(W::tiny_over(shards), shards, subject.how.style.name())?;
    let engine_options = EngineOptions { statement_statistics: named.is_empty(), ..EngineOptions::default() };
    let spec = Spec::of_options(subject.how.dialect, shards, named, &engine_options);
    spec.suits::<W>(subject.how)?;
    let (folder, _, _) = Folder::create(&args.out.out, &format!("verify-{}", subject.path))?;
    let sessions = subject.sessions(CLIENTS, schedule::pool(args.server.pool, CLIENTS));
    let settings = run::server_settings(&args.server, &EngineArgs::default(), CLIENTS);
    let verify = || {
        let deployment = Deployment::create(folder.path(), &spec, named, &engine_options, sessions, ui)?;
        let stage = ServerStarter {
            subject,
            deployment: &deployment,
            settings,
            shards,
            folder: &folder,
            args,
            ui,
            interrupt,
            stopped: RefCell::new(None),
        };
        let mut found = stage.judged::<W, _>(W::tiny_over(shards), SERVER_LOG, |plan, witness| {
            ::verify::verify::<W>(plan, Some(witness), &|what| announce(ui, &format!("checking {what}")))
        })?;
        let log = folder.path().join(SERVER_LOG);
        found.rules.iter_mut().for_each(|rule| rule.name_log(&log));
        on_fresh_data(&mut found, args, interrupt, |what| {
            announce(ui, &format!("checking {}", what.name()));
            let log = format!("server-{}.log", what.name());
            let judged = stage.judged::<W, _>(W::larger_over(shards), &log, |plan, witness| {
                verify_fresh::<W>(plan, witness, what)
            });
            judged.map(|mut rule| {
                rule.name_log(&folder.path().join(log));
                rule
            })
        })?;
        found.rules.extend(stage.stopped.take().map(|mut rule| {
            rule.name_log(&log);
            rule
        }));
        Ok(found)
    };
    match verify() {
        Ok(found) => Ok((found, folder)),
        Err(error) => {
            folder.empty();
            Err(error)
        }
    }
}

/// Where a server is started, as often as there is data to judge it on.
struct ServerStarter<'a> {
    subject: &'static Subject,
    deployment: &'a Deployment,
    settings: ServerSettings,
    shards: u32,
    folder: &'a Folder,
    args: &'a args::Verify,
    ui: &'a Ui,
    interrupt: &'a Interrupt,
    /// How it has ended, each time it was started.
    stopped: RefCell<Option<Rule>>,
}

impl ServerStarter<'_> {
    /// Starts the server on data of its own, of that size, and has it judged.
    fn judged<W: Driven, T>(
        &self,
        size: W::Extent,
        log: &str,
        judge: impl FnOnce(&Plan<'_, W>, &dyn Witness<W>) -> Result<T>,
    ) -> Result<T> {
        let ServerStarter { subject, deployment, args, ui, interrupt, .. } = *self;
        let urls = deployment.empty("verify")?;
        let databases = load::<W>(&urls, size, ui, interrupt)?;
        let log = self.folder.path().join(log);
        let server = subject.serve(&urls, &self.settings, &SinkAddress::Null, &[], &log, interrupt.flag())?;
        let log = self.folder.path().join("relay.log");
        let options = RelayOptions::default();
        let relay = subject.relay(&urls, &options, &SinkAddress::Null, &[], &log, interrupt.flag())?;
        // A relay has sessions of its own, also where it is a part of the server.
        let is_relayed = subject.how.style.is_relayed_over(self.shards as usize);
        let process = (!is_relayed).then(|| server.pid());
        let witness = ::verify::Databases::<W> {
            parts: databases.parts(),
            size: &databases.size,
            began: measure::unix_seconds(),
            process,
            interrupt,
        };
        let plan = Plan {
            url: server.url(),
            subject: Some(subject.path),
            size: databases.size.clone(),
            unknown: None,
            seed: args.seed,
            salt: 0,
            interrupt,
            idle: args.idle,
            only: &args.only,
            pool: match self.shards {
                1 => Ok(self.settings.pool),
                _ => Err("of several databases it is not known which have how many sessions"),
            },
        };
        let found = judge(&plan, &witness);
        let found =
            found.with_context(|| format!("could not verify {}{}", subject.path, server.log_tail()))?;
        let ended = server.stop().map_err(|error| error.to_string());
        if let Some(rule) = ::verify::stopped(&args.only, Ok(ended)) {
            match &mut *self.stopped.borrow_mut() {
                Some(all) => all.take(rule),
                none => *none = Some(rule),
            }
        }
        relay.map_or(Ok(()), deploy::Server::stop)?;
        deployment.drop_databases(&urls)?;
        Ok(found)
    }
}

/// Adds the rules that need data which no one has used, `judge` being given each of them in turn. What was found before stays, also
/// where this is interrupted.
fn on_fresh_data(
    found: &mut Verification,
    args: &args::Verify,
    interrupt: &Interrupt,
    judge: impl Fn(Fresh) -> Result<Rule>,
) -> Result<()> {
    let clock = Monotonic::start();
    for what in Fresh::ALL.into_iter().filter(|what| what.is_wanted(&args.only)) {
        if interrupt.requested() {
            break;
        }
        match judge(what) {
            // What it has come to is not known: it may have been interrupted anywhere.
            _ if interrupt.requested() => {}
            judged => found.rules.push(judged?),
        }
    }
    found.complete &= !interrupt.requested();
    found.duration_s += clock.now().as_secs_f64();
    Ok(())
}

/// Verifies a server that is running, on data that it has.
fn running<W: Driven>(
    url: &str,
    named: &[DbUrl],
    shards: u32,
    args: &args::Verify,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<(Verification, Folder)> {
    if args.server.pool.is_some() || args.server.server_threads.is_some() {
        bail!(
            "--pool and --server-threads apply only to servers that Stackmark starts; {url} is already running"
        );
    }
    let remote = reach::<W>(url, None)?;
    let scale = u32::try_from(remote.about().scale).unwrap_or(u32::MAX);
    let databases = match named {
        [] => None,
        named => {
            let found = Databases::<W>::existing(named.to_vec(), None, &Chosen::new())?;
            is_golden::<W>(&found.size, shards)?;
            // As it was loaded, whatever verifications it has seen.
            let stored = trial::evidence::<W>(named)?;
            Some(match W::is_fresh(&stored, &found.size) {
                true => found,
                false => load::<W>(named, W::tiny_over(shards), ui, interrupt).context(
                    "the data is not as it was loaded\nhint: stop the server, `load --golden --fresh`, and start it again",
                )?,
            })
        }
    };
    let own = if named.is_empty() { ServerAdmin::of(url) } else { None };
    if let Some(own) = &own {
        ui.doing("the server loads its data");
        own.load::<W>(&W::tiny_over(shards), W::GOLDEN_LOAD_SEED)?;
    }
    let ours = databases.as_ref().map(|databases| ::verify::Databases::<W> {
        parts: databases.parts(),
        size: &databases.size,
        began: measure::unix_seconds(),
        process: None,
        interrupt,
    });
    let theirs = own.as_ref().map(|own| TheServer { own });
    let is_known = ours.is_some() || theirs.is_some();
    let mut plan = Plan {
        url,
        subject: None,
        size: match is_known {
            true => W::tiny_over(shards),
            false => W::over(W::standard(scale), shards),
        },
        unknown: (!is_known).then_some("it is not known what data the server has: no --db"),
        seed: args.seed,
        salt: (measure::unix_seconds() % 1_000_000) as u32,
        interrupt,
        idle: args.idle,
        only: &args.only,
        pool: Err("others may use the database of a server that is running"),
    };
    let ours = ours.as_ref().map(|witness| witness as &dyn Witness<W>);
    let witness = ours.or(theirs.as_ref().map(|witness| witness as &dyn Witness<W>));
    let mut found = ::verify::verify::<W>(&plan, witness, &|what| announce(ui, &format!("checking {what}")))?;
    plan.size = W::larger_over(shards);
    on_fresh_data(&mut found, args, interrupt, |what| match &own {
        Some(own) => {
            announce(ui, &format!("checking {}", what.name()));
            own.load::<W>(&plan.size, W::GOLDEN_LOAD_SEED)?;
            verify_fresh::<W>(&plan, &TheServer { own }, what)
        }
        None => Ok(what.unchecked(
            "a server that is running keeps its data; `verify --server DIRECTORY` starts it on other data",
        )),
    })?;
    found.rules.extend(::verify::stopped(&args.only, Err("a server that is running is left running")));
    let (folder, _, _) = Folder::create(&args.out.out, &format!("verify-{}", W::NAME))?;
    Ok((found, folder))
}

/// Data of the seed of the golden vectors, as new.
fn load<W: Driven>(urls: &[DbUrl], size: W::Extent, ui: &Ui, interrupt: &Interrupt) -> Result<Databases<W>> {
    let options = LoadOptions { seed: W::GOLDEN_LOAD_SEED, threads: 1, fresh: true, references: false };
    Ok(Databases::<W>::load(urls, &size, options, ui, interrupt)?.0)
}

/// Columns of the text.
const COLUMNS: usize = 100;

fn text(found: &Verification) -> Result<String> {
    let what = found.subject.as_deref().unwrap_or(&found.workload);
    let mut text = format!("{what}: {} at {}\n", found.server, found.url);
    writeln!(text, "  data looked at by {}", found.witness)?;
    let width = found.rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let behind = width + "  unknown    ".len();
    for Rule { name, rule, check, checked, note, failures, log } in &found.rules {
        let words = match (check, note) {
            (Check::Passed | Check::Failed, Some(note)) => format!("{rule} ({checked}): {note}"),
            (_, Some(note)) => format!("{rule}: {note}"),
            (_, None) => format!("{rule} ({checked})"),
        };
        writeln!(text, "  {:7}  {name:width$}  {}", mark(*check), wrapped(&words, behind))?;
        for Failure { request, expected, found } in failures {
            // Requests are in one piece, to be copied.
            for (name, words) in [("expected", expected), ("found", found), ("request", request)] {
                if !words.is_empty() {
                    let words = words.replace('\n', &format!("\n{:21}", ""));
                    writeln!(text, "           {name:9} {words}")?;
                }
            }
        }
        if let Some(log) = log {
            writeln!(text, "           {:9} {log}", "log")?;
        }
    }
    let count = |wanted| found.rules.iter().filter(|rule| rule.check == wanted).count();
    writeln!(
        text,
        "{} rules passed, {} failed, {} not checked; took {:.1} s",
        count(Check::Passed),
        count(Check::Failed),
        count(Check::NotRun),
        found.duration_s
    )?;
    if !found.only.is_empty() {
        writeln!(text, "requested: {}; other rules were not checked", found.only.join(", "))?;
    }
    if !found.complete {
        writeln!(text, "interrupted: the other rules were not looked at")?;
    }
    Ok(text)
}

/// Words in lines that begin at a column.
fn wrapped(words: &str, at: usize) -> String {
    let mut text = String::new();
    let mut column = at;
    for word in words.split(' ') {
        let length = word.chars().count();
        if column > at && column + 1 + length > COLUMNS {
            let _ = write!(text, "\n{:at$}", "");
            column = at;
        } else if column > at {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

fn mark(check: Check) -> &'static str {
    match check {
        Check::Passed => "passed",
        Check::Failed => "FAILED",
        Check::NotRun | Check::Inconclusive => "unknown",
    }
}

/// The verdicts as test cases.
fn junit(found: &Verification) -> String {
    let class = found.subject.as_deref().unwrap_or(&found.workload);
    let case = |rule: &Rule| Case {
        class: class.to_owned(),
        name: rule.name.clone(),
        time_s: 0.0,
        outcome: match rule.check {
            Check::Passed => Outcome::Passed,
            Check::Failed => Outcome::Failed(format!("failed: {}", rule.rule), evidence(rule)),
            Check::NotRun | Check::Inconclusive => Outcome::Skipped(rule.note.clone().unwrap_or_default()),
        },
    };
    let cases: Vec<Case> = found.rules.iter().map(case).collect();
    report::junit::of_cases("verify", &cases)
}

fn evidence(rule: &Rule) -> Vec<String> {
    let of_one = |failure: &Failure| {
        let Failure { request, expected, found } = failure;
        [format!("expected {expected}"), format!("found {found}"), request.clone()]
    };
    let log = rule.log.iter().map(|log| format!("log {log}"));
    rule.failures.iter().flat_map(of_one).chain(log).collect()
}
