//! Where a broker is and who gets in.

use sql::Secret;
use std::fmt;
use std::str::FromStr;

/// Where a broker is: `127.0.0.1:9092`, or `kafka://user@host:9092` for one that asks who someone is (SASL, PLAIN).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    /// Whom it knows.
    pub user: Option<String>,
    /// Nothing shows it.
    pub password: Option<Secret>,
}

/// What begins an address with a user.
const SCHEME: &str = "kafka://";

impl Address {
    /// That of a broker that asks for a password.
    pub fn of_user(host_and_port: &str, user: &str, password: Secret) -> Option<Address> {
        let (host, port) = split(host_and_port)?;
        Some(Address { host, port, user: Some(user.to_owned()), password: Some(password) })
    }

    /// Host and port, as a client connects to them.
    pub fn place(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            Some(user) => write!(f, "{SCHEME}{user}@{}", self.place()),
            None => write!(f, "{}", self.place()),
        }
    }
}

/// An address that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an address of a broker: give HOST:PORT, such as 127.0.0.1:9092, or kafka://USER@HOST:PORT"
)]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let bare = text.strip_prefix(SCHEME).unwrap_or(text);
        let (who, place) = bare.rsplit_once('@').map_or((None, bare), |(who, place)| (Some(who), place));
        // A password is not repeated in a message.
        let shown = || AddressError(format!("{}{place}", if who.is_some() { "…@" } else { "" }));
        let (host, port) = split(place).ok_or_else(shown)?;
        let (user, password) = match who.map(|who| who.split_once(':').unwrap_or((who, ""))) {
            None => (None, None),
            Some(("", _)) => return Err(shown()),
            Some((user, "")) => (Some(user.to_owned()), None),
            Some((user, password)) => (Some(user.to_owned()), Some(Secret::new(password))),
        };
        Ok(Address { host, port, user, password })
    }
}

/// `host:port` and `[::1]:port`.
fn split(place: &str) -> Option<(String, u16)> {
    let (host, port) = place.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?,
        None => Some(host).filter(|host| !host.contains(':'))?,
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
    let port = port.parse().ok().filter(|port| *port > 0)?;
    (!host.is_empty() && host.bytes().all(is_host)).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_their_password() {
        for text in ["127.0.0.1:9092", "kafka-1.internal:29092", "[::1]:9092", "kafka://me@host:1"] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.password), (text, None));
        }
        let address: Address = "kafka://me:secret:word@host:9092".parse().unwrap();
        assert_eq!(address.password.as_ref().map(Secret::reveal), Some("secret:word"));
        assert_eq!(
            (address.to_string(), address.place()),
            ("kafka://me@host:9092".into(), "host:9092".into())
        );
        assert!(!format!("{address:?}").contains("secret"), "{address:?}");
        assert_eq!("kafka://host:9092".parse::<Address>().unwrap().to_string(), "host:9092");
        assert_eq!(
            Address::of_user("127.0.0.1:5", "me", Secret::new("p")).unwrap().to_string(),
            "kafka://me@127.0.0.1:5"
        );
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_would_be_right() {
        for text in [
            "",
            "9092",
            "host",
            "host:0",
            "host:99999",
            "::1:9092",
            "[::1:9092",
            "a b:1",
            "@host:1",
            "postgres://u@h:5432/d",
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("HOST:PORT"), "{text}: {error}");
        }
        let error = "kafka://me:secret@host".parse::<Address>().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
