//! Statements that the engine has executed for calls, counted by the engine.

use crate::finding::{Failure, Rule};
use crate::watch::{SharedNotes, Watched, noted};
use crate::witness::Witness;
use adapter_http::HttpTarget;
use anyhow::Result;
use model::{CallWork, Inputs, Mix, OpenError, Session, Target};
use std::fmt::Write;
use std::sync::Arc;
use targets::Driven;
use workload::Streams;

/// Calls of each kind.
const CALLS: u32 = 20;

pub(crate) const NAME: &str = "statements";
pub(crate) const RULE: &str =
    "every call reaches the engine, which executes at least as many statements as the server reports";

/// Makes calls of each kind, and has them counted.
pub(crate) fn statements<W: Driven>(
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    size: &W::Extent,
    seed: u64,
    witness: &dyn Witness<W>,
) -> Result<Rule> {
    let Some(asking) = asking(witness) else {
        return Ok(Rule::unchecked(NAME, RULE, "the engine does not count statements here"));
    };
    let mut failures = Vec::new();
    let (mut note, mut checked) = (String::new(), 0);
    for (kind, about) in W::KINDS.iter().enumerate() {
        let mut inputs = inputs::<W>(size, seed + kind as u64, kind);
        let Some(before) = witness.statements() else { break };
        let told_before = noted(notes, |notes| notes.statements);
        let watched = Watched::new(target, notes);
        let made = targets::wait_for(async {
            let mut session = watched.open(0).await?;
            let mut made = 0_u64;
            for _ in 0..CALLS {
                let call = inputs.draw();
                if let Ok(outcome) = session.run(&call, &mut CallWork::default()).await {
                    made += 1;
                    // What is drawn next may depend on it. Whether it is right is judged elsewhere.
                    let _ = inputs.check(&call, &outcome);
                }
            }
            Ok::<_, OpenError>(made)
        })??;
        let Some(after) = witness.statements() else { break };
        if made == 0 {
            continue;
        }
        let executed = after.all.saturating_sub(before.all).saturating_sub(asking);
        let one_line = noted(notes, |notes| notes.statements) - told_before;
        checked += made;
        let each = |count: u64| count as f64 / made as f64;
        let _ = write!(
            note,
            "{}{} {:.1}",
            if note.is_empty() { "a call: " } else { ", " },
            about.name,
            each(executed)
        );
        if executed < made || executed < one_line {
            failures.push(Failure {
                request: format!("{made} calls of {}", about.name),
                expected: format!("{} statements at the engine at least", made.max(one_line)),
                found: format!("{executed}"),
            });
        }
    }
    Ok(Rule::of(NAME, RULE, checked, failures).noting(Some(note).filter(|note| !note.is_empty())))
}

/// What asking costs in statements. Other sessions may execute theirs meanwhile, so the session's own count is preferred.
fn asking<W: Driven>(witness: &dyn Witness<W>) -> Option<u64> {
    let first = witness.statements()?;
    let second = witness.statements()?;
    Some(second.own.unwrap_or_else(|| second.all.saturating_sub(first.all)))
}

/// Draws calls of one kind. Those that look at what was drawn before may begin with another.
fn inputs<W: Driven>(size: &W::Extent, seed: u64, kind: usize) -> W::Inputs {
    let only = [(W::KINDS[kind].name.to_owned(), 1.0)];
    // A workload of one kind has no other mix.
    let mix = Mix::of(W::KINDS, &only).ok().flatten();
    workload::inputs::<W>(size, &Streams { seed, run: seed, mix: mix.as_ref(), ..Streams::default() })(0)
}

pub(crate) fn drawn<W: Driven>(size: &W::Extent, seed: u64, kind: usize) -> Vec<W::Call> {
    let mut inputs = inputs::<W>(size, seed, kind);
    (0..CALLS).map(|_| inputs.draw()).filter(|call| W::kind(call) == kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{FlushReader, StatementCounts};
    use result::Audit;
    use std::cell::Cell;
    use workload::Benchmark;
    use workload_tpcc::Tpcc;

    /// A server on which others execute a thousand statements before each question of ours.
    struct Busy(Cell<u64>, Option<u64>);

    impl Witness<Tpcc> for Busy {
        fn name(&self) -> String {
            "busy".into()
        }

        fn evidence(&self) -> Result<<Tpcc as Benchmark>::Evidence> {
            unreachable!("statements are counted, and rows are not looked at")
        }

        fn audits(&self, _: &<Tpcc as Benchmark>::Evidence) -> Result<Vec<Audit>> {
            unreachable!("statements are counted, and rows are not looked at")
        }

        fn statements(&self) -> Option<StatementCounts> {
            self.0.set(self.0.get() + 1_003);
            Some(StatementCounts { all: self.0.get(), own: self.1 })
        }

        fn sessions(&self) -> Option<u64> {
            None
        }

        fn flushes(&self) -> Option<FlushReader> {
            None
        }
    }

    #[test]
    fn what_other_sessions_execute_is_not_taken_for_the_cost_of_asking() {
        assert_eq!(asking(&Busy(Cell::default(), Some(3))), Some(3));
        // Without a count of its own the session has only the difference.
        assert_eq!(asking(&Busy(Cell::default(), None)), Some(1_003));
    }
}
