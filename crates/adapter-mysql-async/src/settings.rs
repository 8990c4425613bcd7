//! What is really in force, asked of the server.

use crate::connect::refused;
use model::OpenError;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use sql::{MySqlSettings, ServerUrl};

/// The adapter's name and version. The driver does not say its version at run time; a test holds it to the manifest.
pub const ADAPTER: (&str, &str) = ("mysql_async", "0.37.1");

/// Asks a connection that [`crate::connect`] opened for what is in force.
pub async fn read_back(conn: &mut Conn, url: &ServerUrl) -> Result<MySqlSettings, OpenError> {
    let fail = |error| refused(url, error);
    let variables = conn.query(MySqlSettings::question()).await.map_err(fail)?;
    let mut status: Vec<(String, String)> = conn.query(MySqlSettings::STATUS).await.map_err(fail)?;
    status.extend(conn.query::<(String, String), _>(MySqlSettings::SPREAD).await.map_err(fail)?);
    Ok(MySqlSettings::of(variables, status, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_pinned_one() {
        let manifest = include_str!("../../../Cargo.toml");
        assert!(manifest.contains(&format!("mysql_async = {{ version = \"={}\"", ADAPTER.1)));
    }
}
