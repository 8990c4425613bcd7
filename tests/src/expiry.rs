//! Keys that expire: what was made long enough ago is forgotten, whoever forgets and however many do, the audits still add up, and
//! what was made is not made again.

use crate::calls::runtime;
use crate::fixture_db::execute;
use crate::sagas::{Asked, Relayed, asked, beside, how};
use crate::two_phase::none_left;
use crate::two_stores::{Bank, many_at_once};
use model::{CallWork, DefectKind, Fault, Session as _, Target as _};
use std::collections::BTreeSet;
use std::time::Duration;
use targets::Driven as _;
use workload_transfer::{Call, Outcome, Purpose, Transfers};

/// Whoever forgets looks at all keys again so often, at most.
const TURNS: u32 = 400;

/// Forgets what is older than this, in as many threads; how many transfers each has forgotten.
fn forget<B: Relayed>(bank: &Bank, keep: Duration, threads: usize) -> Vec<u64> {
    let one = || {
        let mut relay =
            Transfers::relay(how::<B>(), &bank.urls(), &bank.size, relay::Settings::keeping(keep))
                .expect("two stores");
        runtime().block_on(async {
            let mut forgotten = 0;
            for _ in 0..TURNS {
                let batch = relay.batch().await;
                assert_eq!(batch.error, None);
                forgotten += batch.expired;
            }
            forgotten
        })
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|thread| thread.join().expect("both stores are there")).collect()
    })
}

/// Of many transfers of all sorts the old ones are forgotten, each once, and the audits say the same as before; those that are young
/// stay.
///
/// # Panics
/// When it is not so.
pub fn old_keys_are_forgotten_once<B: Relayed>() {
    let _together = none_left();
    let bank = Bank::on::<B>();
    let (ledger, ..) = beside::<B, _>(1, &bank, || many_at_once(&bank, how::<B>()));
    let there = bank.transfers();
    assert!(there > 500, "{there}");
    assert_eq!(forget::<B>(&bank, Duration::from_secs(3_600), 1), [0]);
    assert_eq!(bank.transfers(), there);

    let forgotten = forget::<B>(&bank, Duration::ZERO, 2);
    assert_eq!((forgotten.iter().sum::<u64>(), bank.transfers()), (there, 0), "{forgotten:?}");
    assert_eq!(bank.failed(&ledger), BTreeSet::new());
}

/// What is asked for again under a key that has expired is not made again.
///
/// # Panics
/// When it is.
pub fn an_expired_key_is_not_made_again<B: Relayed>() {
    let _together = none_left();
    let Asked { bank, ledger, transfer } = asked::<B>();
    beside::<B, _>(1, &bank, || ());
    assert_eq!(forget::<B>(&bank, Duration::ZERO, 1), [1]);
    let again = Call::Transfer { purpose: Purpose::Repeat, transfer };
    let target = bank.target(how::<B>());
    let answers = runtime().block_on(async {
        let mut session = target.open(0).await.expect("both stores are there");
        let again = session.run(&again, &mut CallWork::default()).await;
        let read = Call::ReadTransfer { source: transfer.source, key: transfer.key };
        (again, session.run(&read, &mut CallWork::default()).await)
    });
    let (Err(Fault::Defect(defect)), Ok(Outcome::Declined(_))) = &answers else { panic!("{answers:?}") };
    assert!(defect.kind == DefectKind::BadCall && defect.what.contains("expired"), "{defect:?}");
    assert_eq!(bank.failed(&ledger), BTreeSet::new());
}

/// Nothing is forgotten that is on its way, or that was decided and has not arrived.
///
/// # Panics
/// When it is.
pub fn what_has_not_arrived_is_not_forgotten<B: Relayed>() {
    let _together = none_left();
    let mut asked = asked::<B>();
    beside::<B, _>(1, &asked.bank, || ());
    // As a branch leaves it that is prepared and not committed yet.
    let place = asked.bank.urls().remove(1);
    let amount = asked.transfer.amount;
    let target = asked.transfer.target;
    let moved = |by: i64| format!("update account set balance = balance + {by} where id = {target}");
    let credit = "insert into entry (run, worker, sequence, source, account, amount) select run, worker, sequence, source, target, amount \
                  from inbox";
    execute(&place, &[moved(-amount), "delete from entry".into()]);
    assert_eq!(forget::<B>(&asked.bank, Duration::ZERO, 1), [0]);
    execute(&place, &[moved(amount), credit.into()]);
    asked.repeat::<B>();
    assert_eq!(forget::<B>(&asked.bank, Duration::ZERO, 1), [1]);
    assert_eq!(asked.bank.failed(&asked.ledger), BTreeSet::new());
}
