//! A whole experiment as plain data, with every default filled in: what a file, `compare` or `quickstart` asks for, what the
//! runner carries out, and what is written into the folder of the run so that an interrupted one can go on.

use serde::{Deserialize, Serialize};

/// Variants, and how they are held against each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Experiment {
    /// Short: `http-tax`, or the two subjects of `compare`.
    pub(crate) name: String,
    /// What it asks, as a sentence.
    pub(crate) question: Option<String>,
    /// All variants are of this workload.
    pub(crate) workload: String,
    /// Size of the data.
    pub(crate) scale: u32,
    /// Blocks of one trial a variant.
    pub(crate) blocks: u32,
    /// Whether each base runs once more in every block: both trials count for it, and their ratio is a check of bias.
    pub(crate) control: bool,
    /// What is compared: `throughput`, `p99`, `new-order.p99`, `cpu`.
    pub(crate) metric: String,
    /// The largest difference that does not matter, as a share.
    pub(crate) margin: f64,
    /// A variant that surely loses more than this share makes the exit status 1.
    pub(crate) max_loss: Option<f64>,
    /// Whether a limit that is neither surely kept nor surely exceeded leaves the exit status at 0.
    #[serde(default)]
    pub(crate) accept_inconclusive: bool,
    /// Whether an audit that did not run makes the exit status 1.
    #[serde(default)]
    pub(crate) require_audit: bool,
    /// Orders the trials of all blocks. Inputs have the seeds of the plans.
    pub(crate) seed: u64,
    /// In the order of the report, each base before what is held against it. No controls: the runner adds them.
    pub(crate) variants: Vec<Variant>,
    /// Anything a reader must know, a sentence each.
    pub(crate) notes: Vec<String>,
    /// The bottleneck of the base that the one other variant is to confirm.
    #[serde(default)]
    pub(crate) suspicion: Option<Suspicion>,
}

/// A likely bottleneck, and what must follow from the one factor that is changed if it is the right one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suspicion {
    pub(crate) suspect: result::Suspect,
    /// What is changed: `8 sessions instead of 1`.
    pub(crate) change: String,
    /// The whole interval of the ratio of throughputs must lie above this, if anything.
    pub(crate) ratio_min: Option<f64>,
    /// And below this.
    pub(crate) ratio_max: Option<f64>,
}

/// One subject with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    /// Unlike all others of the experiment: `through HTTP`.
    pub(crate) name: String,
    /// The path of a subject that exists.
    pub(crate) subject: String,
    /// The variant it is held against, by its place in the list; none for a base.
    pub(crate) base: Option<usize>,
    /// What is meant to differ from the base, in the words of [`report::rules::intended_by`]; derived from the subjects
    /// and settings where nothing is said.
    pub(crate) factors: Vec<String>,
    /// What the load generator does.
    pub(crate) plan: drive::Plan,
    /// Sessions behind a server.
    pub(crate) pool: u32,
    /// Threads of a server beside its sessions.
    pub(crate) server_threads: usize,
    /// What a server that is started here may use: `cpu=1,mem=1GiB`.
    pub(crate) server_limits: Option<String>,
    /// The data and the engine under it.
    pub(crate) place: Place,
    /// Whether its private engine is to write everything back at least twice within a trial.
    #[serde(default)]
    pub(crate) through_checkpoints: bool,
    /// What was asked for beyond the defaults, as name and value, for the report: `("pool", "1")`.
    pub(crate) asked: Vec<(String, String)>,
}

/// Where the data of a variant lies. Variants with equal places share one load and one private engine;
/// all private SQLite databases share one load, whatever their options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    /// `sqlite`, `postgres` or `mysql`.
    pub(crate) engine: String,
    /// A database that the user named, as an address without its password; trials run on copies beside it.
    pub(crate) db: Option<String>,
    /// Options of a private SQLite database as its address has them: `journal=delete&cache=32MiB`.
    pub(crate) options: String,
    /// Settings of a private engine beyond ours: `("shared_buffers", "1GB")`.
    pub(crate) settings: Vec<(String, String)>,
    /// What a commit on a private engine survives: `durable` or `delayed`.
    pub(crate) durability: String,
    /// What a private engine may use: `cpu=0.5,mem=1GiB`.
    pub(crate) limits: Option<String>,
    /// Whether a private PostgreSQL counts what each statement costs.
    pub(crate) statement_statistics: bool,
}

/// Who takes part in each block: a variant of the plan, or one once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its variant, by its place in the plan.
    pub(crate) variant: usize,
    /// Whether it is its base once more: an A/A control, whose trials count for the base as well.
    pub(crate) control: bool,
    /// What it is called.
    pub(crate) name: String,
}

impl Experiment {
    /// Everybody who takes part: the variants in their order, the control of a base right after it.
    pub(crate) fn cast(&self) -> Vec<Part> {
        let variants = &self.variants;
        let mut cast = Vec::new();
        for (variant, of) in variants.iter().enumerate() {
            cast.push(Part { variant, control: false, name: of.name.clone() });
            if self.control && variants.iter().any(|other| other.base == Some(variant)) {
                cast.push(Part { variant, control: true, name: format!("{}, again", of.name) });
            }
        }
        cast
    }
}
