//! Kafka, as far as Stackmark uses it: topics are created and deleted, records are written with the acknowledgement of all replicas, one
//! request at a time for each partition, and topics are read as streams.
//!
//! It knows nothing of what is in a record. Brokers speak without encryption here, and know clients by SASL PLAIN or not at all.

mod address;

use measure::Monotonic;
use model::{Clock as _, Nanos};
use rskafka::BackoffConfig;
use rskafka::chrono::DateTime;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

pub use address::{Address, AddressError};

/// How long a request may take before the broker counts as unavailable.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Bytes that are read at once from a partition.
const READ_MAX: i32 = 4 << 20;
/// Header of a record: microseconds since 1970 at which its content was created, in decimal digits.
pub const CREATED_HEADER: &str = "created_us";
/// Partitions of a topic that can be asked for.
pub const PARTITIONS_MAX: u32 = 1_000;

/// Why a broker could not be used.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// Nothing answers there, or not in time.
    #[error("{place} is unavailable: {why}")]
    Unavailable {
        place: String,
        /// The client's message.
        why: String,
    },
    /// What answers is not a broker.
    #[error(
        "{place} is not a Kafka broker, or its listener uses TLS: {why}\nhint: give the address of a Kafka broker's listener without TLS"
    )]
    Foreign {
        place: String,
        /// The client's message.
        why: String,
    },
    /// A broker answers, and has no version of a request in common with the client.
    #[error(
        "{place} is a Kafka broker of an unsupported version: {why}\nhint: Stackmark is tested with Kafka 4; `stackmark rig up kafka` starts one"
    )]
    OtherVersion {
        place: String,
        /// The client's message.
        why: String,
    },
    /// It does not let us in.
    #[error(
        "{place} refuses this user: {why}\nhint: give the user as kafka://USER@HOST:PORT, and its password in STACKMARK_BROKER_PASSWORD"
    )]
    Refused { place: String, why: String },
    /// It did not do what it was asked for.
    #[error("{place}: {what}: {why}")]
    Failed {
        place: String,
        /// What was asked for.
        what: String,
        why: String,
    },
}

/// A broker that has answered.
#[derive(Debug)]
pub struct Broker {
    client: Client,
    place: String,
}

/// A record of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What decides its partition; records of one key are in order.
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// When its content was created, since 1970, to the microsecond: the header [`CREATED_HEADER`]. It is not the timestamp of the
    /// record, from which the retention of a topic counts: a record that is written late is kept as long as any other.
    pub created: Option<Nanos>,
}

/// A record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub partition: u32,
    pub offset: i64,
    /// Its timestamp, since 1970, to the millisecond.
    pub written: Option<Nanos>,
    pub record: Record,
}

