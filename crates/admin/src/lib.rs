//! Control plane of each engine: create, bulk load, restore, read settings, run audits.
