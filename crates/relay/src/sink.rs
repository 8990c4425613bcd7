//! Where messages go.

use broker::{Address, Broker, BrokerError, Partition, Record};
use futures_util::future::try_join_all;
use model::Nanos;
use std::fs::File;
use std::future::{Future, ready};
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::pin::Pin;

/// What is to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Messages of one key stay in their order.
    pub key: u64,
    /// What it says, as JSON on one line.
    pub payload: Vec<u8>,
    /// When it was written into an outbox, in microseconds since 1970 by the clock of this machine; nothing of one that was in none.
    pub created_us: Option<i64>,
}

/// A batch that is being published: ends when all of it has been acknowledged, or says what failed.
pub type Publishing<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Where messages go.
pub trait Sink: Send {
    /// Publishes messages in their order. Of a batch that fails some may have been published.
    fn publish<'a>(&'a mut self, messages: &'a [Message]) -> Publishing<'a>;

    /// Reads the payloads of all messages that it stores, those of one key in their order. A sink that stores none reads none.
    /// Fails if it cannot be read, or with what `each` fails with.
    fn read<'a>(&'a mut self, _each: &'a mut Each<'a>) -> Publishing<'a> {
        Box::pin(ready(Ok(())))
    }
}

/// Takes the payload of a message.
pub type Each<'a> = dyn FnMut(&[u8]) -> Result<(), String> + Send + 'a;

/// Takes everything and keeps nothing.
#[derive(Debug, Default)]
pub struct Null;

impl Sink for Null {
    fn publish<'a>(&'a mut self, _: &'a [Message]) -> Publishing<'a> {
        Box::pin(ready(Ok(())))
    }
}

/// A topic of a broker: messages of one key go to one partition, and a batch to all partitions at the same time.
#[derive(Debug)]
pub struct Topic {
    address: Address,
    topic: String,
    /// Its partitions, and the broker for its connections, once something was published and until that fails.
    open: Option<(Broker, Vec<Partition>)>,
}

/// Bytes of messages from which on a write is divided: brokers take a MiB at once unless they are told otherwise.
const WRITE_MAX: usize = 512 << 10;

impl Topic {
    /// A topic that no one has looked for yet.
    pub fn of(address: Address, topic: &str) -> Topic {
        Topic { address, topic: topic.to_owned(), open: None }
    }

    /// Looks whether it is there.
    ///
    /// # Errors
    /// The broker cannot be used, or has no such topic.
    pub async fn is_there(&self) -> Result<(), BrokerError> {
        Broker::connect(&self.address).await?.partitions_of(&self.topic).await.map(drop)
    }

    async fn open(&self) -> Result<(Broker, Vec<Partition>), BrokerError> {
        let broker = Broker::connect(&self.address).await?;
        let mut partitions = Vec::new();
        for number in 0..broker.partitions_of(&self.topic).await? {
            partitions.push(broker.partition(&self.topic, number).await?);
        }
        Ok((broker, partitions))
    }

    async fn write(&mut self, messages: &[Message]) -> Result<(), BrokerError> {
        if self.open.is_none() {
            self.open = Some(self.open().await?);
        }
        let partitions = self.open.as_ref().map_or(&[][..], |(_, partitions)| partitions);
        let count = partitions.len() as u64;
        let of = |number: usize| messages.iter().filter(move |message| message.key % count == number as u64);
        let writes = partitions.iter().enumerate().map(|(number, partition)| write_to(partition, of(number)));
        try_join_all(writes).await.map(drop)
    }

    async fn publish_all(&mut self, messages: &[Message]) -> Result<(), String> {
        let written = self.write(messages).await;
        // Its connections may be gone, and are made again.
        written.map_err(|error| {
            self.open = None;
            error.to_string()
        })
    }
}

/// Writes messages to a partition, one request after the other.
async fn write_to(
    partition: &Partition,
    messages: impl Iterator<Item = &Message>,
) -> Result<(), BrokerError> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    for message in messages {
        if bytes > WRITE_MAX {
            partition.write(std::mem::take(&mut records)).await?;
            bytes = 0;
        }
        bytes += message.payload.len();
        let created = message.created_us.map(|micros| Nanos(micros.max(0).unsigned_abs() * 1_000));
        let (key, value) = (message.key.to_string().into_bytes(), message.payload.clone());
        records.push(Record { key, value, created });
    }
    if records.is_empty() { Ok(()) } else { partition.write(records).await }
}

