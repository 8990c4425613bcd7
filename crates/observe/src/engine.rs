//! What an engine reports: asked on a thread of its own, so that an engine that does not answer leaves gaps in
//! the time lines and nothing else.

use crate::engine_digest;
use model::{Clock, Nanos};
use result::{Engine, GaugeKind};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Between two looks at the sessions.
const LOOK_EVERY: Nanos = Nanos::from_millis(100);
/// Looks between two readings of the gauges.
const LOOKS_A_READING: u32 = 10;
/// Readings kept. When they are full two become one, and a long trial gets coarser instead of bigger.
const READINGS_MAX: usize = 1_200;
/// Gauges and states kept apart; an engine that tells of more is cut short.
const NAMES_MAX: usize = 64;
/// States beyond the ones kept apart.
const OTHER: &str = "other";
/// An engine that has not answered for so long after the end is not waited for.
const LAST_ANSWER_MAX: Duration = Duration::from_secs(2);

/// Asks an engine about itself. It may be slow, and it may fail: the engine may be away, and come back.
///
/// Every method should give up after about a second; one that hangs costs the rest of the time lines, and nothing else.
pub trait EngineProbe: Send {
    /// The engine's counters and levels now; asked once a second. `None` when it did not answer.
    fn gauges(&mut self) -> Option<Vec<Gauge>>;

    /// What the sessions of the trial do now, waiting for the client not among it; asked ten times a second. `None` when
    /// it did not answer, or cannot know.
    fn states(&mut self) -> Option<Vec<SessionState>>;

    /// The statements that took the most time since the engine counts, at most a few dozen; asked when the window opens
    /// and when it closes. Empty when it does not count.
    fn statements(&mut self) -> Vec<StatementCount>;

    /// Who else has run statements in the database within the last second, each once; asked once a second. `None` when it did not
    /// answer, or cannot know.
    fn others(&mut self) -> Option<Vec<String>> {
        None
    }

    /// Where its server is, for which some of the gauges stand; `None` where no gauge does.
    fn server(&self) -> Option<String> {
        None
    }
}

/// One of the engine's own figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauge {
    /// Its name: `wal written`.
    pub name: Cow<'static, str>,
    /// What it belongs to: `wal`, `locks`, `buffers`.
    pub group: Cow<'static, str>,
    /// The unit of what is counted: `bytes`, `syncs`.
    pub unit: Cow<'static, str>,
    /// Whether it counts or stands.
    pub kind: GaugeKind,
    /// Whether it is of all databases of a server together: that of two on one server is counted once.
    pub of_server: bool,
    /// Whether it may be told a second or more late, so that what it counted within a few seconds is not known.
    pub late: bool,
    pub value: f64,
}

/// How many sessions are in one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    /// The state: `running`, or what is waited for: `LWLock:WALWrite`.
    pub name: Cow<'static, str>,
    pub sessions: u32,
}

/// What an engine has counted of one statement.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementCount {
    /// Its text, without values.
    pub text: String,
    /// Times it was executed.
    pub calls: u64,
    /// Time spent in it in milliseconds.
    pub total_ms: f64,
    /// Rows that it gave or changed.
    pub rows: u64,
}

/// The thread that asks, and what it has heard.
pub(crate) struct EngineSampler {
    orders: Sender<Order>,
    samples: Arc<Mutex<EngineSamples>>,
    over: Receiver<()>,
}

enum Order {
    Open,
    Close,
}

/// What an engine has said so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct EngineSamples {
    pub(crate) gauges: Vec<GaugeName>,
    pub(crate) states: Vec<String>,
    pub(crate) readings: Vec<EngineReading>,
    pub(crate) opened: Option<Mark>,
    pub(crate) closed: Option<Mark>,
    /// The windows before the last one, in their order; empty where there is one.
    pub(crate) earlier: Vec<(Mark, Option<Mark>)>,
    /// Who else was there within the window; nothing where that was never told.
    pub(crate) others: Option<BTreeSet<String>>,
    /// The sums of the reading that is being gathered, and the looks behind them.
    pub(crate) gathered: BTreeMap<usize, u64>,
    pub(crate) samples: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GaugeName {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) unit: String,
    pub(crate) kind: GaugeKind,
    pub(crate) late: bool,
}

/// One reading of the gauges, and the looks at the sessions since the one before.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EngineReading {
    pub(crate) at: Nanos,
    /// By position in [`EngineSamples::gauges`]; `None` when the engine did not answer.
    pub(crate) values: Option<Vec<Option<f64>>>,
    /// Sessions summed over the looks, by position in [`EngineSamples::states`].
    pub(crate) sessions: BTreeMap<usize, u64>,
    pub(crate) samples: u32,
}

/// An edge of the window.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Mark {
    pub(crate) at: Nanos,
    /// Values of the gauges then.
    pub(crate) values: Option<Vec<Option<f64>>>,
    pub(crate) statements: Vec<StatementCount>,
}

