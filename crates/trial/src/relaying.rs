//! The relay next to a trial, of a style that leaves something to one.

use crate::Job;
use crate::consumed::Caught;
use crate::destination::{ANNOUNCED, Destination};
use crate::settle::{Interval, SECOND_US};
use anyhow::Result;
use deploy::{Consuming, Interrupt, Server, SinkAddress};
use model::Nanos;
use observe::Watched;
use result::{PublishedSecond, Quantiles, Role};
use serde::Deserialize;
use targets::Driven;

/// What a relay reports about itself; one inside a server reports nothing.
#[derive(Debug, Deserialize)]
pub(crate) struct Relayed {
    /// What it has brought to where it belongs.
    #[serde(rename = "settled")]
    pub messages: Option<u64>,
    #[serde(rename = "transactions")]
    pub batches: Option<u64>,
    /// How long that took, where it measures it.
    pub lag: Option<Quantiles>,
    /// Seconds since 1970, with the messages that were written and acknowledged in each.
    #[serde(skip)]
    pub seconds: Vec<(i64, u64, u64)>,
    /// Where it has published.
    #[serde(skip)]
    pub destination: Destination,
    /// The consumer that has read it.
    #[serde(skip)]
    pub(crate) consumer: Option<Caught>,
}

/// The inbox of a consumer, in the folder of a trial.
const INBOX: &str = "inbox.db";

fn report(relay: &Server) -> Result<Relayed> {
    let mut relayed: Relayed = serde_json::from_str(&relay.about()?)?;
    relayed.seconds = serde_json::from_str(&relay.seconds()?)?;
    Ok(relayed)
}

impl Relayed {
    /// Of a publisher that measures nothing.
    fn unmeasured() -> Relayed {
        let (lag, seconds) = (None, Vec::new());
        let destination = Destination::Null;
        Relayed { messages: None, batches: None, lag, seconds, destination, consumer: None }
    }

    /// Each second from the begin of the window until the last message was acknowledged; nothing where some are still
    /// `pending`: their write times are unknown.
    pub(crate) fn line(&self, within: Interval, pending: u64) -> Vec<PublishedSecond> {
        let (Some((first, ..)), Some((last, ..))) = (self.seconds.first(), self.seconds.last()) else {
            return Vec::new();
        };
        if pending > 0 {
            return Vec::new();
        }
        let (mut line, mut backlog) = (Vec::new(), 0_i64);
        let mut seconds = self.seconds.iter().peekable();
        let last = (*last).max(within.to.div_euclid(SECOND_US));
        for second in *first..=last {
            let found = seconds.next_if(|(at, ..)| *at == second);
            let (written, acknowledged) =
                found.map_or((0, 0), |(_, written, acknowledged)| (*written, *acknowledged));
            backlog += written.cast_signed() - acknowledged.cast_signed();
            let t_us = (second + 1) * SECOND_US - within.from;
            if t_us > 0 {
                let backlog = backlog.max(0).unsigned_abs();
                line.push(PublishedSecond {
                    t_s: t_us as f64 / SECOND_US as f64,
                    messages: acknowledged,
                    backlog,
                });
            }
        }
        line
    }
}

/// A relay that stays until what calls have left to it has come to its end.
pub(crate) struct RelayProcess {
    relay: Option<Server>,
    destination: Destination,
    /// The server or the load generator publishes.
    is_embedded: bool,
    consumer: Option<Consuming>,
}

