//! How calls are drawn: the standard's distributions, from one deterministic stream a terminal.

use crate::memory::Memory;
use crate::outcome::ensure;
use crate::{
    Call, Cardinality, DISTRICTS, Delivery, Knowledge, LINES_MAX, Line, NewOrder, OrderStatus, Outcome,
    Payment, StockLevel, Tpcc, Who, kind, last_name,
};
use arrayvec::ArrayVec;
use model::random::Random;
use model::{Cents, Mix};
use std::sync::Arc;

/// Paths of the run's random streams, apart from those of the load.
const CONSTANTS: u64 = 100;
const TERMINAL: u64 = 101;

/// NURand(A, x, y) with constant `c` (2.1.6): picks `low..=high` unevenly, in a way that is the same for all terminals.
pub(crate) fn nurand(random: &mut Random, a: u32, c: u32, low: u32, high: u32) -> u32 {
    let mixed =
        (random.below(u64::from(a) + 1) as u32) | (random.range(i64::from(low), i64::from(high)) as u32);
    (mixed + c) % (high - low + 1) + low
}

/// The constants C of NURand, one a field, for the run of all terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Constants {
    c_last: u32,
    c_id: u32,
    ol_i_id: u32,
}

impl Constants {
    fn of_run(seed: u64, c_load: u32) -> Constants {
        let random = &mut Random::stream(seed, &[CONSTANTS]);
        Constants {
            c_last: c_run(random, c_load),
            c_id: random.below(1024) as u32,
            ol_i_id: random.below(8192) as u32,
        }
    }
}

/// 2.1.6.1: C-Run differs from C-Load by 65 to 119, and never by 96 or 112.
fn c_run(random: &mut Random, c_load: u32) -> u32 {
    loop {
        let candidate = random.below(256) as u32;
        let delta = candidate.abs_diff(c_load);
        if (65..=119).contains(&delta) && delta != 96 && delta != 112 {
            return candidate;
        }
    }
}

/// Where a terminal stands: it belongs to a warehouse and, for Stock-Level, to a district (2.8.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Home warehouse.
    pub w_id: u32,
    pub d_id: u32,
}

impl Terminal {
    /// Spreads terminals over warehouses first and districts then, so that ten times as many terminals as warehouses
    /// occupy every district once.
    pub fn of_worker(worker: u32, warehouses: u32) -> Terminal {
        Terminal { w_id: worker % warehouses + 1, d_id: worker / warehouses % DISTRICTS + 1 }
    }
}

/// 5.2.4.2: ten New-Orders, ten Payments and one of each other kind are dealt from a shuffled deck.
const DECK: [u8; 23] = {
    let mut deck = [kind::NEW_ORDER as u8; 23];
    let mut card = 10;
    while card < 20 {
        deck[card] = kind::PAYMENT as u8;
        card += 1;
    }
    deck[20] = kind::ORDER_STATUS as u8;
    deck[21] = kind::DELIVERY as u8;
    deck[22] = kind::STOCK_LEVEL as u8;
    deck
};

/// The calls of one terminal.
#[derive(Debug, Clone)]
pub struct Inputs {
    size: Cardinality,
    terminal: Terminal,
    constants: Constants,
    random: Random,
    deck: [u8; 23],
    dealt: usize,
    /// Kinds are drawn by this, where it is there, and not dealt from the deck.
    mix: Option<Mix>,
    /// Absent where answers are held to their calls alone.
    memory: Option<Memory>,
}

impl Inputs {
    /// The stream of a worker. `c_load` is the constant that the data was loaded with
    /// ([`crate::Data::c_load_of`] the seed of the load).
    pub fn new(size: Cardinality, c_load: u32, seed: u64, worker: u32) -> Inputs {
        Inputs {
            size,
            terminal: Terminal::of_worker(worker, size.warehouses),
            constants: Constants::of_run(seed, c_load),
            random: Random::stream(seed, &[TERMINAL, u64::from(worker)]),
            deck: DECK,
            dealt: DECK.len(),
            mix: None,
            memory: None,
        }
    }

