//! Where a consumer reads messages from.

use crate::Offsets;
use broker::{Address, Broker, BrokerError, Partition, Stored};
use model::Nanos;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

/// How long a broker may delay the response to a fetch from a partition without new messages.
const FETCH_WAIT_MAX: Duration = Duration::from_millis(500);
/// Connections to a broker, which handles the requests of a connection one after the other.
const READERS_MAX: usize = 16;
/// The same delay for a reader of several partitions.
const FETCH_WAIT_OF_SEVERAL: Duration = Duration::from_millis(2);
/// Poll interval of a file.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Bytes that are read at once from a file.
const READ_MAX: usize = 1 << 20;

/// Where messages are published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file with one message per line. It may be created later.
    File(PathBuf),
    /// A topic of a broker.
    Topic {
        broker: Address,
        /// The name of the topic, which must exist.
        topic: String,
    },
}

/// A message as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// When it was created, since 1970: see [`broker::Record::created`], or else when its record was written. Unknown for messages in a
    /// file.
    pub created: Option<Nanos>,
    pub payload: Vec<u8>,
}

/// Consecutive messages of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The partition; 0 of a file.
    pub partition: u32,
    /// The offset of the next message, see [`Offsets`].
    pub next: i64,
    /// The messages, in order.
    pub messages: Vec<Received>,
}

type Batches = Sender<Result<Incoming, String>>;

impl Source {
    /// The offsets at which its messages end now.
    pub async fn ends(&self) -> Result<Offsets, String> {
        match self {
            Source::File(path) => match path.metadata() {
                Ok(found) => Ok(Offsets::from([(0, found.len().cast_signed())])),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Offsets::new()),
                Err(error) => Err(unreadable(path, &error)),
            },
            Source::Topic { broker, topic } => ends(broker, topic).await.map_err(|error| error.to_string()),
        }
    }

    /// Starts tasks that read on from these offsets; from the first message that a partition still has if it is not among them. A task
    /// that fails sends its error and ends.
    pub(crate) async fn follow(
        &self,
        offsets: &Offsets,
        ahead: usize,
    ) -> Result<(Receiver<Result<Incoming, String>>, JoinSet<()>), String> {
        let (batches, incoming) = mpsc::channel(ahead);
        let mut readers = JoinSet::new();
        match self {
            Source::File(path) => {
                let (path, from) = (path.clone(), offsets.get(&0).copied().unwrap_or(0));
                readers.spawn(async move { follow_file(&path, from, &batches).await });
            }
            Source::Topic { broker, topic } => {
                let connecting = async { Broker::connect(broker).await?.partitions_of(topic).await };
                let count = connecting.await.map_err(|error| error.to_string())?;
                let from = |partition| (partition, offsets.get(&partition).copied());
                let each: Vec<(u32, Option<i64>)> = (0..count).map(from).collect();
                for some in each.chunks(each.len().div_ceil(READERS_MAX).max(1)) {
                    let (broker, topic) = (broker.clone(), topic.clone());
                    let (some, batches) = (some.to_vec(), batches.clone());
                    readers.spawn(async move {
                        if let Err(error) = follow_partitions(&broker, &topic, some, &batches).await {
                            // It fails if the consumer has stopped reading.
                            let _ = batches.send(Err(error.to_string())).await;
                        }
                    });
                }
            }
        }
        Ok((incoming, readers))
    }
}

async fn ends(broker: &Address, topic: &str) -> Result<Offsets, BrokerError> {
    let broker = Broker::connect(broker).await?;
    let mut ends = Offsets::new();
    for number in 0..broker.partitions_of(topic).await? {
        ends.insert(number, broker.partition(topic, number).await?.bounds().await?.1);
    }
    Ok(ends)
}

/// Reads partitions over a connection of its own, see [`READERS_MAX`].
async fn follow_partitions(
    address: &Address,
    topic: &str,
    offsets: Vec<(u32, Option<i64>)>,
    batches: &Batches,
) -> Result<(), BrokerError> {
    let broker = Broker::connect(address).await?;
    let mut partitions: Vec<(Partition, i64)> = Vec::new();
    for (number, from) in offsets {
        let partition = broker.partition(topic, number).await?;
        let from = match from {
            Some(from) => from,
            None => partition.bounds().await?.0,
        };
        partitions.push((partition, from));
    }
    let wait = if partitions.len() == 1 { FETCH_WAIT_MAX } else { FETCH_WAIT_OF_SEVERAL };
    loop {
        for (partition, from) in &mut partitions {
            let waited = tokio::time::sleep(wait);
            let read = partition.read(*from, wait).await?;
            let Some(last) = read.last() else {
                // A broker may respond at once, for example to a fetch of records that only it needs.
                waited.await;
                continue;
            };
            let next = last.offset + 1;
            *from = next;
            let received = |Stored { record, written, .. }| Received {
                created: record.created.or(written),
                payload: record.value,
            };
            let messages = read.into_iter().map(received).collect();
            let partition = partition.number();
            if batches.send(Ok(Incoming { partition, next, messages })).await.is_err() {
                return Ok(());
            }
        }
    }
}

async fn follow_file(path: &Path, mut from: i64, batches: &Batches) {
    let mut file = None;
    loop {
        match lines_after(path, &mut file, &mut from) {
            Ok(messages) if messages.is_empty() => tokio::time::sleep(POLL_INTERVAL).await,
            Ok(messages) => {
                if batches.send(Ok(Incoming { partition: 0, next: from, messages })).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                // It fails if the consumer has stopped reading.
                let _ = batches.send(Err(unreadable(path, &error))).await;
                return;
            }
        }
    }
}

/// Whole lines from a byte offset on, which advances past them. A line without its end is left for the next poll.
fn lines_after(path: &Path, open: &mut Option<File>, from: &mut i64) -> io::Result<Vec<Received>> {
    let file = match open {
        Some(file) => file,
        None => match File::open(path) {
            Ok(file) => open.insert(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        },
    };
    file.seek(SeekFrom::Start(from.unsigned_abs()))?;
    let mut text = Vec::new();
    let mut most = READ_MAX;
    // A line may be longer than what is read at once.
    let end = loop {
        let read = file.take((most - text.len()) as u64).read_to_end(&mut text)?;
        match text.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => break end,
            None if read == 0 => return Ok(Vec::new()),
            None => most = text.len() + READ_MAX,
        }
    };
    *from += end.cast_signed() as i64 + 1;
    let lines = text[..end].split(|byte| *byte == b'\n');
    Ok(lines.map(|line| Received { created: None, payload: line.to_vec() }).collect())
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_file_is_read_line_by_line_as_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("messages.jsonl");
        let (mut open, mut from) = (None, 0);
        let mut poll = |from: &mut i64| {
            let read = lines_after(&path, &mut open, from).unwrap();
            read.into_iter().map(|one| String::from_utf8(one.payload).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(poll(&mut from), [""; 0], "the file does not exist yet");
        let mut file = File::options().append(true).create(true).open(&path).unwrap();
        file.write_all(b"{1}\n{2}\n{3").unwrap();
        assert_eq!((poll(&mut from), from), (vec!["{1}".into(), "{2}".into()], 8));
        assert_eq!(poll(&mut from), [""; 0], "the end of the third line is not written yet");
        let long = "x".repeat(3 * READ_MAX);
        file.write_all(format!("}}\n{long}\n").as_bytes()).unwrap();
        assert_eq!(poll(&mut from), ["{3}".to_owned()]);
        assert_eq!(poll(&mut from), [long]);
        assert_eq!(from, path.metadata().unwrap().len() as i64);
    }
}
