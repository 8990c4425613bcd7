//! The statements of a workload by number.

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
