//! What the tests of the whole share: the rules of the repository as functions that take plain data and return what
//! breaks them, so that each rule is itself tested on a made-up offender; and the way to the repository and its binary.

pub mod bad_inputs;
pub mod banks;
pub mod beds;
pub mod bite;
pub mod bookings;
pub mod broken;
pub mod calls;
pub mod catalogues;
pub mod edges;
pub mod engines;
pub mod examples;
pub mod expiry;
pub mod fake;
pub mod ground;
pub mod housed;
pub mod injected;
pub mod languages;
pub mod lies;
pub mod log_first;
pub mod outboxes;
pub mod plans;
pub mod proxy;
pub mod repository;
pub mod routes;
pub mod sabotage;
pub mod saboteurs;
pub mod sagas;
pub mod served;
pub mod sources;
pub mod store;
pub mod tamper;
pub mod transfers;
pub mod two_phase;
pub mod two_stores;
