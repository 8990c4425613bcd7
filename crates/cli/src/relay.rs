//! `stackmark relay`: what the calls of a saga have left to be done between stores, and keys that have expired; and the messages of an
//! outbox. `stackmark consume`: what was published.

use crate::args;
use crate::args::Stores;
use crate::outcome::CommandOutcome;
use crate::serve::until_asked;
use crate::ui::{self, Ui};
use anyhow::{Context, Result, bail};
use consumer::{Consumer, Inbox};
use deploy::{Databases, RelayOptions, SinkAddress, default_polling, subjects};
use relay::{Message, Polling, Publishing, Relay, Sink};
use rustix::process::{Signal, getpid, kill_process};
use std::net::SocketAddr;
use std::time::Duration;
use targets::Driven;
use tokio::net::TcpListener;
use workload::Chosen;

/// A turn of a consumer waits for messages by itself.
const CONSUMER_POLLING: Polling = Polling::Fixed(Duration::from_millis(1));

/// Ends the process between publishing and removing.
struct EndsAfterPublishing(Box<dyn Sink>);

impl Sink for EndsAfterPublishing {
    fn publish<'a>(&'a mut self, messages: &'a [Message]) -> Publishing<'a> {
        Box::pin(async {
            self.0.publish(messages).await?;
            ui::remark(drill::ENDED_AFTER_PUBLISHING);
            kill_process(getpid(), Signal::KILL).map_err(|error| error.to_string())
        })
    }
}

/// Keys are kept at least so long.
const KEEP_MIN: Duration = Duration::from_secs(1);

/// Parses `--sink` here and not in the parser of the command line, which would repeat a password that is in it.
pub(crate) fn parse_sink(text: Option<&str>) -> Result<Option<SinkAddress>> {
    text.map(|text| parse_address("--sink", text)).transpose()
}

fn parse_address(option: &str, text: &str) -> Result<SinkAddress> {
    let given: SinkAddress = text.parse().map_err(anyhow::Error::msg)?;
    if let SinkAddress::Topic { broker, .. } = &given
        && broker.password.is_some()
    {
        bail!(
            "{option} has the password of {broker}, which other users can see on the command line\nhint: set STACKMARK_BROKER_PASSWORD"
        );
    }
    Ok(given)
}

pub(crate) fn consume(args: &args::Consume, ui: &Ui) -> Result<CommandOutcome> {
    let mut address = parse_address("--from", &args.from)?;
    if let SinkAddress::File(path) = &mut address {
        // The inbox stores the name of its source.
        *path = std::path::absolute(&*path).context("--from file: has no path")?;
    }
    let Some(source) = address.source() else {
        bail!(
            "--from null: the sink `null` stores no messages\nhint: --from file:PATH or --from kafka://HOST:PORT/TOPIC"
        );
    };
    // A topic that cannot be read is found before anything is created.
    targets::wait_for(source.ends())?.map_err(anyhow::Error::msg)?;
    let mut consumer = Consumer::new(source, Inbox::open(&args.inbox, &address.written())?);
    targets::wait_for(run(&mut consumer, CONSUMER_POLLING, args.listen, args.until_stdin_ends, ui))??;
    Ok(CommandOutcome::Good)
}

/// Runs a relay or a consumer until it is asked to end.
async fn run(
    relay: &mut dyn Relay,
    polling: Polling,
    listen: SocketAddr,
    until_stdin_ends: bool,
    ui: &Ui,
) -> Result<()> {
    let listener = TcpListener::bind(listen).await;
    let listener = listener.with_context(|| format!("could not listen on {listen}"))?;
    ui.data(&format!("listening on http://{}\n", listener.local_addr()?));
    relay::run(relay, polling, listener, until_asked(until_stdin_ends), &ui::remark).await?;
    Ok(())
}

pub(crate) fn relay<W: Driven>(args: &args::Relay, ui: &Ui) -> Result<CommandOutcome> {
    let given = parse_sink(args.sink.as_deref())?;
    let stores = Stores::of(&args.db, None)?;
    let urls = stores.urls(None)?;
    if args.keep_keys < KEEP_MIN {
        bail!("--keep-keys is 1s or longer: a client without a response repeats its transfer");
    }
    let first = urls.first().context("a relay works on the stores of --db")?;
    let subject = subjects::relayed(W::NAME, first.dialect(), args.adapter.as_deref())?;
    let databases = Databases::<W>::existing(stores.urls(Some(subject.how.dialect))?, None, &Chosen::new())?;
    databases.ensure_direct()?;
    let is_outbox = subject.how.style.has_outbox();
    let sink = match (&given, is_outbox) {
        (Some(sink), true) => sink,
        (None, true) => bail!(
            "the relay of an outbox needs a --sink\nhint: `file:PATH`, `kafka://HOST:PORT/TOPIC`, or `null`, which removes the rows and \
             publishes nothing"
        ),
        (Some(_), false) => bail!(
            "--sink is for the relay of an outbox; {} leaves no messages\nhint: leave --sink out",
            subject.path
        ),
        (None, false) => &SinkAddress::Null,
    };
    // What is wrong with it is found before anything is read.
    let mut sink = sink.open()?;
    if args.ends_after_publishing {
        sink = Box::new(EndsAfterPublishing(sink));
    }
    if args.polling.is_some() && !is_outbox {
        bail!(
            "--polling is for the relay of an outbox; {} has none\nhint: leave --polling out",
            subject.path
        );
    }
    if args.relay_connections > 1 && is_outbox {
        bail!(
            "--relay-connections is for the relay between stores; {} has none\nhint: leave --relay-connections out",
            subject.path
        );
    }
    let options =
        RelayOptions { batch: args.batch, connections: args.relay_connections, ..RelayOptions::default() };
    options.check(subject, urls.len())?;
    let polling = args.polling.unwrap_or(default_polling(subject.how.style));
    let settings = relay::Settings {
        keep: args.keep_keys,
        sink,
        batch: args.batch,
        connections: args.relay_connections,
    };
    let mut relay = W::relay(subject.how, &databases.urls(), &databases.size, settings)?;
    targets::wait_for(run(&mut *relay, polling, args.listen, args.until_stdin_ends, ui))??;
    Ok(CommandOutcome::Good)
}
