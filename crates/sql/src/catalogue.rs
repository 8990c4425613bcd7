//! Statement texts by name, from the language-neutral files under `spec/sql`.

use std::collections::BTreeMap;

/// Named statements of one workload on one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    statements: BTreeMap<String, String>,
    /// Names in the order of the file: schemas depend on it.
    order: Vec<String>,
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
    /// # Errors
    /// For text without a name, and for a name given twice.
    pub fn parse(text: &str) -> Result<Catalogue, CatalogueError> {
        let mut catalogue = Catalogue { statements: BTreeMap::new(), order: Vec::new() };
        let mut current: Option<String> = None;
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = line.strip_prefix("-- name:") {
                let name = name.trim().to_owned();
                if catalogue.statements.insert(name.clone(), String::new()).is_some() {
                    return Err(CatalogueError::Twice(number + 1, name));
                }
                catalogue.order.push(name.clone());
                current = Some(name);
            } else if line.starts_with("--") || line.trim().is_empty() {
                continue;
            } else {
                let name = current.as_ref().ok_or(CatalogueError::Unnamed(number + 1))?;
                let text = catalogue.statements.get_mut(name).expect("inserted when the name was read");
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(line.trim_end());
            }
        }
        Ok(catalogue)
    }

    /// Replaces statements by an engine's own form.
    ///
    /// # Errors
    /// When an override has no canonical form, or does not differ from it.
    pub fn overridden(mut self, overrides: &Catalogue) -> Result<Catalogue, CatalogueError> {
        for (name, text) in &overrides.statements {
            let canonical =
                self.statements.get_mut(name).ok_or_else(|| CatalogueError::Stray(name.clone()))?;
            if canonical == text {
                return Err(CatalogueError::Needless(name.clone()));
            }
            canonical.clone_from(text);
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
            let text =
                rest.statements.remove(*name).ok_or_else(|| CatalogueError::Missing((*name).to_owned()))?;
            if self.statements.insert((*name).to_owned(), text).is_some() {
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
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.statements.get(name).map(String::as_str)
    }

    /// The text of a statement that must be there.
    ///
    /// # Errors
    /// It is missing.
    pub fn text(&self, name: &str) -> Result<String, CatalogueError> {
        self.get(name).map(str::to_owned).ok_or_else(|| CatalogueError::Missing(name.to_owned()))
    }

    /// Names and texts in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.order.iter().map(|name| (name.as_str(), self.statements[name].as_str()))
    }
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
