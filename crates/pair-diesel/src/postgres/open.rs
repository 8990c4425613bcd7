//! What is in force on a server, read back.

use super::connect::{connect, failed};
use crate::{ADAPTER, STYLE};
use ::sql::{ServerUrl, postgres};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use model::{OpenError, Stack};

/// The stack under a session, asked of one.
pub(super) fn stack(url: &ServerUrl) -> Result<Stack, OpenError> {
    let (mut conn, facts) = connect(url)?;
    let mut settings = in_force(&mut conn).map_err(|error| failed(url, &error))?;
    let encrypted = encrypted(&mut conn).map_err(|error| failed(url, &error))?;
    let found =
        |name: &str| settings.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.as_str());
    let durability = postgres::durability(
        found("fsync"),
        found("synchronous_commit"),
        found("full_page_writes"),
        found("wal_sync_method"),
    );
    settings.push(("protocol".into(), "extended, prepared, binary".into()));
    settings.push(("transport".into(), if url.socket.is_some() { "unix" } else { "tcp" }.into()));
    settings.push(("tls".into(), encrypted));
    settings.push(("statement_timeout_ms".into(), facts.statement_timeout_ms.to_string()));
    Ok(Stack {
        engine: "postgres".into(),
        engine_version: facts.version,
        adapter: ADAPTER.0.into(),
        adapter_version: ADAPTER.1.into(),
        style: STYLE.into(),
        route: "direct".into(),
        server: None,
        isolation: format!("{}; repeatable read where only read", facts.isolation),
        durability,
        settings,
    })
}

/// `current_setting` gives units as people write them; what this version does not have is left out.
fn in_force(conn: &mut PgConnection) -> QueryResult<Vec<(String, String)>> {
    let names = postgres::SETTINGS.join("', '");
    let text = format!(
        "select name, current_setting(name) from unnest(array['{names}']) as name \
         where current_setting(name, true) is not null"
    );
    sql::<(Text, Text)>(&text).load(conn)
}

/// The version of TLS in use, or `off`.
fn encrypted(conn: &mut PgConnection) -> QueryResult<String> {
    let text = "select version from pg_stat_ssl where pid = pg_backend_pid() and ssl";
    let found: Option<String> = sql::<Text>(text).get_result(conn).optional()?;
    Ok(found.unwrap_or_else(|| "off".into()))
}