impl EngineSampler {
    pub(crate) fn start<C: Clock>(probe: Box<dyn EngineProbe>, clock: C) -> std::io::Result<EngineSampler> {
        let samples = Arc::new(Mutex::new(EngineSamples::default()));
        let (orders, inbox) = mpsc::channel();
        let (done, over) = mpsc::channel();
        std::thread::Builder::new().name("ask-engine".to_owned()).spawn({
            let samples = Arc::clone(&samples);
            move || {
                ask(probe, &clock, &samples, &inbox);
                // Whoever does not wait any more knows enough.
                let _ = done.send(());
            }
        })?;
        Ok(EngineSampler { orders, samples, over })
    }

    /// The window opens now, as soon as the engine answers.
    pub(crate) fn open(&self) {
        // The thread ends with this sampler only.
        let _ = self.orders.send(Order::Open);
    }

    /// The readings so far that have a value for each of `names`.
    pub(crate) fn counts<const N: usize>(&self, names: [&[&str]; N]) -> Vec<[f64; N]> {
        let samples = lock(&self.samples);
        let places =
            names.map(|names| samples.gauges.iter().position(|gauge| names.contains(&gauge.name.as_str())));
        let of_reading = |reading: &EngineReading| {
            let values = reading.values.as_ref()?;
            let found = places.map(|place| values.get(place?).copied().flatten());
            found.iter().all(Option::is_some).then(|| found.map(Option::unwrap_or_default))
        };
        samples.readings.iter().filter_map(of_reading).collect()
    }

    /// The window closes now.
    pub(crate) fn close(&self) {
        let _ = self.orders.send(Order::Close);
    }

    /// Ends the thread, or leaves it behind where the engine does not answer, and says what was heard within the window,
    /// which opened at `opens`, and the time line around it.
    pub(crate) fn end(self, opens: Nanos) -> Engine {
        engine_digest::digest(&self.ended(), opens)
    }

    /// The same of several windows. `parties` says for each window, in their order, whose it is; there is an engine for each of
    /// `count` parties, on a time line that is made of its windows alone.
    pub(crate) fn end_each(self, parties: &[usize], count: usize) -> Vec<Engine> {
        let samples = self.ended();
        (0..count).map(|party| engine_digest::digest(&samples.spliced(parties, party), Nanos::ZERO)).collect()
    }

    fn ended(self) -> EngineSamples {
        drop(self.orders);
        let _ = self.over.recv_timeout(LAST_ANSWER_MAX);
        std::mem::take(&mut *lock(&self.samples))
    }
}