impl Broker {
    /// Connects to a broker, which is asked for its topics.
    ///
    /// # Errors
    /// Nothing answers, what answers is not a broker, or it does not let us in.
    pub async fn connect(address: &Address) -> Result<Broker, BrokerError> {
        let place = address.place();
        // The client tries again by itself for as long; what is unavailable for longer is for the caller to decide.
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(20),
            max_backoff: Duration::from_millis(200),
            base: 2.0,
            deadline: Some(Duration::from_secs(1)),
        };
        let builder = ClientBuilder::new(vec![place.clone()]).client_id("stackmark").backoff_config(backoff);
        let builder = match (&address.user, &address.password) {
            (Some(user), password) => {
                let password = password.as_ref().map_or("", sql::Secret::reveal).to_owned();
                builder.sasl_config(SaslConfig::Plain(Credentials::new(user.clone(), password)))
            }
            (None, _) => builder,
        };
        let client =
            within(&place, "connecting", builder.build()).await.map_err(|error| because(error, &place))?;
        Ok(Broker { client, place })
    }

    /// Creates a topic with one replica, and waits until all of its partitions can be used; one that is there already is an error.
    pub async fn create_topic(&self, topic: &str, partitions: u32) -> Result<(), BrokerError> {
        let controller =
            self.client.controller_client().map_err(|error| self.failed("finding its controller", &error))?;
        let count = i32::try_from(partitions).unwrap_or(i32::MAX);
        let creating = controller.create_topic(topic, count, 1, ANSWER_MAX.as_millis() as i32);
        within(&self.place, &format!("creating topic {topic}"), creating).await?;
        for number in 0..partitions {
            let clock = Monotonic::start();
            // A broker creates them one after the other.
            while let Err(error) = async { self.partition(topic, number).await?.bounds().await }.await {
                if clock.now() >= Nanos::from(ANSWER_MAX) {
                    return Err(error);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// Deletes a topic with everything in it; one that is not there is no error.
    pub async fn delete_topic(&self, topic: &str) -> Result<(), BrokerError> {
        let controller =
            self.client.controller_client().map_err(|error| self.failed("finding its controller", &error))?;
        let deleting = async {
            match controller.delete_topic(topic, ANSWER_MAX.as_millis() as i32).await {
                Err(Error::ServerError {
                    protocol_error: ProtocolError::UnknownTopicOrPartition, ..
                }) => Ok(()),
                answer => answer,
            }
        };
        within(&self.place, &format!("deleting topic {topic}"), deleting).await
    }

    /// Its topics, with the number of their partitions.
    pub async fn topics(&self) -> Result<BTreeMap<String, u32>, BrokerError> {
        let topics = within(&self.place, "listing topics", self.client.list_topics()).await?;
        Ok(topics.into_iter().map(|topic| (topic.name, topic.partitions.len() as u32)).collect())
    }

    /// How many partitions a topic has.
    ///
    /// # Errors
    /// The broker is unavailable, or has no such topic.
    pub async fn partitions_of(&self, topic: &str) -> Result<u32, BrokerError> {
        let topics = self.topics().await?;
        topics.get(topic).copied().ok_or_else(|| BrokerError::Failed {
            place: self.place.clone(),
            what: format!("finding the topic {topic}"),
            why: "there is no such topic".into(),
        })
    }

    /// What writes to, and reads from, a partition of a topic.
    ///
    /// # Errors
    /// The broker is unavailable, or there is no such partition.
    pub async fn partition(&self, topic: &str, partition: u32) -> Result<Partition, BrokerError> {
        let number = i32::try_from(partition).unwrap_or(i32::MAX);
        let what = format!("finding partition {partition} of {topic}");
        // A topic that was just made may not be known to the broker yet.
        let client = self.client.partition_client(topic, number, UnknownTopicHandling::Retry);
        let client = within(&self.place, &what, client).await?;
        Ok(Partition { client, number: partition, place: self.place.clone() })
    }

    /// Reads everything that a topic holds now, one partition after the other and each in its order.
    ///
    /// # Errors
    /// The broker is unavailable, the topic is not there, or `each` fails.
    pub async fn read<E: From<BrokerError>>(
        &self,
        topic: &str,
        mut each: impl FnMut(Stored) -> Result<(), E>,
    ) -> Result<(), E> {
        for number in 0..self.partitions_of(topic).await? {
            let partition = self.partition(topic, number).await?;
            let (mut next, end) = partition.bounds().await?;
            while next < end {
                let batch = partition.read(next, ANSWER_MAX / 2).await?;
                let Some(last) = batch.last() else {
                    let (place, what) = (self.place.clone(), partition.what("reading"));
                    let why = format!("there is nothing at offset {next}, and the last one is {}", end - 1);
                    return Err(BrokerError::Failed { place, what, why }.into());
                };
                next = last.offset + 1;
                batch.into_iter().try_for_each(&mut each)?;
            }
        }
        Ok(())
    }

    fn failed(&self, what: &str, error: &Error) -> BrokerError {
        BrokerError::Failed { place: self.place.clone(), what: what.into(), why: error.to_string() }
    }
}

/// A partition of a topic.
#[derive(Debug)]
pub struct Partition {
    client: PartitionClient,
    number: u32,
    place: String,
}

impl Partition {
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Writes records in their order, and returns when all replicas have them. Where the answer got lost they are written again, so
    /// that they may be there twice.
    ///
    /// # Errors
    /// The broker is unavailable, or refuses; the records may be there, or not, or some of them.
    pub async fn write(&self, records: Vec<Record>) -> Result<(), BrokerError> {
        let now = DateTime::from_timestamp_nanos(measure::unix_nanoseconds() as i64);
        let record = |Record { key, value, created }: Record| rskafka::record::Record {
            key: Some(key),
            value: Some(value),
            headers: created
                .map(|at| (CREATED_HEADER.to_owned(), (at.0 / 1_000).to_string().into_bytes()))
                .into_iter()
                .collect(),
            timestamp: now,
        };
        let records = records.into_iter().map(record).collect();
        let writing = self.client.produce(records, Compression::NoCompression);
        within(&self.place, &self.what("writing to"), writing).await.map(drop)
    }

    /// The first place and the one behind the last.
    pub async fn bounds(&self) -> Result<(i64, i64), BrokerError> {
        let what = self.what("reading the offsets of");
        let at = |at| within(&self.place, &what, self.client.get_offset(at));
        Ok((at(OffsetAt::Earliest).await?, at(OffsetAt::Latest).await?))
    }

    /// Some of the records from a place on, after `wait` at the latest; none where there are none.
    ///
    /// # Errors
    /// The broker is unavailable, or the place is outside of what it holds.
    pub async fn read(&self, from: i64, wait: Duration) -> Result<Vec<Stored>, BrokerError> {
        let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
        let reading = self.client.fetch_records(from, 1..READ_MAX, wait);
        let (records, _) = within(&self.place, &self.what("reading"), reading).await?;
        let stored = |read: rskafka::record::RecordAndOffset| Stored {
            partition: self.number,
            offset: read.offset,
            written: read.record.timestamp.timestamp_nanos_opt().and_then(|at| at.try_into().ok()).map(Nanos),
            record: Record {
                created: created(&read.record.headers),
                key: read.record.key.unwrap_or_default(),
                value: read.record.value.unwrap_or_default(),
            },
        };
        // A batch may begin before the place that was asked for.
        Ok(records.into_iter().map(stored).filter(|stored| stored.offset >= from).collect())
    }

    fn what(&self, doing: &str) -> String {
        format!("{doing} partition {} of {}", self.number, self.client.topic())
    }
}

/// See [`Record::created`].
fn created(headers: &BTreeMap<String, Vec<u8>>) -> Option<Nanos> {
    let digits = std::str::from_utf8(headers.get(CREATED_HEADER)?).ok()?;
    digits.parse::<u64>().ok()?.checked_mul(1_000).map(Nanos)
}

/// A request that may take [`ANSWER_MAX`].
async fn within<T>(
    place: &str,
    what: &str,
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, BrokerError> {
    let place = place.to_owned();
    match tokio::time::timeout(ANSWER_MAX, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Error::Connection(error))) => Err(BrokerError::Unavailable { place, why: error.to_string() }),
        Ok(Err(error @ Error::RetryFailed(_))) => {
            Err(BrokerError::Unavailable { place, why: error.to_string() })
        }
        Ok(Err(error)) => Err(BrokerError::Failed { place, what: what.into(), why: error.to_string() }),
        Err(_) => {
            Err(BrokerError::Unavailable { place, why: format!("{what} timed out after {ANSWER_MAX:?}") })
        }
    }
}

/// What the error of a first connection means: the client has words for it, and no types.
fn because(error: BrokerError, place: &str) -> BrokerError {
    let BrokerError::Unavailable { why, .. } = &error else { return error };
    let place = place.to_owned();
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["matching version"]) {
        return BrokerError::OtherVersion { place, why: why.clone() };
    }
    if says(&["Sasl", "SaslAuthenticationFailed", "authentication"]) {
        return BrokerError::Refused { place, why: why.clone() };
    }
    if says(&["sync versions", "Invalid", "invalid"]) {
        return BrokerError::Foreign { place, why: why.clone() };
    }
    error
}
