//! What PostgreSQL's errors become. Diesel reads the SQLSTATE and passes on a kind, which tells few of them; for the others
//! the server's text has to do, which is why a session insists on English (see `connect`).

use diesel::result::{DatabaseErrorKind, Error};
use model::{DefectKind, Fault};
use sql::postgres;

/// What an error that has no kind says, in part, and its SQLSTATE.
const TEXTS: [(&str, &str); 17] = [
    ("deadlock detected", "40P01"),
    ("could not serialize access", "40001"),
    ("canceling statement due to lock timeout", "55P03"),
    ("could not obtain lock on", "55P03"),
    ("canceling statement due to conflict with recovery", "40001"),
    ("canceling statement due to", "57014"),
    ("terminating connection due to idle-session timeout", "57P05"),
    ("terminating connection due to", "57P01"),
    ("the database system is", "57P03"),
    ("too many clients already", "53300"),
    ("too many connections for", "53300"),
    ("remaining connection slots are reserved", "53300"),
    ("No space left on device", "53100"),
    ("out of memory", "53200"),
    ("out of shared memory", "53200"),
    ("Input/output error", "58030"),
    ("invalid page in block", "XX001"),
];

/// The SQLSTATE of what the server says; empty for what is not known.
pub(super) fn sqlstate_of(message: &str) -> &'static str {
    TEXTS.iter().find(|(text, _)| message.contains(text)).map_or("", |(_, sqlstate)| *sqlstate)
}

fn sqlstate(kind: &DatabaseErrorKind, message: &str) -> &'static str {
    match kind {
        DatabaseErrorKind::UniqueViolation => "23505",
        DatabaseErrorKind::ForeignKeyViolation => "23503",
        DatabaseErrorKind::NotNullViolation => "23502",
        DatabaseErrorKind::CheckViolation => "23514",
        DatabaseErrorKind::SerializationFailure => "40001",
        DatabaseErrorKind::ReadOnlyTransaction => "25006",
        // Also what was never sent: a connection that was found broken is of no use whatever was under way.
        DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand => "08006",
        _ => sqlstate_of(message),
    }
}

#[cold]
pub(super) fn fault(error: &Error, at_commit: bool) -> Fault {
    match error {
        Error::DatabaseError(kind, info) => {
            postgres::fault(sqlstate(kind, info.message()), at_commit, info.message())
        }
        Error::DeserializationError(error) => Fault::defect(DefectKind::BadData, error.to_string()),
        other => Fault::defect(DefectKind::Engine, format!("Diesel: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Conflict, Doubt, Refusal};

    fn check(kind: DatabaseErrorKind, message: &str, at_commit: bool, expected: &Fault) {
        let error = Error::DatabaseError(kind, Box::new(message.to_owned()));
        assert_eq!(&fault(&error, at_commit), expected, "{message}");
    }

    #[test]
    fn kinds_and_texts_have_their_reactions() {
        use DatabaseErrorKind::{ClosedConnection, SerializationFailure, UnableToSendCommand, Unknown};
        let serialization = Fault::Conflict(Conflict::Serialization);
        let unwritable = Fault::Refused(Refusal::UNWRITABLE);
        check(SerializationFailure, "could not serialize access", true, &serialization);
        check(Unknown, "deadlock detected", false, &Fault::Conflict(Conflict::Deadlock));
        for busy in [
            "canceling statement due to statement timeout",
            "canceling statement due to user request",
            "canceling statement due to lock timeout",
            "could not obtain lock on row in relation \"stock\"",
        ] {
            check(Unknown, busy, false, &Fault::Conflict(Conflict::Busy));
        }
        check(Unknown, "canceling statement due to conflict with recovery", false, &serialization);
        check(Unknown, "could not extend file \"base/1/2\": No space left on device", false, &unwritable);
        check(DatabaseErrorKind::ReadOnlyTransaction, "cannot execute UPDATE", false, &unwritable);
        let lost = |doubt| Fault::InDoubt(doubt);
        check(ClosedConnection, "server closed the connection", false, &lost(Doubt::ConnectionLost));
        check(ClosedConnection, "server closed the connection", true, &lost(Doubt::CommitUnanswered));
        check(UnableToSendCommand, "no connection to the server", true, &lost(Doubt::CommitUnanswered));
    }

    #[test]
    fn what_no_one_knows_is_a_defect() {
        for (kind, message) in [
            (DatabaseErrorKind::Unknown, "relation \"stock\" does not exist"),
            (DatabaseErrorKind::UniqueViolation, "duplicate key value violates unique constraint"),
        ] {
            let error = Error::DatabaseError(kind, Box::new(message.to_owned()));
            assert!(matches!(fault(&error, true), Fault::Defect(_)), "{message}");
        }
    }
}
