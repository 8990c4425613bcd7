//! `stackmark relay`: what the calls of a saga have left to be done between stores, and keys that have expired; and the messages of an
//! outbox.

use crate::args;
use crate::args::Stores;
use crate::serve::until_asked;
use crate::ui::{self, Ui};
use anyhow::{Context, Result, bail};
use benchmark::Chosen;
use deploy::{Databases, SinkAddress, subjects};
use schedule::Answer;
use std::time::Duration;
use targets::{Driven, Style};
use tokio::net::TcpListener;

/// Keys are kept at least so long.
const KEEP_MIN: Duration = Duration::from_secs(1);

/// Parses `--sink` here and not in the parser of the command line, which would repeat a password that is in it.
pub(crate) fn parse_sink(text: Option<&str>) -> Result<Option<SinkAddress>> {
    let given: Option<SinkAddress> = text.map(str::parse).transpose().map_err(anyhow::Error::msg)?;
    if let Some(SinkAddress::Topic { broker, .. }) = &given
        && broker.password.is_some()
    {
        bail!(
            "--sink has the password of {broker}, which other users can see on the command line\nhint: set STACKMARK_BROKER_PASSWORD"
        );
    }
    Ok(given)
}

pub(crate) fn relay_workload<W: Driven>(args: &args::Relay, ui: &Ui) -> Result<Answer> {
    let given = parse_sink(args.sink.as_deref())?;
    let stores = Stores::of(&args.db, None)?;
    let urls = stores.urls(None)?;
    if args.keep_keys < KEEP_MIN {
        bail!("--keep-keys is 1s or longer: who asks for a transfer again does so within moments");
    }
    let first = urls.first().context("a relay works on the stores of --db")?;
    let subject = subjects::relayed(W::NAME, first.dialect(), args.how.as_deref())?;
    let databases = Databases::<W>::existing(stores.urls(Some(subject.how.dialect))?, None, &Chosen::new())?;
    let is_outbox = subject.how.style == Style::Outbox;
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
    let sink = sink.open()?;
    let polling = if is_outbox { args.polling } else { relay::OF_SAGAS };
    let settings = relay::Settings { keep: args.keep_keys, sink, batch: args.batch };
    let mut relay = W::relay(subject.how, &databases.urls(), &databases.size, settings)?;
    targets::wait_for(async {
        let listener = TcpListener::bind(args.listen).await;
        let listener = listener.with_context(|| format!("could not listen on {}", args.listen))?;
        ui.data(&format!("listening on http://{}\n", listener.local_addr()?));
        relay::run(&mut *relay, polling, listener, until_asked(args.until_stdin_ends), &ui::say).await?;
        Ok::<_, anyhow::Error>(())
    })??;
    Ok(Answer::Good)
}
