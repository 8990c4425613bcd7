//! The statements of a workload by number.

use model::{Fault, OpenError, Refusal};

/// Makes an enum `Stmt` of a workload's statements: a variant each, by their names in the workload's files. Its numbers are
/// the [`StmtId`](crate::StmtId)s under which connections prepare them.
#[macro_export]
macro_rules! statements {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// The statements, by their names in the workload's files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Stmt { $($variant),+ }

        impl Stmt {
            /// Names in the order of [`StmtId`]($crate::StmtId)s.
            pub const NAMES: &'static [&'static str] = &[$($name),+];
            /// The number under which a connection has prepared it.
            #[must_use]
            pub const fn id(self) -> $crate::StmtId { $crate::StmtId(self as u16) }
        }
    };
}

/// Why a session could not be opened whose server answered to a statement that is to be prepared. `fault` is what its error means for a
/// call: what passes there passes here as well, and anything else means that the statement does not fit.
pub fn not_taken(what: String, statement: &str, message: &str, fault: &Fault) -> OpenError {
    let begin: String = statement.lines().next().unwrap_or_default().chars().take(60).collect();
    let why = format!("it does not take the statement `{begin}`: {message}");
    match fault {
        Fault::Defect(_) | Fault::Refused(Refusal::Unwritable(_)) => OpenError::Unusable { what, why },
        Fault::Conflict(_) | Fault::Refused(_) | Fault::InDoubt(_) => OpenError::Unreachable { what, why },
    }
}

/// Names of a workload's statements, and after them those of what is measured like a statement: a round trip that carries several, or
/// the call of a procedure.
///
/// # Panics
/// At compile time, if `N` is not the number of all names.
pub const fn clocked<const N: usize>(
    statements: &[&'static str],
    others: &[&'static str],
) -> [&'static str; N] {
    assert!(statements.len() + others.len() == N, "N is the number of all names");
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = match index.checked_sub(statements.len()) {
            None => statements[index],
            Some(other) => others[other],
        };
        index += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mysql_fault, postgres};

    #[test]
    fn a_server_that_cannot_now_is_tried_again_and_a_statement_that_does_not_fit_is_not() {
        let passes = |fault: &Fault| {
            matches!(not_taken("h:1".into(), "select 1", "said", fault), OpenError::Unreachable { .. })
        };
        // A node of Galera that waits for what others commit, one that is cut off, a server that ends.
        for (code, message) in [(1205, ""), (1047, "WSREP has not yet prepared node"), (1053, ""), (1927, "")]
        {
            assert!(passes(&mysql_fault(code, false, message)), "{code}");
        }
        for code in [1064, 1146, 1054, 1290] {
            assert!(!passes(&mysql_fault(code, false, "")), "{code}");
        }
        for (sqlstate, expected) in
            [("57P01", true), ("40001", true), ("57014", true), ("42P01", false), ("42601", false)]
        {
            assert_eq!(passes(&postgres::fault(sqlstate, false, "")), expected, "{sqlstate}");
        }
    }
}
