//! What is concluded from the facts of a result: what its number is worth, what sets it, where more load brings no more throughput.
//!
//! Everything here reads a [`result::Trial`] or a [`result::Document`], finished and in memory, and comes to the same words
//! months later. It knows no format of a report: what it says are sentences, and figures as people read them.

mod bottleneck;
pub mod clocked;
pub mod curve;
pub mod engine_findings;
pub mod figures;
pub mod findings;
pub mod rules;
pub mod search;
#[doc(hidden)]
pub use bottleneck::{Bottleneck, bottleneck};