impl RelayProcess {
    /// One for a trial. Whoever started the server that is given by its address has started its relay too.
    pub(crate) fn beside<W: Driven>(job: &Job<'_, W>) -> Result<RelayProcess> {
        let publishes = job.subject.publishes();
        let (relay, destination) = (None, Destination::Null);
        let mut relaying = RelayProcess { relay, destination, is_embedded: false, consumer: None };
        if job.url.is_some() || !job.audited {
            return Ok(relaying);
        }
        let (log, options) = (job.folder.path().join("relay.log"), &job.server.relaying);
        if publishes {
            relaying.destination =
                Destination::create(options, job.deployment, &job.folder.path().join(ANNOUNCED))?;
        }
        let urls = job.databases.urls();
        let sink = relaying.sink();
        if options.consumer {
            relaying.consumer = Consuming::start(
                &sink,
                &job.folder.path().join(INBOX),
                job.folder.path().join("consumer.log"),
                job.interrupt,
            )?;
        }
        relaying.relay = job.subject.relay(&urls, options, &sink, &[], &log, job.interrupt.flag())?;
        relaying.is_embedded = publishes && relaying.relay.is_none();
        Ok(relaying)
    }

    pub(crate) fn watched(&self) -> Vec<Watched> {
        let consumer = self.consumer.as_ref().and_then(Consuming::process);
        let both = [(Role::Relay, self.relay.as_ref()), (Role::Consumer, consumer)];
        both.into_iter()
            .filter_map(|(role, process)| process.map(|process| Watched::of(role, process.pid())))
            .collect()
    }

    /// The topic on a broker, for whoever has to delete it after a run that was killed.
    pub(crate) fn note(&self) -> Option<String> {
        let SinkAddress::Topic { broker, topic } = self.sink() else { return None };
        Some(format!(
            "Messages went to the topic {topic} at {}, which is deleted after the trial.",
            broker.place()
        ))
    }

    /// Where messages go.
    pub(crate) fn sink(&self) -> SinkAddress {
        self.destination.address()
    }

    pub(crate) fn throttling(&self) -> Option<rig::Throttling> {
        self.relay.as_ref().and_then(Server::throttling)
    }

    /// Stops it, and the consumer once that has read everything, at most `max` later. Returns what both report and where messages went,
    /// `None` where nothing is published; and what failed: messages are checked all the same.
    pub(crate) fn stop(mut self, max: Nanos, interrupt: &Interrupt) -> (Option<Relayed>, Option<String>) {
        let mut failures = Vec::new();
        let mut relayed = match self.relay.take() {
            Some(relay) => {
                let relayed = report(&relay);
                if let Err(error) = stop(relay) {
                    failures.push(format!("{error:#}"));
                }
                relayed.unwrap_or_else(|error| {
                    failures.push(format!("the relay could not be asked what it has done: {error:#}"));
                    Relayed::unmeasured()
                })
            }
            None if self.is_embedded => Relayed::unmeasured(),
            None => return (None, None),
        };
        relayed.destination = self.destination;
        match self.consumer.map(|consumer| Caught::after(consumer, max, interrupt)).transpose() {
            Ok(caught) => relayed.consumer = caught,
            Err(error) => failures.push(format!("the consumer failed: {error:#}")),
        }
        (Some(relayed), (!failures.is_empty()).then(|| failures.join("; ")))
    }
}

fn stop(mut relay: Server) -> Result<()> {
    if relay.ended().is_some() {
        anyhow::bail!("the relay ended by itself{}", relay.log_tail());
    }
    Ok(relay.stop()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backlog_after_each_second_is_what_was_written_and_not_acknowledged() {
        let seconds = vec![(9, 2, 1), (10, 5, 2), (11, 4, 0), (13, 0, 8)];
        let relayed = Relayed { seconds, ..Relayed::unmeasured() };
        let within = Interval { from: 10 * SECOND_US + SECOND_US / 2, to: 12 * SECOND_US };
        let found: Vec<_> = relayed
            .line(within, 0)
            .iter()
            .map(|second| (second.t_s, second.messages, second.backlog))
            .collect();
        assert_eq!(found, [(0.5, 2, 4), (1.5, 0, 8), (2.5, 0, 8), (3.5, 8, 0)]);
        assert_eq!(relayed.line(within, 1), [], "write times of pending messages are unknown");
        let nothing = Relayed { seconds: Vec::new(), ..relayed };
        assert_eq!(nothing.line(within, 0), []);
    }
}
