//! The statements of a workload by number.

/// Makes an enum `Stmt` of a workload's statements: a variant each, by their names in the workload's files. Its numbers are
/// the [`StmtId`](crate::StmtId)s under which connections prepare them.
#[macro_export]
macro_rules! statements {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// The statements, by their names in the workload's files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are those of the files, which say why")]
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