    /// The same with a mix of its own; nothing for the standard's.
    #[must_use]
    pub fn mixed(self, mix: Option<Mix>) -> Inputs {
        Inputs { mix, ..self }
    }

    /// The same, whose answers are held to what is known of the data and to earlier answers. About 26 KiB a worker.
    #[must_use]
    pub fn remembering(self, known: &Arc<Knowledge>) -> Inputs {
        Inputs { memory: Some(Memory::new(known)), ..self }
    }

    fn deal(&mut self) -> usize {
        if let Some(mix) = &self.mix {
            return mix.draw(&mut self.random);
        }
        if self.dealt == self.deck.len() {
            self.random.shuffle(&mut self.deck);
            self.dealt = 0;
        }
        self.dealt += 1;
        usize::from(self.deck[self.dealt - 1])
    }

    fn between(&mut self, low: u32, high: u32) -> u32 {
        self.random.range(i64::from(low), i64::from(high)) as u32
    }

    /// A warehouse that is not the terminal's own; asked only where there is one.
    fn other_warehouse(&mut self) -> u32 {
        let drawn = self.between(1, self.size.warehouses - 1);
        if drawn >= self.terminal.w_id { drawn + 1 } else { drawn }
    }

    fn customer(&mut self) -> u32 {
        nurand(&mut self.random, 1023, self.constants.c_id, 1, self.size.customers)
    }

    /// 60 % by last name, 40 % by number (2.5.1.2, 2.6.1.2).
    fn who(&mut self) -> Who {
        if self.random.chance(60, 100) {
            let number = nurand(&mut self.random, 255, self.constants.c_last, 0, self.size.names - 1);
            Who::LastName(last_name(number))
        } else {
            Who::Id(self.customer())
        }
    }

    fn new_order(&mut self) -> NewOrder {
        let w_id = self.terminal.w_id;
        let d_id = self.between(1, DISTRICTS);
        let c_id = self.customer();
        let count = self.between(crate::LINES_MIN as u32, LINES_MAX as u32) as usize;
        // 2.4.1.4: one order in a hundred has an unused item as its last line.
        let rolls_back = self.random.chance(1, 100);
        let mut lines = ArrayVec::new();
        for number in 1..=count {
            let i_id = if rolls_back && number == count {
                self.size.items + 1
            } else {
                nurand(&mut self.random, 8191, self.constants.ol_i_id, 1, self.size.items)
            };
            // 2.4.1.5: one line in a hundred is supplied by another warehouse.
            let remote = self.size.warehouses > 1 && self.random.chance(1, 100);
            let supply_w_id = if remote { self.other_warehouse() } else { w_id };
            lines.push(Line { i_id, supply_w_id, quantity: self.between(1, 10) });
        }
        NewOrder { w_id, d_id, c_id, lines }
    }

    fn payment(&mut self) -> Payment {
        let w_id = self.terminal.w_id;
        let d_id = self.between(1, DISTRICTS);
        // 2.5.1.2: 15 % pay for a customer of another warehouse.
        let remote = self.size.warehouses > 1 && self.random.chance(15, 100);
        let (c_w_id, c_d_id) =
            if remote { (self.other_warehouse(), self.between(1, DISTRICTS)) } else { (w_id, d_id) };
        let customer = self.who();
        Payment { w_id, d_id, c_w_id, c_d_id, customer, h_amount: Cents(self.random.range(100, 500_000)) }
    }
}

impl model::Inputs<Tpcc> for Inputs {
    fn draw(&mut self) -> Call {
        let Terminal { w_id, d_id } = self.terminal;
        let call = match self.deal() {
            kind::NEW_ORDER => Call::NewOrder(self.new_order()),
            kind::PAYMENT => Call::Payment(self.payment()),
            kind::ORDER_STATUS => {
                let d_id = self.between(1, DISTRICTS);
                Call::OrderStatus(OrderStatus { w_id, d_id, customer: self.who() })
            }
            kind::DELIVERY => Call::Delivery(Delivery { w_id, o_carrier_id: self.between(1, 10) }),
            _ => Call::StockLevel(StockLevel { w_id, d_id, threshold: self.between(10, 20) }),
        };
        if let Some(memory) = &mut self.memory {
            memory.draw(&call);
        }
        call
    }

