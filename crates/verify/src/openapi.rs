//! A contract as it is written (OpenAPI 3.1), and what of an answer does not keep to it.

use adapter_http::Reply;
use contract::schema::Schema;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// Characters of a value that a violation shows.
const SHOWN_MAX: usize = 200;

/// A contract, its parts gathered in one document.
pub(crate) struct Contract {
    document: Value,
    /// Schemas that have been asked for, by their place.
    schemas: HashMap<String, Result<Schema, String>>,
}

impl Contract {
    /// Gathers the documents: the first is the root, the others lie in it by their names, and references lead there.
    pub(crate) fn read(documents: &[(&str, &str)]) -> Result<Contract, String> {
        let mut gathered = Value::Null;
        for (at, (name, text)) in documents.iter().enumerate() {
            let read = || -> Result<Value, serde_yaml_ng::Error> {
                let mut yaml: serde_yaml_ng::Value = serde_yaml_ng::from_str(text)?;
                yaml.apply_merge()?;
                serde_yaml_ng::from_value(yaml)
            };
            let mut document = read().map_err(|error| format!("{name}: {error}"))?;
            let own = if at == 0 { "#/".to_owned() } else { format!("#/{name}/") };
            turn(&mut document, &|reference| match reference.split_once("#/") {
                Some(("", rest)) => format!("{own}{rest}"),
                Some((file, rest)) if file == documents[0].0 => format!("#/{rest}"),
                Some((file, rest)) => format!("#/{file}/{rest}"),
                None => reference.to_owned(),
            });
            if at == 0 {
                gathered = document;
            } else {
                gathered[*name] = document;
            }
        }
        Ok(Contract { document: gathered, schemas: HashMap::new() })
    }

    /// No contract: nothing is checked against it.
    pub(crate) fn none() -> Contract {
        Contract { document: Value::Null, schemas: HashMap::new() }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.document.is_null()
    }

    /// What of an answer does not keep to the contract, a clause each. `path` is without its query.
    pub(crate) fn violations(&mut self, method: &str, path: &str, reply: &Reply<'_>) -> Vec<String> {
        // What no path of the contract fits, no operation of it answers.
        let Some(operation) = self.operation(method, path) else { return Vec::new() };
        let place = format!("{operation}/responses/{}", reply.status);
        let Some(response) = self.resolved(&place) else {
            return vec![format!("the status {} is none of the contract's for this operation", reply.status)];
        };
        let mut found = self.headers(&response, reply);
        found.extend(self.body(&response, reply));
        found
    }

    fn headers(&mut self, response: &str, reply: &Reply<'_>) -> Vec<String> {
        let headers = format!("{response}/headers");
        let names: Vec<String> = self.members(&headers).map(|(name, _)| name.clone()).collect();
        let mut found = Vec::new();
        for name in names {
            let Some(place) = self.resolved(&format!("{headers}/{}", escaped(&name))) else { continue };
            let required = self.document.pointer(&format!("{place}/required")) == Some(&Value::Bool(true));
            match reply.header(&name) {
                None if required => found.push(format!("the header `{name}` is missing")),
                None => {}
                Some(value) => {
                    let wrong = self.against(&format!("{place}/schema"), &Value::from(value));
                    found.extend(wrong.map(|why| format!("the header `{name}`: {why}")));
                }
            }
        }
        found
    }

    fn body(&mut self, response: &str, reply: &Reply<'_>) -> Option<String> {
        let content = format!("{response}/content");
        let known: Vec<String> = self.members(&content).map(|(media, _)| media.clone()).collect();
        if known.is_empty() {
            return (!reply.body.is_empty())
                .then(|| "the answer has a body, and should have none".to_owned());
        }
        let came = reply.header("content-type").unwrap_or_default();
        let media = came.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !known.contains(&media) {
            return Some(format!("the content-type is `{came}`, and should be {}", known.join(" or ")));
        }
        let value: Value = match serde_json::from_slice(reply.body) {
            Ok(value) => value,
            Err(error) => return Some(format!("the body is not JSON: {error}")),
        };
        if media == "application/problem+json" && value["status"] != reply.status {
            return Some(format!(
                "the status in the problem document is {}, and that of the response {}",
                value["status"], reply.status
            ));
        }
        self.against(&format!("{content}/{}/schema", escaped(&media)), &value)
    }

    /// The first of what does not keep to the schema at this place.
    fn against(&mut self, place: &str, value: &Value) -> Option<String> {
        let document = &self.document;
        let read = || Schema::at(document.clone(), place);
        let schema = self.schemas.entry(place.to_owned()).or_insert_with(read);
        match schema {
            Ok(schema) => schema.violations(value).into_iter().next().map(|why| cut(&why)),
            Err(why) => Some(format!("the contract itself cannot be read: {why}")),
        }
    }

    /// The place of an operation.
    fn operation(&self, method: &str, path: &str) -> Option<String> {
        let (template, _) = self
            .members("/paths")
            .filter(|(template, _)| fits(template, path))
            // `/foods/bulk` before `/foods/{id}`.
            .min_by_key(|(template, _)| template.matches('{').count())?;
        let item = self.resolved(&format!("/paths/{}", escaped(template)))?;
        let place = format!("{item}/{}", method.to_ascii_lowercase());
        self.document.pointer(&place).is_some().then_some(place)
    }

    /// The methods that the contract has for a path, in capitals; nothing where it has no such path.
    pub(crate) fn methods(&self, path: &str) -> Vec<String> {
        const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
        let has = |method: &&&str| self.operation(method, path).is_some();
        METHODS.iter().filter(has).map(|method| method.to_uppercase()).collect()
    }

    /// The largest values that numbers in bodies of requests may have, whatever they are of.
    pub(crate) fn maxima(&self) -> BTreeSet<i64> {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let operations =
            self.members("/paths").filter_map(|(_, item)| item.as_object()).flat_map(Map::values);
        for body in operations.filter_map(|operation| operation.get("requestBody")) {
            self.gather(body, &mut seen, &mut found);
        }
        found
    }

    fn gather<'a>(&'a self, value: &'a Value, seen: &mut BTreeSet<&'a str>, found: &mut BTreeSet<i64>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("maximum").and_then(Value::as_i64));
                if let Some(reference) = members.get("$ref").and_then(Value::as_str)
                    && seen.insert(reference)
                    && let Some(there) = reference.strip_prefix('#').and_then(|at| self.document.pointer(at))
                {
                    self.gather(there, seen, found);
                }
                members.values().for_each(|member| self.gather(member, seen, found));
            }
            Value::Array(items) => items.iter().for_each(|item| self.gather(item, seen, found)),
            _ => {}
        }
    }

    /// The place itself, or the one that it refers to.
    fn resolved(&self, place: &str) -> Option<String> {
        let found = self.document.pointer(place)?;
        match found.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.resolved(reference.strip_prefix('#')?),
            None => Some(place.to_owned()),
        }
    }

    fn members(&self, place: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.document.pointer(place).and_then(Value::as_object).into_iter().flat_map(Map::iter)
    }
}

fn turn(value: &mut Value, to: &dyn Fn(&str) -> String) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                *reference = to(reference);
            }
            members.values_mut().for_each(|member| turn(member, to));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| turn(item, to)),
        _ => {}
    }
}

fn fits(template: &str, path: &str) -> bool {
    let (mut wanted, mut found) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            // A parameter of a path has a character at least.
            (Some(wanted), Some(found))
                if wanted == found || (wanted.starts_with('{') && !found.is_empty()) => {}
            _ => return false,
        }
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
