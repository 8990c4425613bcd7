//! What rows can hold while calls change them: bounds for answers, without reading the stored data.
//!
//! Of each row two sums are kept: of all changes that were drawn, and of those that were acknowledged. What an answer shows was
//! read between the moment its call was drawn and the moment it came. So everything that was acknowledged before the first was
//! in it, and nothing that was drawn after the second. With no other call on the row under way, both are the same, and the
//! value is known. A call of which no answer came stays among those that were drawn, so that it makes no answer look wrong.

use model::random::mix;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Rows up to this number are all kept, at 48 bytes each. Of more, a sample of about half as many is.
const KEPT_MAX: usize = 1 << 15;
/// The opening value of a row of which none is known.
const UNKNOWN: i64 = i64::MIN;

/// Rows that calls add to and take from, shared by all workers.
#[derive(Debug)]
pub struct Registers {
    slots: Box<[Slot]>,
    /// Rows with a smaller hash are kept; all where there is none.
    below: Option<u64>,
    /// What the hash of a row depends on besides it: which rows are kept no server can know.
    salt: u64,
}

#[derive(Debug)]
struct Slot {
    /// The row that it keeps, plus one; 0 for none. The first one of several stays.
    row: AtomicU64,
    /// What the row held before the first call.
    opening: AtomicI64,
    drawn: Sums,
    acknowledged: Sums,
}

/// Sums of changes, of each direction by itself, so that they bound every order of them.
#[derive(Debug, Default)]
struct Sums {
    up: AtomicI64,
    down: AtomicI64,
}

impl Sums {
    fn add(&self, delta: i64) {
        match delta {
            0 => 0,
            up if up > 0 => self.up.fetch_add(up, Ordering::SeqCst),
            down => self.down.fetch_sub(down, Ordering::SeqCst),
        };
    }

    fn read(&self) -> (i64, i64) {
        (self.up.load(Ordering::SeqCst), self.down.load(Ordering::SeqCst))
    }
}

impl Slot {
    /// Changes that were drawn, but for that of a call itself.
    fn others(&self, drawn: &Drawn) -> (i64, i64) {
        let (up, down) = self.drawn.read();
        (up - drawn.delta.max(0), down + drawn.delta.min(0))
    }
}

/// What was known of a row when a call was drawn; of a row that is not kept, nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Drawn {
    slot: Option<u32>,
    /// What the call is to add.
    delta: i64,
    /// Changes that had been acknowledged.
    up: i64,
    down: i64,
}

impl Drawn {
    /// The place of its row, where that is kept.
    pub const fn slot(&self) -> Option<u32> {
        self.slot
    }

    /// What the call is to add.
    pub const fn delta(&self) -> i64 {
        self.delta
    }
}

impl Registers {
    /// For so many rows, whose numbers follow each other, each of which holds `opening` before the first call. Where that is not known, the first answers to calls
    /// that were alone on their row tell it.
    pub fn new(rows: u64, opening: Option<i64>) -> Registers {
        let slot = || Slot {
            row: AtomicU64::new(0),
            opening: AtomicI64::new(opening.unwrap_or(UNKNOWN)),
            drawn: Sums::default(),
            acknowledged: Sums::default(),
        };
        let kept = KEPT_MAX as u64;
        // Rows that follow each other do not meet; of a sample few do.
        let (count, below) = match rows {
            all if all <= kept => (all.next_power_of_two(), None),
            many => (kept, Some(u64::MAX / many * (kept / 2))),
        };
        let salt = mix(measure::unix_nanoseconds());
        Registers { slots: (0..count).map(|_| slot()).collect(), below, salt }
    }

    /// For rows that something else changes too: none is kept.
    pub fn none() -> Registers {
        Registers { slots: Box::new([]), below: None, salt: 0 }
    }

    fn slot(&self, row: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let hash = mix(row ^ self.salt);
        if self.below.is_some_and(|below| hash >= below) {
            return None;
        }
        let place = if self.below.is_some() { hash >> 8 } else { row };
        let at = place as usize % self.slots.len();
        let (owner, wanted) = (&self.slots[at].row, row + 1);
        let is_kept = match owner.load(Ordering::Relaxed) {
            0 => owner
                .compare_exchange(0, wanted, Ordering::Relaxed, Ordering::Relaxed)
                .map_or_else(|found| found == wanted, |_| true),
            found => found == wanted,
        };
        is_kept.then_some(at as u32)
    }

    /// A call was drawn that is to add `delta` to a row, or to read it where that is 0.
    pub fn draw(&self, row: u64, delta: i64) -> Drawn {
        let drawn = self.draw_again(row, delta);
        if let Some(slot) = self.of(&drawn) {
            slot.drawn.add(delta);
        }
        drawn
    }

    /// The same of a call that was drawn before and not answered: it is done once at most.
    pub fn draw_again(&self, row: u64, delta: i64) -> Drawn {
        let slot = self.slot(row);
        let of_slot = slot.map(|at| self.slots[at as usize].acknowledged.read());
        let (up, down) = of_slot.unwrap_or_default();
        Drawn { slot, delta, up, down }
    }

