//! How calls are drawn.

use crate::{Booking, Bookings, Call, Cardinality, Decline, Outcome, Purpose};
use model::random::Random;
use model::{Key, Mix, Skewed, Workload};
use std::sync::Arc;
use workload::{Drawn, Registers, Remembered};

/// The path of the run's random streams, apart from those of other workloads.
const CLIENT: u64 = 600;
/// Bookings of a worker that it may ask for again, acknowledged or not, and events of which it remembers what it saw last.
const RECENT: usize = 64;
/// One in so many bookings that are asked for again is any of those that were acknowledged.
const ACKNOWLEDGED_ONE_IN: u64 = 4;

/// Shares of the kinds in the workload's own mix, in per cent.
const SHARES: [f64; 4] = [50.0, 2.0, 13.0, 35.0];

/// The mix where no other is asked for.
pub(crate) fn standard_mix() -> Mix {
    let weights: Vec<_> =
        Bookings::KINDS.iter().zip(SHARES).map(|(kind, share)| (kind.name.to_owned(), share)).collect();
    Mix::of(Bookings::KINDS, &weights).expect("the shares are right").expect("there are several kinds")
}

/// The calls of one client: events evenly or by a skew, users and quantities evenly.
#[derive(Debug, Clone)]
pub struct Inputs {
    size: Cardinality,
    mix: Mix,
    random: Random,
    /// How events are drawn, where that is not evenly.
    skewed: Option<Arc<Skewed>>,
    /// The key of the next booking.
    next: Key,
    recent: Vec<Recent>,
    /// Acknowledged ones, which it may read.
    acknowledged: Remembered<Booking>,
    /// An event and the tickets it had left when this worker saw it last, by the event's last digits.
    seen: [(u32, u32); RECENT],
    /// The tickets that events have left; absent where answers are held to their calls and to earlier answers to the same client.
    tickets: Option<Arc<Registers>>,
    /// What was known of the event when the last call was drawn.
    drawn: Drawn,
    /// Whether the last call is a booking that may have been made before.
    again: bool,
}

