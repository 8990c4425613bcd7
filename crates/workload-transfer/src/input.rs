//! How calls are drawn.

use crate::{
    AMOUNT_DRAWN_MAX, AMOUNT_MAX, Call, Cardinality, Decline, Key, Outcome, Purpose, State, Transfer,
    Transfers,
};
use model::random::Random;
use model::{Mix, Skewed, Workload};
use std::sync::Arc;
use workload::{Drawn, Registers, Remembered};

/// The path of the run's random streams, apart from those of other workloads.
const CLIENT: u64 = 500;

/// Shares of the kinds in the workload's own mix, in per cent.
const SHARES: [f64; 6] = [45.0, 15.0, 3.0, 2.0, 10.0, 25.0];

/// The mix where no other is asked for.
pub(crate) fn standard_mix() -> Mix {
    let weights: Vec<_> =
        Transfers::KINDS.iter().zip(SHARES).map(|(kind, share)| (kind.name.to_owned(), share)).collect();
    Mix::of(Transfers::KINDS, &weights).expect("the shares are right").expect("there are several kinds")
}

/// The calls of one client: branches evenly, the accounts of a branch evenly or by a skew, amounts of 1 to [`AMOUNT_DRAWN_MAX`].
#[derive(Debug, Clone)]
pub struct Inputs {
    size: Cardinality,
    mix: Mix,
    random: Random,
    /// How the accounts of a branch are drawn, where that is not evenly.
    skewed: Option<Arc<Skewed>>,
    /// The key of the next transfer.
    next: Key,
    /// Transfers that it may ask for again or look at.
    asked: Remembered<Asked>,
    /// Whether these are only the latest.
    only_latest: bool,
    /// What accounts hold; absent where answers are held to their calls and to earlier answers to the same client.
    balances: Option<Arc<Registers>>,
    /// What was known of the accounts when the last call was drawn: of the one that pays or is read, and of the one that is paid.
    drawn: [Drawn; 2],
}

/// A transfer that was asked for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    transfer: Transfer,
    /// What was answered to it first, once something was.
    answer: Option<Outcome>,
}

impl Inputs {
    /// The stream of a worker in a run, whose number is another for each trial on the same data: keys are made of it.
    pub fn new(size: Cardinality, seed: u64, run: u64, worker: u32, mix: Option<&Mix>) -> Inputs {
        Inputs {
            size,
            mix: mix.cloned().unwrap_or_else(standard_mix),
            random: Random::stream(seed, &[CLIENT, u64::from(worker)]),
            skewed: None,
            next: Key { run, worker, sequence: 0 },
            asked: Remembered::default(),
            only_latest: false,
            balances: None,
            drawn: Default::default(),
        }
    }

    /// The same, whose answers are held to what calls of all clients have made of the balances.
    #[must_use]
    pub fn remembering(self, balances: &Arc<Registers>) -> Inputs {
        Inputs { balances: Some(Arc::clone(balances)), ..self }
    }

    /// The same, which asks again for the latest transfers alone, if the run outlasts the keys of others.
    #[must_use]
    pub fn asking_latest(self, only_latest: bool) -> Inputs {
        Inputs { only_latest, ..self }
    }

    /// The same, with the accounts of each branch drawn by a skew over as many.
    #[must_use]
    pub fn skewed(self, skewed: Option<Arc<Skewed>>) -> Inputs {
        Inputs { skewed, ..self }
    }

    /// The place of an account among those of its branch, by the skew if there is one.
    fn place(&mut self) -> Option<u32> {
        Some(self.skewed.as_ref()?.draw(&mut self.random))
    }

    fn one_of(&mut self, count: u32) -> u32 {
        self.random.below(u64::from(count)) as u32
    }

    fn account(&mut self) -> u32 {
        if let Some(place) = self.place() {
            return self.size.ids().start() + self.one_of(self.size.branches) * self.size.accounts + place;
        }
        self.size.ids().start() + self.one_of(self.size.accounts_all())
    }

