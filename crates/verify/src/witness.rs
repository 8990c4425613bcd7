//! Who looks at the stored data next to the server.

use crate::engine::{self, Counted, Flushing};
use anyhow::{Result, bail};
use contract::Wire;
use deploy::Interrupt;
use measure::Monotonic;
use model::{Clock, Nanos};
use result::{Audit, AuditWhen, LedgerCheck};
use sql::DbUrl;
use targets::Driven;
use trial::{Asking, Own};
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
    fn statements(&self) -> Option<Counted>;

    /// Sessions that the server has at the engine, where no one else has any.
    fn sessions(&self) -> Option<u64>;

    /// How what is flushed to the disk can be seen, if it can.
    fn flushing(&self) -> Option<Flushing>;
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
        if W::pending(&evidence).unwrap_or(0) == 0 || clock.now() > SETTLES {
            return Ok(evidence);
        }
        std::thread::sleep(LOOK_EVERY.into());
    }
}

/// Our own plain connection to each database.
pub struct Databases<'a, W: Wire> {
    /// The databases with what each holds of the whole.
    pub parts: Vec<(&'a DbUrl, &'a W::Extent)>,
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
        let past = Past { ours: true, fresh: false, run: None };
        let asking = Asking { past, when: AuditWhen::AfterRun, threads: 1 };
        trial::audits::<W>(&self.parts, asking, Some(before), self.interrupt)
    }

    fn statements(&self) -> Option<Counted> {
        let counts: Option<Vec<Counted>> =
            self.parts.iter().map(|(url, _)| engine::statements_of(url)).collect();
        let counts = counts?;
        Some(Counted {
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

    fn flushing(&self) -> Option<Flushing> {
        let each: Option<Vec<Flushing>> =
            self.parts.iter().map(|(url, _)| engine::flushing_of(url)).collect();
        each?.into_iter().reduce(Flushing::and)
    }
}

/// A server that says itself what it stores.
pub struct TheServer<'a> {
    pub own: &'a Own,
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

    fn statements(&self) -> Option<Counted> {
        None
    }

    fn sessions(&self) -> Option<u64> {
        None
    }

    fn flushing(&self) -> Option<Flushing> {
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
