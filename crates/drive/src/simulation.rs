//! virtual time
