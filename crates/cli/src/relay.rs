//! `stackmark relay`: what the calls of a saga have left to be done between stores.

use crate::args;
use crate::args::Stores;
use crate::serve::until_asked;
use crate::ui::{self, Ui};
use anyhow::{Context, Result, bail};
use deploy::{Databases, subjects};
use schedule::Answer;
use targets::Driven;
use tokio::net::TcpListener;

pub(crate) fn relay_workload<W: Driven>(args: &args::Relay, ui: &Ui) -> Result<Answer> {
    let stores = Stores::of(&args.db, None)?;
    let urls = stores.urls(None)?;
    let [first, _, ..] = &urls[..] else {
        bail!("a relay works between several stores\nhint: --db shard-0=URL --db shard-1=URL")
    };
    let subject = subjects::relayed(W::NAME, first.dialect(), args.how.as_deref())?;
    let databases = Databases::<W>::existing(stores.urls(Some(subject.how.dialect))?, None)?;
    let mut relay = W::relay(subject.how, &databases.urls(), &databases.size)?;
    targets::wait_for(async {
        let listener = TcpListener::bind(args.listen).await;
        let listener = listener.with_context(|| format!("could not listen on {}", args.listen))?;
        ui.data(&format!("listening on http://{}\n", listener.local_addr()?));
        events::run(&mut *relay, listener, until_asked(args.until_stdin_ends), &ui::say).await?;
        Ok::<_, anyhow::Error>(())
    })??;
    Ok(Answer::Good)
}
