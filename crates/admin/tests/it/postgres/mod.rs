//! `admin::postgres` on a private PostgreSQL.

mod audits;
mod kits;
mod loads;
mod support;
mod witness;