    fn of(&self, drawn: &Drawn) -> Option<&Slot> {
        drawn.slot.map(|at| &self.slots[at as usize])
    }

    /// A call was answered: it was done. `before` is what the row held before it, where the answer shows that.
    ///
    /// Whether that is possible.
    pub fn done(&self, drawn: Drawn, before: Option<i64>) -> bool {
        let possible = self.can_hold(&drawn, before);
        if let Some(slot) = self.of(&drawn) {
            slot.acknowledged.add(drawn.delta);
        }
        possible
    }

    /// The same of a row that is filled up by `unit` now and then, so that only the remainder of what it holds is known; and that
    /// only to a call that was alone on its row. `opening` says what the row held before the first call, where that is known.
    pub fn done_modulo(
        &self,
        drawn: Drawn,
        before: i64,
        unit: i64,
        opening: impl FnOnce() -> Option<i64>,
    ) -> bool {
        let Some(slot) = self.of(&drawn) else { return true };
        let (up, down) = slot.others(&drawn);
        let mut possible = true;
        if (up, down) == (drawn.up, drawn.down) {
            let found = before.saturating_sub(up).saturating_add(down).rem_euclid(unit);
            let known = match slot.opening.load(Ordering::SeqCst) {
                UNKNOWN => opening().map_or(found, |opening| opening.rem_euclid(unit)),
                known => known,
            };
            let _ = slot.opening.compare_exchange(UNKNOWN, known, Ordering::SeqCst, Ordering::SeqCst);
            possible = found == known;
        }
        slot.acknowledged.add(drawn.delta);
        possible
    }

    /// What was drawn for the row of a place has been done, though not by the call that drew it.
    pub fn add(&self, slot: u32, delta: i64) {
        self.slots[slot as usize].acknowledged.add(delta);
    }

    /// A call was answered: it was not done, and never will be.
    ///
    /// Whether what the answer shows is possible, as in [`Registers::done`].
    pub fn declined(&self, drawn: Drawn, before: Option<i64>) -> bool {
        let possible = self.can_hold(&drawn, before);
        if let Some(slot) = self.of(&drawn) {
            match drawn.delta {
                up if up > 0 => slot.drawn.up.fetch_sub(up, Ordering::SeqCst),
                down => slot.drawn.down.fetch_add(down, Ordering::SeqCst),
            };
        }
        possible
    }

    /// Whether a row can have held this before a call that was answered, where the call may yet be done or undone.
    pub fn can_hold(&self, drawn: &Drawn, before: Option<i64>) -> bool {
        let (Some(slot), Some(before)) = (self.of(drawn), before) else { return true };
        let (up, down) = slot.others(drawn);
        let opening = slot.opening.load(Ordering::SeqCst);
        if opening != UNKNOWN {
            let least = opening.saturating_add(drawn.up).saturating_sub(down);
            let most = opening.saturating_add(up).saturating_sub(drawn.down);
            return (least..=most).contains(&before);
        }
        if (up, down) == (drawn.up, drawn.down) {
            let opening = before.saturating_sub(up).saturating_add(down);
            // Of several that find it out at once, all find the same, or the next answer shows who is wrong.
            let _ = slot.opening.compare_exchange(UNKNOWN, opening, Ordering::SeqCst, Ordering::SeqCst);
        }
        true
    }

