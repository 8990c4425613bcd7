//! A consumer that reads what a trial publishes, in a process of its own.

use crate::{Interrupt, Manifest, Server, ServerOrder, ServerSettings, SinkAddress};
use anyhow::{Context, Result, bail};
use consumer::{Inbox, InboxError, Offsets, Source};
use measure::Monotonic;
use model::{Clock as _, Nanos};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;
use targets::wait_for;

/// How often the offsets in an inbox are read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A consumer with its inbox, which outlives the process.
#[derive(Debug)]
pub struct Consuming {
    source: Source,
    sink: SinkAddress,
    inbox: PathBuf,
    log: PathBuf,
    process: Option<Server>,
}

impl Consuming {
    /// Starts a consumer of a sink with an empty inbox in this file. `None` for a sink that does not store messages.
    ///
    /// # Errors
    /// An earlier inbox cannot be removed, or the process cannot be started.
    pub fn start(
        sink: &SinkAddress,
        inbox: &Path,
        log: PathBuf,
        interrupt: &Interrupt,
    ) -> Result<Option<Consuming>> {
        let Some(source) = sink.source() else { return Ok(None) };
        // The process has another working directory.
        let inbox = std::path::absolute(inbox).context("the inbox has no absolute path")?;
        remove(&inbox)?;
        let mut consuming = Consuming { source, sink: sink.clone(), inbox, log, process: None };
        consuming.restart(interrupt)?;
        Ok(Some(consuming))
    }

    /// Starts the process again; it reads on from the offsets in the inbox.
    pub fn restart(&mut self, interrupt: &Interrupt) -> Result<()> {
        static CONSUMER: LazyLock<Manifest> = LazyLock::new(Manifest::consumer);
        let inbox = self.inbox.to_str().context("the path of the run is not UTF-8")?.to_owned();
        let variables =
            [("STACKMARK_SOURCE".to_owned(), self.sink.written()), ("STACKMARK_INBOX".to_owned(), inbox)];
        let more: Vec<_> = variables.into_iter().chain(self.sink.password_variable()).collect();
        let order = ServerOrder { workload: "", how: "", databases: &[], more: &more };
        let settings = ServerSettings::of_one(None);
        // Dropping the earlier one removes an empty log.
        self.process = None;
        self.process = Some(Server::start(&CONSUMER, &order, &settings, &self.log, interrupt.flag())?);
        Ok(())
    }

    /// The process, unless it was stopped.
    pub fn process(&self) -> Option<&Server> {
        self.process.as_ref()
    }

    /// The process, to be killed or paused.
    pub fn process_mut(&mut self) -> Option<&mut Server> {
        self.process.as_mut()
    }

    /// What it reports about itself.
    pub fn about(&self) -> Result<String> {
        let process = self.process.as_ref().context("the consumer was stopped")?;
        process.about().with_context(|| format!("the consumer could not be asked{}", process.log_tail()))
    }

    /// What the offsets of its source count.
    pub const fn unit(&self) -> &'static str {
        match self.source {
            Source::File(_) => "bytes",
            Source::Topic { .. } => "messages",
        }
    }

    /// Waits until everything published so far has been read, at most this long, and until the user asks to stop. Returns how much was
    /// not read, see [`Consuming::unit`].
    ///
    /// # Errors
    /// The process has ended, or source or inbox cannot be read.
    pub fn catch_up(&mut self, max: Nanos, interrupt: &Interrupt) -> Result<i64> {
        let ends = wait_for(self.source.ends())?.map_err(anyhow::Error::msg)?;
        let clock = Monotonic::start();
        let inbox = self.inbox()?;
        loop {
            let left = unread(&ends, &inbox.offsets()?);
            if left == 0 || clock.now() >= max || interrupt.requested() {
                return Ok(left);
            }
            self.check()?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Fails if the process has ended.
    fn check(&mut self) -> Result<()> {
        if let Some(process) = &mut self.process
            && process.ended().is_some()
        {
            bail!("the consumer ended by itself{}", process.log_tail());
        }
        Ok(())
    }

    /// Its inbox, to be read.
    pub fn inbox(&self) -> Result<Inbox, InboxError> {
        Inbox::read_only(&self.inbox)
    }

    /// Ends the process.
    ///
    /// # Errors
    /// It had ended by itself, or does not end as it should.
    pub fn stop(&mut self) -> Result<()> {
        self.check()?;
        Ok(self.process.take().map_or(Ok(()), Server::stop)?)
    }

    /// Removes the inbox.
    pub fn remove(self) -> Result<()> {
        remove(&self.inbox)
    }
}

/// Removes a database with its journal.
fn remove(path: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error)
                    .with_context(|| format!("could not remove {}", Path::new(&name).display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// How much of a source, whose first offsets are 0, has not been read.
fn unread(ends: &Offsets, read: &Offsets) -> i64 {
    let left = |(partition, end): (&u32, &i64)| (end - read.get(partition).copied().unwrap_or(0)).max(0);
    ends.iter().map(left).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unread_is_counted_over_all_partitions() {
        let ends = Offsets::from([(0, 5), (1, 0), (2, 7)]);
        assert_eq!(unread(&ends, &Offsets::new()), 12);
        assert_eq!(unread(&ends, &Offsets::from([(0, 5), (2, 6)])), 1);
        assert_eq!(unread(&ends, &Offsets::from([(0, 6), (2, 7)])), 0, "more was published and read since");
    }
}
