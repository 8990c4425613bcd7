//! `stackmark serve`: the reference server, alone.

use crate::case::{Case, Visitor, of_workload};
use crate::database::{Database, parse_url};
use crate::ui::{self, Ui};
use crate::{Answer, args, subjects};
use anyhow::Result;
use measure::Monotonic;
use model::Target;
use server::{Limits, Server, Settings};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// Threads for the server beside its sessions: half of the cores, since the load generator is often on the others.
pub(crate) fn threads_default() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

pub(crate) fn serve(args: &args::Serve, ui: &Ui) -> Result<Answer> {
    if args.until_stdin_ends {
        // A session of its own, as any service has: Ctrl-C is for who started us, who stops us when our calls have ended, and
        // Linux shares processors out among sessions, where a server would otherwise compete with its load generator.
        let _ = rustix::process::setsid();
    }
    let workload = subjects::workload(&args.workload)?;
    of_workload!(workload, W => serve_workload::<W>(args, ui))
}

fn serve_workload<W: Case>(args: &args::Serve, ui: &Ui) -> Result<Answer> {
    // An engine that is named with the URL need not be named twice.
    let url = parse_url(&args.db, None)?;
    let engine = args.engine.as_deref().unwrap_or(url.dialect().name());
    let subject = subjects::served(W::NAME, engine, args.how.as_deref())?;
    let url = parse_url(&args.db, Some(subject.how.dialect))?;
    let database = Database::<W>::existing(url, None)?;
    let serving = Serving { args, size: database.size.clone(), scale: database.scale(), ui };
    W::with_target(subject.how, &database.url, Monotonic::start(), serving)
}

/// Puts a target behind HTTP until it is asked to stop.
struct Serving<'a, W: Case> {
    args: &'a args::Serve,
    size: W::Extent,
    scale: u32,
    ui: &'a Ui,
}

impl<W: Case> Visitor<W> for Serving<'_, W> {
    type Out = Answer;

    fn visit<T: Target<W>>(self, target: T) -> Result<Answer> {
        let Serving { args, size, scale, ui } = self;
        let settings = Settings {
            listen: args.listen,
            workers: args.server_threads.unwrap_or_else(threads_default),
            sessions: args.pool,
            scale: u64::from(scale),
            limits: Limits::default(),
            log: Arc::new(ui::say),
        };
        let bound = Server::bind(settings)?;
        if !bound.addr().ip().is_loopback() {
            ui.say(&format!(
                "warning: {} can be reached from other machines, and asks nobody who they are",
                bound.addr()
            ));
        }
        ui.data(&format!("listening on http://{}\n", bound.addr()));
        let until_stdin_ends = args.until_stdin_ends;
        bound.serve::<W, _>(target, size, async move { until_asked(until_stdin_ends).await })?;
        Ok(Answer::Good)
    }
}

/// Waits for SIGINT or SIGTERM, or for the end of whoever started us.
async fn until_asked(until_stdin_ends: bool) {
    let signals = signal(SignalKind::interrupt()).and_then(|int| Ok((int, signal(SignalKind::terminate())?)));
    let signalled = async {
        match signals {
            Ok((mut int, mut term)) => tokio::select! { _ = int.recv() => {} _ = term.recv() => {} },
            // The process can still be ended the hard way.
            Err(_) => std::future::pending().await,
        }
    };
    let abandoned = async {
        if until_stdin_ends {
            stdin_ends().await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! { () = signalled => {} () = abandoned => {} }
}

async fn stdin_ends() {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // An error of standard input is an end of it as well.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = ended.send(());
    });
    // The sender is never dropped unsent.
    let _ = end.await;
}
