//! `stackmark sweep`: one subject under more and more load, in interleaved blocks, and the curve that comes of it.

pub(crate) mod course;

use crate::case::{Case, of_workload};
use crate::experiment::lock;
use crate::folder::{self, Folder};
use crate::interrupt::Interrupt;
use crate::run::publish;
use crate::subjects::{self, Subject};
use crate::trial::is_bad;
use crate::ui::{self, Ui};
use crate::{Answer, args};
use anyhow::{Result, bail};
use course::{Course, Ground};
use drive::{Arrivals, RatePerSecond};
use measure::Monotonic;
use model::Clock;
use model::random::Random;
use report::curve::{Loaded, clients, draw_up, load_words};
use report::document::{Axis, Document, RunKind, State};

/// Path of the random stream that orders the loads of a block.
const ORDER: u64 = 300;

pub(crate) fn sweep(args: &args::Sweep, ui: &Ui) -> Result<Answer> {
    let subject = subjects::find(&args.subject)?;
    of_workload!(subject.workload(), W => run::<W>(subject, args, ui))
}

/// What is raised, and to what.
struct Loads {
    axis: Axis,
    loads: Vec<f64>,
}

impl Loads {
    fn of(args: &args::Sweep) -> Result<Loads> {
        match (&args.clients, &args.rates) {
            (Some(_), Some(_)) => bail!(
                "--clients and --rates are two sweeps; for the clients that share the calls of a sweep over rates use \
                 --in-flight"
            ),
            (_, Some(rates)) => Ok(Loads { axis: Axis::Rate, loads: rates.0.clone() }),
            (Some(clients), None) => Ok(Loads { axis: Axis::Clients, loads: clients.0.clone() }),
            (None, None) => Ok(Loads { axis: Axis::Clients, loads: vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0] }),
        }
    }

    /// The plan of one load in one block: the same calls at every load, other ones in every block.
    fn plan(&self, load: f64, block: u32, args: &args::Sweep, base: &drive::Plan) -> drive::Plan {
        let seed = base.seed + u64::from(block);
        match self.axis {
            Axis::Clients => drive::Plan { workers: load as u32, seed, ..base.clone() },
            Axis::Rate => drive::Plan {
                workers: args.in_flight,
                arrivals: open_loop(load, args.load.arrivals),
                seed,
                ..base.clone()
            },
        }
    }
}

/// Calls due at a rate.
pub(crate) fn open_loop(rate: f64, arrivals: args::ArrivalsArg) -> Arrivals {
    match arrivals {
        args::ArrivalsArg::Poisson => Arrivals::Poisson(RatePerSecond(rate)),
        args::ArrivalsArg::Constant => Arrivals::Constant(RatePerSecond(rate)),
    }
}

fn run<W: Case>(subject: &'static Subject, args: &args::Sweep, ui: &Ui) -> Result<Answer> {
    let loads = Loads::of(args)?;
    let ground = Ground::<W>::find(subject, &args.data, &args.load, &args.server, &args.engine)?;
    let held = lock::hold()?;
    let interrupt = Interrupt::listen()?;
    let (folder, started, id) = Folder::create(&args.out.out, &format!("sweep-{}", subject.path))?;
    let mut document = folder::document(id, started, RunKind::Sweep, &[subject.path]);
    let base = ground.plan.clone();
    held.works_in(folder.path());
    let mut course = Course::open(ground, &folder, ui, &interrupt)?;
    // Every server of the sweep is held to the workload before the first trial, so that none fails in the middle.
    for load in &loads.loads {
        course.prepare(&loads.plan(*load, 0, args, &base))?;
    }
    document.notes = course.notes();
    let mut sweeping = Sweeping { course, loads, args, base, folder: &folder, ui, interrupt: &interrupt };
    if let Err(error) = sweeping.blocks(&mut document) {
        course::give_up(&folder, &mut document, &error);
        return Err(error);
    }
    conclude(&mut document, args.blocks);
    if document.state == State::Interrupted {
        course::something_measured(&folder, &document)?;
    }
    publish(&folder, &document, ui)?;
    Ok(if document.trials.iter().any(is_bad) { Answer::Bad } else { Answer::Good })
}

