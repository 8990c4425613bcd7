//! Sample documents for tests, of this crate and of those that print its reports. Invented figures, but such as hang
//! together: books balance, budgets sum, percentiles follow from the spectrum, clients = rate × response time.

mod busy;
mod clocked;
mod comparison;
mod curve;
mod experiment;
mod shape;
mod trial;
mod vouchers;

pub use busy::busy_trial;
pub use comparison::{compared, compared_mut, comparison, redraw, two_metrics};
pub use curve::{rate_sweep, search, sweep};
pub use experiment::experiment;
pub use trial::{
    deferred_trial, engine_trial, failed_trial, long_trial, open_trial, paced_trial, running, trial,
    two_stores,
};
