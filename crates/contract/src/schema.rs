//! JSON Schema (draft 2020-12) as far as `spec/` uses it: documents are held to it in tests, and the answers of servers by `stackmark verify`.
//!
//! A keyword that is not known here is an error where the schema is read: nothing that a schema asks for is passed over.

mod keyword;

use serde_json::Value;

/// A schema with the document that its references lead into.
#[derive(Debug)]
pub struct Schema {
    document: Value,
    root: Value,
}

impl Schema {
    /// A document that is a schema as a whole.
    ///
    /// # Errors
    /// Names what this crate does not know, and where.
    pub fn whole(document: Value) -> Result<Schema, String> {
        let root = document.clone();
        Schema::read(document, root)
    }

    /// The schema at a place of a document: `/components/schemas/About`.
    ///
    /// # Errors
    /// As for [`Schema::whole`].
    pub fn at(document: Value, pointer: &str) -> Result<Schema, String> {
        let root = document.pointer(pointer).cloned();
        Schema::read(document, root.ok_or_else(|| format!("nothing is at {pointer}"))?)
    }

    fn read(document: Value, root: Value) -> Result<Schema, String> {
        let schema = Schema { document, root };
        keyword::understand(&schema)?;
        Ok(schema)
    }

    /// Whether a value keeps to it.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.violations(value).is_empty()
    }

    /// What of a value does not keep to it: place and reason.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        keyword::check(self, &self.root, value, "", &mut found);
        found
    }

    fn referred(&self, reference: &Value) -> Result<&Value, String> {
        let place = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
        place
            .and_then(|place| self.document.pointer(place))
            .ok_or_else(|| format!("{reference} leads nowhere in this document"))
    }
}
