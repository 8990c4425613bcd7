//! Engines that speak PostgreSQL's or MySQL's protocol and are neither, by what they say of themselves.

/// Such an engine. Our tests do not run on any of them: they are used by their address, and every result says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// PostgreSQL with an extension that spreads tables over other servers.
    Citus,
    CockroachDb,
    YugabyteDb,
    TiDb,
    Vitess,
}

impl Product {
    /// All of them, in the order of lists.
    pub const ALL: [Product; 5] =
        [Product::Citus, Product::CockroachDb, Product::YugabyteDb, Product::TiDb, Product::Vitess];

    /// The one that a version names, as adapters report versions; nothing of PostgreSQL, MariaDB, MySQL and SQLite.
    ///
    /// TiDB, Vitess and YugabyteDB are named by the version that their clients ask for (`8.0.11-TiDB-v7.5.0`, `8.0.30-Vitess`,
    /// `15.12-YB-2025.1.0.0-b0`), CockroachDB by `version()` alone and Citus by its extension, which adapters append to PostgreSQL's
    /// version.
    #[must_use]
    pub fn of(engine_version: &str) -> Option<Product> {
        Product::ALL.into_iter().find(|product| engine_version.contains(product.mark()))
    }

    const fn mark(self) -> &'static str {
        match self {
            Product::Citus => ", Citus ",
            Product::CockroachDb => ", CockroachDB ",
            Product::YugabyteDb => "-YB-",
            Product::TiDb => "-TiDB-",
            Product::Vitess => "-Vitess",
        }
    }

    /// How its makers write its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Product::Citus => "Citus",
            Product::CockroachDb => "CockroachDB",
            Product::YugabyteDb => "YugabyteDB",
            Product::TiDb => "TiDB",
            Product::Vitess => "Vitess",
        }
    }

    /// What every result and load on it says.
    #[must_use]
    pub fn untried(self) -> String {
        format!(
            "{} speaks the protocol of {}, and Stackmark has not been tried on it",
            self.name(),
            self.protocol()
        )
    }

    /// Whether it is a PostgreSQL with all of its catalogues and settings, and only its tables are elsewhere.
    #[must_use]
    pub const fn is_extension(self) -> bool {
        matches!(self, Product::Citus)
    }

    /// Whose protocol it speaks.
    #[must_use]
    pub const fn protocol(self) -> &'static str {
        match self {
            Product::Citus | Product::CockroachDb | Product::YugabyteDb => "PostgreSQL",
            Product::TiDb | Product::Vitess => "MySQL",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_its_version_and_the_engines_that_we_test_are_not_among_them() {
        for (version, product) in [
            ("15.8 (Debian 15.8-0+deb12u1), Citus 12.1-1", Some(Product::Citus)),
            ("13.0.0, CockroachDB CCL v25.3.4", Some(Product::CockroachDb)),
            ("15.12-YB-2025.1.0.0-b0", Some(Product::YugabyteDb)),
            ("8.0.11-TiDB-v7.5.0", Some(Product::TiDb)),
            ("8.0.30-Vitess", Some(Product::Vitess)),
            ("15.8 (Debian 15.8-0+deb12u1)", None),
            ("10.11.19-MariaDB-0+deb12u1", None),
            ("8.4.0", None),
            ("3.51.1", None),
            ("", None),
        ] {
            assert_eq!(Product::of(version), product, "{version}");
        }
    }
}