impl Sink for Topic {
    fn publish<'a>(&'a mut self, messages: &'a [Message]) -> Publishing<'a> {
        Box::pin(self.publish_all(messages))
    }

    fn read<'a>(&'a mut self, each: &'a mut Each<'a>) -> Publishing<'a> {
        Box::pin(async {
            let broker = Broker::connect(&self.address).await.map_err(|error| error.to_string())?;
            let mut taken = Ok(());
            let read = broker.read::<BrokerError>(&self.topic, |stored| {
                if taken.is_ok() {
                    let place = || format!("partition {}, offset {}", stored.partition, stored.offset);
                    taken = each(&stored.record.value).map_err(|why| format!("{}: {why}", place()));
                }
                Ok(())
            });
            read.await.map_err(|error| error.to_string())?;
            taken
        })
    }
}

/// A file, one message a line; each batch is flushed to the disk.
#[derive(Debug)]
pub struct Lines(BufWriter<File>);

impl Lines {
    /// Appends to a file, which is made if it is not there.
    pub fn append_to(path: &Path) -> std::io::Result<Lines> {
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        // A relay that was killed may have left a part of a line, which no one acknowledged.
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64)?;
        }
        Ok(Lines(BufWriter::new(file)))
    }

    fn write(&mut self, messages: &[Message]) -> std::io::Result<()> {
        for message in messages {
            self.0.write_all(&message.payload)?;
            self.0.write_all(b"\n")?;
        }
        self.0.flush()?;
        self.0.get_ref().sync_data()
    }

    fn read_all(&self, each: &mut Each<'_>) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("could not read messages from the file: {error}");
        // Appends go to the end wherever the file is read.
        let mut file = self.0.get_ref().try_clone().map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        for (at, line) in BufReader::new(file).split(b'\n').enumerate() {
            each(&line.map_err(failed)?).map_err(|why| format!("line {}: {why}", at + 1))?;
        }
        Ok(())
    }
}

impl Sink for Lines {
    fn publish<'a>(&'a mut self, messages: &'a [Message]) -> Publishing<'a> {
        Box::pin(ready(
            self.write(messages).map_err(|error| format!("could not write messages to the file: {error}")),
        ))
    }

    fn read<'a>(&'a mut self, each: &'a mut Each<'a>) -> Publishing<'a> {
        Box::pin(ready(self.read_all(each)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_not_a_part_of_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("messages.jsonl");
        let message = |payload: &str| Message { key: 1, payload: payload.into(), created_us: None };
        Lines::append_to(&path).unwrap().write(&[message("{1}"), message("{2}")]).unwrap();
        std::fs::write(&path, "{1}\n{2}\n{3").unwrap();
        Lines::append_to(&path).unwrap().write(&[message("{3}")]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{1}\n{2}\n{3}\n");
    }

    #[test]
    fn a_file_is_read_from_its_start_and_appended_to_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut lines = Lines::append_to(&folder.path().join("messages.jsonl")).unwrap();
        let message = |payload: &str| Message { key: 1, payload: payload.into(), created_us: None };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = |lines: &mut Lines| {
            let mut all = Vec::new();
            let mut each = |payload: &[u8]| {
                all.push(String::from_utf8(payload.to_vec()).unwrap());
                if payload == b"wrong" { Err("not a message".to_owned()) } else { Ok(()) }
            };
            let ended = runtime.block_on(lines.read(&mut each));
            (all, ended)
        };
        assert_eq!(read(&mut lines), (vec![], Ok(())));
        lines.write(&[message("1")]).unwrap();
        assert_eq!(read(&mut lines), (vec!["1".into()], Ok(())));
        lines.write(&[message("wrong"), message("3")]).unwrap();
        let wrong = Err("line 2: not a message".to_owned());
        assert_eq!(read(&mut lines), (vec!["1".into(), "wrong".into()], wrong));
    }
}