/// A booking that was asked for.
#[derive(Debug, Clone, Copy)]
struct Recent {
    booking: Booking,
    /// Whether it was acknowledged.
    booked: bool,
    /// Whether it may have been made without that, or is being made.
    open: bool,
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
            recent: Vec::with_capacity(RECENT),
            acknowledged: Remembered::default(),
            seen: [(0, 0); RECENT],
            tickets: None,
            drawn: Drawn::default(),
            again: false,
        }
    }

    /// The same, whose answers are held to what bookings of all clients have left of the tickets.
    #[must_use]
    pub fn remembering(self, tickets: &Arc<Registers>) -> Inputs {
        Inputs { tickets: Some(Arc::clone(tickets)), ..self }
    }

    /// The same, with events drawn by a skew over as many.
    #[must_use]
    pub fn skewed(self, skewed: Option<Arc<Skewed>>) -> Inputs {
        Inputs { skewed, ..self }
    }

    fn one_of(&mut self, count: u32) -> u32 {
        self.random.below(u64::from(count)) as u32
    }

    fn event(&mut self) -> u32 {
        match &self.skewed {
            Some(skewed) => 1 + skewed.draw(&mut self.random),
            None => 1 + self.one_of(self.size.events),
        }
    }

    fn book(&mut self) -> Call {
        let (event, user) = (self.event(), 1 + self.one_of(self.size.users));
        let quantity = 1 + self.one_of(self.size.quantity);
        let booking = Booking { key: self.next, event, user, quantity };
        // The place of the one that is forgotten.
        let place = self.next.sequence as usize % RECENT;
        let recent = Recent { booking, booked: false, open: false };
        match self.recent.get_mut(place) {
            Some(old) => *old = recent,
            None => self.recent.push(recent),
        }
        self.next.sequence += 1;
        Call::of(booking)
    }

    /// One of the latest bookings; nothing before the first.
    fn latest(&mut self) -> Option<Recent> {
        let count = self.recent.len() as u32;
        let place = (count > 0).then(|| self.one_of(count))?;
        self.recent.get(place as usize).copied()
    }

    /// One that was acknowledged; before the first of these, one that was only asked for.
    fn readable(&mut self) -> Option<Key> {
        let acknowledged = self.acknowledged.draw(&mut self.random).map(|booking| booking.key);
        acknowledged.or_else(|| self.latest().map(|recent| recent.booking.key))
    }

    /// A booking to ask for again, and as what; nothing before the first.
    fn again(&mut self) -> Option<(Purpose, Booking)> {
        if self.random.chance(1, ACKNOWLEDGED_ONE_IN)
            && let Some(booking) = self.acknowledged.draw(&mut self.random)
        {
            return Some((Purpose::Repeat, *booking));
        }
        let Recent { booking, booked, .. } = self.latest()?;
        Some((if booked { Purpose::Repeat } else { Purpose::Retry }, booking))
    }

    fn next_call(&mut self) -> Call {
        match self.mix.draw(&mut self.random) {
            0 => self.book(),
            1 => match self.again() {
                Some((purpose, booking)) => Call::Book { purpose, booking },
                None => self.book(),
            },
            2 => match self.readable() {
                Some(key) => Call::ReadBooking { key },
                None => self.book(),
            },
            _ => Call::ReadEvent { id: self.event() },
        }
    }

    /// Notes what is known of the event of a call that was drawn.
    fn note(&mut self, call: &Call) {
        let Some(tickets) = &self.tickets else { return };
        (self.drawn, self.again) = (Drawn::default(), false);
        match call {
            Call::Book { purpose: Purpose::New | Purpose::Retry, booking } => {
                let place = booking.key.sequence as usize % RECENT;
                let Some(recent) = self.recent.get_mut(place) else { return };
                self.again = std::mem::replace(&mut recent.open, true);
                let draw = if self.again { Registers::draw_again } else { Registers::draw };
                self.drawn = draw(tickets, booking.event.into(), -i64::from(booking.quantity));
            }
            // An earlier answer is only repeated.
            Call::Book { .. } | Call::ReadBooking { .. } => {}
            Call::ReadEvent { id } => self.drawn = tickets.draw((*id).into(), 0),
        }
    }

    /// Holds an answer to what bookings have left of the tickets.
    fn check_tickets(&mut self, call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        let Some(tickets) = &self.tickets else { return Ok(()) };
        let left = match outcome {
            Outcome::Event { available, .. } | Outcome::Declined(Decline::SoldOut { available }) => {
                Some(i64::from(*available))
            }
            _ => None,
        };
        let (possible, resolved) = match (call, outcome) {
            (Call::Book { .. }, Outcome::Booked(_)) => (tickets.done(self.drawn, None), true),
            // The earlier one may still be under way.
            (Call::Book { .. }, Outcome::Declined(_)) if self.again => {
                (tickets.can_hold(&self.drawn, left), false)
            }
            (Call::Book { .. }, Outcome::Declined(_)) => (tickets.declined(self.drawn, left), true),
            (Call::ReadEvent { .. }, _) => (tickets.done(self.drawn, left), false),
            _ => (true, false),
        };
        if let (Call::Book { booking, .. }, true) = (call, resolved)
            && let Some(recent) = self.recent.get_mut(booking.key.sequence as usize % RECENT)
            && recent.booking.key == booking.key
        {
            recent.open = false;
        }
        if possible { Ok(()) } else { Err("the available tickets are not what bookings have left of them") }
    }

    /// Tickets only become fewer.
    fn see(&mut self, event: u32, available: u32) -> Result<(), &'static str> {
        let seen = &mut self.seen[event as usize % RECENT];
        let before = (seen.0 == event).then_some(seen.1);
        *seen = (event, available);
        match before {
            Some(before) if before < available => Err("an event has more tickets left than were read before"),
            _ => Ok(()),
        }
    }
}

