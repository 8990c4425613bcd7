//! What every subject is driven through. The sessions of each combination are compiled here, once, and leave as pointers;
//! the loop and the conformance are compiled here for each workload.
//!
//! Everything above this crate is compiled without a driver, and changes without being compiled with one.

mod booking;
mod catalogue;
mod closed;
mod driven;
mod generic;
mod how;
mod sampled;
mod sharded;
mod subjects;
mod tpcc;
mod transfer;

use anyhow::{Context, Result, anyhow, bail};
use contract::conformance::{Conformance, Disagreement};
use drive::{LoadGenerator, Observer, Plan, Round, RunError, Stop, Trial};
use measure::Monotonic;
use model::{AnyTarget, DRIVER_PANICKED, RetryPolicy, Retrying, RetryingTarget, store_name};
use sharded::Sharded;
use sql::DbUrl;
use std::pin::{Pin, pin};
use workload::Benchmark;

pub use closed::why_closed;
pub use generic::{target as over_statements, target_in_form as over_statements_in_form};
pub use how::{Driver, How, Style};
pub use pair_transfer::ENDS_BETWEEN_PHASES;
pub use sampled::{Arriving, Sampled, Sampler};
pub use subjects::{COMBINATIONS, Combination};
pub use workload_transfer::RELAY_BATCH;

/// What [`driven!`] is made of.
#[doc(hidden)]
pub mod parts {
    pub use anyhow::Result;
    pub use contract::Wire;
    pub use contract::conformance::{Conformance, Disagreement};
    pub use drive::{Generator, LoadGenerator, Plan, RunError};
    pub use measure::Monotonic;
    pub use model::{AnyTarget, Target, Workload};
    pub use relay::{Relay, Settings as RelaySettings};
    pub use sql::DbUrl;
}

/// What a trial is run on, whatever is behind it.
pub type TrialTarget<W> = RetryingTarget<AnyTarget<W>>;
pub type TrialSession<W> = Retrying<W, AnyTarget<W>>;

/// A workload whose subjects can be driven.
pub trait Driven: Benchmark {
    /// The target of a subject on a database, as its drivers make it: nothing repeats a call yet.
    ///
    /// # Errors
    /// When the engine cannot be reached or used, or `how` is not a subject of this workload.
    fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Self>>;

    /// The same on data over several stores, in the order of [`Benchmark::parts`].
    ///
    /// # Errors
    /// Those of [`Driven::open`], which say of which store.
    fn open_over(
        how: How,
        stores: &[DbUrl],
        size: &Self::Extent,
        clock: Monotonic,
    ) -> Result<AnyTarget<Self>> {
        let open = |(shard, url)| Self::open(how, url, clock).with_context(|| store_name(shard));
        let stores = stores.iter().enumerate().map(open).collect::<Result<_>>()?;
        Ok(AnyTarget::new(Sharded { stores, size: size.clone() }))
    }

    /// What does between stores that calls of a style leave to be done there ([`Style::is_relayed`]).
    ///
    /// # Errors
    /// A store cannot be used, or nothing is left by calls of this workload and style.
    fn relay(
        how: How,
        _stores: &[DbUrl],
        _size: &Self::Extent,
        _settings: relay::Settings,
    ) -> Result<Box<dyn relay::Relay>> {
        bail!("{} in style {} leaves nothing to a relay", Self::NAME, how.style.name())
    }

    /// [`drive::Generator::open`], of sessions that hand calls to a sampler.
    fn generator(
        plan: &Plan,
        target: Sampled<Self>,
        inputs: &dyn Fn(u32) -> Self::Inputs,
        clock: Monotonic,
    ) -> Result<Box<dyn LoadGenerator<Self>>, RunError>;

    /// [`drive::run`].
    fn drive(
        plan: &Plan,
        target: Sampled<Self>,
        inputs: &dyn Fn(u32) -> Self::Inputs,
        ledger: &dyn Fn() -> Self::Ledger,
        clock: Monotonic,
        stop: &Stop,
        observer: &mut dyn Observer<Self>,
    ) -> Result<Trial<Self>, RunError> {
        let mut generator = Self::generator(plan, target, inputs, clock)?;
        let trial = generator.round(Round::of(plan), ledger, stop, observer)?;
        generator.close()?;
        Ok(trial)
    }

    /// Holds a target to the golden vectors and to random calls; gives how many of each were right, or the first wrong
    /// answer. `size` is that of the data: the vectors are for [`Benchmark::tiny`], and of any other, as of
    /// [`Benchmark::tiny_over`], only random calls tell and the same script, compared with the workload's oracle.
    fn conform(
        target: &TrialTarget<Self>,
        size: &Self::Extent,
        seed: u64,
        random_calls: u32,
    ) -> Result<Result<Conformance, Disagreement>>;
}

/// The target of a subject on a database with the one retry policy around it, which is that of the server too.
pub fn target<W: Driven>(how: How, url: &DbUrl) -> Result<TrialTarget<W>> {
    Ok(RetryingTarget::new(W::open(how, url, Monotonic::start())?, RetryPolicy::default()))
}

/// The target of a subject on data over several stores, in the order of [`Benchmark::parts`]; with one, that of [`target`].
///
/// # Errors
/// Those of [`Driven::open`], which say of which store; there are not as many stores as parts.
pub fn target_over<W: Driven>(how: How, stores: &[DbUrl], size: &W::Extent) -> Result<TrialTarget<W>> {
    let parts = W::parts(size).len();
    match stores {
        [store] if parts == 1 => target(how, store),
        _ if stores.len() != parts => bail!("data over {parts} stores, and addresses of {}", stores.len()),
        _ => {
            W::spans(how.style.name())?;
            let target = W::open_over(how, stores, size, Monotonic::start())?;
            Ok(RetryingTarget::new(target, RetryPolicy::default()))
        }
    }
}

/// Waits for something that is done once, before a trial: what it opens is not kept.
///
/// # Errors
/// When the system gives no runtime, or a driver panics at what a server sends.
pub fn wait_for<F: Future>(future: F) -> Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Behind a pointer, or the runtime would be compiled again for each future.
    let future: Pin<&mut dyn Future<Output = F::Output>> = pin!(future);
    runtime.block_on(model::caught(future)).map_err(|panic| anyhow!("{DRIVER_PANICKED}: {panic}"))
}
