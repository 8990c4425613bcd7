//! The bank of transfers.

use crate::ledger::over_all;
use crate::log::LogCheck;
use crate::{
    BRANCHES_MAX, CROSSES, Call, Cardinality, Claims, Crossing, Data, Decline, Inputs, Ledger, OPENING,
    Oracle, Outcome, Sort, State, Tally, Transfers, audit,
};
use anyhow::{Context, Result, bail};
use model::rows::Dataset;
use model::{Mix, Skewed};
use result::{Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck};
use sql::{Catalogue, Dialect, Journal, Value};
use std::sync::Arc;
use workload::keyed::Effect;
use workload::{
    Benchmark, ForeignDatabase, Inquiry, Look, MessageCheck, Past, Registers, Rehearsal, Settling, Streams,
    input_checks, ledger_checks, whole_checks,
};

impl Benchmark for Transfers {
    /// The accounts of each branch.
    const SKEWS: bool = true;
    const SCALE_UNIT: &'static str = "branches";
    const SCALE_MAX: u64 = BRANCHES_MAX as u64;
    const RATE_UNIT: &'static str = "calls/s";
    const RATE_SECONDS: f64 = 1.0;
    /// Its rows do not depend on a seed.
    const GOLDEN_LOAD_SEED: u64 = 1;
    const CHANCE_NEEDS_FRESH: bool = false;
    const OF_LOAD: &'static [&'static str] = &["row-counts", "shard-range"];
    type Context = Cardinality;
    type Evidence = Vec<Tally>;
    type Knowledge = Arc<Registers>;
    type Claims = Claims;

    fn standard(scale: u32) -> Cardinality {
        Cardinality::standard(scale)
    }

    fn tiny() -> Cardinality {
        Cardinality::tiny()
    }

    fn larger() -> Cardinality {
        Cardinality::larger()
    }

    fn scale(size: &Cardinality) -> u32 {
        size.branches
    }

    fn terminals(_: u32) -> Option<u32> {
        None
    }

    /// Accounts, each as likely as any other.
    fn hottest_rows(size: &Cardinality) -> u64 {
        size.accounts_all().into()
    }

    fn shards_max(scale: u32) -> u32 {
        scale
    }

    fn over(size: Cardinality, shards: u32) -> Cardinality {
        Cardinality { shards, ..size }
    }

    fn tiny_over(shards: u32) -> Cardinality {
        let tiny = Cardinality::tiny();
        Cardinality { branches: tiny.branches.max(shards), shards, ..tiny }
    }

    fn larger_over(shards: u32) -> Cardinality {
        let larger = Cardinality::larger();
        Cardinality { branches: larger.branches.max(shards), shards, ..larger }
    }

    fn spans(style: &str) -> Result<()> {
        if !Crossing::is_of(style) {
            bail!(
                "{style} makes a transfer in one store, and here are several\nhint: a style that crosses them is `2pc`, as in \
                 transfer/postgres/tokio-postgres/2pc"
            );
        }
        Ok(())
    }

    fn spans_private_files(style: &str, journal: Journal) -> Result<()> {
        if style == Crossing::Attached.name() && journal == Journal::Wal {
            bail!(
                "a commit over attached files is atomic only with a rollback journal, and private files have a write-ahead log\n\
                 hint: name your files, --db 'shard-0=sqlite:FILE?journal=truncate' and so on; in an experiment, `journal = \
                 \"truncate\"`"
            );
        }
        Ok(())
    }

    fn parts(size: &Cardinality) -> Vec<Cardinality> {
        size.parts().collect()
    }

    fn shard(size: &Cardinality, call: &Call) -> usize {
        size.shard_of(call.account()) as usize
    }

    fn auditable(_: &dyn Look, _: &[String]) -> Result<ForeignDatabase<Cardinality>> {
        bail!("no other tool has data of this workload\nhint: `stackmark load transfer` makes it")
    }

    fn recognise(_: &dyn Look, _: &[String], load: &str) -> Result<ForeignDatabase<Cardinality>> {
        bail!("it does not hold the accounts of the transfers\nhint: `{load}` makes them")
    }

    fn dataset(size: &Cardinality, _seed: u64) -> Arc<dyn Dataset> {
        Arc::new(Data::new(*size))
    }

    fn schema(dialect: Dialect) -> Result<Catalogue> {
        Ok(crate::schema(dialect)?)
    }

    fn statements(dialect: Dialect) -> Result<Vec<(&'static str, String)>> {
        Ok(crate::sql::Stmt::NAMES.iter().copied().zip(crate::sql::catalogue(dialect)?).collect())
    }

    fn knowledge(size: &Cardinality, streams: &Streams<'_>, before: Option<&Vec<Tally>>) -> Arc<Registers> {
        // Between stores money of earlier runs may still be on its way.
        let settled = before.map_or(size.shards == 1, |before| Self::pending(before) == Some(0));
        if streams.lossy || !settled {
            return Arc::new(Registers::none());
        }
        let fresh = before.is_some_and(|before| Self::is_fresh(before, size));
        Arc::new(Registers::new(size.accounts_all().into(), fresh.then_some(OPENING)))
    }

    fn inputs(size: &Cardinality, streams: &Streams<'_>, balances: Arc<Registers>) -> impl Fn(u32) -> Inputs {
        let (size, seed, run, mix) = (*size, streams.seed, streams.run, streams.mix.cloned());
        let skewed = streams.skew.map(|skew| Arc::new(Skewed::over(size.accounts, skew)));
        let only_latest = streams.outlasts_keys;
        move |worker| {
            let inputs = Inputs::new(size, seed, run, worker, mix.as_ref());
            inputs.skewed(skewed.clone()).remembering(&balances).asking_latest(only_latest)
        }
    }

    fn rehearsal(size: &Cardinality) -> Option<Rehearsal<Transfers>> {
        let mut oracle = Oracle::new(*size);
        Some(Box::new(move |call| oracle.answer(call).expect("inputs draw accounts that are there")))
    }

    fn new_ledger(_: &Cardinality) -> Ledger {
        Ledger::new()
    }

    fn context(size: &Cardinality, _past: Past, _before: Option<&Vec<Tally>>) -> Cardinality {
        *size
    }

    fn params(context: &Cardinality) -> Vec<i64> {
        audit::params(context)
    }

    fn audits(dialect: Dialect) -> Result<Vec<audit::AuditGroup>> {
        Ok(audit::audits(dialect)?)
    }

    fn evidence_query(dialect: Dialect) -> Result<String> {
        Ok(audit::tallies(dialect)?)
    }

    fn totals(dialect: Dialect) -> Result<Option<String>> {
        Ok(Some(audit::totals(dialect)?))
    }

    fn at_any_moment() -> &'static str {
        include_str!("../spec/sql/transfer/moments.sql")
    }

    fn evidence(rows: &[Vec<Value>]) -> Result<Vec<Tally>> {
        let tally = |row: &Vec<Value>| {
            let row: Option<Vec<i64>> = row.iter().map(Value::int).collect();
            row.and_then(|row| Tally::from_row(&row)).context("a sum is not a whole number")
        };
        // What is there and what was forgotten are summed apart.
        Ok(Tally::join(vec![rows.iter().map(tally).collect::<Result<_>>()?]))
    }

    fn join(parts: Vec<Vec<Tally>>) -> Vec<Tally> {
        Tally::join(parts)
    }

    /// Branches that are prepared and not decided, and transfers on their way.
    fn pending(stored: &Vec<Tally>) -> Option<u64> {
        let open = stored.iter().filter(|tally| matches!(tally.sort, Sort::Prepared | Sort::Pending));
        Some(open.map(|tally| tally.sums.count.unsigned_abs()).sum())
    }

    fn announced(
        style: &str,
        size: &Cardinality,
        runs: &[u64],
        _before: &Vec<Tally>,
    ) -> Option<Box<dyn MessageCheck<Transfers>>> {
        (style == Crossing::LogFirst.name())
            .then(|| Box::new(LogCheck::new(runs, *size)) as Box<dyn MessageCheck<Transfers>>)
    }

    fn settling(dialect: Dialect) -> Result<Option<Settling>> {
        Ok(Some(Settling { kind: CROSSES, query: audit::settlement(dialect)? }))
    }

    fn inquiries(size: &Cardinality, claims: &Claims, dialect: Dialect) -> Result<Vec<Inquiry>> {
        let query = audit::stored_transfer(dialect)?;
        let inquiry = |doubt: &Effect| Inquiry {
            call: format!(
                "transfer {} of worker {}: {} from account {}",
                doubt.key.sequence, doubt.key.worker, doubt.amount, doubt.place
            ),
            store: size.shard_of(doubt.place) as usize,
            query: query.clone(),
            params: doubt.key.columns().to_vec(),
            told: |rows| {
                let state = rows.first().and_then(|row| row.first()).and_then(Value::int);
                match (rows, state.and_then(State::of_number)) {
                    ([], _) => "not done",
                    (_, Some(state)) => state.name(),
                    (_, None) => "in no state that there is",
                }
            },
        };
        Ok(claims.doubts.iter().map(inquiry).collect())
    }

    fn is_fresh(stored: &Vec<Tally>, _size: &Cardinality) -> bool {
        stored.iter().all(|tally| tally.sort == Sort::Accounts)
    }

    fn claims(ledger: &Ledger, complete: bool) -> Claims {
        ledger.claims(complete)
    }

    fn ledger_checks(before: &Vec<Tally>, after: &Vec<Tally>, claims: &Claims) -> Vec<LedgerCheck> {
        // Workers are not places that must be there before.
        ledger_checks(
            "worker's keys",
            (0, 0),
            Some(crate::ledger::audit(claims, before, after)),
            claims.complete,
        )
    }

    fn whole_checks(size: &Cardinality, stored: &Vec<Tally>) -> Vec<LedgerCheck> {
        whole_checks(over_all(size.ids().count() as i64 * OPENING, stored))
    }

    fn input_checks(ledger: &Ledger, size: &Cardinality, mix: Option<&Mix>) -> Vec<InputCheck> {
        let mix = mix.cloned().unwrap_or_else(audit::standard_mix);
        input_checks(audit::input_audit(ledger, size, &mix))
    }

    fn headline(rate: Interval, _paced: bool) -> Headline {
        Headline::calls_per_s(rate)
    }

    fn efficiency(_rate: f64, _scale: u64) -> Option<Efficiency> {
        None
    }

    fn deferred(_ledger: &Ledger, _totals: &measure::Totals) -> Option<Deferred> {
        None
    }

    fn closing(call: &Call) -> Option<Call> {
        Some(match call {
            Call::Transfer { transfer, .. } if transfer.key.sequence % 2 == 0 => {
                Call::ReadTransfer { source: transfer.source, key: transfer.key }
            }
            Call::Transfer { transfer, .. } => Call::ReadAccount { id: transfer.target },
            Call::ReadTransfer { .. } | Call::ReadAccount { .. } => *call,
        })
    }

    fn lookup(call: &Call, outcome: &Outcome) -> Option<Call> {
        match (call, outcome) {
            (Call::Transfer { transfer, .. }, Outcome::Moved { .. }) => {
                Some(Call::ReadTransfer { source: transfer.source, key: transfer.key })
            }
            _ => None,
        }
    }

    fn shows(call: &Call, outcome: &Outcome, later: &Outcome) -> Option<bool> {
        let (Call::Transfer { transfer, .. }, Outcome::Moved { state: before, .. }) = (call, outcome) else {
            return None;
        };
        match later {
            Outcome::Found { target, amount, state } => {
                let same = (*target, *amount) == (transfer.target, transfer.amount);
                Some(same && (state == before || *before == State::Pending && *state != State::Declined))
            }
            Outcome::Declined(Decline::NoSuchTransfer) => Some(false),
            _ => None,
        }
    }
}
