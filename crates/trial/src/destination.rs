//! Where the messages of an outbox go in a trial or a drill, and whether what arrived is what was acknowledged and stored.

use anyhow::{Context, Result};
use deploy::{Deployment, RelayOptions, RunTopic, SinkAddress, SinkKind};
use result::{Check, LedgerCheck};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use targets::{Driven, Style};
use workload::messages::Violations;
use workload::{MessageCheck, message_checks};

/// The file of messages, in the folder of a trial.
pub(crate) const ANNOUNCED: &str = "announced.jsonl";

/// Where messages go.
#[derive(Debug, Default)]
pub enum Destination {
    #[default]
    Null,
    /// A file with a message a line.
    File(PathBuf),
    /// A topic of its own.
    Topic {
        topic: RunTopic,
        /// Where its messages are written if something is wrong with them.
        kept: PathBuf,
    },
}

/// What was found in a destination.
#[derive(Debug)]
pub struct Arrived {
    /// Messages, those that came again included.
    pub messages: u64,
    /// Those that came again.
    pub duplicates: u64,
    /// Against what was acknowledged and stored.
    pub checks: Vec<LedgerCheck>,
}

impl Arrived {
    /// Whether nothing is wrong.
    pub fn is_right(&self) -> bool {
        self.checks.iter().all(|check| check.check == Check::Passed)
    }
}

/// What is known of some runs, to be compared with their messages.
#[derive(Debug)]
pub struct Recorded<'a, W: Driven> {
    pub style: Style,
    /// Size of the loaded data.
    pub size: &'a W::Extent,
    pub runs: &'a [u64],
    /// What was stored before them.
    pub before: &'a W::Evidence,
    pub claims: &'a W::Claims,
    /// What is stored now.
    pub stored: &'a W::Evidence,
}

impl<W: Driven> Recorded<'_, W> {
    /// Collects their messages; `None` if they have none.
    pub(crate) fn announced(&self) -> Option<Box<dyn MessageCheck<W>>> {
        W::announced(self.style.name(), self.size, self.runs, self.before)
    }
}

impl Destination {
    /// Creates an empty one: a file, which is also where the messages of a topic are written if something is wrong with them; or a topic
    /// on the broker of a deployment.
    ///
    /// # Errors
    /// The file of an earlier one cannot be removed, or the topic cannot be created.
    pub fn create(options: &RelayOptions, deployment: &Deployment, file: &Path) -> Result<Destination> {
        // Writers run in other working directories.
        let file = std::path::absolute(file).context("the folder of the run has no name")?;
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("could not remove {}", file.display()));
            }
            _ => {}
        }
        Ok(match options.sink {
            SinkKind::Null => Destination::Null,
            SinkKind::File => Destination::File(file),
            SinkKind::Kafka => {
                let broker = deployment.broker()?.context("a broker was started for its topic")?;
                Destination::Topic { topic: RunTopic::create(broker, options.partitions)?, kept: file }
            }
        })
    }

    /// Its address, for whoever publishes.
    pub fn address(&self) -> SinkAddress {
        match self {
            Destination::Null => SinkAddress::Null,
            Destination::File(path) => SinkAddress::File(path.clone()),
            Destination::Topic { topic, .. } => {
                SinkAddress::Topic { broker: topic.broker().clone(), topic: topic.name().to_owned() }
            }
        }
    }

    /// Compares the messages of some runs with what was acknowledged and stored; nothing where messages are not stored, or the workload
    /// has none.
    pub fn audit<W: Driven>(&self, recorded: &Recorded<'_, W>) -> Result<Option<Arrived>> {
        let Some(mut announced) = recorded.announced() else { return Ok(None) };
        let (mut messages, mut placement) = (0, None);
        match self {
            Destination::Null => return Ok(None),
            Destination::File(path) => {
                let file = File::open(path).with_context(|| format!("could not read {}", path.display()))?;
                for line in BufReader::new(file).split(b'\n') {
                    messages += 1;
                    announced.take(&|| format!("line {messages} of the file"), &line?);
                }
            }
            Destination::Topic { topic, .. } => {
                let misplaced = placement.insert(Violations::default());
                topic.read(|stored| {
                    messages += 1;
                    let (partition, record) = (stored.partition, &stored.record);
                    let place = || format!("partition {partition}, offset {} of the topic", stored.offset);
                    if let Some((key, right)) =
                        announced.record_key(&record.value).map(|key| topic.place_of(key))
                        && (&record.key, partition) != (&key, right)
                    {
                        let [found, key] =
                            [&record.key, &key].map(|key| String::from_utf8_lossy(key).into_owned());
                        misplaced.note(|| {
                            format!("{}: key `{found}`, expected key `{key}` in partition {right}", place())
                        });
                    }
                    announced.take(&place, &record.value);
                    Ok(())
                })?;
            }
        }
        let duplicates = announced.duplicates();
        let mut checks = announced.checks(recorded.claims, recorded.stored);
        if let Some(misplaced) = placement {
            let passed = "Each message has the key, and is in the partition, that the contract names.";
            let finding = misplaced.finding("misplaced messages", "messages");
            checks.extend(message_checks(vec![finding], passed, true));
        }
        Ok(Some(Arrived { messages, duplicates, checks }))
    }

    /// Deletes a topic, and keeps messages in a file only where something is wrong with them.
    pub fn close(self, is_right: bool) -> Result<()> {
        match self {
            Destination::Null => Ok(()),
            Destination::File(path) if is_right => {
                fs::remove_file(&path).with_context(|| format!("could not remove {}", path.display()))
            }
            Destination::File(_) => Ok(()),
            Destination::Topic { topic, kept } => {
                let written = if is_right { Ok(()) } else { write(&topic, &kept) };
                topic.delete().and(written)
            }
        }
    }
}

/// Writes what a topic holds to a file, a message a line.
fn write(topic: &RunTopic, path: &Path) -> Result<()> {
    let failed = || format!("could not write {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(failed)?);
    topic.read(|stored| {
        file.write_all(&stored.record.value).with_context(failed)?;
        file.write_all(b"\n").with_context(failed)
    })?;
    file.flush().with_context(failed)
}