fn ask<C: Clock>(
    mut probe: Box<dyn EngineProbe>,
    clock: &C,
    samples: &Mutex<EngineSamples>,
    inbox: &Receiver<Order>,
) {
    let mut due = clock.now();
    let mut look = 0;
    loop {
        let wait = due - clock.now();
        match inbox.recv_timeout(wait.into()) {
            Ok(order) => {
                let (values, statements, others) = (probe.gauges(), probe.statements(), probe.others());
                let mut samples = lock(samples);
                // Whoever worked there before the window opened was in no one's way.
                if matches!(order, Order::Close) {
                    samples.meet(others);
                }
                samples.mark(&order, clock.now(), values, statements);
            }
            Err(RecvTimeoutError::Timeout) => {
                let states = probe.states();
                lock(samples).look(states);
                look += 1;
                if look % LOOKS_A_READING == 1 {
                    let (gauges, others) = (probe.gauges(), probe.others());
                    let mut samples = lock(samples);
                    samples.meet(others);
                    samples.read(clock.now(), gauges);
                }
                // What an engine was too slow for is left out rather than asked in a burst.
                due = (due + LOOK_EVERY).max(clock.now());
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl EngineSamples {
    fn look(&mut self, states: Option<Vec<SessionState>>) {
        let Some(states) = states else { return };
        for state in states {
            let at = self.state(&state.name);
            *self.gathered.entry(at).or_default() += u64::from(state.sessions);
        }
        self.samples += 1;
    }

    fn meet(&mut self, others: Option<Vec<String>>) {
        let (true, Some(others)) = (self.opened.is_some() && self.closed.is_none(), others) else { return };
        let met = self.others.get_or_insert_default();
        let room = NAMES_MAX.saturating_sub(met.len());
        met.extend(others.into_iter().take(room));
    }

    fn read(&mut self, at: Nanos, gauges: Option<Vec<Gauge>>) {
        let values = self.values(gauges);
        let sessions = std::mem::take(&mut self.gathered);
        self.readings.push(EngineReading {
            at,
            values,
            sessions,
            samples: std::mem::take(&mut self.samples),
        });
        // With several windows, which are a few seconds long, no two readings of one and another become one.
        if self.readings.len() >= READINGS_MAX && self.earlier.is_empty() {
            self.readings = self.readings.chunks(2).map(EngineReading::joined).collect();
        }
    }

    fn mark(
        &mut self,
        order: &Order,
        at: Nanos,
        gauges: Option<Vec<Gauge>>,
        statements: Vec<StatementCount>,
    ) {
        let values = self.values(gauges);
        let mark = Mark { at, values: values.clone(), statements };
        // The looks so far belong to the time before the mark.
        let sessions = std::mem::take(&mut self.gathered);
        self.readings.push(EngineReading {
            at,
            values,
            sessions,
            samples: std::mem::take(&mut self.samples),
        });
        match order {
            Order::Open => {
                let before = self.opened.replace(mark).map(|opened| (opened, self.closed.take()));
                self.earlier.extend(before);
            }
            Order::Close => self.closed = Some(mark),
        }
    }

    fn values(&mut self, gauges: Option<Vec<Gauge>>) -> Option<Vec<Option<f64>>> {
        let mut values = vec![None; self.gauges.len()];
        for gauge in gauges? {
            let known =
                self.gauges.iter().position(|known| known.name == gauge.name && known.group == gauge.group);
            let at = match known {
                Some(at) => at,
                None if self.gauges.len() < NAMES_MAX => {
                    self.gauges.push(GaugeName {
                        name: gauge.name.into_owned(),
                        group: gauge.group.into_owned(),
                        unit: gauge.unit.into_owned(),
                        kind: gauge.kind,
                        late: gauge.late,
                    });
                    values.push(None);
                    self.gauges.len() - 1
                }
                None => continue,
            };
            values[at] = gauge.value.is_finite().then_some(gauge.value);
        }
        Some(values)
    }

    fn state(&mut self, name: &str) -> usize {
        if let Some(at) = self.states.iter().position(|state| state == name) {
            return at;
        }
        if self.states.len() < NAMES_MAX {
            self.states.push(name.to_owned());
            return self.states.len() - 1;
        }
        // The last place is for all that came later.
        OTHER.clone_into(&mut self.states[NAMES_MAX - 1]);
        NAMES_MAX - 1
    }
}

impl EngineReading {
    /// Two readings as one: what the gauges say at its end, and the looks of both.
    pub(crate) fn joined(pair: &[EngineReading]) -> EngineReading {
        let mut joined = EngineReading::default();
        for answer in pair {
            joined.at = answer.at;
            joined.values.clone_from(&answer.values);
            joined.samples += answer.samples;
            for (state, sessions) in &answer.sessions {
                *joined.sessions.entry(*state).or_default() += sessions;
            }
        }
        joined
    }
}

/// What was heard is appended, never left half changed, so a panic elsewhere does not spoil it.
fn lock(samples: &Mutex<EngineSamples>) -> MutexGuard<'_, EngineSamples> {
    samples.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn gauge(name: &'static str, value: f64) -> Gauge {
        let (group, unit) = ("wal".into(), "bytes".into());
        Gauge {
            name: name.into(),
            group,
            unit,
            kind: GaugeKind::Counter,
            of_server: true,
            late: false,
            value,
        }
    }

    #[test]
    fn a_long_interview_gets_coarser_and_not_bigger() {
        let mut samples = EngineSamples::default();
        for second in 0..10 * READINGS_MAX as u64 {
            samples.look(Some(vec![SessionState { name: "running".into(), sessions: 2 }]));
            samples.read(Nanos::from_secs(second), Some(vec![gauge("written", second as f64)]));
        }
        assert!(samples.readings.len() < READINGS_MAX);
        let (looks, sessions) = samples.readings.iter().fold((0, 0), |(looks, sessions), reading| {
            (looks + reading.samples, sessions + reading.sessions[&0])
        });
        assert_eq!((looks as usize, sessions as usize), (10 * READINGS_MAX, 20 * READINGS_MAX));
    }

    #[test]
    fn states_beyond_what_is_kept_apart_are_counted_together() {
        let mut samples = EngineSamples::default();
        for number in 0..200 {
            samples.look(Some(vec![SessionState { name: format!("Lock:{number}").into(), sessions: 1 }]));
        }
        samples.read(Nanos::ZERO, None);
        assert_eq!((samples.states.len(), samples.states[NAMES_MAX - 1].as_str()), (NAMES_MAX, OTHER));
        assert_eq!(samples.readings[0].sessions.values().sum::<u64>(), 200);
    }

    /// Answers once, then never again.
    struct Hangs(Arc<AtomicU64>);

    impl EngineProbe for Hangs {
        fn gauges(&mut self) -> Option<Vec<Gauge>> {
            if self.0.fetch_add(1, Ordering::Relaxed) > 0 {
                loop {
                    std::thread::park();
                }
            }
            Some(vec![gauge("written", 1.0)])
        }

        fn states(&mut self) -> Option<Vec<SessionState>> {
            None
        }

        fn statements(&mut self) -> Vec<StatementCount> {
            Vec::new()
        }
    }

    #[test]
    fn an_engine_that_does_not_answer_leaves_gaps_and_ends_nothing() {
        let asked = Arc::new(AtomicU64::new(0));
        let sampler =
            EngineSampler::start(Box::new(Hangs(Arc::clone(&asked))), measure::Monotonic::start()).unwrap();
        while asked.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        sampler.open();
        sampler.close();
        let load = sampler.end(Nanos::ZERO);
        assert_eq!((load.samples, load.gauges.iter().filter_map(|line| line.total).count()), (0, 0));
    }
}
