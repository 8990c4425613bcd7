//! Where a service listens, as the user wrote it.

use std::fmt;

/// An `http://host:port` address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// One clause that says what is wrong with `url` and what would be right.
    pub fn parse(url: &str) -> Result<Address, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err(match url.split_once("://") {
                Some(("https", _)) => {
                    "https is not supported here; use http:// (--transport tls is for servers that Stackmark starts)".into()
                }
                Some((scheme, _)) => format!("unknown scheme `{scheme}`; use http://host:port"),
                None => "no scheme; use http://host:port".into(),
            });
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if let Some(at) = authority.find(['/', '?', '#']) {
            return Err(format!("unexpected `{}` after the port; use http://host:port", &authority[at..]));
        }
        if authority.contains('@') {
            return Err("user names and passwords are not supported; use http://host:port".into());
        }
        let (host, port) = split_port(authority)?;
        let port = match port.parse::<u16>() {
            Ok(0) | Err(_) => return Err(format!("bad port `{port}`; a port is a number from 1 to 65535")),
            Ok(port) => port,
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
        if bare.is_empty() || !bare.bytes().all(allowed) {
            return Err(format!("bad host `{host}`; use http://host:port"));
        }
        Ok(Address { host: bare.to_owned(), port })
    }

    /// Host name or address, without the brackets of IPv6.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

fn split_port(authority: &str) -> Result<(&str, &str), String> {
    let bare_v6 = authority.starts_with('[') && authority.ends_with(']');
    match authority.rsplit_once(':') {
        Some((host, port)) if !bare_v6 => {
            if host.contains(':') && !host.starts_with('[') {
                return Err(format!("bad host `{host}`; an IPv6 address is written in brackets"));
            }
            Ok((host, port))
        }
        _ => Err("no port; use http://host:port".into()),
    }
}

/// As it stands in a `host` header.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_addresses_are_read() {
        for (url, shown) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://localhost:1/", "localhost:1"),
            ("http://[::1]:65535", "[::1]:65535"),
            ("http://bench-server.example:80", "bench-server.example:80"),
        ] {
            assert_eq!(Address::parse(url).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn a_bad_address_is_explained() {
        for (url, why) in [
            ("https://127.0.0.1:8080", "https is not supported"),
            ("ftp://127.0.0.1:8080", "unknown scheme `ftp`"),
            ("127.0.0.1:8080", "no scheme"),
            ("http://127.0.0.1", "no port"),
            ("http://[::1]", "no port"),
            ("http://::1:80", "in brackets"),
            ("http://127.0.0.1:0", "bad port `0`"),
            ("http://127.0.0.1:65536", "bad port `65536`"),
            ("http://127.0.0.1:http", "bad port `http`"),
            ("http://:80", "bad host ``"),
            ("http://a b:80", "bad host `a b`"),
            ("http://127.0.0.1:80/api", "unexpected `/api`"),
            ("http://127.0.0.1:80?x", "unexpected `?x`"),
            ("http://me:secret@host:80", "user names"),
        ] {
            let listed = Address::parse(url).unwrap_err();
            assert!(listed.contains(why), "{url}: {listed}");
            assert!(!listed.contains("secret"));
        }
    }
}
