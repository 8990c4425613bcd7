//! What lies at an address, without changing it.

use super::error::{Cause, InspectError};
use super::record::{self, Recorded};
use super::session::Session;
use crate::Found;
use sql::ServerUrl;

/// Tables of anybody's, but for those of the server and of extensions.
const TABLES: &str = "
select case when nspname = current_schema() then relname::text else nspname || '.' || relname end
from pg_class
join pg_namespace on pg_namespace.oid = relnamespace
where relkind in ('r', 'p', 'f', 'm', 'v') and relpersistence <> 't'
  and nspname not like 'pg\\_%' and nspname <> 'information_schema'
  and not exists (
    select from pg_depend
    where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
  )
order by 1";

/// Says what lies at an address, and changes nothing. A database without tables is [`Found::Absent`].
///
/// # Errors
/// When the database cannot be read: nobody answers, we are not let in, there is no such database.
pub fn inspect(url: &ServerUrl) -> Result<Found, InspectError> {
    let look = || {
        let session = Session::open(url)?;
        Ok(look(&session, url)?.0)
    };
    look().map_err(|source| InspectError { database: url.to_string(), source })
}

/// The same over a session, with the record where there is one.
pub(crate) fn look(session: &Session, url: &ServerUrl) -> Result<(Found, Option<Recorded>), Cause> {
    let recorded = record::read(session)?;
    let found = match &recorded {
        Some(Recorded::Complete(contents)) => Found::Complete(contents.clone()),
        Some(Recorded::Loading { since, .. }) => {
            let running = record::is_claimed(session)?;
            Found::Incomplete { what: url.to_string(), since: *since, running }
        }
        None => described(tables(session)?),
    };
    Ok((found, recorded))
}

/// Names of all tables and views that are neither the server's nor an extension's.
pub(crate) fn tables(session: &Session) -> Result<Vec<String>, Cause> {
    let rows = session.wait(session.client().query(TABLES, &[]))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

fn described(tables: Vec<String>) -> Found {
    let what = match tables.as_slice() {
        [] => return Found::Absent,
        few if few.len() <= 12 => {
            format!(
                "a PostgreSQL database with the tables {} and no record of a load by this kit",
                few.join(", ")
            )
        }
        many => {
            format!("a PostgreSQL database with {} tables and no record of a load by this kit", many.len())
        }
    };
    Found::Foreign { what, tables }
}