/// A sweep under way.
struct Sweeping<'a, W: Case> {
    course: Course<'a, W>,
    loads: Loads,
    args: &'a args::Sweep,
    base: drive::Plan,
    folder: &'a Folder,
    ui: &'a Ui,
    interrupt: &'a Interrupt,
}

impl<W: Case> Sweeping<'_, W> {
    /// Runs every load in every block, and draws up the curve after each trial. A document of an interrupted sweep says so.
    fn blocks(&mut self, document: &mut Document) -> Result<()> {
        let blocks = self.args.blocks;
        let blank = |load: &f64| Loaded { load: *load, trials: vec![None; blocks as usize] };
        let mut points: Vec<Loaded> = self.loads.loads.iter().map(blank).collect();
        let total = blocks as usize * points.len();
        let clock = Monotonic::start();
        for block in 0..blocks {
            for at in order(points.len(), block, self.base.seed) {
                let done = document.trials.len();
                let left = if done == 0 {
                    String::new()
                } else {
                    let each = clock.now().as_secs_f64() / done as f64;
                    format!(", {} left", ui::seconds(each * (total - done) as f64))
                };
                let load = points[at].load;
                let words = load_words(self.loads.axis, load);
                self.ui.say(&format!("trial {} of {total}: {words}{left}", done + 1));
                self.ui.live().place(&words, block + 1);
                let plan = self.loads.plan(load, block, self.args, &self.base);
                let index =
                    self.course.trial(&plan, &format!("block {} {words}", block + 1), None, document)?;
                // A load that the system does not survive is a point of the curve; what the user has ended is not.
                let whole = index.filter(|index| document.trials[*index].state != State::Interrupted);
                points[at].trials[block as usize] = whole;
                document.curve = Some(draw_up(self.loads.axis, &points, &document.trials, self.base.seed));
                if whole.is_none() || self.interrupt.requested() {
                    document.state = State::Interrupted;
                    let measured = points.iter().flat_map(|point| &point.trials).flatten().count();
                    document.notes.push(format!(
                        "This is partial: interrupted, with {measured} of {total} trials; the curve is of those."
                    ));
                    return Ok(());
                }
                self.folder.put_document(document)?;
                self.ui.live().board(document);
            }
        }
        Ok(())
    }
}

fn conclude(document: &mut Document, blocks: u32) {
    if document.state == State::Running {
        document.state = State::Complete;
    }
    if blocks < 3 {
        document.notes.push(format!(
            "{} of each load ran: with three or more the intervals say how sure the curve is.",
            if blocks == 1 { "One trial".to_owned() } else { format!("{blocks} trials") }
        ));
    }
    let most = document.trials.iter().map(|trial| trial.plan.clients).max().unwrap_or(0);
    if let Some(trial) = document.trials.iter().find(|trial| trial.stack.route == "http")
        && let Some(sessions) = trial.stack.settings.iter().find(|setting| setting.name == "sessions")
        && document.trials.iter().any(|other| other.stack.settings != trial.stack.settings)
    {
        document.notes.push(format!(
            "The server's sessions grew with the clients ({} at {}); --pool holds them.",
            sessions.value,
            clients(f64::from(trial.plan.clients))
        ));
    }
    let threads = document.trials.first().map_or(0, |trial| trial.plan.generator_threads);
    if most > 256 && threads == 1 {
        document.notes.push(format!(
            "{} shared one thread of the load generator; see its own share of the processors before reading the end of \
             the curve.",
            clients(f64::from(most))
        ));
    }
}

/// The loads of a block in random order.
fn order(loads: usize, block: u32, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..loads).collect();
    Random::stream(seed, &[ORDER, u64::from(block)]).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn every_block_has_every_load_once_in_an_order_of_its_own() {
        let orders: Vec<Vec<usize>> = (0..6).map(|block| order(6, block, 1)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        }
        assert!(orders.windows(2).any(|pair| pair[0] != pair[1]), "{orders:?}");
        assert_eq!(order(6, 2, 1), order(6, 2, 1));
    }
}
