//! What goes on around a load: signals between its threads, how work is shared out among them, and how far it is.

use crate::engine::{Canceller, Conn, cancel};
use crate::error::{Cause, CauseKind, Error};
use crate::{LoadPhase, LoadProgress};
use model::Nanos;
use model::rows::{Dataset, RowSink};
use sql::Catalogue;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What the threads of a load tell each other.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    stop: AtomicBool,
    /// Set when one of several threads has failed: the others need not go on.
    failed: AtomicBool,
    phase: AtomicU8,
    pub(crate) rows: AtomicU64,
}

impl Signals {
    pub(crate) fn enter(&self, phase: LoadPhase) {
        self.rows.store(0, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts rows, and says whether it is no use to go on.
    pub(crate) fn count(&self, rows: u64) -> Result<(), Cause> {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        match self.stopped() || self.failed.load(Ordering::Relaxed) {
            true => Err(Cause::cut_short()),
            false => Ok(()),
        }
    }
}

/// The threads of a load, and what ends their statements.
#[derive(Default)]
pub(crate) struct Crew {
    pub(crate) signals: Arc<Signals>,
    cancellers: Mutex<Vec<Canceller>>,
}

impl Crew {
    pub(crate) fn join(&self, canceller: Canceller) {
        self.cancellers.lock().expect("no holder panics").push(canceller);
    }

    /// Closes the connections that joined last: nothing of theirs is left to be ended.
    pub(crate) fn leave(&self, conns: Vec<Box<dyn Conn>>) {
        let mut cancellers = self.cancellers.lock().expect("no holder panics");
        let left = cancellers.len().saturating_sub(conns.len());
        cancellers.truncate(left);
    }

    /// Ends the load, and whatever an engine does for it.
    pub(crate) fn stop(&self) {
        self.signals.stop.store(true, Ordering::Relaxed);
        cancel(&self.cancellers.lock().expect("no holder panics"));
    }
}

/// Runs each of `jobs` on one of several connections, the first ones first. The first failure ends the others.
pub(crate) fn share_out<J: Sync, T: Send>(
    crew: &Crew,
    conns: &mut [Box<dyn Conn>],
    jobs: &[J],
    work: impl Fn(&mut dyn Conn, &J) -> Result<T, Cause> + Sync,
) -> Result<Vec<T>, Cause> {
    let next = AtomicUsize::new(0);
    let run = |conn: &mut Box<dyn Conn>| {
        let mut done = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            crew.signals.count(0)?;
            let result = work(conn.as_mut(), job);
            crew.signals.failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push(result?);
        }
        Ok(done)
    };
    let ended: Vec<Result<Vec<T>, Cause>> = std::thread::scope(|scope| {
        let threads: Vec<_> = conns.iter_mut().map(|conn| scope.spawn(|| run(conn))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a panic is passed on")).collect()
    });
    // What was merely cut short says less than what cut it short.
    let cut = |ended: &Result<_, Cause>| matches!(ended, Err(cause) if cause.kind == CauseKind::CutShort);
    let (cut, listed): (Vec<_>, Vec<_>) = ended.into_iter().partition(cut);
    let done: Vec<Vec<T>> = listed.into_iter().chain(cut).collect::<Result<_, _>>()?;
    Ok(done.into_iter().flatten().collect())
}

/// The table that a statement of a schema is about: the word behind `table` or `on`.
pub(crate) fn table_of(statement: &str) -> Option<&str> {
    let mut words = statement.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    words.by_ref().find(|word| word.eq_ignore_ascii_case("table") || word.eq_ignore_ascii_case("on"))?;
    words.next()
}

/// Ends a load whose watcher panics, at its next batch: no one else would, and the panic waits for the threads of the load.
pub(crate) struct Watching<'a>(pub(crate) &'a Signals);

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Another text of the schema is another database.
pub(crate) fn schema_print(schema: &Catalogue) -> u64 {
    let text: String = schema.iter().flat_map(|(name, text)| [name, "\n", text, "\n"]).collect();
    xxhash_rust::xxh3::xxh3_64(text.as_bytes())
}

/// Threads to use where `asked` were asked for: 0 stands for one a core.
pub(crate) fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        asked => asked,
    }
}

/// Counts the bytes of a row and stores nothing.
#[derive(Default)]
struct Scale {
    bytes: u64,
    rows: u64,
}

impl RowSink for Scale {
    fn int(&mut self, value: i64) {
        // A record stores a whole number in as few bytes as it needs, and a byte for its type.
        self.bytes += 2 + u64::from((u64::BITS - value.unsigned_abs().leading_zeros()) / 8);
    }
    fn text(&mut self, value: &str) {
        self.bytes += 1 + value.len() as u64;
    }
    fn null(&mut self) {
        self.bytes += 1;
    }
    fn end(&mut self) {
        // Rowid, record header and cell pointer.
        self.bytes += 8;
        self.rows += 1;
    }
}

