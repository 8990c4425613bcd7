//! What a trial that runs or has ended is told as.

use measure::Totals;
use model::{Nanos, Product};
use result::{Headline, Trial};
use targets::Driven;

/// What was counted so far, and what the workload makes of it.
pub(crate) fn fill<W: Driven>(trial: &mut Trial, totals: &Totals, slices: &[measure::Slice], span: Nanos) {
    measure::fill::<W>(trial, totals, slices, span);
    let paced = trial.plan.arrivals.is_by_the_standard();
    let counted = &trial.kinds[trial.headline_kind()];
    let rate = match trial.kinds.iter().filter(|kind| kind.headline).count() {
        0 | 1 => counted.tally.rate_per_s,
        // All that are made: a workload's headline counts one kind or all of them.
        _ => trial.overall.rate_per_s,
    };
    let scaled = rate.times(W::RATE_SECONDS);
    trial.headline = match trial.plan.own_words() {
        None => W::headline(scaled, paced),
        Some(mix) if counted.headline => W::headline(scaled, paced).of_mix(&mix),
        // Nothing that the workload's own headline counts was asked for.
        Some(mix) => Headline::calls_per_s(trial.overall.rate_per_s).of_mix(&mix),
    };
    // What the pace allows was worked out for the standard's mix.
    let standard = paced && trial.plan.own_words().is_none();
    trial.efficiency = if standard { W::efficiency(scaled.value, trial.data.scale) } else { None };
}

/// Why there is nothing to give a rate of, if so: calls were due, and not one was answered.
pub(crate) fn nothing_completed(call_counts: &result::CallCounts) -> Option<String> {
    let result::CallCounts { due, dropped, committed, declined, conflict, refused, in_doubt, .. } =
        *call_counts;
    (due > 0 && committed + declined == 0).then(|| {
        format!(
            "none of {due} calls was completed: conflict {conflict}, refused {refused}, in doubt {in_doubt}, \
             dropped {dropped}"
        )
    })
}

/// Time until the window closes: with so many calls, if they are counted, at their rate so far.
pub(crate) fn left<W: Driven>(calls: Option<u64>, progress: &drive::TrialProgress<'_, W>) -> Nanos {
    let Some(calls) = calls.filter(|_| progress.call_counts.due > 0) else { return progress.left };
    let each = progress.passed.0 as f64 / progress.call_counts.due as f64;
    Nanos((each * calls.saturating_sub(progress.call_counts.due) as f64) as u64).min(progress.left)
}

/// What a session says of what it stands on, in the words of the engine where that is not one whose settings we read.
pub(crate) fn described(stack: model::Stack) -> result::Stack {
    let claimed = Product::of(&stack.engine_version).is_some();
    let stack = sql::product::in_its_own_words(stack);
    result::Stack {
        engine: stack.engine,
        engine_version: stack.engine_version,
        adapter: stack.adapter,
        adapter_version: stack.adapter_version,
        style: stack.style,
        route: stack.route,
        server: stack.server,
        isolation: stack.isolation,
        durability: result::Durability {
            tier: match stack.durability.tier {
                model::Tier::Durable => result::Tier::Durable,
                model::Tier::Delayed => result::Tier::Delayed,
                model::Tier::Volatile => result::Tier::Volatile,
            },
            detail: stack.durability.detail,
            claimed,
        },
        settings: stack.settings.into_iter().map(|(name, value)| result::Setting { name, value }).collect(),
        plans: Vec::new(),
    }
}
