//! Statement texts by name, from the language-neutral files under `spec/sql`.

use crate::many_rows::{ManyRowsError, many_rows};
use std::collections::BTreeMap;

/// Named statements of one workload on one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    statements: BTreeMap<String, Statement>,
    /// Names in the order of the file: schemas depend on it.
    order: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    text: String,
    /// How many rows it takes, if the file says so.
    rows: Option<u16>,
}

/// What is wrong with statement files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// Text before the first name.
    #[error("line {0}: a statement without a `-- name:` line above it")]
    Unnamed(usize),
    /// The same name twice in one file.
    #[error("line {0}: `{1}` is already there")]
    Twice(usize, String),
    /// A number of rows that is none.
    #[error(
        "line {0}: `{1}` is not a number of rows; `-- name: insert_items rows: 50` is a statement for 50"
    )]
    Rows(usize, String),
    /// A statement that cannot be repeated for many rows.
    #[error("`{0}` cannot be for many rows: {1}")]
    ManyRows(String, ManyRowsError),
    /// An override for another number of rows.
    #[error("`{0}` overrides a statement for another number of rows")]
    OtherRows(String),
    /// An override of nothing.
    #[error("`{0}` overrides nothing")]
    Stray(String),
    /// An override that says what the canonical form says.
    #[error("`{0}` overrides the canonical form with the same text")]
    Needless(String),
    /// A statement that code asks for and no file has.
    #[error("no statement `{0}`")]
    Missing(String),
    /// A statement that no code asks for.
    #[error("statement `{0}` is not used")]
    Unused(String),
}

impl Catalogue {
    /// Reads a file: a statement is what follows a `-- name: NAME` line; other comment lines are for people.
    ///
    /// One for many rows is written for one row and begins with `-- name: NAME rows: N`. Its only list `values (…)` is
    /// repeated N times, from 1, with parameters that go on: `(?1, ?2), (?3, ?4), …`. What follows the list stays behind it.
    ///
    /// # Errors
    /// For text without a name, for a name given twice, and for a statement that cannot take so many rows.
    pub fn parse(text: &str) -> Result<Catalogue, CatalogueError> {
        let mut catalogue = Catalogue { statements: BTreeMap::new(), order: Vec::new() };
        let mut current: Option<String> = None;
        for (number, line) in text.lines().enumerate() {
            if let Some(head) = line.strip_prefix("-- name:") {
                let (name, rows) =
                    head.split_once(" rows:").map_or((head, None), |(name, rows)| (name, Some(rows)));
                let rows = rows.map(|rows| row_count(number + 1, rows.trim())).transpose()?;
                let name = name.trim().to_owned();
                let statement = Statement { text: String::new(), rows };
                if catalogue.statements.insert(name.clone(), statement).is_some() {
                    return Err(CatalogueError::Twice(number + 1, name));
                }
                catalogue.order.push(name.clone());
                current = Some(name);
            } else if line.starts_with("--") || line.trim().is_empty() {
                continue;
            } else {
                let name = current.as_ref().ok_or(CatalogueError::Unnamed(number + 1))?;
                let text =
                    &mut catalogue.statements.get_mut(name).expect("inserted when the name was read").text;
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(line.trim_end());
            }
        }
        for (name, Statement { text, rows }) in &mut catalogue.statements {
            if let Some(rows) = *rows {
                *text = many_rows(text, rows).map_err(|why| CatalogueError::ManyRows(name.clone(), why))?;
            }
        }
        Ok(catalogue)
    }

    /// Replaces statements by an engine's own form.
    ///
    /// # Errors
    /// When an override has no canonical form, does not differ from it, or is for another number of rows.
    pub fn overridden(mut self, overrides: &Catalogue) -> Result<Catalogue, CatalogueError> {
        for (name, own) in &overrides.statements {
            let canonical =
                self.statements.get_mut(name).ok_or_else(|| CatalogueError::Stray(name.clone()))?;
            if canonical.rows != own.rows {
                return Err(CatalogueError::OtherRows(name.clone()));
            }
            if canonical == own {
                return Err(CatalogueError::Needless(name.clone()));
            }
            canonical.clone_from(own);
        }
        Ok(self)
    }

    /// Replaces statements by an engine's own form, and takes over those of `own` that only this engine has.
    ///
    /// # Errors
    /// As for [`Catalogue::overridden`]; and when one of `own` is missing, or is canonical already.
    pub fn extended(mut self, overrides: &Catalogue, own: &[&str]) -> Result<Catalogue, CatalogueError> {
        let mut rest = overrides.clone();
        for name in own {
            let statement =
                rest.statements.remove(*name).ok_or_else(|| CatalogueError::Missing((*name).to_owned()))?;
            if self.statements.insert((*name).to_owned(), statement).is_some() {
                return Err(CatalogueError::Twice(0, (*name).to_owned()));
            }
            self.order.push((*name).to_owned());
        }
        self.overridden(&rest)
    }

