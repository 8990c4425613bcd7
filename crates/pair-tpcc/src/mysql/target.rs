//! Opens sessions that call procedures.

use super::procedures::{calls, install};
use super::{ProcedureSession, session};
use adapter_mysql_async::{MySqlOpener, connect};
use model::{Clock, Home, OpenError, Stack, Target};
use sql::{ServerUrl, SqlOpener};
use workload_tpcc::Tpcc;

/// Opens sessions on one database of a server, whose procedures it has installed.
#[derive(Debug)]
pub struct ProcedureTarget<K> {
    opener: MySqlOpener,
    clock: K,
}

impl<K: Clock> ProcedureTarget<K> {
    /// Reaches the server, installs the procedures in the URL's database and asks what is in force.
    ///
    /// # Errors
    /// As [`MySqlOpener::reach`] and [`install`].
    pub async fn reach(url: &ServerUrl, clock: K) -> Result<ProcedureTarget<K>, OpenError> {
        // The first look tells a server that takes no writes before it is asked to take procedures.
        MySqlOpener::reach(url, Vec::new()).await?;
        install(&mut connect(url).await?, url).await?;
        Ok(ProcedureTarget { opener: MySqlOpener::reach(url, calls()).await?, clock })
    }
}

impl<K: Clock> Target<Tpcc> for ProcedureTarget<K> {
    type Session = ProcedureSession<K>;

    fn home(&self) -> Home {
        Home::Task
    }

    async fn open(&self, _worker: u32) -> Result<ProcedureSession<K>, OpenError> {
        Ok(session::ProcedureSession::new(self.opener.open().await?, self.clock.clone()))
    }

    fn stack(&self) -> Stack {
        Stack { style: "procedure".into(), ..self.opener.stack() }
    }
}
