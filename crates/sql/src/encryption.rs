//! What users are told when a connection is not encrypted as the server or they want it: the same through every driver.

use crate::{ServerUrl, Tls};

/// What to add where a server turns a client away and may only want it to encrypt: on loopback and on unix sockets connections are not
/// encrypted unless the URL asks for it.
pub fn demanded(url: &ServerUrl) -> &'static str {
    match url.tls {
        Tls::Off => "; if the server or this user requires TLS, add sslmode=require",
        Tls::Prefer | Tls::Require | Tls::Verify => "",
    }
}

/// Why a server without TLS cannot be used where the URL requires it.
pub const NOT_OFFERED: &str =
    "it does not encrypt, and the URL asks for that; `sslmode=disable` or `prefer` would do without";

/// What is wrong with a server's certificate, where that is what a driver says. Each of them wraps the error of rustls in its own way,
/// so it is known by its words.
pub fn certificate(url: &ServerUrl, error: &str) -> Option<String> {
    let host = &url.host;
    let why = match error {
        error if error.contains("UnknownIssuer") => {
            "is signed by an authority that is not trusted here; name a file with its certificate by sslrootcert=FILE".to_owned()
        }
        error if error.contains("CaUsedAsEndEntity") => {
            "is that of an authority, and no server's; use one that an authority has signed for the server".to_owned()
        }
        error if error.contains("not valid for name") || error.contains("NotValidForName") => {
            format!("is not for `{host}`; connect by a name that it is for, or use sslmode=require, which does not check it")
        }
        error if error.contains("Expired") || error.contains("certificate expired") => "has expired".to_owned(),
        error if error.contains("NotValidYet") || error.contains("not valid yet") => {
            "is not valid yet; is the clock of this machine right?".to_owned()
        }
        error if error.contains("invalid peer certificate") => {
            "does not fit the authorities that are trusted here; name a file with the certificate of its own by sslrootcert=FILE"
                .to_owned()
        }
        _ => return None,
    };
    Some(format!("the server's certificate {why} ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_is_said() {
        let url: ServerUrl = "postgres://u@db.example/d?sslmode=verify-full".parse().unwrap();
        for (error, expected) in [
            (
                "invalid peer certificate: UnknownIssuer",
                Some("name a file with its certificate by sslrootcert=FILE"),
            ),
            (
                "invalid peer certificate: certificate not valid for name \"db.example\"; certificate is only valid for \"x\"",
                Some("is not for `db.example`"),
            ),
            ("invalid peer certificate: Expired", Some("has expired")),
            (
                "invalid peer certificate: BadSignature",
                Some("by sslrootcert=FILE (invalid peer certificate: BadSignature)"),
            ),
            ("connection reset by peer", None),
        ] {
            let text = certificate(&url, error);
            assert_eq!(text.is_some(), expected.is_some(), "{error}");
            assert!(text.unwrap_or_default().contains(expected.unwrap_or_default()), "{error}");
        }
    }
}
