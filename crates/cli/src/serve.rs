//! `stackmark serve`: the reference server by itself.

use crate::args;
use crate::args::Stores;
use crate::outcome::CommandOutcome;
use crate::relay::parse_sink;
use crate::ui::{self, Ui};
use anyhow::{Context, Result, bail};
use deploy::subjects::{self, Subject};
use deploy::{Databases, RelayOptions, ServerSettings, SinkAddress, SourceSubjects};
use model::{AnyTarget, HttpOptions};
use server::{Bound, Limits, Server, Settings};
use sql::DbUrl;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;
use std::time::Duration;
use targets::Driven;
use tokio::signal::unix::{SignalKind, signal};
use workload::Chosen;

/// Between two looks at whether a server is still there.
const LOOKS: Duration = Duration::from_millis(100);

/// Threads for the server besides its sessions: half of the cores, since the load generator is often on the others.
pub(crate) fn threads_default() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// Becomes a server that another process of ours has started.
pub(crate) fn launch(args: &args::Launch) -> Result<CommandOutcome> {
    let [program, arguments @ ..] = &args.command[..] else { bail!("nothing to start was named") };
    Err(deploy::launch(program, arguments)).with_context(|| format!("could not start {}", program.display()))
}

pub(crate) fn serve<W: Driven>(args: &args::Serve, ui: &Ui) -> Result<CommandOutcome> {
    let stores = Stores::of(&args.db, None)?;
    // An engine that is named with the URL need not be named twice.
    let urls = stores.urls(None)?;
    let Some(first) = urls.first() else { bail!("no database is named\nhint: --db URL") };
    let engine = args.engine.as_deref().unwrap_or(first.dialect().name());
    if let Some(source) = &args.source {
        let subject = SourceSubjects::of(source)?.only(Some(&format!("{}/{engine}", W::NAME)))?;
        return by_hand::<W>(subject, stores.urls(Some(subject.how.dialect))?, args, ui);
    }
    let subject = subjects::served(W::NAME, engine, args.adapter.as_deref())?;
    let databases = Databases::<W>::existing(stores.urls(Some(subject.how.dialect))?, None, &Chosen::new())?;
    deploy::check_pool(args.pool, subject.how.dialect)?;
    deploy::check_sessions(&databases.urls(), subject.sessions(args.pool, args.pool))?;
    let size = databases.size.clone();
    let _producing = match (parse_sink(args.sink.as_deref())?, subject.publishes_directly()) {
        (Some(sink), true) => Some(sink.produce()?),
        (None, true) => bail!(
            "{} publishes messages: --sink is required\nhint: --sink file:PATH, --sink kafka://HOST:PORT/TOPIC, or --sink null to discard messages",
            subject.path
        ),
        (None, false) => None,
        (Some(_), false) => bail!(
            "--sink has no effect on {}: its server publishes no messages\nhint: leave --sink out; `stackmark relay` has one",
            subject.path
        ),
    };
    let target = AnyTarget::new(targets::target_over::<W>(subject.how, &databases.urls(), &size)?);
    let bound = bind(args, u64::from(databases.scale()), ui)?;
    bound.serve::<W>(target, size, until_asked(args.until_stdin_ends))?;
    Ok(CommandOutcome::Good)
}

/// Starts a server of the user's on a loaded database, until it is asked to end.
fn by_hand<W: Driven>(
    subject: &'static Subject,
    urls: Vec<DbUrl>,
    args: &args::Serve,
    ui: &Ui,
) -> Result<CommandOutcome> {
    let databases = Databases::<W>::existing(urls, None, &Chosen::new())?;
    deploy::check_pool(args.pool, subject.how.dialect)?;
    deploy::check_sessions(&databases.urls(), subject.sessions(args.pool, args.pool))?;
    let settings = ServerSettings {
        limits: None,
        relaying: RelayOptions::default(),
        pool: args.pool,
        threads: args.server_threads.unwrap_or_else(threads_default),
        http: HttpOptions::default(),
    };
    // Only of this process: a build of the server writes there too.
    let folder = std::env::temp_dir().join(format!("stackmark-serve-{}", std::process::id()));
    DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("could not make {}", folder.display()))?;
    let log = folder.join("server.log");
    let never = AtomicBool::new(false);
    let started = subject.serve(&databases.urls(), &settings, &SinkAddress::Null, &[], &log, &never);
    let mut server = started.inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
    ui.remark(&format!("its standard error: {}", log.display()));
    ui.data(&format!("listening on {}\n", server.url()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let ended = async {
            loop {
                if let Some(how) = server.ended() {
                    return how;
                }
                tokio::time::sleep(LOOKS).await;
            }
        };
        tokio::select! { () = until_asked(false) => None, how = ended => Some(how) }
    });
    match ended {
        Some(how) => bail!(how),
        None => server.stop()?,
    }
    fs::remove_dir_all(&folder).with_context(|| format!("could not remove {}", folder.display()))?;
    Ok(CommandOutcome::Good)
}

/// Listens, and says where.
fn bind(args: &args::Serve, scale: u64, ui: &Ui) -> Result<Bound> {
    let bound = Server::bind(Settings {
        listen: args.listen,
        transport: args.transport,
        workers: args.server_threads.unwrap_or_else(threads_default),
        sessions: args.pool,
        scale,
        limits: Limits::default(),
        log: Arc::new(ui::remark),
    })?;
    if !bound.addr().ip().is_loopback() {
        ui.remark(&format!(
            "warning: {} can be reached from other machines, and has no authentication",
            bound.addr()
        ));
    }
    ui.data(&format!("listening on http://{}\n", bound.addr()));
    Ok(bound)
}

/// Waits for SIGINT, SIGTERM or, unless it is ignored, SIGHUP, or for the end of whoever started us.
pub(crate) async fn until_asked(until_stdin_ends: bool) {
    let hangup = Some(SignalKind::hangup()).filter(|_| !deploy::is_hangup_ignored());
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()].into_iter().chain(hangup);
    // Without a handler the process can still be ended the hard way.
    let signals = kinds.filter_map(|kind| signal(kind).ok());
    let mut signals: Vec<_> =
        signals.map(|mut signal| Box::pin(async move { signal.recv().await })).collect();
    let signalled = std::future::poll_fn(move |context| {
        let came = signals.iter_mut().any(|signal| signal.as_mut().poll(context).is_ready());
        if came { Poll::Ready(()) } else { Poll::Pending }
    });
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
