//! What sqlx's errors mean where no engine said anything.

use model::{DefectKind, Doubt, Fault, OpenError, Refusal};
use sql::{CONNECT_MAX, ServerUrl, encryption};
use sqlx::Error;

/// The fault of an error that is not the engine's: a connection that is gone, or something that no one expects.
#[cold]
pub(crate) fn of_driver(error: &Error, at_commit: bool) -> Fault {
    match error {
        Error::Io(_) | Error::WorkerCrashed => {
            Fault::InDoubt(if at_commit { Doubt::CommitUnanswered } else { Doubt::ConnectionLost })
        }
        error => Fault::defect(DefectKind::Engine, format!("sqlx: {error}")),
    }
}

/// A connection that was found gone before anything of the transaction was done: the call was never attempted.
#[cold]
pub(crate) fn unreached(fault: Fault) -> Fault {
    match fault {
        Fault::InDoubt(_) => Fault::Refused(Refusal::Unreachable),
        fault @ (Fault::Conflict(_) | Fault::Refused(_) | Fault::Defect(_)) => fault,
    }
}

/// What an error that is not the engine's means for a client that opens `what`. sqlx puts no password into any.
pub(crate) fn open_error(what: String, error: &Error) -> OpenError {
    match error {
        Error::Io(_) | Error::WorkerCrashed => OpenError::Unreachable { what, why: error.to_string() },
        error => OpenError::Unusable { what, why: error.to_string() },
    }
}

/// The same for a client that connects to a server.
pub(crate) fn server_open_error(url: &ServerUrl, error: &Error) -> OpenError {
    match encryption::certificate(url, &error.to_string()) {
        Some(why) => OpenError::Unusable { what: url.place(), why },
        None => open_error(url.place(), error),
    }
}

/// Connecting, with a limit: sqlx itself has none.
pub(crate) async fn in_time<T>(
    url: &ServerUrl,
    connecting: impl Future<Output = Result<T, OpenError>>,
) -> Result<T, OpenError> {
    tokio::time::timeout(CONNECT_MAX, connecting).await.map_err(|_| url.no_answer())?
}