    /// Whether a row held exactly this before a call that was answered: its opening value is known, and no other call that changes it
    /// was under way.
    pub fn must_hold(&self, drawn: &Drawn, before: i64) -> bool {
        let Some(slot) = self.of(drawn) else { return false };
        let opening = slot.opening.load(Ordering::SeqCst);
        let (up, down) = slot.others(drawn);
        opening != UNKNOWN
            && (up, down) == (drawn.up, drawn.down)
            && opening.saturating_add(up).saturating_sub(down) == before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_alone_on_its_row_finds_what_was_acknowledged() {
        let rows = Registers::new(10, Some(100));
        for (delta, before) in [(5, 100), (-30, 105), (0, 75), (0, 75)] {
            assert!(rows.done(rows.draw(3, delta), Some(before)), "{before}");
        }
        for wrong in [74, 76] {
            assert!(!rows.done(rows.draw(3, 0), Some(wrong)));
        }
        // A value that is not answered cannot be wrong, and other rows are others.
        assert!(rows.done(rows.draw(3, -75), None) && rows.done(rows.draw(4, 0), Some(100)));
        assert!(rows.done(rows.draw(3, 0), Some(0)));
    }

    #[test]
    fn what_a_row_must_hold_is_known_to_a_call_that_is_alone_on_it() {
        let rows = Registers::new(10, Some(1));
        assert!(rows.must_hold(&rows.draw(3, 0), 1) && !rows.must_hold(&rows.draw(3, 0), 2));
        let change = rows.draw(3, 1);
        let during = rows.draw(3, 0);
        assert!(rows.must_hold(&change, 1) && !rows.must_hold(&during, 1));
        assert!(
            rows.done(change, Some(1)) && !rows.must_hold(&during, 2),
            "it began before the change was answered"
        );
        assert!(rows.must_hold(&rows.draw(3, 0), 2));
        let unknown = Registers::new(10, None);
        assert!(!unknown.must_hold(&unknown.draw(3, 0), 1));
        assert!(!Registers::none().must_hold(&Registers::none().draw(3, 0), 1));
    }

    #[test]
    fn calls_under_way_may_be_in_it_or_not() {
        let rows = Registers::new(10, Some(100));
        let (up, down) = (rows.draw(3, 5), rows.draw(3, -30));
        for (value, possible) in [(100, true), (105, true), (70, true), (75, true), (69, false), (106, false)]
        {
            assert_eq!(rows.done(rows.draw(3, 0), Some(value)), possible, "{value}");
        }
        // One that began before the others were answered may have been read before or after them.
        let long = rows.draw(3, 0);
        assert!(rows.done(up, Some(100)) && rows.done(down, Some(105)));
        assert!([100, 105, 70, 75].into_iter().all(|value| rows.can_hold(&long, Some(value))));
        assert!(rows.done(rows.draw(3, 0), Some(75)) && !rows.done(rows.draw(3, 0), Some(100)));
    }

    #[test]
    fn what_was_declined_is_not_in_it_and_what_was_not_answered_may_be() {
        let rows = Registers::new(10, Some(100));
        assert!(rows.declined(rows.draw(3, -500), Some(100)));
        assert!(!rows.declined(rows.draw(3, -500), Some(99)));
        let _lost = rows.draw(3, -40);
        for value in [100, 60] {
            assert!(rows.done(rows.draw(3, 0), Some(value)));
        }
        // Made again and answered, it is known to be done, once.
        assert!(rows.done(rows.draw_again(3, -40), None));
        assert!(rows.done(rows.draw(3, 0), Some(60)) && !rows.done(rows.draw(3, 0), Some(100)));
    }

    #[test]
    fn of_a_row_that_is_filled_up_the_remainder_is_known_to_a_call_that_is_alone() {
        for (rows, opening) in [(Registers::new(10, None), None), (Registers::new(10, None), Some(30))] {
            let done = |delta, before| rows.done_modulo(rows.draw(3, delta), before, 91, || opening);
            // 30 pieces; 21 of them go, and it is filled up.
            assert!(done(-9, 30) && done(-12, 21) && done(-5, 100) && done(-5, 95));
            assert!(!done(-1, 91) && done(-1, 89) && !done(-1, 89));
            // What others may have taken is not known.
            let under_way = rows.draw(3, -7);
            assert!(done(-1, 50));
            assert!(rows.done(under_way, None) && !done(-1, 50));
        }
        let rows = Registers::new(10, None);
        assert!(
            !rows.done_modulo(rows.draw(3, -1), 31, 91, || Some(30)),
            "it was loaded with another number"
        );
        let none = Registers::none();
        assert!(none.done_modulo(none.draw(3, -1), 31, 91, || None));
    }

    #[test]
    fn where_nothing_is_known_the_first_answer_to_a_call_alone_tells_it() {
        let rows = Registers::new(10, None);
        let under_way = rows.draw(3, 7);
        assert!(rows.done(rows.draw(3, 0), Some(1_000)), "it may have been read before or after");
        assert!(rows.done(under_way, None));
        assert!(rows.done(rows.draw(3, -7), Some(57)));
        assert!(rows.done(rows.draw(3, 0), Some(50)) && !rows.done(rows.draw(3, 0), Some(57)));
    }

    #[test]
    fn of_many_rows_some_are_kept_each_in_a_place_of_its_own() {
        let rows = Registers::new(10_000_000, Some(0));
        let kept: Vec<u64> = (0..10_000_000).filter(|row| rows.draw(*row, 1).slot.is_some()).collect();
        assert!((8_000..=KEPT_MAX).contains(&kept.len()), "{}", kept.len());
        for row in &kept {
            assert!(rows.done(rows.draw_again(*row, 1), Some(0)), "{row}");
            assert!(!rows.done(rows.draw(*row, 0), Some(0)), "{row}");
        }
        // Wherever their numbers begin, all of a few are.
        for first in [0, 1, 777] {
            let few = Registers::new(1_000, Some(0));
            assert!((first..first + 1_000).all(|row| few.draw(row, 0).slot.is_some()), "{first}");
        }
        let none = Registers::none();
        assert!(none.done(none.draw(3, 5), Some(7)) && none.done(none.draw(3, 0), Some(9)));
    }

    #[test]
    fn no_honest_answer_is_impossible_however_calls_meet() {
        let (rows, store) = (Registers::new(4, Some(0)), AtomicI64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..4_i64 {
                let (rows, store) = (&rows, &store);
                scope.spawn(move || {
                    for at in 0..20_000_i64 {
                        let delta = (at * 7 + thread * 3) % 11 - 5;
                        let drawn = rows.draw(1, delta);
                        let before = store.fetch_add(delta, Ordering::SeqCst);
                        assert!(rows.done(drawn, Some(before)), "{before}");
                    }
                });
            }
        });
        assert!(!rows.done(rows.draw(1, 0), Some(store.load(Ordering::SeqCst) + 1)));
    }
}
