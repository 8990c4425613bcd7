//! Transfers in one store and their fault injectors; those between stores are in `sagas` and `two_phase`.

use crate::injected::{Injected, Injector, RANDOM_CALLS};
use crate::tamper::Tampering;
use contract::conformance::{Conformance, Disagreement};
use model::{Session, Workload as _};
use sql::Dialect;
use workload_transfer::conformance::{ConformancePlan, conform};
use workload_transfer::{Call, Cardinality, Stmt, Transfers, catalogue};

impl Injected for Transfers {
    const SIZE: Cardinality = Cardinality::tiny();
    const CALLS: u32 = 600;
    const MIX_CALLS: u64 = 2_000;
    const CONFORMED: [u32; 2] = [40, 30];
    const CONSTRAINT: [&'static str; 2] = ["account", "account_balance_check"];
    const INJECTORS: &'static [Injector<Transfers>] = &[
        Injector::edits(
            "money is credited twice",
            &[(Stmt::MoveMoney.id(), "else balance + ?3 end", "else balance + ?3 + ?3 end")],
            &["account-entries", "ledger"],
        ),
        Injector::edits(
            "money is debited and not credited",
            &[(Stmt::MoveMoney.id(), "else balance + ?3 end", "else balance + ?3 - ?3 end")],
            &["account-entries", "ledger"],
        ),
        Injector::edits(
            "money is credited and not debited",
            &[(Stmt::MoveMoney.id(), "then balance - ?3 else", "then balance - ?3 + ?3 else")],
            &["account-entries", "ledger"],
        ),
        Injector::after(
            "a transfer has gone to a neighbour of its target, with its entry and the money",
            &[
                "update entry set account = account + 1 - 2 * ((account - 1) % 2) where amount > 0 and sequence = (select one from \
                 (select min(sequence) as one from transfer where state = 1 and source + source % 2 <> target + target % 2) as first_one)",
                "update account set balance = balance - (select amount from transfer where state = 1 and sequence = (select one from \
                 (select min(sequence) as one from transfer where state = 1 and source + source % 2 <> target + target % 2) as a)) where id = \
                 (select target from transfer where sequence = (select one from (select min(sequence) as one from transfer where \
                 state = 1 and source + source % 2 <> target + target % 2) as b))",
                "update account set balance = balance + (select amount from transfer where state = 1 and sequence = (select one from \
                 (select min(sequence) as one from transfer where state = 1 and source + source % 2 <> target + target % 2) as a)) where id = \
                 (select target + 1 - 2 * ((target - 1) % 2) from transfer where sequence = (select one from (select min(sequence) as \
                 one from transfer where state = 1 and source + source % 2 <> target + target % 2) as b))",
                "update transfer set target = target + 1 - 2 * ((target - 1) % 2) where sequence = (select one from (select \
                 min(sequence) as one from transfer where state = 1 and source + source % 2 <> target + target % 2) as first_one)",
            ],
            &["ledger"],
        ),
        Injector::tampered(
            "some transfers are acknowledged and never committed",
            Tampering::ForgetsCommit(Stmt::InsertEntries.id(), 20),
            &["ledger"],
        ),
        Injector::after(
            "a declined transfer is forgotten",
            &[
                "delete from transfer where state = 2 and sequence = (select one from (select min(sequence) as one from transfer where state = 2) as first_one)",
            ],
            &["ledger"],
        ),
        Injector::after(
            "a transfer is shown as made that was not",
            &["update transfer set state = 1 where state = 2"],
            &["ledger", "transfer-credits", "transfer-debits"],
        ),
        Injector::after(
            "the ledger has lost a credit",
            &[
                "delete from entry where amount > 0 and sequence = (select one from (select min(sequence) as one from entry) as first_one)",
            ],
            &["account-entries", "ledger", "transfer-credits"],
        ),
        Injector::after(
            "a transfer is gone, and its entries are not",
            &[
                "delete from transfer where state = 1 and sequence = (select one from (select min(sequence) as one from entry) as first_one)",
            ],
            &["entry-transfers", "ledger"],
        ),
        Injector::after(
            "an entry is of an account that is not here",
            &[
                "update entry set account = 25 where amount > 0 and sequence = (select one from (select min(sequence) as one from entry) as first_one)",
            ],
            &["account-entries", "entry-shape", "entry-transfers", "ledger", "transfer-credits"],
        ),
        Injector::after(
            "a transfer was declined although there was enough",
            &["update transfer set balance = amount where state = 2"],
            &["ledger", "transfer-shape"],
        ),
        Injector::after(
            "a transfer is kept with another balance than it was answered with",
            &["update transfer set balance = balance + 1 where state = 1 and sequence % 2 = 0"],
            &["ledger"],
        ),
        Injector::after(
            "a transfer of another run appears, whole",
            &[
                "insert into transfer (run, worker, sequence, source, target, amount, state, balance, created) values (8, 1, 1, 3, \
                 4, 1, 1, 1, 1)",
                "insert into entry (run, worker, sequence, source, account, amount) values (8, 1, 1, 3, 3, -1)",
                "insert into entry (run, worker, sequence, source, account, amount) values (8, 1, 1, 3, 4, 1)",
                "update account set balance = balance - 1 where id = 3",
                "update account set balance = balance + 1 where id = 4",
            ],
            &["ledger"],
        ),
        Injector::after(
            "a declined transfer of another run appears",
            &[
                "insert into transfer (run, worker, sequence, source, target, amount, state, balance, created) values (8, 1, 1, 3, \
                 4, 10000000000, 2, 1, 1)",
            ],
            &["ledger"],
        ),
        Injector::after(
            "a declined transfer is dated years before its run",
            &[
                "insert into transfer (run, worker, sequence, source, target, amount, state, balance, created) values                  (1785000000000000000, 1, 1, 3, 4, 10000000000, 2, 1, 1)",
            ],
            &["ledger", "transfer-shape"],
        ),
        Injector::after(
            "an account is gone",
            &["delete from account where id = 3"],
            &["ledger", "row-counts"],
        ),
        Injector::after(
            "an account is in debt",
            &["update account set balance = -1 where id = 3"],
            &["account-entries", "ledger", "negative-balances"],
        )
        .unchecked(),
        Injector::after(
            "the log has decided what was not done",
            &["insert into decision (run, worker, sequence, source, target) values (9, 9, 9, 3, 4)"],
            &["decision-transfers"],
        ),
        Injector::after(
            "the store has other accounts",
            &["update shard_range set last_account = 25"],
            &["shard-range"],
        ),
    ];

    fn statements(dialect: Dialect) -> Vec<String> {
        catalogue(dialect).expect("kept by a test of the workload")
    }

    async fn conform<S: Session<Transfers>>(session: &mut S) -> Result<Conformance, Disagreement> {
        conform(session, &ConformancePlan::golden(5, RANDOM_CALLS)).await
    }

    /// What a fault injector forgot would be asked for again.
    fn is_left_out(call: &Call) -> bool {
        matches!(Transfers::kind(call), 3 | 4)
    }
}
