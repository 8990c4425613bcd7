//! Who looks at the stored data next to the server.

use crate::engine::{self, FlushReader, StatementCounts};
use anyhow::{Result, bail};
use contract::Wire;
use deploy::Interrupt;
use measure::{Monotonic, unix_seconds};
use model::{Clock, Nanos};
use result::{Audit, AuditWhen, LedgerCheck};
use sql::DbUrl;
use targets::Driven;
use trial::{Asking, ServerAdmin};
use workload::Past;

/// Someone who can say what is stored.
pub trait Witness<W: Driven> {
    /// Who it is, for who reads the verdicts.
    fn name(&self) -> String;

    /// What the store reports.
    fn evidence(&self) -> Result<W::Evidence>;

    /// The audits of the stored data.
    fn audits(&self, before: &W::Evidence) -> Result<Vec<Audit>>;

    /// Statements that the engine has executed so far, begin and commit among them or not; nothing where it does not count.
    fn statements(&self) -> Option<StatementCounts>;

    /// Sessions that the server has at the engine, where no one else has any.
    fn sessions(&self) -> Option<u64>;

    /// Who sees what is flushed to the disk, if anything can.
    fn flushes(&self) -> Option<FlushReader>;
}

/// What was acknowledged and is on its way is waited for this long.
const SETTLES: Nanos = Nanos::from_secs(30);
/// MariaDB shows who asks for its transactions within 0.1 s of the last one what it showed then.
const LOOK_EVERY: Nanos = Nanos::from_millis(200);

/// What the store reports once nothing is on its way any more, or when it was waited for in vain: then it says that too.
pub(crate) fn settled<W: Driven>(witness: &dyn Witness<W>) -> Result<W::Evidence> {
    let clock = Monotonic::start();
    loop {
        let evidence = witness.evidence()?;
        match W::pending(&evidence) {
            None => return Ok(evidence),
            // Databases are read one after the other: what arrived in the first after that was read, and left the second before
            // that was read, is in neither.
            Some(0) => return witness.evidence(),
            Some(_) if clock.now() > SETTLES => return Ok(evidence),
            Some(_) => std::thread::sleep(LOOK_EVERY.into()),
        }
    }
}

/// Our own plain connection to each database.
pub struct Databases<'a, W: Wire> {
    /// The databases with what each holds of the whole.
    pub parts: Vec<(&'a DbUrl, &'a W::Extent)>,
    /// The whole.
    pub size: &'a W::Extent,
    /// When the first call could be made, in seconds since 1970.
    pub began: u64,
    /// The server's process, where it was started on databases that no one else uses.
    pub process: Option<u32>,
    /// Ends what takes long.
    pub interrupt: &'a Interrupt,
}

impl<W: Driven> Witness<W> for Databases<'_, W> {
    fn name(&self) -> String {
        "Stackmark's own connection to the database".into()
    }

    fn evidence(&self) -> Result<W::Evidence> {
        let urls: Vec<DbUrl> = self.parts.iter().map(|(url, _)| (*url).clone()).collect();
        trial::evidence::<W>(&urls)
    }

    fn audits(&self, before: &W::Evidence) -> Result<Vec<Audit>> {
        let run = Some((self.began.cast_signed(), unix_seconds().cast_signed()));
        let past = Past { ours: true, fresh: W::is_fresh(before, self.size), run };
        let asking = Asking { past, when: AuditWhen::AfterRun, threads: 1 };
        trial::audits::<W>(&self.parts, asking, Some(before), self.interrupt)
    }

    fn statements(&self) -> Option<StatementCounts> {
        let counts: Option<Vec<StatementCounts>> =
            self.parts.iter().map(|(url, _)| engine::statements_of(url)).collect();
        let counts = counts?;
        Some(StatementCounts {
            all: counts.iter().map(|count| count.all).sum(),
            own: counts.iter().map(|count| count.own).sum(),
        })
    }

    fn sessions(&self) -> Option<u64> {
        let process = self.process?;
        let counts = self.parts.iter().map(|(url, _)| engine::sessions_of(url, process));
        // A pool is one to each database.
        counts.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    fn flushes(&self) -> Option<FlushReader> {
        FlushReader::open(self.parts.iter().map(|(url, _)| *url))
    }
}

