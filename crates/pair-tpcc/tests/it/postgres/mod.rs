//! Both styles on a real PostgreSQL.

mod conformance;
mod races;
mod support;
