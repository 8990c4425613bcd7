//! What carries HTTP between a client and a server: TCP, a unix socket, or TLS; both ends of it. And how connections to PostgreSQL are
//! encrypted.
//!
//! A server always listens on TCP, where it tells whether it is ready and who it is. One that was asked for another transport listens
//! there as well, and says where at `/about`. Knows nothing of HTTP.

mod client;
mod database;
mod endpoint;
mod server;
mod stream;

pub use client::Dialer;
pub use database::database_tls;
pub use endpoint::ExtraEndpoint;
pub use server::{ExtraListener, Incoming};
pub use stream::Stream;
