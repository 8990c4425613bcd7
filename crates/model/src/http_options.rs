//! How calls reach a server.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What carries HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    #[default]
    Tcp,
    /// A unix socket, in the abstract namespace of Linux: nothing of it is left behind.
    Unix,
    /// TLS 1.3 over TCP, with a certificate that the server makes for itself when it starts.
    Tls,
}

/// Whether a client keeps its connection from call to call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    #[default]
    Keep,
    /// Each call opens one and asks the server to close it. What that takes is a part of the call.
    PerCall,
}

/// How calls reach a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpOptions {
    #[serde(default)]
    pub transport: Transport,
    #[serde(default)]
    pub connections: Connections,
}

impl HttpOptions {
    /// What differs from the defaults, as name and value, for results and their comparison.
    pub fn settings(self) -> Vec<(String, String)> {
        let usual = HttpOptions::default();
        let transport =
            (self.transport != usual.transport).then(|| ("transport", self.transport.to_string()));
        let connections =
            (self.connections != usual.connections).then(|| ("connections", self.connections.to_string()));
        transport.into_iter().chain(connections).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Tcp => "tcp",
            Transport::Unix => "unix",
            Transport::Tls => "tls",
        })
    }
}

impl FromStr for Transport {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Transport, &'static str> {
        [Transport::Tcp, Transport::Unix, Transport::Tls]
            .into_iter()
            .find(|transport| transport.to_string() == text)
            .ok_or("use tcp, unix or tls")
    }
}

impl fmt::Display for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Connections::Keep => "keep",
            Connections::PerCall => "per-call",
        })
    }
}

impl FromStr for Connections {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Connections, &'static str> {
        [Connections::Keep, Connections::PerCall]
            .into_iter()
            .find(|connections| connections.to_string() == text)
            .ok_or("use keep or per-call")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_written() {
        assert_eq!("unix".parse(), Ok(Transport::Unix));
        assert_eq!("per-call".parse(), Ok(Connections::PerCall));
        assert_eq!("quic".parse::<Transport>(), Err("use tcp, unix or tls"));
        assert_eq!("".parse::<Connections>(), Err("use keep or per-call"));
    }

    #[test]
    fn settings_are_what_differs_from_the_defaults() {
        assert!(HttpOptions::default().settings().is_empty());
        let options = HttpOptions { transport: Transport::Tls, connections: Connections::PerCall };
        let is = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let expected: Vec<_> = [("transport", "tls"), ("connections", "per-call")].iter().map(is).collect();
        assert_eq!(options.settings(), expected);
    }
}
