//! Opening connections with a workload's statements, and what is in force on the server, read back.

use super::connect::{connect, open_error, unusable};
use crate::{ADAPTER, SqlxMySqlConn};
use model::{Home, OpenError, Stack};
use sql::{MySqlSettings, ServerUrl, SqlOpener};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Error, Row as _};

/// Opens connections to one database of a MariaDB server.
#[derive(Debug)]
pub struct SqlxMySql {
    url: ServerUrl,
    statements: Vec<String>,
    settings: MySqlSettings,
}

impl SqlxMySql {
    /// Reaches the server once, checks that it takes writes and that the statements fit it, and asks what is in force
    /// there. `statements` are the texts in the order of their numbers.
    ///
    /// # Errors
    /// [`OpenError::Unreachable`] when nothing answers or the server is full; [`OpenError::Unusable`] when it refuses the
    /// user, the password or the database, is too old, of another kind or takes no writes, or when a setting or a statement
    /// does not take. No error holds a password.
    pub async fn reach(url: &ServerUrl, statements: Vec<String>) -> Result<SqlxMySql, OpenError> {
        let mut conn = connect(url).await?;
        let settings = read_back(&mut conn, url).await.map_err(|error| open_error(url, &error))?;
        if settings.read_only {
            return Err(unusable(
                url,
                "it is read-only: a replica, or set so; runs need one that takes writes",
            ));
        }
        SqlxMySqlConn::prepare(conn, &statements, url).await?;
        Ok(SqlxMySql { url: url.clone(), statements, settings })
    }
}

async fn read_back(conn: &mut MySqlConnection, url: &ServerUrl) -> Result<MySqlSettings, Error> {
    let variables = pairs(conn, MySqlSettings::question()).await?;
    let mut status = pairs(conn, MySqlSettings::STATUS.to_owned()).await?;
    status.extend(pairs(conn, MySqlSettings::SPREAD.to_owned()).await?);
    Ok(MySqlSettings::of(variables, status, url))
}

/// An answer of names and values.
async fn pairs(conn: &mut MySqlConnection, question: String) -> Result<Vec<(String, String)>, Error> {
    let rows = sqlx::raw_sql(AssertSqlSafe(question)).fetch_all(conn).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

impl SqlOpener for SqlxMySql {
    type Conn = SqlxMySqlConn;
    const HOME: Home = Home::Task;

    async fn open(&self) -> Result<SqlxMySqlConn, OpenError> {
        SqlxMySqlConn::prepare(connect(&self.url).await?, &self.statements, &self.url).await
    }

    fn stack(&self) -> Stack {
        Stack { style: "plain".into(), ..self.settings.stack(ADAPTER) }
    }
}