    /// The texts of `names`, in that order, so that a `StmtId` is an index.
    ///
    /// # Errors
    /// When a name is missing, or the file holds a statement that is not asked for.
    pub fn select(&self, names: &[&str]) -> Result<Vec<String>, CatalogueError> {
        if let Some(unused) = self.order.iter().find(|name| !names.contains(&name.as_str())) {
            return Err(CatalogueError::Unused(unused.clone()));
        }
        names.iter().map(|name| self.text(name)).collect()
    }

    /// The text of one statement.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.statements.get(name).map(|statement| statement.text.as_str())
    }

    /// The text of a statement that must be there.
    pub fn text(&self, name: &str) -> Result<String, CatalogueError> {
        self.get(name).map(str::to_owned).ok_or_else(|| CatalogueError::Missing(name.to_owned()))
    }

    /// Names and texts in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.order.iter().map(|name| (name.as_str(), self.statements[name].text.as_str()))
    }
}

fn row_count(line: usize, text: &str) -> Result<u16, CatalogueError> {
    let rows = text.parse().ok().filter(|rows| *rows > 0);
    rows.ok_or_else(|| CatalogueError::Rows(line, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(text: &str) -> Catalogue {
        Catalogue::parse(text).unwrap()
    }

    #[test]
    fn a_statement_is_what_follows_its_name() {
        let file =
            catalogue("-- about\n-- name: one\nselect 1\n  from t\n\n-- why\n-- name: two\nselect 2\n");
        assert_eq!(file.iter().collect::<Vec<_>>(), [("one", "select 1\n  from t"), ("two", "select 2")]);
        assert_eq!(file.select(&["two", "one"]).unwrap(), ["select 2", "select 1\n  from t"]);
    }

    #[test]
    fn a_statement_for_many_rows_is_written_for_one() {
        let file =
            catalogue("-- name: two rows: 2\ninsert into t\nvalues (?1, ?2)\non conflict do nothing\n");
        let expected = "insert into t\nvalues (?1, ?2), (?3, ?4)\non conflict do nothing";
        assert_eq!(file.select(&["two"]).unwrap(), [expected]);
        let own = catalogue("-- name: two rows: 2\ninsert ignore into t values (?1, ?2)\n");
        let own = file.clone().overridden(&own).unwrap();
        assert_eq!(own.get("two"), Some("insert ignore into t values (?1, ?2), (?3, ?4)"));
        for rows in ["", " rows: 3"] {
            let other = catalogue(&format!("-- name: two{rows}\ninsert ignore into t values (?1, ?2)\n"));
            assert_eq!(file.clone().overridden(&other), Err(CatalogueError::OtherRows("two".into())));
        }
    }

    #[test]
    fn a_statement_that_cannot_take_many_rows_is_refused_by_its_name() {
        for rows in ["0", "x", "", "70000", "-1"] {
            let wrong = Catalogue::parse(&format!("\n-- name: a rows: {rows}\ninsert into t values (?1)\n"));
            assert_eq!(wrong, Err(CatalogueError::Rows(2, rows.into())));
        }
        let wrong = Catalogue::parse("-- name: a rows: 50\nselect ?1\n").unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "`a` cannot be for many rows: it needs one list `values (…)`, and has 0"
        );
    }

    #[test]
    fn what_is_unused_missing_needless_or_astray_is_refused() {
        let file = catalogue("-- name: one\nselect 1\n");
        assert_eq!(file.select(&[]), Err(CatalogueError::Unused("one".into())));
        assert_eq!(file.select(&["one", "two"]), Err(CatalogueError::Missing("two".into())));
        let same = catalogue("-- name: one\nselect 1\n");
        assert_eq!(file.clone().overridden(&same), Err(CatalogueError::Needless("one".into())));
        let other = catalogue("-- name: two\nselect 2\n");
        assert_eq!(file.overridden(&other), Err(CatalogueError::Stray("two".into())));
        assert_eq!(Catalogue::parse("select 1"), Err(CatalogueError::Unnamed(1)));
        let own = catalogue("-- name: mine\nselect 3\n");
        let one = || catalogue("-- name: one\nselect 1\n");
        assert_eq!(one().extended(&own, &["mine"]).unwrap().select(&["one", "mine"]).unwrap().len(), 2);
        assert_eq!(one().extended(&own, &[]), Err(CatalogueError::Stray("mine".into())));
        assert_eq!(one().extended(&own, &["mine", "x"]), Err(CatalogueError::Missing("x".into())));
        assert_eq!(Catalogue::parse("-- name: a\n-- name: a\n"), Err(CatalogueError::Twice(2, "a".into())));
    }
}
