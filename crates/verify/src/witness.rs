//! Who looks at the stored data next to the server.

use admin::store;
use anyhow::{Result, bail};
use contract::Wire;
use deploy::Interrupt;
use measure::Monotonic;
use model::{Clock, Nanos};
use result::{Audit, AuditWhen, LedgerCheck};
use sql::{DbUrl, Dialect};
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
        let past = Past { ours: true, fresh: false };
        let asking = Asking { past, when: AuditWhen::AfterRun, threads: 1 };
        trial::audits::<W>(&self.parts, asking, Some(before), self.interrupt)
    }

    fn statements(&self) -> Option<Counted> {
        let counts: Option<Vec<Counted>> = self.parts.iter().map(|(url, _)| statements_of(url)).collect();
        let counts = counts?;
        Some(Counted {
            all: counts.iter().map(|count| count.all).sum(),
            own: counts.iter().map(|count| count.own).sum(),
        })
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
}

/// Statements that an engine has executed.
pub struct Counted {
    /// Those of all sessions that the engine counts together.
    pub all: u64,
    /// Those among them that the session has made that asked, where the engine counts for each session.
    pub own: Option<u64>,
}

/// PostgreSQL counts for each database where `pg_stat_statements` is loaded, MariaDB always and for the whole server, SQLite
/// never.
fn statements_of(url: &DbUrl) -> Option<Counted> {
    let query = match url.dialect() {
        Dialect::Sqlite => return None,
        Dialect::Postgres => {
            "select coalesce(sum(calls), 0)::bigint, null::bigint from pg_stat_statements where dbid = (select oid from pg_database where \
             datname = current_database())"
        }
        Dialect::MySql => {
            "select cast(server.variable_value as signed), cast(session.variable_value as signed) from \
             information_schema.global_status server, information_schema.session_status session where server.variable_name = \
             'QUESTIONS' and session.variable_name = 'QUESTIONS'"
        }
    };
    let rows = store(url).rows(query, &[]).ok()?;
    let count = |column: usize| u64::try_from(rows.first()?.get(column)?.int()?).ok();
    Some(Counted { all: count(0)?, own: count(1) })
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
