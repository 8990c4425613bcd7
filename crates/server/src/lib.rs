//! The reference server: any target behind axum.
