//! Which rate to try next: pure, so that the search can be tested without a system.

/// How much higher than a rate that met the SLO the next is while none missed it, and how much lower the other way round.
const STEP: f64 = 1.4;
/// Steps down from the first rate before the search stops: to a fifteenth of it.
const STEPS_DOWN: u32 = 8;
/// Steps up; sixteen are a factor of two hundred.
const STEPS_UP: u32 = 16;
/// Rates that may fail to be confirmed before the search stops.
const DESCENTS: u32 = 8;

/// Between which rates the answer lies.
#[derive(Debug, Clone)]
pub(crate) struct Bracket {
    start: f64,
    /// How near is near enough, as a share.
    resolution: f64,
    /// The highest that met the SLO, below every one that missed it.
    met: Option<f64>,
    /// The lowest that missed the SLO.
    missed: Option<f64>,
    up: u32,
    down: u32,
    /// Trials that have confirmed `met`.
    confirmed: u32,
    /// Rates that missed the SLO in a confirming trial.
    descents: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Try {
    Rate(f64),
    Confirm(f64),
    Found(f64),
    None,
}

impl Bracket {
    pub(crate) fn new(start: f64, resolution: f64) -> Bracket {
        Bracket { start, resolution, met: None, missed: None, up: 0, down: 0, confirmed: 0, descents: 0 }
    }

    /// What to do next; `confirm` trials have to keep a rate again.
    pub(crate) fn next(&self, confirm: u32) -> Try {
        match (self.met, self.missed) {
            (None, None) => Try::Rate(self.start),
            (None, Some(_)) if self.down > STEPS_DOWN || self.descents > DESCENTS => Try::None,
            // After a rate that would not be confirmed, one step of the resolution; else in large steps.
            (None, Some(missed)) if self.descents > 0 => Try::Confirm(missed / (1.0 + self.resolution)),
            (None, Some(missed)) => Try::Rate(missed / STEP),
            (Some(met), None) if self.up > STEPS_UP => self.confirm(met, confirm),
            (Some(met), None) => Try::Rate(met * STEP),
            (Some(met), Some(missed)) if self.confirmed > 0 || missed <= met * (1.0 + self.resolution) => {
                self.confirm(met, confirm)
            }
            (Some(met), Some(missed)) => Try::Rate((met * missed).sqrt()),
        }
    }

    fn confirm(&self, met: f64, confirm: u32) -> Try {
        if self.confirmed >= confirm { Try::Found(met) } else { Try::Confirm(met) }
    }

    /// What came of a trial.
    pub(crate) fn record(&mut self, rate: f64, confirming: bool, met: bool) {
        match (met, confirming) {
            (true, true) => {
                self.confirmed += 1;
                self.met = Some(rate);
            }
            (true, false) => {
                self.up += 1;
                self.met = Some(rate);
            }
            (false, _) => {
                self.down += 1;
                self.missed = Some(self.missed.map_or(rate, |missed| missed.min(rate)));
                self.met = self.met.filter(|met| *met < rate);
                if confirming {
                    self.descents += 1;
                    self.confirmed = 0;
                    self.down = 0;
                }
            }
        }
    }

    /// About how many trials are still to come.
    pub(crate) fn steps_left(&self, confirm: u32) -> u32 {
        let apart = match (self.met, self.missed) {
            (Some(met), Some(missed)) => (missed / met).max(1.0 + self.resolution),
            _ => STEP * STEP,
        };
        let halvings = (apart.ln() / self.resolution.ln_1p()).log2().ceil().max(0.0) as u32;
        let halvings = if self.confirmed > 0 || self.descents > 0 { 0 } else { halvings };
        halvings + confirm.saturating_sub(self.confirmed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a system that keeps every rate up to `limit`, and gives the answer and the number of trials.
    fn search(limit: f64, start: f64, mut lucky: u32) -> (Try, u32) {
        let mut bracket = Bracket::new(start, 0.05);
        for trials in 0..100 {
            match bracket.next(3) {
                Try::Rate(rate) => bracket.record(rate, false, rate <= limit),
                Try::Confirm(rate) => {
                    let unlucky = lucky > 0;
                    lucky = lucky.saturating_sub(1);
                    bracket.record(rate, true, rate <= limit && !unlucky);
                }
                end => return (end, trials),
            }
        }
        panic!("the search never ends");
    }

    #[test]
    fn the_highest_rate_is_found_to_the_resolution_from_above_and_from_below() {
        for (limit, start) in [(1_000.0, 700.0), (1_000.0, 5_000.0), (1_000.0, 40.0), (3.3, 2.0)] {
            let (Try::Found(rate), trials) = search(limit, start, 0) else { panic!("nothing found") };
            assert!(rate <= limit && rate * 1.05 >= limit * 0.999, "{rate} of {limit}");
            assert!(trials < 20, "{trials} trials");
        }
    }

    #[test]
    fn a_rate_that_is_not_confirmed_gives_way_to_the_next_lower_one_which_must_stand_the_same() {
        let (Try::Found(sure), _) = search(1_000.0, 700.0, 0) else { panic!() };
        let (Try::Found(rate), trials) = search(1_000.0, 700.0, 2) else { panic!("nothing found") };
        assert!(rate < sure && rate > sure * 0.8, "{rate} after {sure}");
        assert!(trials >= 3, "all three confirmation trials ran at the rate that was found");
    }

    #[test]
    fn a_system_that_keeps_no_rate_ends_the_search() {
        let (end, trials) = search(0.0, 700.0, 0);
        assert_eq!(end, Try::None);
        assert!(trials < 15, "{trials} trials");
        assert!(matches!(search(1_000.0, 700.0, 100), (Try::None, _)), "nothing is ever confirmed");
    }

    #[test]
    fn a_confirmed_rate_is_not_bisected_further() {
        let mut bracket = Bracket::new(100.0, 0.05);
        bracket.record(100.0, false, true);
        bracket.record(104.0, false, false);
        assert_eq!(bracket.next(2), Try::Confirm(100.0));
        bracket.record(100.0, true, true);
        bracket.record(100.0, true, false);
        assert_eq!(bracket.next(2), Try::Confirm(100.0 / 1.05));
        assert_eq!(bracket.steps_left(2), 2);
    }
}
