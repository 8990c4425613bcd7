//! What stands between handlers and sessions: a bounded, fair queue in either of two forms.

use crate::lanes::Laned;
use crate::pool::Pool;
use crate::served::{Exchange, ServedSession};
use model::{CallWork, DefectKind, Doubt, Fault, Nanos, OpenError, Refusal, Wanted, caught};
use std::future::poll_fn;

/// Runs calls on some free session.
pub(crate) enum Sessions {
    /// Each on a thread of its own.
    Lanes(Laned),
    /// Shared by the handlers.
    Pool(Pool),
}

impl Sessions {
    /// Waits for a session, runs the call and says what it took; time spent waiting is in `queue`.
    pub(crate) async fn run(&self, exchange: Box<dyn Exchange>) -> Ran {
        match self {
            Sessions::Lanes(lanes) => lanes.run(exchange).await,
            Sessions::Pool(pool) => pool.run(exchange).await,
        }
    }

    /// Closes all sessions, waiting for those that are busy no longer than `wait_max`. Whether all of them closed.
    pub(crate) async fn close(&self, wait_max: Nanos) -> bool {
        match self {
            Sessions::Lanes(lanes) => lanes.close(wait_max).await,
            Sessions::Pool(pool) => pool.close(wait_max).await,
        }
    }
}

/// How a call went.
pub(crate) struct Ran {
    /// The exchange with its outcome, or a fault.
    pub result: Result<Box<dyn Exchange>, Fault>,
    pub work: CallWork,
}

impl Ran {
    /// A call that met no session.
    pub(crate) fn refused(refusal: Refusal) -> Ran {
        Ran { result: Err(Fault::Refused(refusal)), work: CallWork::default() }
    }

    /// A call that was begun and never ended.
    pub(crate) fn in_doubt(doubt: Doubt) -> Ran {
        Ran { result: Err(Fault::InDoubt(doubt)), work: CallWork::default() }
    }
}

/// Whether a session must be replaced after this result: it may be in the middle of something, or its
/// connection may hold an answer that no one waits for.
pub(crate) fn spoils_session<O>(result: &Result<O, Fault>) -> bool {
    match result {
        Ok(_) | Err(Fault::Conflict(_)) => false,
        Err(Fault::Refused(refusal)) => *refusal == Refusal::Unreachable,
        Err(Fault::InDoubt(_)) => true,
        Err(Fault::Defect(defect)) => defect.kind != DefectKind::BadCall,
    }
}

/// The refusal of a call whose session could not be opened.
pub(crate) fn no_session(error: &OpenError) -> Refusal {
    match error {
        OpenError::Unreachable { .. } => Refusal::Unreachable,
        OpenError::Unusable { .. } => Refusal::NoSession,
    }
}

/// Runs a call on a session; a panic inside becomes its message.
pub(crate) async fn answer(
    session: &mut dyn ServedSession,
    mut exchange: Box<dyn Exchange>,
) -> Result<Ran, (String, CallWork)> {
    let mut work = CallWork { clocked: exchange.is_clocked(), wanted: Wanted::Body, ..CallWork::default() };
    match caught(poll_fn(|cx| session.poll_run(&mut *exchange, &mut work, cx))).await {
        Ok(result) => Ok(Ran { result: result.map(|()| exchange), work }),
        Err(panic) => Err((panic, work)),
    }
}
