//! How a relay is set up that is started here.

use crate::secrets::{BROKER_PASSWORD, with_brokers_password};
use crate::subjects::Subject;
use anyhow::{Context, Result, bail};
use broker::{Address, AddressError};
use consumer::Source;
use relay::Polling;
use serde::{Deserialize, Serialize};
use sql::Dialect;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use targets::{RELAY_BATCH, Style, wait_for};

/// What is chosen of a relay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelayOptions {
    /// What it may use.
    #[serde(with = "typed")]
    pub limits: Option<rig::Limits>,
    /// Where the messages of an outbox go.
    pub sink: SinkKind,
    /// Its poll interval, if not [`default_polling`].
    #[serde(with = "typed")]
    pub polling: Option<Polling>,
    /// Messages that are relayed together, if another number is chosen than is usual for the workload.
    pub batch: Option<u32>,
    /// Connections to each store, of a relay between stores.
    pub connections: u32,
    /// Partitions of the topic of a trial.
    pub partitions: u32,
    /// Whether a consumer with an inbox reads the messages.
    pub consumer: bool,
}

/// Partitions unless they are chosen.
const PARTITIONS: u32 = 4;

/// Poll interval of the relay of a style unless it is chosen.
pub const fn default_polling(style: Style) -> Polling {
    match style {
        Style::OutboxNotify => relay::NOTIFIED,
        _ if style.has_outbox() => relay::ADAPTIVE,
        _ => relay::OF_SAGAS,
    }
}

impl Default for RelayOptions {
    fn default() -> RelayOptions {
        RelayOptions {
            limits: None,
            sink: SinkKind::default(),
            polling: None,
            batch: None,
            connections: 1,
            partitions: PARTITIONS,
            consumer: false,
        }
    }
}

/// Kinds of places where the messages of an outbox go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SinkKind {
    /// Nowhere: they are taken and forgotten.
    Null,
    /// A file in the folder of the run, a message a line, flushed batch by batch.
    #[default]
    File,
    /// A topic of its own on a broker.
    Kafka,
}

impl SinkKind {
    /// All, by their names.
    const ALL: [(SinkKind, &'static str); 3] =
        [(SinkKind::Null, "null"), (SinkKind::File, "file"), (SinkKind::Kafka, "kafka")];
}

impl fmt::Display for SinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = SinkKind::ALL.into_iter().find(|(kind, _)| kind == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

impl FromStr for SinkKind {
    type Err = String;

    fn from_str(text: &str) -> Result<SinkKind, String> {
        let found = SinkKind::ALL.into_iter().find(|(_, name)| *name == text).map(|(kind, _)| kind);
        found.ok_or_else(|| {
            let names = SinkKind::ALL.map(|(_, name)| format!("`{name}`"));
            format!("`{text}` is not a sink; there are {}", names.join(", "))
        })
    }
}

/// Where the messages of one relay go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkAddress {
    Null,
    File(PathBuf),
    /// A topic of a broker.
    Topic {
        broker: Address,
        /// The name of the topic, which is there.
        topic: String,
    },
}

impl SinkAddress {
    /// As `stackmark relay --sink` takes it.
    pub fn written(&self) -> String {
        match self {
            SinkAddress::Null => "null".into(),
            SinkAddress::File(path) => format!("file:{}", sql::path::written(path)),
            SinkAddress::Topic { broker, topic } => {
                format!("kafka://{}/{topic}", broker.to_string().trim_start_matches("kafka://"))
            }
        }
    }
}

impl SinkAddress {
    /// Where a consumer reads what was published there; nothing where no one can.
    pub fn source(&self) -> Option<Source> {
        match self {
            SinkAddress::Null => None,
            SinkAddress::File(path) => Some(Source::File(path.clone())),
            SinkAddress::Topic { broker, topic } => {
                let (broker, topic) = (with_brokers_password(broker.clone()), topic.clone());
                Some(Source::Topic { broker, topic })
            }
        }
    }

    /// The password of the broker's user, as a process that uses the sink finds it in its environment.
    pub(crate) fn password_variable(&self) -> Option<(String, String)> {
        let SinkAddress::Topic { broker: Address { password: Some(password), .. }, .. } = self else {
            return None;
        };
        Some((BROKER_PASSWORD.to_owned(), password.reveal().to_owned()))
    }

    /// Opens it. What is wrong with a topic is found here.
    ///
    /// # Errors
    /// The file cannot be written, the broker cannot be used, or it has no such topic.
    pub fn open(&self) -> anyhow::Result<Box<dyn relay::Sink>> {
        Ok(match self {
            SinkAddress::Null => Box::new(relay::Null),
            SinkAddress::File(path) => {
                let file = relay::Lines::append_to(path);
                Box::new(file.with_context(|| format!("could not write to {}", path.display()))?)
            }
            SinkAddress::Topic { broker, topic } => {
                let topic = relay::Topic::of(with_brokers_password(broker.clone()), topic);
                wait_for(topic.is_there())??;
                Box::new(topic)
            }
        })
    }

    /// Has this process publish to it what it has committed itself ([`relay::publish`]), until the value is dropped.
    pub fn produce(&self) -> anyhow::Result<relay::Producing> {
        Ok(relay::produce_to(self.open()?)?)
    }
}

impl FromStr for SinkAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<SinkAddress, String> {
        match text.split_once(':') {
            None if text == "null" => Ok(SinkAddress::Null),
            Some(("file", path)) if !path.is_empty() => Ok(SinkAddress::File(sql::path::read(path)?)),
            Some(("kafka", _)) => match text.rsplit_once('/') {
                Some((broker, topic)) if is_topic(topic) => {
                    let broker: Address = broker.parse().map_err(|error: AddressError| error.to_string())?;
                    Ok(SinkAddress::Topic { broker, topic: topic.to_owned() })
                }
                _ => Err("a sink on a broker is kafka://HOST:PORT/TOPIC or kafka://USER@HOST:PORT/TOPIC; a topic has 1 to 249 letters, \
                          digits, dots, underscores and hyphens"
                    .to_owned()),
            },
            // A password may be in what is wrong.
            _ if text.contains('@') => Err("this is not a sink: give `null`, `file:PATH`, or `kafka://USER@HOST:PORT/TOPIC`".into()),
            _ => Err(format!("`{text}` is not a sink: give `null`, `file:PATH`, or `kafka://HOST:PORT/TOPIC`")),
        }
    }
}

/// Whether a topic may have that name.
fn is_topic(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=249).contains(&name.len()) && name.bytes().all(is_plain) && name != "." && name != ".."
}

