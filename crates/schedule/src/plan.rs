//! A whole experiment as plain data, with every default filled in: what a file, `compare` or `quickstart` asks for, what the
//! runner carries out, and what is written into the folder of the run so that an interrupted one can go on.

use anyhow::Result;
use deploy::{RelayOptions, Spec};
use model::{HttpOptions, Nanos};
use serde::{Deserialize, Serialize};
use sql::Dialect;

/// Variants, and how they are compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Short: `http-tax`, or the two subjects of `compare`.
    pub name: String,
    /// What it asks, as a sentence.
    pub question: Option<String>,
    /// All variants are of this workload.
    pub workload: String,
    /// Size of the data.
    pub scale: u32,
    /// Blocks of one trial a variant.
    pub blocks: u32,
    /// Whether each base runs once more in every block: both trials count for it, and their ratio is a check of bias.
    pub control: bool,
    /// What is compared, the headline first; at least one, and each once.
    pub criteria: Vec<Criterion>,
    /// Whether a limit that is neither surely kept nor surely exceeded leaves the exit status at 0.
    pub accept_inconclusive: bool,
    /// Whether an audit that did not run makes the exit status 1.
    pub require_audit: bool,
    /// Orders the trials of all blocks. Inputs have the seeds of the plans.
    pub seed: u64,
    /// In the order of the report, each base before what is compared with it. No controls: the runner adds them.
    pub variants: Vec<Variant>,
    /// Anything a reader must know, a sentence each.
    pub notes: Vec<String>,
    /// Blocks are added until half the width of every interval is at most this share, [`Experiment::blocks`] at most.
    pub precision: Option<f64>,
    /// No block begins with which warming up and measuring would take longer than this by more than a tenth.
    pub time: Option<Nanos>,
    /// The bottleneck of the base that the one other variant is to confirm.
    pub suspicion: Option<Suspicion>,
}

/// A metric that is compared, and what counts as a difference in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// `throughput`, `p99`, `new-order.p99`, `cpu`.
    pub metric: String,
    /// The largest difference that does not matter, as a share.
    pub margin: f64,
    /// A variant that surely loses more than this share makes the exit status 1.
    pub max_loss: Option<f64>,
}

/// A likely bottleneck, and what must follow from the one factor that is changed if it is the right one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspicion {
    /// What is likely to set the throughput.
    pub suspect: result::Suspect,
    /// What is changed: `8 sessions instead of 1`.
    pub change: String,
    /// The whole interval of the ratio of throughputs must be above this, if anything.
    pub ratio_min: Option<f64>,
    pub ratio_max: Option<f64>,
}

/// One subject with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Unlike all others of the experiment: `through HTTP`.
    pub name: String,
    /// The path of a subject that exists.
    pub subject: String,
    /// The variant it is compared with, by its place in the list; none for a base.
    pub base: Option<usize>,
    /// What is meant to differ from the base, in the words of [`judge::rules::intended_by`]; derived from the subjects
    /// and settings where nothing is said.
    pub factors: Vec<String>,
    /// What the load generator does.
    pub plan: drive::Plan,
    /// Sessions behind a server.
    pub pool: u32,
    /// Threads of a server besides its sessions.
    pub server_threads: usize,
    /// How calls reach a server.
    pub http: HttpOptions,
    /// What a server that is started here may use: `cpu=1,mem=1GiB`.
    pub server_limits: Option<String>,
    /// A relay that is started here.
    pub relaying: RelayOptions,
    /// The data and the engine under it.
    pub spec: Spec,
    /// Whether its private engine is to write everything back at least twice within a trial.
    pub through_checkpoints: bool,
    /// Whether its trials are whole, although it could make calls in turn with others.
    pub whole: bool,
    /// What was asked for beyond the defaults, as name and value, for the report: `("pool", "1")`.
    pub asked: Vec<(String, String)>,
}

/// Who takes part in each block: a variant of the plan, or one once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Its variant, by its place in the plan.
    pub variant: usize,
    /// Whether it is its base once more: an A/A control, whose trials count for the base as well.
    pub control: bool,
    /// What it is called.
    pub name: String,
}

impl Experiment {
    /// Everybody who takes part: the variants in their order, the control of a base right after it.
    pub fn arms(&self) -> Vec<Arm> {
        let variants = &self.variants;
        let mut arms = Vec::new();
        for (variant, of) in variants.iter().enumerate() {
            arms.push(Arm { variant, control: false, name: of.name.clone() });
            if self.control && variants.iter().any(|other| other.base == Some(variant)) {
                arms.push(Arm { variant, control: true, name: format!("{}, again", of.name) });
            }
        }
        arms
    }
}

/// Does as [`Spec::go_through_checkpoints`] for the variants that ask for it. Engines whose every trial holds many of what they
/// have instead of checkpoints stay as they are, unless there is no other.
pub fn go_through_checkpoints(variants: &mut [Variant]) -> Result<()> {
    let asked = |variant: &&mut Variant| variant.through_checkpoints;
    let (mut done, mut first_error) = (false, None);
    for variant in variants.iter_mut().filter(asked) {
        match variant.spec.go_through_checkpoints(variant.plan.measured) {
            Ok(()) => done = true,
            Err(error) if variant.spec.dialect()? == Dialect::Postgres => return Err(error),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.filter(|_| !done).map_or(Ok(()), Err)
}