/// What is known of a table's rows beforehand.
pub(crate) struct Expected {
    pub(crate) rows: f64,
    pub(crate) bytes_a_row: f64,
}

impl Expected {
    /// The bytes that the table is expected to have, and what each row costs besides its values.
    pub(crate) fn weight(&self) -> f64 {
        self.rows * (self.bytes_a_row + 40.0)
    }
}

/// Numbers of the tables, the largest first: as they are stored and read back.
pub(crate) fn largest_first(expected: &[Expected]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..expected.len()).collect();
    order.sort_by(|a, b| expected[*b].weight().total_cmp(&expected[*a].weight()));
    order
}

/// What to expect of each table, from its first chunk.
pub(crate) fn expect(dataset: &dyn Dataset) -> Vec<Expected> {
    let tables = dataset.tables().iter().enumerate();
    tables
        .map(|(number, table)| {
            let mut scale = Scale::default();
            dataset.fill(number, 0, &mut scale);
            Expected { rows: table.rows as f64, bytes_a_row: scale.bytes as f64 / scale.rows.max(1) as f64 }
        })
        .collect()
}

/// Refuses what does not fit into a folder: `overhead` is how many bytes on disk a byte of the rows takes.
///
/// # Errors
/// [`Error::NoRoom`], estimated from the first rows of each table.
pub fn ensure_room(dataset: &dyn Dataset, place: &str, folder: &Path, overhead: f64) -> Result<(), Error> {
    let bytes: f64 = expect(dataset).iter().map(|table| table.rows * table.bytes_a_row).sum();
    let needed = (bytes * overhead) as u64 + (1 << 20);
    // A file system that does not say is found out by writing.
    let Ok(about) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    match free < needed {
        true => Err(Error::NoRoom { place: place.to_owned(), needed, free }),
        false => Ok(()),
    }
}

/// How far a load is. `shares` are those of the phases in its time, in the order of [`LoadPhase::ALL`].
pub(crate) fn progress(
    signals: &Signals,
    expected: &[Expected],
    shares: &[f64; 4],
    elapsed: Nanos,
) -> LoadProgress {
    let phase = usize::from(signals.phase.load(Ordering::Relaxed));
    let rows_all = expected.iter().map(|table| table.rows).sum::<f64>();
    let rows_done = (signals.rows.load(Ordering::Relaxed) as f64).min(rows_all);
    let before: f64 = shares[..phase].iter().sum();
    let share = (before + shares[phase] * work_done(expected, rows_done)).min(1.0);
    let seconds_left = (share > 0.01).then(|| elapsed.as_secs_f64() * (1.0 - share) / share);
    let (rows_done, rows_all) = (rows_done as u64, rows_all as u64);
    LoadProgress { phase: LoadPhase::ALL[phase], rows_done, rows_all, share, seconds_left }
}

/// The part of the work that the first `rows` rows are, 0 to 1: large tables come first, and rows of wide ones take longer.
fn work_done(expected: &[Expected], rows: f64) -> f64 {
    // A row costs as much as its own width and about eighty bytes more.
    let cost = |table: &Expected| 80.0 + table.bytes_a_row;
    let (mut left, mut done, mut all) = (rows, 0.0, 0.0);
    for table in largest_first(expected).into_iter().map(|number| &expected[number]) {
        let rows = left.min(table.rows);
        left -= rows;
        done += rows * cost(table);
        all += table.rows * cost(table);
    }
    if all > 0.0 { done / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn a_server_that_does_not_answer_is_waited_for_once_by_all_cancellers() {
        let crew = Crew::default();
        let met = Arc::new(Barrier::new(3));
        for _ in 0..3 {
            let met = Arc::clone(&met);
            // One after another would never meet.
            crew.join(Box::new(move || {
                met.wait();
            }));
        }
        crew.stop();
        assert!(crew.signals.stopped());
    }

    #[test]
    fn the_first_rows_are_those_of_the_largest_table() {
        // A row costs 100 in the one and 400 in the other.
        let narrow = Expected { rows: 10.0, bytes_a_row: 20.0 };
        let wide = Expected { rows: 10.0, bytes_a_row: 320.0 };
        let expected = [narrow, wide];
        assert!((work_done(&expected, 10.0) - 0.8).abs() < 1e-9);
        assert!((work_done(&expected, 20.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_statement_says_which_table_it_is_about() {
        assert_eq!(table_of("alter table stock add constraint x primary key (a)"), Some("stock"));
        assert_eq!(table_of("create index n on customer(c_w_id)"), Some("customer"));
        assert_eq!(table_of("create function f()"), None);
    }
}