impl RelayOptions {
    /// What a relay that publishes to a sink finds in its environment.
    pub(crate) fn variables(&self, sink: &SinkAddress) -> Vec<(String, String)> {
        let batch = self.batch.unwrap_or(relay::BATCH);
        let variables = [("STACKMARK_SINK", sink.written()), ("STACKMARK_BATCH", batch.to_string())];
        let polling = self.polling.map(|polling| ("STACKMARK_POLLING", polling.to_string()));
        let variables = variables.into_iter().chain(polling).map(|(name, value)| (name.to_owned(), value));
        variables.chain(sink.password_variable()).collect()
    }

    /// What the relay of a style finds in its environment.
    pub(crate) fn variables_of(&self, style: Style, sink: &SinkAddress) -> Vec<(String, String)> {
        if style.has_outbox() { self.variables(sink) } else { self.variables_between_stores() }
    }

    /// What a relay between stores finds in its environment.
    pub(crate) fn variables_between_stores(&self) -> Vec<(String, String)> {
        self.between_stores(["STACKMARK_BATCH", "STACKMARK_RELAY_CONNECTIONS"])
    }

    /// What a server over so many stores finds in its environment that has the relay between them within.
    pub(crate) fn variables_within(&self, subject: &Subject, stores: usize) -> Vec<(String, String)> {
        let is_within = subject.how.style.is_settled_over(stores) && !subject.has_relay(stores);
        if is_within { self.variables_between_stores() } else { Vec::new() }
    }

    /// How messages of a subject over so many stores are published and relayed, as the comparison key has it.
    pub fn described_for(&self, subject: &Subject, stores: usize) -> Vec<(String, String)> {
        let style = subject.how.style;
        let mut settings = match subject.publishes() {
            true => self.described(Some(style).filter(|style| style.has_outbox())),
            false => Vec::new(),
        };
        if style.is_settled_over(stores) {
            settings.extend(self.described_between_stores());
        }
        settings
    }

    /// Batch and connections of a relay between stores, under these names.
    fn between_stores(&self, [batch, connections]: [&str; 2]) -> Vec<(String, String)> {
        let batch_max = self.batch.unwrap_or(RELAY_BATCH).to_string();
        vec![(batch.to_owned(), batch_max), (connections.to_owned(), self.connections.to_string())]
    }

