//! The workload over HTTP. The contract is `spec/openapi/catalogue.yaml`.

mod answers;
mod requests;

use crate::outcome::{Decline, Reply};
use crate::{Call, Cardinality, Facts, FoodCatalogue, NewFood, Outcome};
use contract::json::{Problem, write};
use contract::{Answer, BadCall, Endpoint, Method, Race, Request, Wire};
use serde::Serialize;
use std::fmt::Display;

const fn put(path: &'static str) -> Endpoint {
    Endpoint { method: Method::Put, path }
}

const fn delete(path: &'static str) -> Endpoint {
    Endpoint { method: Method::Delete, path }
}

impl Wire for FoodCatalogue {
    const ENDPOINTS: &'static [Endpoint] = &[
        Endpoint::get("/categories"),
        Endpoint::get("/categories/{id}"),
        Endpoint::post("/categories"),
        put("/categories/{id}"),
        delete("/categories/{id}"),
        Endpoint::get("/foods"),
        Endpoint::get("/foods/{id}"),
        Endpoint::post("/foods"),
        put("/foods/{id}"),
        delete("/foods/{id}"),
        Endpoint::post("/foods/bulk"),
        Endpoint::get("/templates/{id}/full"),
    ];
    const CONTRACT: &'static [(&'static str, &'static str)] = &[
        ("catalogue.yaml", include_str!("../spec/openapi/catalogue.yaml")),
        ("catalogue-parts.yaml", include_str!("../spec/openapi/catalogue-parts.yaml")),
        ("common.yaml", include_str!("../spec/openapi/common.yaml")),
    ];
    type Extent = Cardinality;

    fn encode_path(call: &Call, into: &mut Vec<u8>) {
        requests::encode_path(call, into);
    }

    fn encode_call_headers(call: &Call, each: &mut dyn FnMut(&'static str, &dyn Display)) {
        match call {
            Call::UpdateCategory { version, .. }
            | Call::DeleteCategory { version, .. }
            | Call::UpdateFood { version, .. }
            | Call::DeleteFood { version, .. } => each("if-match", &format_args!("\"{version}\"")),
            _ => {}
        }
    }

    fn races(extent: &Cardinality, salt: u32, round: u32) -> Vec<Race<FoodCatalogue>> {
        crate::races::races(extent, salt, round)
    }

    fn encode_call(call: &Call, into: &mut Vec<u8>) {
        match call {
            Call::CreateCategory { id, name } => write(&bodies::Category { id: *id, name }, into),
            Call::UpdateCategory { name, .. } => write(&bodies::Named { name }, into),
            Call::CreateFood { category, food } => {
                write(&bodies::Food { id: food.id, category: Some(*category), facts: &food.facts }, into);
            }
            Call::UpdateFood { facts, .. } => write(facts, into),
            Call::InsertFoods { category, foods } => {
                into.extend_from_slice(br#"{"category":"#);
                write(category, into);
                into.extend_from_slice(br#","foods":["#);
                for (at, NewFood { id, facts }) in foods.iter().enumerate() {
                    if at > 0 {
                        into.push(b',');
                    }
                    write(&bodies::Food { id, category: None, facts: &facts }, into);
                }
                into.extend_from_slice(b"]}");
            }
            Call::Categories
            | Call::Category { .. }
            | Call::DeleteCategory { .. }
            | Call::Foods(_)
            | Call::Food { .. }
            | Call::DeleteFood { .. }
            | Call::Template { .. } => {}
        }
    }

    /// Whatever ids are asked for, whether they name anything is for the database to say.
    fn decode_call(kind: usize, _size: &Cardinality, request: &Request<'_>) -> Result<Call, BadCall> {
        requests::decode(kind, request)
    }

    fn status(outcome: &Outcome) -> u16 {
        match outcome.reply {
            Reply::Stored { version: 1 } | Reply::Inserted { .. } => 201,
            Reply::Deleted => 204,
            Reply::Declined(why) => why.status(),
            _ => 200,
        }
    }

    fn is_problem(outcome: &Outcome) -> bool {
        matches!(outcome.reply, Reply::Declined(_))
    }

    fn encode_outcome_headers(outcome: &Outcome, each: &mut dyn FnMut(&'static str, &dyn Display)) {
        match &outcome.reply {
            Reply::Category { version, .. } | Reply::Food { version, .. } | Reply::Stored { version } => {
                each("etag", &format_args!("\"{version}\""));
            }
            _ => {}
        }
    }

    fn encode_outcome(outcome: &Outcome, into: &mut Vec<u8>) {
        match outcome.reply {
            Reply::Stored { version } => write(&bodies::VersionBody { version }, into),
            Reply::Inserted { count } => write(&bodies::Inserted { inserted: count }, into),
            Reply::Deleted => {}
            Reply::Declined(why) => write(&problem(why), into),
            _ => into.extend_from_slice(&outcome.body),
        }
    }

    fn is_outcome(_: &Call, answer: &Answer<'_>) -> bool {
        matches!(answer.status, 200 | 201 | 204) || answers::declined(answer).is_some()
    }

    fn decode_outcome(call: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
        answers::decode(call, answer)
    }

    fn keep_body(outcome: &mut Outcome, body: &[u8]) {
        outcome.body = body.to_vec();
    }
}

fn problem(why: Decline) -> Problem<()> {
    let detail = "the call was declined, and changed nothing";
    Problem::declined(why.name(), why.title(), why.status(), detail, None)
}

/// Bodies, as they are written.
mod bodies {
    use super::{Facts, Serialize};
    use crate::Name;

    #[derive(Serialize)]
    pub(super) struct Category<'a> {
        pub(super) id: i64,
        pub(super) name: &'a Name,
    }

    #[derive(Serialize)]
    pub(super) struct Named<'a> {
        pub(super) name: &'a Name,
    }

    #[derive(Serialize)]
    pub(super) struct Food<'a> {
        pub(super) id: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) category: Option<i64>,
        #[serde(flatten)]
        pub(super) facts: &'a Facts,
    }

    #[derive(Serialize)]
    pub(super) struct VersionBody {
        pub(super) version: i64,
    }

    #[derive(Serialize)]
    pub(super) struct Inserted {
        pub(super) inserted: u32,
    }
}

#[cfg(test)]
mod tests;
