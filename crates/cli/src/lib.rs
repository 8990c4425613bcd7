//! The command line, and the only place that knows every part and puts them together. A program of its own may bring more
//! workloads ([`main`]).
//!
//! Exit status 0: done. 1: done, and the answer is bad (an audit failed, a limit was broken). 2: could not run. 3: a limit was
//! set, and what was measured does not tell whether it is kept.

mod against;
mod args;
mod audit;
mod commands;
mod compare;
mod confirm;
mod data;
mod doctor;
mod drill;
mod engines;
mod experiment;
mod export;
mod list;
mod live;
mod load;
mod outcome;
mod parts;
mod relay;
mod resume;
mod run;
mod serve;
mod settings;
mod show;
mod sweep;
mod ui;
mod verify;
mod workloads;

use anyhow::Context;
use args::{Cli, Command};
use clap::Parser;
use deploy::{Interrupt, secrets, subjects};
use outcome::CommandOutcome;
use std::process::ExitCode;

pub use workloads::WorkloadRow;

/// Runs the command line of this process; `more` are workloads besides those that come with Stackmark.
pub fn main(more: &'static [WorkloadRow]) -> ExitCode {
    workloads::add(more);
    // Before anything else: what cannot be understood is repeated to the user.
    let hidden = secrets::leave_process_list();
    let cli = Cli::parse();
    let mut ui = ui::Ui::new(cli.json, cli.explain);
    allow_open_files();
    secrets::read_from(cli.password_file);
    subjects::servers_in(cli.servers);
    let done = hidden
        .and_then(|()| Interrupt::outlive_file_limits())
        .and_then(|()| cli.command.live().map_or(Ok(()), |args| ui.go_live(args)))
        .and_then(|()| run_command(&cli.command, &ui))
        .and_then(|answer| ui.end().map(|()| answer));
    deploy::remove_work_trees();
    if let Err(error) = &done {
        ui.error(error);
    }
    // Whatever it came to: a caller must not take the part that was measured for the whole. 128 + signal, as shells count.
    if let Some(signal) = Interrupt::signal().and_then(|signal| u8::try_from(signal).ok()) {
        return ExitCode::from(128 + signal);
    }
    done.map_or(ExitCode::from(2), CommandOutcome::exit_code)
}

/// A client takes up to three open files, and a server's session as many. The usual soft limit of 1,024 is there for old
/// programs; the hard one is the system's word.
fn allow_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, opening a session will say so.
    let _ = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit });
}

fn run_command(command: &Command, ui: &ui::Ui) -> anyhow::Result<CommandOutcome> {
    match command {
        Command::Quickstart(args) => compare::quickstart(args, ui),
        Command::List(args) => list::list(args, ui),
        Command::Doctor => doctor::doctor(ui),
        Command::Consume(args) => relay::consume(args, ui),
        Command::Report(args) => show::report(args, ui),
        Command::Rig(args) => engines::rig(args, ui),
        Command::Completions(args) => show::completions(args, ui),
        Command::Man(args) => show::man(args, ui),
        Command::Launch(args) => serve::launch(args),
        Command::Compare(args) if let Some((a, b)) = commands::stored_sides(args) => {
            compare::stored(a, b, args, ui)
        }
        command => {
            let tasks = commands::find(command)?;
            let several = tasks.len() > 1;
            let mut answer = Ok(CommandOutcome::Good);
            for (workload, task) in tasks {
                match &answer {
                    Ok(so_far) if Interrupt::signal().is_none() => {
                        let (so_far, file) = (*so_far, task.file().filter(|_| several).map(str::to_owned));
                        answer = (workload.execute)(task, ui).map(|outcome| outcome.max(so_far));
                        if let Some(file) = file {
                            answer = answer.context(file);
                        }
                    }
                    _ => task.file().into_iter().for_each(|file| ui.remark(&format!("not run: {file}"))),
                }
            }
            answer
        }
    }
}