impl model::Inputs<Bookings> for Inputs {
    fn draw(&mut self) -> Call {
        let call = self.next_call();
        self.note(&call);
        call
    }

    /// What was booked stays booked, and what is read of a booking is what was asked for.
    fn check(&mut self, call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        self.check_tickets(call, outcome)?;
        match (call, outcome) {
            (Call::ReadEvent { id }, Outcome::Event { stock, available }) => {
                if *stock != self.size.stock {
                    return Err("an event has not the tickets that it was loaded with");
                }
                return self.see(*id, *available);
            }
            (Call::Book { booking, .. }, Outcome::Declined(Decline::SoldOut { available })) => {
                self.see(booking.event, *available)?;
            }
            _ => {}
        }
        let key = match call {
            Call::Book { booking, .. } => booking.key,
            Call::ReadBooking { key } => *key,
            Call::ReadEvent { .. } => return Ok(()),
        };
        let place = key.sequence as usize % RECENT;
        let recent = match self.recent.get_mut(place).filter(|recent| recent.booking.key == key) {
            Some(recent) => recent,
            None => match self.acknowledged.get_mut(key.sequence.into()) {
                Some(booking) => &mut Recent { booking: *booking, booked: true, open: false },
                None => return Ok(()),
            },
        };
        match outcome {
            Outcome::Booked(booking) if !recent.booked => {
                recent.booked = true;
                self.acknowledged.push(key.sequence.into(), *booking, &mut self.random);
            }
            Outcome::Declined(Decline::KeyReused) => {
                return Err("a key that only this client has is used for another booking");
            }
            Outcome::Declined(Decline::AlreadyBooked) if !self.size.is_limited(recent.booking.event) => {
                return Err("a booking is declined by a limit that the event does not have");
            }
            Outcome::Declined(_) if recent.booked => {
                return Err("a booking that was acknowledged is not there any more");
            }
            Outcome::Found(found) if *found != recent.booking => {
                return Err("another booking is stored than was asked for");
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Inputs as _;
    use std::collections::{BTreeMap, BTreeSet};

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
    fn kinds_come_in_their_shares_keys_are_new_but_in_repeats_and_every_event_is_reached() {
        let size = Cardinality::tiny();
        let mut counts = [0_u32; 4];
        let (mut keys, mut events, mut quantities) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for call in draw(size, 1, 0, 100_000) {
            counts[Bookings::kind(&call)] += 1;
            match call {
                // Nothing was answered.
                Call::Book { purpose: Purpose::Retry, booking } => assert!(keys.contains(&booking.key)),
                Call::Book { booking: Booking { key, event, user, quantity }, .. } => {
                    assert!(keys.insert(key) && size.has(event) && (1..=size.users).contains(&user));
                    events.insert(event);
                    quantities.insert(quantity);
                }
                Call::ReadBooking { key } => assert!(keys.contains(&key)),
                Call::ReadEvent { id } => assert!(size.has(id)),
            }
        }
        for (count, share) in counts.into_iter().zip(SHARES) {
            assert!((f64::from(count) / 1_000.0 - share).abs() < 0.6, "{counts:?}");
        }
        assert_eq!((events.len(), quantities.into_iter().collect()), (24, vec![1, 2, 3, 4]));
        // Without a gap.
        assert_eq!(keys.last().map(|key| key.sequence as usize + 1), Some(keys.len()));
    }

    #[test]
    fn by_a_skew_few_events_have_most_calls() {
        let skewed = Arc::new(Skewed::over(100, "hot:10:90%".parse().unwrap()));
        let mut inputs = Inputs::new(Cardinality::standard(100), 3, 1, 0, None).skewed(Some(skewed));
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for _ in 0..20_000 {
            match inputs.draw() {
                Call::Book { booking: Booking { event, .. }, .. } | Call::ReadEvent { id: event } => {
                    *counts.entry(event).or_default() += 1;
                }
                Call::ReadBooking { .. } => {}
            }
        }
        let all: u32 = counts.values().sum();
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot = f64::from(counts.iter().take(10).sum::<u32>()) / f64::from(all);
        assert!((0.87..0.93).contains(&hot), "{hot}");
    }

    #[test]
    fn what_was_acknowledged_stays_and_tickets_only_become_fewer() {
        let mut inputs = Inputs::new(Cardinality::tiny(), 1, 1, 0, None);
        let (call, booking) = loop {
            // Of an event without a limit.
            if let call @ Call::Book { booking: booking @ Booking { event, .. }, .. } = inputs.draw()
                && event % 4 != 0
            {
                break (call, booking);
            }
        };
        let Booking { key, event, .. } = booking;
        let read = Call::ReadBooking { key };
        let sold_out = |available| Outcome::Declined(Decline::SoldOut { available });
        let wrong =
            |found: Result<(), &str>, why: &str| assert!(found.unwrap_err().contains(why), "{found:?}");
        wrong(inputs.check(&call, &Outcome::Declined(Decline::KeyReused)), "only this client has");
        wrong(inputs.check(&call, &Outcome::Declined(Decline::AlreadyBooked)), "does not have");
        // Nothing was acknowledged: it may be there or not.
        for right in [Outcome::Declined(Decline::NoSuchBooking), Outcome::Found(booking)] {
            assert_eq!(inputs.check(&read, &right), Ok(()));
        }
        wrong(inputs.check(&read, &Outcome::Found(Booking { user: 1, ..booking })), "than was asked for");
        assert_eq!(inputs.check(&call, &sold_out(0)), Ok(()));
        let stock = |available| Outcome::Event { stock: 40, available };
        let look = Call::ReadEvent { id: event };
        wrong(inputs.check(&look, &stock(1)), "than were read before");
        assert_eq!(inputs.check(&look, &stock(1)), Ok(()));
        wrong(inputs.check(&look, &Outcome::Event { stock: 41, available: 1 }), "loaded with");
        assert_eq!(inputs.check(&call, &Outcome::Booked(booking)), Ok(()));
        wrong(inputs.check(&call, &sold_out(0)), "not there any more");
        wrong(inputs.check(&read, &Outcome::Declined(Decline::NoSuchBooking)), "not there any more");
        assert_eq!(inputs.check(&read, &Outcome::Found(booking)), Ok(()));
        // It is what is read from now on, and remembered when later ones have its place.
        let mut reads = 0;
        for _ in 0..1_000 {
            if let Call::ReadBooking { key } = inputs.draw() {
                reads += u32::from(key == booking.key);
            }
        }
        assert!(reads > 100, "{reads}");
        wrong(inputs.check(&read, &Outcome::Declined(Decline::NoSuchBooking)), "not there any more");
    }

    #[test]
    fn what_was_acknowledged_is_repeated_and_what_was_not_is_retried() {
        let mut inputs = Inputs::new(Cardinality::tiny(), 1, 1, 0, None);
        let (mut repeated, mut retried) = (0, 0);
        for _ in 0..10_000 {
            let call = inputs.draw();
            let Call::Book { purpose, booking } = call else { continue };
            let is_booked = booking.key.sequence.is_multiple_of(2);
            match purpose {
                Purpose::Repeat => repeated += u32::from(is_booked),
                Purpose::Retry => retried += u32::from(!is_booked),
                _ if is_booked => inputs.check(&call, &Outcome::Booked(booking)).unwrap(),
                _ => {}
            }
            assert!((purpose != Purpose::Repeat || is_booked) && (purpose != Purpose::Retry || !is_booked));
        }
        assert!(repeated > 50 && retried > 50, "{repeated} {retried}");
    }

    const UNLEFT: Result<(), &str> = Err("the available tickets are not what bookings have left of them");

    /// A client whose answers are compared with events of `left` tickets, and its first booking.
    fn remembering(left: i64) -> (Inputs, Call, Booking) {
        let size = Cardinality::tiny();
        let tickets = Arc::new(Registers::new(size.events.into(), Some(left)));
        let mut inputs = Inputs::new(size, 1, 1, 0, None);
        loop {
            if let call @ Call::Book { purpose: Purpose::New, booking } = inputs.draw() {
                let mut inputs = inputs.remembering(&tickets);
                inputs.note(&call);
                return (inputs, call, booking);
            }
        }
    }

    /// What is read of an event by a client that has nothing under way.
    fn reads(inputs: &mut Inputs, id: u32, available: i64) -> Result<(), &'static str> {
        inputs.seen = [(0, 0); RECENT];
        let call = Call::ReadEvent { id };
        inputs.note(&call);
        let stock = inputs.size.stock;
        inputs.check(&call, &Outcome::Event { stock, available: available as u32 })
    }

    #[test]
    fn tickets_follow_from_bookings_that_were_answered() {
        let (mut inputs, call, booking) = remembering(20);
        let rest = 20 - i64::from(booking.quantity);
        assert_eq!(inputs.check(&call, &Outcome::Booked(booking)), Ok(()));
        assert_eq!(reads(&mut inputs, booking.event, 20), UNLEFT);
        assert_eq!(reads(&mut inputs, booking.event, rest), Ok(()));
        // An answer that is repeated takes no more.
        let repeat = Call::Book { purpose: Purpose::Repeat, booking };
        inputs.note(&repeat);
        assert_eq!(inputs.check(&repeat, &Outcome::Booked(booking)), Ok(()));
        assert_eq!(reads(&mut inputs, booking.event, rest), Ok(()));
    }

    #[test]
    fn a_booking_in_doubt_may_be_made_whatever_its_retry_is_answered() {
        let (mut inputs, _, booking) = remembering(20);
        let rest = 20 - i64::from(booking.quantity);
        let retry = Call::Book { purpose: Purpose::Retry, booking };
        inputs.note(&retry);
        let declined = Outcome::Declined(Decline::AlreadyBooked);
        inputs.check_tickets(&retry, &declined).unwrap();
        for available in [20, rest] {
            assert_eq!(reads(&mut inputs, booking.event, available), Ok(()), "the first may be under way");
        }
        inputs.note(&retry);
        assert_eq!(inputs.check(&retry, &Outcome::Booked(booking)), Ok(()));
        assert_eq!(reads(&mut inputs, booking.event, 20), UNLEFT);
        assert_eq!(reads(&mut inputs, booking.event, rest), Ok(()));
    }

    #[test]
    fn a_booking_that_was_declined_takes_nothing_and_its_retry_may() {
        let sold_out = Outcome::Declined(Decline::SoldOut { available: 0 });
        let (mut inputs, call, booking) = remembering(20);
        assert_eq!(inputs.check(&call, &sold_out), UNLEFT);
        let (mut inputs, call, _) = remembering(0);
        assert_eq!(inputs.check(&call, &sold_out), Ok(()));
        assert_eq!(reads(&mut inputs, booking.event, 0), Ok(()));
        let (mut inputs, call, booking) = remembering(20);
        assert_eq!(
            inputs.check(&call, &Outcome::Declined(Decline::AlreadyBooked)).is_ok(),
            inputs.size.is_limited(booking.event)
        );
        assert_eq!(reads(&mut inputs, booking.event, 20), Ok(()));
        let retry = Call::Book { purpose: Purpose::Retry, booking };
        inputs.note(&retry);
        assert_eq!(inputs.check(&retry, &Outcome::Booked(booking)), Ok(()));
        assert_eq!(reads(&mut inputs, booking.event, 20 - i64::from(booking.quantity)), Ok(()));
    }
}