    /// Another account of the same branch.
    fn neighbour(&mut self, source: u32) -> u32 {
        let each = self.size.accounts;
        let first = self.size.branch_of(source) * each + 1;
        if let Some(place) = self.place() {
            // Who would pay himself pays the next one.
            let place = if first + place == source { (place + 1) % each } else { place };
            return first + place;
        }
        first + (source - first + 1 + self.one_of(each - 1)) % each
    }

    /// An account of another store, or of another branch where there is one store; nothing where there is but one branch.
    fn stranger(&mut self, source: u32) -> Option<u32> {
        let size = self.size;
        let home = match size.shards {
            1 => Cardinality { first: size.branch_of(source), branches: 1, ..size },
            _ => size.part(size.shard_of(source)),
        };
        let others = size.accounts_all() - home.accounts_all();
        if others == 0 {
            return None;
        }
        let all_before = *size.ids().start();
        let drawn = match self.place() {
            Some(place) => all_before + self.one_of(others / size.accounts) * size.accounts + place,
            None => all_before + self.one_of(others),
        };
        Some(if drawn < *home.ids().start() { drawn } else { drawn + home.accounts_all() })
    }

    fn transfer(&mut self, purpose: Purpose) -> Call {
        let source = self.account();
        let across = if purpose == Purpose::Across { self.stranger(source) } else { None };
        // Where there is nothing to cross, it stays within.
        let purpose = if purpose == Purpose::Across && across.is_none() { Purpose::Within } else { purpose };
        let target = match across {
            Some(target) => target,
            None => self.neighbour(source),
        };
        let amount = match purpose {
            Purpose::Overdraft => AMOUNT_MAX,
            _ => self.random.range(1, AMOUNT_DRAWN_MAX),
        };
        let transfer = Transfer { key: self.next, source, target, amount };
        let asked = Asked { transfer, answer: None };
        self.asked.push(self.next.sequence.into(), asked, &mut self.random);
        self.next.sequence += 1;
        Call::Transfer { purpose, transfer }
    }

    fn next_call(&mut self) -> Call {
        let drawn = match self.mix.draw(&mut self.random) {
            0 => Purpose::Within,
            1 => Purpose::Across,
            2 => Purpose::Overdraft,
            3 => match self.earlier() {
                Some(Asked { transfer, answer }) => {
                    let purpose = if answer.is_some() { Purpose::Repeat } else { Purpose::Retry };
                    return Call::Transfer { purpose, transfer };
                }
                None => Purpose::Within,
            },
            4 => match self.earlier() {
                Some(Asked { transfer, .. }) => {
                    return Call::ReadTransfer { source: transfer.source, key: transfer.key };
                }
                None => Purpose::Within,
            },
            _ => return Call::ReadAccount { id: self.account() },
        };
        self.transfer(drawn)
    }

    /// Notes what is known of the accounts of a call that was drawn.
    fn note(&mut self, call: &Call) {
        let Some(balances) = &self.balances else { return };
        let of = |transfer: &Transfer, draw: fn(&Registers, u64, i64) -> Drawn| {
            let Transfer { source, target, amount, .. } = *transfer;
            [draw(balances, source.into(), -amount), draw(balances, target.into(), amount)]
        };
        self.drawn = match call {
            // An earlier answer is only repeated.
            Call::Transfer { purpose: Purpose::Repeat | Purpose::Raced, .. } | Call::ReadTransfer { .. } => {
                Default::default()
            }
            Call::Transfer { purpose: Purpose::Retry, transfer } => of(transfer, Registers::draw_again),
            Call::Transfer { transfer, .. } => of(transfer, Registers::draw),
            Call::ReadAccount { id } => [balances.draw((*id).into(), 0), Drawn::default()],
        };
    }

