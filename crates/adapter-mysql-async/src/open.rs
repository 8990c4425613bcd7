//! Opens connections to one server with a workload's statements prepared.

use crate::connect::unusable;
use crate::{ADAPTER, MySqlConn, connect, read_back};
use model::{Home, OpenError, Stack};
use sql::{MySqlSettings, ServerUrl, SqlOpener};

/// Opens connections to one database of a server.
#[derive(Debug)]
pub struct MySqlOpener {
    url: ServerUrl,
    statements: Vec<String>,
    settings: MySqlSettings,
}

impl MySqlOpener {
    /// Reaches the server once and asks what is in force there. `statements` are in the order of their numbers.
    ///
    /// # Errors
    /// As [`connect`]; and [`OpenError::Unusable`] when the server takes no writes, or a statement does not fit it.
    pub async fn reach(url: &ServerUrl, statements: Vec<String>) -> Result<MySqlOpener, OpenError> {
        let mut conn = connect(url).await?;
        let settings = read_back(&mut conn, url).await?;
        if settings.read_only {
            return Err(unusable(
                url,
                "it is read-only: a replica, or set so; runs need one that takes writes",
            ));
        }
        MySqlConn::prepare(conn, &statements, &url.place()).await?;
        Ok(MySqlOpener { url: url.clone(), statements, settings })
    }

    /// What was in force when the server was reached.
    pub fn settings(&self) -> &MySqlSettings {
        &self.settings
    }
}

impl SqlOpener for MySqlOpener {
    type Conn = MySqlConn;
    const HOME: Home = Home::Task;

    async fn open(&self) -> Result<MySqlConn, OpenError> {
        MySqlConn::prepare(connect(&self.url).await?, &self.statements, &self.url.place()).await
    }

    fn stack(&self) -> Stack {
        self.settings.stack(ADAPTER)
    }
}
