//! `stackmark serve`: the reference server, alone.

use crate::database::{Database, parse_url};
use crate::ui::Ui;
use crate::{Answer, args, subjects};
use adapter_rusqlite::SqliteOpener;
use anyhow::{Result, bail};
use measure::Monotonic;
use model::{RetryPolicy, RetryingTarget};
use server::{Limits, Server, Settings};
use sql::{Dialect, SqliteUrl};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use workload_tpcc::{SqlTarget, Tpcc, catalogue};

/// Sessions on SQLite that answer calls, with the one retry policy.
pub(crate) type SqliteTarget = RetryingTarget<SqlTarget<SqliteOpener<Monotonic>, Monotonic>>;

/// The direct target on a database; the server puts the same one behind HTTP.
pub(crate) fn target(url: &SqliteUrl, clock: Monotonic) -> Result<SqliteTarget> {
    let opener = SqliteOpener::new(url, catalogue(Dialect::Sqlite)?, clock)?;
    Ok(RetryingTarget { target: SqlTarget::new(opener, clock), policy: RetryPolicy::default() })
}

/// Threads for the server beside its sessions: half of the cores, since the load generator is often on the others.
pub(crate) fn threads_default() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

pub(crate) fn serve(args: &args::Serve, ui: &Ui) -> Result<Answer> {
    subjects::workload(&args.workload)?;
    if args.engine != "sqlite" {
        bail!("no engine `{}` for the server; there is `sqlite`", args.engine);
    }
    let url = parse_url(&args.db)?;
    let database = Database::existing(url, None)?;
    let target = target(&database.url, Monotonic::start())?;
    let ui = *ui;
    let settings = Settings {
        listen: args.listen,
        workers: args.server_threads.unwrap_or_else(threads_default),
        sessions: args.pool,
        scale: u64::from(database.size.warehouses),
        limits: Limits::default(),
        log: Arc::new(move |line| ui.say(line)),
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
    bound.serve::<Tpcc, _>(target, database.size, async move { until_asked(until_stdin_ends).await })?;
    Ok(Answer::Good)
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
