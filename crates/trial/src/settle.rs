//! Between the load and the audits: what has been acknowledged and is still on its way comes to its end, or is given up.

use crate::validate;
use anyhow::Result;
use deploy::{Databases, Interrupt, Viewer, tell};
use measure::Monotonic;
use model::{Clock, Nanos};
use result::Settled;
use targets::Driven;

/// The stores are asked this often. MariaDB shows who asks for its transactions within 0.1 s of the last one what it showed then.
const LOOK_EVERY: Nanos = Nanos::from_millis(200);

/// Waits until nothing is pending any more, at most `max` by a clock that was started when the load ended, or until the user
/// has asked to stop. Nothing, where the workload has nothing to wait for, as `before` tells.
///
/// # Errors
/// A store cannot be asked.
pub(crate) fn settle<W: Driven>(
    databases: &Databases<W>,
    before: &W::Evidence,
    clock: Monotonic,
    max: Nanos,
    viewer: &dyn Viewer,
    interrupt: &Interrupt,
) -> Result<Option<Settled>> {
    if W::pending(before).is_none() {
        return Ok(None);
    }
    let urls = databases.urls();
    let pending = || Ok::<_, anyhow::Error>(W::pending(&validate::evidence::<W>(&urls)?).unwrap_or(0));
    // One who has asked to stop already is waited for all the same: what was measured until then needs its audits.
    let asked_before = interrupt.requested();
    let pending_first = pending()?;
    let mut pending_last = pending_first;
    let mut took = clock.now();
    if pending_first > 0 {
        let max_s = max.as_secs_f64();
        let what = format!("waiting for {pending_first} acknowledged results to arrive, at most {max_s} s");
        tell(viewer, &what);
    }
    while pending_last > 0 && took < max && (asked_before || !interrupt.requested()) {
        std::thread::sleep(LOOK_EVERY.into());
        pending_last = pending()?;
        took = clock.now();
    }
    let (took_s, max_s) = (took.as_secs_f64(), max.as_secs_f64());
    Ok(Some(Settled { pending_first, pending_last, took_s, max_s }))
}