    /// Rejects what the relay of a subject over so many stores cannot do.
    ///
    /// # Errors
    /// What it is, and what would be right.
    pub fn check(&self, subject: &Subject, stores: usize) -> Result<()> {
        if !subject.how.style.is_settled_over(stores) {
            return Ok(());
        }
        let RelayOptions { batch, connections, .. } = *self;
        if let Some(batch) = batch.filter(|batch| *batch > RELAY_BATCH) {
            bail!(
                "--batch {batch} is more than the relay of {} takes at once\nhint: give 1 to {RELAY_BATCH}",
                subject.path
            );
        }
        let directions = stores * (stores - 1);
        if connections as usize > directions {
            bail!(
                "--relay-connections {connections} is more than there are directions between {stores} stores\nhint: give 1 to {directions}"
            );
        }
        if connections > 1 && subject.how.dialect == Dialect::Sqlite {
            bail!(
                "--relay-connections {connections} has no effect on {}: SQLite works in the thread that calls it, one call after the \
                 other\nhint: leave --relay-connections out",
                subject.path
            );
        }
        Ok(())
    }

    /// How a relay between stores works, as the comparison key has it.
    pub fn described_between_stores(&self) -> Vec<(String, String)> {
        self.between_stores(["relay batch", "relay connections"])
    }

    /// How messages are published, as the comparison key has it: by the relay of a style, or without one by whoever commits.
    pub fn described(&self, relayed: Option<Style>) -> Vec<(String, String)> {
        let mut settings = vec![("outbox sink", self.sink.to_string())];
        if let Some(style) = relayed {
            let polling = self.polling.unwrap_or(default_polling(style));
            let notified = if style == Style::OutboxNotify { ", and when notified" } else { "" };
            settings.push(("outbox polling", format!("{polling}{notified}")));
            settings.push(("outbox batch", self.batch.unwrap_or(relay::BATCH).to_string()));
        }
        if self.sink == SinkKind::Kafka {
            settings.push(("outbox partitions", self.partitions.to_string()));
            // What one look found is written at once.
            settings.push(("outbox linger", "0ms".to_owned()));
        }
        if self.consumer {
            settings.push(("outbox consumer", "SQLite inbox".to_owned()));
        }
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Optional values in the form in which they are typed.
mod typed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use std::fmt::Display;
    use std::str::FromStr;

    pub(super) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        into: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(T::to_string).serialize(into)
    }

    pub(super) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_written_down_and_read_again() {
        let polling = Some("500ms".parse().unwrap());
        let limits = Some("cpu=0.5".parse().unwrap());
        for relaying in [
            RelayOptions::default(),
            RelayOptions {
                limits,
                sink: SinkKind::Kafka,
                polling,
                batch: Some(7),
                connections: 2,
                partitions: 3,
                consumer: true,
            },
        ] {
            let text = serde_json::to_string(&relaying).unwrap();
            assert_eq!(serde_json::from_str::<RelayOptions>(&text).unwrap(), relaying, "{text}");
        }
    }

    #[test]
    fn sinks_are_read_as_they_are_written_and_others_are_refused() {
        let topic =
            |broker: &str| SinkAddress::Topic { broker: broker.parse().unwrap(), topic: "a.b-c_1".into() };
        let topics = [topic("127.0.0.1:9092"), topic("kafka://me@host:1")];
        for sink in
            [SinkAddress::Null, SinkAddress::File("/a b?c#d%e&f=g/c.jsonl".into())].into_iter().chain(topics)
        {
            assert_eq!(sink.written().parse(), Ok(sink));
        }
        for text in ["", "file", "file:", "nul", "kafka", "amqp://h:1/t"] {
            assert!(text.parse::<SinkAddress>().unwrap_err().contains("file:PATH"), "{text}");
        }
        for text in ["kafka://h:1", "kafka://h:1/", "kafka://h:1/a b", "kafka://h/t", "kafka:t"] {
            assert!(text.parse::<SinkAddress>().unwrap_err().contains("HOST:PORT"), "{text}");
        }
        // Taken as it is, so that the command line can refuse it without repeating it.
        let secret = "kafka://me:secret@h:1/t".parse::<SinkAddress>().unwrap();
        assert_eq!(secret.written(), "kafka://me@h:1/t");
        assert!(!format!("{secret:?}").contains("secret"), "{secret:?}");
        for (kind, name) in SinkKind::ALL {
            assert_eq!((kind.to_string().as_str(), name.parse()), (name, Ok(kind)));
        }
        assert!("topic".parse::<SinkKind>().unwrap_err().contains("`null`, `file`, `kafka`"));
    }
}