    /// Holds an answer to what calls have made of the balances.
    fn check_balances(&self, call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        let (Some(balances), [account, paid]) = (&self.balances, self.drawn) else { return Ok(()) };
        // Between two stores the second of them may be brought to the decision after the answer.
        let later = |transfer: &Transfer| {
            self.size.shards > 1 && self.size.is_across(transfer.source, transfer.target)
        };
        let possible = match (call, outcome) {
            (Call::Transfer { purpose, transfer }, Outcome::Moved { balance, .. }) if later(transfer) => {
                let before = (*purpose != Purpose::Retry).then(|| balance.saturating_add(transfer.amount));
                balances.can_hold(&account, before)
            }
            (Call::ReadAccount { .. }, Outcome::Balance { balance }) => {
                balances.done(account, Some(*balance))
            }
            (Call::Transfer { purpose, transfer }, Outcome::Moved { state: State::Completed, balance }) => {
                // Asked for again, it may have been made the first time, and the balance is that of then.
                let before = (*purpose != Purpose::Retry).then(|| balance.saturating_add(transfer.amount));
                balances.done(paid, None) & balances.done(account, before)
            }
            (Call::Transfer { purpose, .. }, Outcome::Declined(Decline::InsufficientFunds { balance })) => {
                let before = (*purpose != Purpose::Retry).then_some(*balance);
                balances.declined(paid, None) & balances.declined(account, before)
            }
            // What is on its way may come back.
            _ => true,
        };
        if possible { Ok(()) } else { Err("the balance of an account is not what calls have made of it") }
    }

    /// A transfer that was asked for; nothing before the first.
    fn earlier(&mut self) -> Option<Asked> {
        let random = &mut self.random;
        let asked = if self.only_latest { self.asked.draw_latest(random) } else { self.asked.draw(random) };
        asked.copied()
    }
}

impl model::Inputs<Transfers> for Inputs {
    fn draw(&mut self) -> Call {
        let call = self.next_call();
        self.note(&call);
        call
    }

