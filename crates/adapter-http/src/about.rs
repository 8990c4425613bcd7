//! Who is answering: read once per target, before anything is measured.

use crate::Address;
use crate::connection::{Broken, Connection};
use crate::request;
use contract::Wire;
use model::{OpenError, Stack};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use transport::{Dialer, ExtraEndpoint};

/// Version of the HTTP contract, for all workloads.
const CONTRACT_VERSION: u32 = 1;
/// A server that does not say who it is within this time is not used.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// What a server reports at `/about`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Name of the server program.
    pub name: String,
    pub version: String,
    /// The contract it speaks: `tpcc/1`.
    pub contract: String,
    /// The workload it serves: `tpcc`.
    pub workload: String,
    /// Scale of the loaded data, in the workload's unit (TPC-C: warehouses).
    pub scale: u64,
    /// Sessions behind the server.
    pub pool: u32,
    /// Its process, if it cares to say; means something on the same machine only.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Its limits by name, if it cares to say: `connections_max`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// Where it listens besides TCP, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<ExtraEndpoint>,
    /// What is behind it.
    pub stack: Stack,
    /// Calls that it still completes although they were answered as in doubt, if it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<u64>,
}

impl About {
    /// Whether one process says both: all is the same but for what changes while it serves.
    pub fn is_of(&self, earlier: &About) -> bool {
        About { unfinished: earlier.unfinished, ..self.clone() } == *earlier
    }

    /// Refuses more connections than the server takes, where it says how many that are.
    pub fn admits(&self, connections: u32) -> Result<(), String> {
        match self.limits.get("connections_max") {
            Some(most) if *most < u64::from(connections) => Err(format!(
                "{connections} clients need a connection each, and the server takes {most} (`connections_max` of /about)"
            )),
            _ => Ok(()),
        }
    }
}

/// What the caller wants to find. `None`: anything will do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// Scale of the loaded data.
    pub scale: Option<u64>,
}

/// Asks the server who it is, and compares the answer with what is wanted.
pub(crate) async fn check<W: Wire>(
    address: &Address,
    socket: SocketAddr,
    expected: &Expected,
) -> Result<About, OpenError> {
    let url = format!("http://{address}");
    let unreachable = |why: String| OpenError::Unreachable { what: url.clone(), why };
    let unusable = |why: String| OpenError::Unusable { what: url.clone(), why };
    let about = ask(address, socket).await?;
    let contract = format!("{}/{CONTRACT_VERSION}", W::NAME);
    if about.contract != contract || about.workload != W::NAME {
        let found = (&about.contract, &about.workload);
        return Err(unusable(format!(
            "it speaks contract `{}` for workload `{}`, wanted is `{contract}`",
            found.0, found.1
        )));
    }
    if let Some(scale) = expected.scale
        && scale != about.scale
    {
        let found = about.scale;
        return Err(unusable(format!("its data has scale {found}, wanted is {scale}")));
    }
    let connection = Connection::open(&Dialer::Tcp(socket)).await.map_err(unreachable)?;
    let (status, _) = get(connection, address, "/health", ANSWER_MAX).await.map_err(unusable)?;
    if status != 200 {
        return Err(unreachable(format!("not ready: /health answered with status {status}")));
    }
    Ok(about)
}

/// What a server reports now.
pub(crate) async fn ask(address: &Address, socket: SocketAddr) -> Result<About, OpenError> {
    let what = || format!("http://{address}");
    let unusable = |why: String| OpenError::Unusable { what: what(), why };
    let connection = Connection::open(&Dialer::Tcp(socket)).await;
    let connection = connection.map_err(|why| OpenError::Unreachable { what: what(), why })?;
    let (status, body) = get(connection, address, "/about", ANSWER_MAX).await.map_err(unusable)?;
    if status != 200 {
        return Err(unusable(format!("not a Stackmark server: /about answered with status {status}")));
    }
    serde_json::from_slice(&body)
        .map_err(|error| unusable(format!("not a Stackmark server: /about: {error}")))
}

/// Asks on a connection of its own: a server may close after each answer.
async fn get(
    mut connection: Connection,
    address: &Address,
    path: &str,
    within: Duration,
) -> Result<(u16, Vec<u8>), String> {
    let request = request::get(address, path);
    let answer = tokio::time::timeout(within, connection.exchange(&request))
        .await
        .map_err(|_| format!("{path} was not answered within {} s", within.as_secs_f64()))?;
    match answer {
        Ok(answer) => Ok((answer.status, connection.bytes(answer.body).to_vec())),
        Err(Broken::TurnedAway) => {
            Err(format!("{path}: the server refused the connection: it is at its limit"))
        }
        Err(Broken::Unsent | Broken::Lost) => {
            Err(format!("{path}: the connection was closed without an answer"))
        }
        Err(Broken::Contract(why)) => Err(format!("not a Stackmark server: {path}: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_still_completes_calls_is_the_same() {
        let body = r#"{"name":"x","version":"1","contract":"tpcb/1","workload":"tpcb","scale":1,"pool":4,"pid":7,
            "stack":STACK,"unfinished":0}"#;
        let stack = serde_json::to_string(&Stack::default()).unwrap();
        let idle: About = serde_json::from_str(&body.replace("STACK", &stack)).unwrap();
        let busy = About { unfinished: Some(3), ..idle.clone() };
        assert!(busy.is_of(&idle) && idle.is_of(&busy));
        let restarted = About { pid: Some(8), ..idle.clone() };
        assert!(!restarted.is_of(&idle));
    }

    #[test]
    fn a_server_that_hangs_is_not_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // The kernel makes the connection, and no one takes it.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = listener.local_addr().unwrap();
        let address: Address = Address::parse(&format!("http://{socket}")).unwrap();
        let answer = runtime.block_on(async {
            let connection = Connection::open(&Dialer::Tcp(socket)).await.unwrap();
            get(connection, &address, "/about", Duration::from_millis(10)).await
        });
        assert_eq!(answer.unwrap_err(), "/about was not answered within 0.01 s");
    }
}
