//! The lock of a run on a database. Locks with a name are exclusive: each of those who share it has a lock with a number of its own.

use super::session::Session;
use crate::engine::Conn as _;
use crate::error::Cause;
use crate::hold::{LockAttempt, RunLock};

/// The name of the lock of a run; a name has 64 characters at most.
const LOCK: &str = "concat('stackmark run ', md5(database()))";
/// Most who may share it.
const SHARES: u32 = 250;

fn share(number: u32) -> String {
    format!("concat('stackmark run ', md5(database()), '/{number}')")
}

/// Takes it. Whoever takes it alone looks at the shares afterwards, and whoever shares it looks at the lock: one of two sees the
/// other.
pub(super) fn hold(mut session: Session, shared: bool) -> Result<LockAttempt, Cause> {
    let holder = match shared {
        true => share_it(&mut session)?,
        false => have_it_alone(&mut session)?,
    };
    let Some(id) = holder else {
        session.is_of_run();
        return Ok(LockAttempt::Ours(RunLock(Box::new(session))));
    };
    let who = format!(
        "select concat('connection ', id, ' of user ', user, ' from ', host) from information_schema.processlist where id = {id}"
    );
    let who = session.rows(&who, &[], 1)?;
    Ok(LockAttempt::Others(
        who.first().and_then(|row| row.first()).map(ToString::to_string).unwrap_or_default(),
    ))
}

/// Nothing where it is ours now, or else whose it is.
fn have_it_alone(session: &mut Session) -> Result<Option<i64>, Cause> {
    if number(session, &format!("get_lock({LOCK}, 0)"))? != Some(1) {
        return number(session, &format!("coalesce(is_used_lock({LOCK}), 0)"));
    }
    let all: Vec<String> = (0..SHARES).map(|one| format!("is_used_lock({})", share(one))).collect();
    let holder = number(session, &format!("coalesce({})", all.join(", ")))?;
    if holder.is_some() {
        number(session, &format!("release_lock({LOCK})"))?;
    }
    Ok(holder)
}

fn share_it(session: &mut Session) -> Result<Option<i64>, Cause> {
    let first = number(session, &format!("connection_id() % {SHARES}"))?.unwrap_or(0);
    let first = u32::try_from(first).unwrap_or(0);
    for one in (first..SHARES).chain(0..first) {
        if number(session, &format!("get_lock({}, 0)", share(one)))? != Some(1) {
            continue;
        }
        let holder = number(session, &format!("is_used_lock({LOCK})"))?;
        if holder.is_some() {
            number(session, &format!("release_lock({})", share(one)))?;
        }
        return Ok(holder);
    }
    number(session, &format!("coalesce(is_used_lock({}), 0)", share(first)))
}

/// A whole number; nothing where it is null.
fn number(session: &mut Session, expression: &str) -> Result<Option<i64>, Cause> {
    let rows = session.rows(&format!("select {expression}"), &[], 1)?;
    Ok(rows.first().and_then(|row| row.first()?.int()))
}