    /// What is answered to a key again, and read about a transfer, is what was answered first.
    fn check(&mut self, call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        self.check_balances(call, outcome)?;
        if self.size.shards == 1 && matches!(outcome, Outcome::Moved { state: State::Pending, .. }) {
            return Err("a transfer within one store is answered as if it was on its way to another");
        }
        let key = match call {
            Call::Transfer { transfer, .. } => transfer.key,
            Call::ReadTransfer { key, .. } => *key,
            Call::ReadAccount { .. } => return Ok(()),
        };
        let asked = self.asked.get_mut(key.sequence.into());
        let Some(asked) = asked.filter(|asked| asked.transfer.key == key) else { return Ok(()) };
        let Transfer { target, amount, .. } = asked.transfer;
        match (call, asked.answer) {
            (Call::Transfer { .. }, Some(first)) if first != *outcome => {
                Err("a key that was used is answered otherwise than at first")
            }
            (Call::Transfer { .. }, _) => {
                if *outcome == Outcome::Declined(Decline::KeyReused) {
                    return Err("a key that only this client has is used for another transfer");
                }
                asked.answer = Some(*outcome);
                Ok(())
            }
            (_, Some(first)) => {
                let states: &[State] = match first {
                    Outcome::Moved { state: State::Pending, .. } => {
                        &[State::Pending, State::Completed, State::Refunded]
                    }
                    Outcome::Moved { .. } => &[State::Completed],
                    _ => &[State::Declined],
                };
                let is_one = |state: &State| *outcome == Outcome::Found { target, amount, state: *state };
                match states.iter().any(is_one) {
                    true => Ok(()),
                    false => Err("a transfer is not what was answered to who asked for it"),
                }
            }
            (_, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Inputs as _;
    use std::collections::BTreeSet;

    fn draw(size: Cardinality, seed: u64, worker: u32, count: usize) -> Vec<Call> {
        let mut inputs = Inputs::new(size, seed, 1, worker, None);
        (0..count).map(|_| inputs.draw()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_calls() {
        let size = Cardinality::standard(2);
        assert_eq!(draw(size, 5, 3, 200), draw(size, 5, 3, 200));
        assert_ne!(draw(size, 5, 3, 200), draw(size, 6, 3, 200));
        assert_ne!(draw(size, 5, 3, 200), draw(size, 5, 13, 200));
    }

    #[test]
    fn kinds_come_in_their_shares_and_keys_are_new_but_in_repeats() {
        let calls = draw(Cardinality::tiny(), 1, 0, 100_000);
        let mut counts = [0_u32; 6];
        let (mut keys, mut known) = (BTreeSet::new(), 0);
        for call in &calls {
            counts[Transfers::kind(call)] += 1;
            match call {
                // No one has answered.
                Call::Transfer { purpose: Purpose::Retry, transfer } => {
                    assert!(keys.contains(&transfer.key));
                    known += 1;
                }
                Call::Transfer { transfer, .. } => assert!(keys.insert(transfer.key)),
                Call::ReadTransfer { key, .. } => assert!(keys.contains(key)),
                Call::ReadAccount { .. } => {}
            }
        }
        for (count, share) in counts.into_iter().zip(SHARES) {
            assert!((f64::from(count) / 1_000.0 - share).abs() < 0.6, "{counts:?}");
        }
        assert_eq!(known, counts[3]);
        // Without a gap.
        assert_eq!(keys.last().map(|key| key.sequence as usize + 1), Some(keys.len()));
    }

    #[test]
    fn a_transfer_stays_within_its_branch_or_crosses_as_it_says_and_reaches_every_account() {
        for size in [Cardinality::tiny(), Cardinality { shards: 2, ..Cardinality::tiny() }] {
            let mut pairs = BTreeSet::new();
            for call in draw(size, 1, 0, 100_000) {
                let Call::Transfer { purpose, transfer: Transfer { source, target, amount, .. } } = call
                else {
                    continue;
                };
                assert!(source != target && size.ids().contains(&source) && size.ids().contains(&target));
                match purpose {
                    Purpose::Within => assert_eq!(size.branch_of(source), size.branch_of(target)),
                    Purpose::Across => assert!(size.is_across(source, target), "{source} to {target}"),
                    Purpose::Overdraft => assert_eq!(amount, AMOUNT_MAX),
                    Purpose::Repeat | Purpose::Retry | Purpose::Raced => continue,
                }
                assert!(purpose == Purpose::Overdraft || (1..=1_000).contains(&amount));
                pairs.insert((source, target));
            }
            let all = size.accounts_all() as usize;
            let expected = match size.shards {
                1 => all * (all - 1),
                // One store has one branch and the other two, which do not cross.
                _ => all * (all - 1) - 2 * 8 * 8,
            };
            assert_eq!(pairs.len(), expected);
        }
    }

    #[test]
    fn an_answer_to_a_key_that_was_used_must_be_the_first() {
        let mut inputs = Inputs::new(Cardinality::tiny(), 1, 1, 0, None);
        let call = loop {
            if let call @ Call::Transfer { purpose: Purpose::Within, .. } = inputs.draw() {
                break call;
            }
        };
        let Call::Transfer { transfer, .. } = call else { unreachable!("it is one") };
        let Transfer { key, source, target, amount } = transfer;
        let moved = |balance| Outcome::Moved { state: State::Completed, balance };
        let (reused, read) = (Outcome::Declined(Decline::KeyReused), Call::ReadTransfer { source, key });
        assert!(inputs.check(&call, &reused).unwrap_err().contains("only this client has"));
        // Of a transfer that no one has answered, anything may be read.
        assert_eq!(inputs.check(&read, &Outcome::Declined(Decline::NoSuchTransfer)), Ok(()));
        assert_eq!(inputs.check(&call, &moved(7)), Ok(()));
        assert_eq!(inputs.check(&call, &moved(7)), Ok(()));
        assert!(inputs.check(&call, &moved(8)).unwrap_err().contains("otherwise than at first"));
        let found = |state| Outcome::Found { target, amount, state };
        assert_eq!(inputs.check(&read, &found(State::Completed)), Ok(()));
        for wrong in
            [found(State::Declined), found(State::Pending), Outcome::Declined(Decline::NoSuchTransfer)]
        {
            assert!(inputs.check(&read, &wrong).unwrap_err().contains("who asked for it"));
        }
        let mut inputs = Inputs::new(Cardinality::tiny(), 1, 1, 0, None);
        while inputs.draw() != call {}
        let pending = Outcome::Moved { state: State::Pending, balance: 7 };
        assert!(inputs.check(&call, &pending).unwrap_err().contains("within one store"));
        inputs.size.shards = 2;
        assert_eq!(inputs.check(&call, &pending), Ok(()));
        for right in [State::Pending, State::Completed, State::Refunded] {
            assert_eq!(inputs.check(&read, &found(right)), Ok(()));
        }
        assert!(inputs.check(&read, &found(State::Declined)).is_err());
    }

    #[test]
    fn what_was_answered_is_repeated_and_what_was_not_is_retried() {
        let mut inputs = Inputs::new(Cardinality::tiny(), 1, 1, 0, None);
        let (mut repeated, mut retried) = (0, 0);
        for _ in 0..10_000 {
            let call = inputs.draw();
            let Call::Transfer { purpose, transfer } = call else { continue };
            let is_answered = transfer.key.sequence.is_multiple_of(2);
            match purpose {
                Purpose::Repeat => repeated += u32::from(is_answered),
                Purpose::Retry => retried += u32::from(!is_answered),
                _ if is_answered => {
                    inputs.check(&call, &Outcome::Moved { state: State::Completed, balance: 1 }).unwrap();
                }
                _ => {}
            }
            assert!(
                (purpose != Purpose::Repeat || is_answered) && (purpose != Purpose::Retry || !is_answered)
            );
        }
        assert!(repeated > 50 && retried > 50, "{repeated} {retried}");
    }

    #[test]
    fn one_branch_has_nothing_to_cross() {
        let calls = draw(Cardinality::of(1, 8), 1, 0, 10_000);
        assert!(calls.iter().all(|call| Transfers::kind(call) != 1));
        // A part is drawn from like any data.
        let part = Cardinality { shards: 2, ..Cardinality::tiny() }.part(1);
        assert!(draw(part, 1, 0, 10_000).iter().all(|call| part.ids().contains(&call.account())));
    }

    #[test]
    fn by_a_skew_the_same_accounts_of_each_branch_are_hot_and_no_one_pays_himself() {
        for size in [Cardinality::standard(4), Cardinality { shards: 2, ..Cardinality::standard(4) }] {
            let skewed = Arc::new(Skewed::over(size.accounts, "hot:10:90%".parse().unwrap()));
            let mut inputs = Inputs::new(size, 3, 1, 0, None).skewed(Some(skewed));
            let (mut ends, mut branches) = (Vec::new(), BTreeSet::new());
            for _ in 0..20_000 {
                match inputs.draw() {
                    Call::Transfer { purpose, transfer: Transfer { source, target, .. } } => {
                        assert_ne!(source, target);
                        let stores = [source, target].map(|account| size.shard_of(account));
                        let homes = [source, target].map(|account| size.branch_of(account));
                        match purpose {
                            Purpose::Across => {
                                assert!(homes[0] != homes[1] && (size.shards == 1 || stores[0] != stores[1]))
                            }
                            Purpose::Within => assert_eq!(homes[0], homes[1]),
                            _ => {}
                        }
                        ends.extend([source, target]);
                    }
                    Call::ReadAccount { id } => ends.push(id),
                    Call::ReadTransfer { .. } => {}
                }
            }
            branches.extend(ends.iter().map(|account| size.branch_of(*account)));
            assert_eq!(branches.len(), 4);
            let mut counts = std::collections::BTreeMap::new();
            for account in &ends {
                *counts.entry(account).or_insert(0_u32) += 1;
            }
            let mut counts: Vec<u32> = counts.into_values().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let hot = f64::from(counts.iter().take(40).sum::<u32>()) / ends.len() as f64;
            assert!((0.87..0.93).contains(&hot), "{hot}");
        }
    }

    const UNMADE: Result<(), &str> = Err("the balance of an account is not what calls have made of it");

    /// A client whose answers are compared with balances of 100, and its next transfer of a purpose.
    fn remembering(size: Cardinality, purpose: Purpose) -> (Inputs, Call, Transfer) {
        let balances = Arc::new(Registers::new(size.accounts_all().into(), Some(100)));
        let mut inputs = Inputs::new(size, 1, 1, 0, None);
        loop {
            let call = inputs.draw();
            match call {
                Call::Transfer { purpose: found, transfer } if found == purpose => {
                    // Those before it are not under way.
                    let mut inputs = inputs.remembering(&balances);
                    inputs.note(&call);
                    return (inputs, call, transfer);
                }
                _ => {}
            }
        }
    }

    /// What is read of an account by a client that has nothing under way.
    fn reads(inputs: &mut Inputs, id: u32, balance: i64) -> Result<(), &'static str> {
        let call = Call::ReadAccount { id };
        inputs.note(&call);
        inputs.check(&call, &Outcome::Balance { balance })
    }

    #[test]
    fn balances_follow_from_transfers_that_were_answered() {
        let (mut inputs, call, Transfer { source, target, amount, .. }) =
            remembering(Cardinality::tiny(), Purpose::Within);
        let moved = Outcome::Moved { state: State::Completed, balance: 100 - amount };
        assert_eq!(inputs.check(&call, &moved), Ok(()));
        assert_eq!(reads(&mut inputs, source, 100), UNMADE);
        assert_eq!(reads(&mut inputs, source, 100 - amount), Ok(()));
        assert_eq!(reads(&mut inputs, target, 100), UNMADE);
        assert_eq!(reads(&mut inputs, target, 100 + amount), Ok(()));
    }

    #[test]
    fn a_transfer_in_doubt_may_be_made_until_its_retry_is_answered() {
        let (mut inputs, _, transfer) = remembering(Cardinality::tiny(), Purpose::Within);
        let Transfer { source, amount, .. } = transfer;
        for balance in [100, 100 - amount] {
            assert_eq!(reads(&mut inputs, source, balance), Ok(()));
        }
        let retry = Call::Transfer { purpose: Purpose::Retry, transfer };
        inputs.note(&retry);
        // It was made the first time: the balance is that of then.
        let moved = Outcome::Moved { state: State::Completed, balance: 7 };
        assert_eq!(inputs.check(&retry, &moved), Ok(()));
        assert_eq!(reads(&mut inputs, source, 100 - amount), Ok(()));
        assert_eq!(reads(&mut inputs, source, 100), UNMADE);
    }

    #[test]
    fn what_is_on_its_way_between_stores_or_declined_is_not_taken_for_made() {
        let two = Cardinality { shards: 2, ..Cardinality::tiny() };
        for state in [State::Pending, State::Completed] {
            let (mut inputs, call, Transfer { source, target, amount, .. }) =
                remembering(two, Purpose::Across);
            assert_eq!(inputs.check(&call, &Outcome::Moved { state, balance: 100 }), UNMADE);
            assert_eq!(inputs.check(&call, &Outcome::Moved { state, balance: 100 - amount }), Ok(()));
            for (id, other) in [(source, 100 - amount), (target, 100 + amount)] {
                assert_eq!(reads(&mut inputs, id, 100), Ok(()));
                assert_eq!(reads(&mut inputs, id, other), Ok(()));
                assert_eq!(reads(&mut inputs, id, 100_000), UNMADE);
            }
        }
        let (mut inputs, call, Transfer { source, .. }) =
            remembering(Cardinality::tiny(), Purpose::Overdraft);
        let short = |balance| Outcome::Declined(Decline::InsufficientFunds { balance });
        assert_eq!(inputs.check(&call, &short(100)), Ok(()));
        assert_eq!(reads(&mut inputs, source, 100), Ok(()));
        let (mut inputs, call, _) = remembering(Cardinality::tiny(), Purpose::Overdraft);
        assert_eq!(inputs.check(&call, &short(99)), UNMADE);
    }
}
