//! `admin::postgres` on a private PostgreSQL.

mod audits;
mod loads;
mod support;
mod tools;
mod witness;