/// A server that says itself what it stores.
pub struct TheServer<'a> {
    pub own: &'a ServerAdmin,
}

impl<W: Driven> Witness<W> for TheServer<'_> {
    fn name(&self) -> String {
        "the server itself (/admin/evidence); no independent audit".into()
    }

    fn evidence(&self) -> Result<W::Evidence> {
        Ok(self.own.evidence::<W>()?.0)
    }

    fn audits(&self, _before: &W::Evidence) -> Result<Vec<Audit>> {
        Ok(self.own.evidence::<W>()?.1)
    }

    fn statements(&self) -> Option<StatementCounts> {
        None
    }

    fn sessions(&self) -> Option<u64> {
        None
    }

    fn flushes(&self) -> Option<FlushReader> {
        None
    }
}

/// What acknowledged calls imply, against what is stored.
pub(crate) fn ledger<W: Driven>(
    before: &W::Evidence,
    after: &W::Evidence,
    ledger: &W::Ledger,
) -> Vec<LedgerCheck> {
    W::ledger_checks(before, after, &W::claims(ledger, true))
}

/// Fails where databases do not hold the data of the golden vectors.
pub fn is_golden<W: Driven>(size: &W::Extent, stores: u32) -> Result<()> {
    if *size != W::tiny_over(stores) {
        bail!(
            "--db holds {}, and a server is verified on the small data of the golden vectors\nhint: `stackmark load {} --golden \
             --fresh --db …` loads it; start the server again then",
            workload::amount::<W>(W::scale(size).into()),
            W::NAME
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::Value;
    use std::cell::Cell;
    use workload::Benchmark;
    use workload_transfer::Transfers;

    const CREDITS: i64 = 4;
    const PENDING: i64 = 7;
    const SETTLED: i64 = 8;

    /// Two databases, each as it was when it was read: a relay works between the two.
    struct Relayed(Cell<usize>);

    impl Relayed {
        fn of(readings: usize) -> Vec<[i64; 2]> {
            match readings {
                // In the second one a transfer is pending, or credited in the first since that was read.
                0 => vec![[PENDING, 1]],
                1 => vec![[SETTLED, 1]],
                _ => vec![[CREDITS, 1], [SETTLED, 1]],
            }
        }
    }

    impl Witness<Transfers> for Relayed {
        fn name(&self) -> String {
            "relayed".into()
        }

        fn evidence(&self) -> Result<<Transfers as Benchmark>::Evidence> {
            let readings = self.0.replace(self.0.get() + 1);
            let row = |[sort, count]: [i64; 2]| [sort, 1, 0, count, 100, 7].map(Value::Int).to_vec();
            Transfers::evidence(&Relayed::of(readings).into_iter().map(row).collect::<Vec<_>>())
        }

        fn audits(&self, _: &<Transfers as Benchmark>::Evidence) -> Result<Vec<Audit>> {
            unreachable!("audits are not asked for")
        }

        fn statements(&self) -> Option<StatementCounts> {
            None
        }

        fn sessions(&self) -> Option<u64> {
            None
        }

        fn flushes(&self) -> Option<FlushReader> {
            None
        }
    }

    #[test]
    fn what_a_relay_moves_between_the_readings_of_two_databases_is_not_missed() {
        let relayed = Relayed(Cell::new(0));
        let stored = settled(&relayed).unwrap();
        assert!(stored.iter().any(|tally| tally.sums.count == 1 && format!("{:?}", tally.sort) == "Credits"));
        assert_eq!(relayed.0.get(), 3);
    }
}
