//! A service over HTTP/1.1 as a session.