    fn check(&mut self, call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        if let Call::NewOrder(call) = call {
            // 2.4.1.4: that the order fails was decided when it was drawn.
            match outcome {
                Outcome::Unused(_) => {
                    ensure(
                        call.names_unused(self.size.items),
                        "an order of items that are all sold was declined",
                    )?;
                }
                _ => ensure(!call.names_unused(self.size.items), "an order for an unused item was accepted")?,
            }
        }
        match &mut self.memory {
            Some(memory) => memory.check(call, outcome),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Inputs as _, Workload};

    fn draw(size: Cardinality, seed: u64, worker: u32, count: usize) -> Vec<Call> {
        let mut inputs = Inputs::new(size, Data::c_load_of(1), seed, worker);
        (0..count).map(|_| inputs.draw()).collect()
    }
    use crate::Data;

    #[test]
    fn the_same_seed_gives_the_same_calls() {
        let size = Cardinality::standard(10);
        assert_eq!(draw(size, 5, 3, 100), draw(size, 5, 3, 100));
        assert_ne!(draw(size, 5, 3, 100), draw(size, 6, 3, 100));
        assert_ne!(draw(size, 5, 3, 100), draw(size, 5, 13, 100));
    }

    #[test]
    fn every_deck_holds_the_whole_mix() {
        let calls = draw(Cardinality::standard(1), 5, 0, 23 * 50);
        for deck in calls.chunks(23) {
            let mut counts = [0; 5];
            deck.iter().for_each(|call| counts[Tpcc::kind(call)] += 1);
            assert_eq!(counts, [10, 10, 1, 1, 1]);
        }
    }

    #[test]
    fn a_mix_of_its_own_calls_what_it_names_and_nothing_else() {
        let weights = [("payment".to_owned(), 3.0), ("stock-level".to_owned(), 1.0)];
        let mix = Mix::of(Tpcc::KINDS, &weights).unwrap();
        let mut inputs = Inputs::new(Cardinality::standard(1), Data::c_load_of(1), 5, 0).mixed(mix);
        let mut counts = [0; 5];
        (0..10_000).for_each(|_| counts[Tpcc::kind(&inputs.draw())] += 1);
        assert_eq!(counts[kind::PAYMENT] + counts[kind::STOCK_LEVEL], 10_000);
        assert!((7_250..7_750).contains(&counts[kind::PAYMENT]), "{counts:?}");
    }

    #[test]
    fn c_run_keeps_its_distance_from_c_load() {
        for seed in 0..500 {
            let c_load = Data::c_load_of(seed + 1_000);
            let delta = Constants::of_run(seed, c_load).c_last.abs_diff(c_load);
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
        }
    }

    #[test]
    fn terminals_cover_every_district_once() {
        let mut seen: Vec<_> =
            (0..30).map(|worker| Terminal::of_worker(worker, 3)).map(|at| (at.w_id, at.d_id)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 30);
    }

    #[test]
    fn no_warehouse_is_its_own_other() {
        for call in draw(Cardinality::standard(3), 9, 1, 20_000) {
            match call {
                Call::NewOrder(order) => {
                    assert!(order.lines.iter().all(|line| (1..=3).contains(&line.supply_w_id)));
                }
                Call::Payment(payment) => assert!((1..=3).contains(&payment.c_w_id)),
                _ => {}
            }
        }
        let one = draw(Cardinality::standard(1), 9, 0, 5_000);
        assert!(one.iter().all(|call| !matches!(call, Call::NewOrder(order) if !order.all_local())));
    }
}
