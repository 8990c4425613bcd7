//! The workload over HTTP. The contract is `spec/openapi/transfer.yaml`.

use crate::{AMOUNT_MAX, Call, Cardinality, Decline, Key, Outcome, State, Transfer, Transfers};
use contract::json::{self, KEY, PROBLEM, Problem, append, number, read, write};
use contract::{Answer, BadCall, Endpoint, Race, Request, Wire, strict};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Display;

impl Wire for Transfers {
    /// The service does not see what a transfer was drawn for: all of them go to one place.
    const ENDPOINTS: &'static [Endpoint] = &[
        Endpoint::post("/transfers"),
        Endpoint::post("/transfers"),
        Endpoint::post("/transfers"),
        Endpoint::post("/transfers"),
        Endpoint::get("/transfers/{id}"),
        Endpoint::get("/accounts/{id}"),
    ];
    const CONTRACT: &'static [(&'static str, &'static str)] = &[
        ("transfer.yaml", include_str!("../spec/openapi/transfer.yaml")),
        ("common.yaml", include_str!("../spec/openapi/common.yaml")),
    ];
    type Extent = Cardinality;

    fn encode_path(call: &Call, into: &mut Vec<u8>) {
        match call {
            Call::Transfer { .. } => into.extend_from_slice(b"/transfers"),
            Call::ReadTransfer { source, key } => {
                append(into, format_args!("/transfers/{}", Id(*source, *key)))
            }
            Call::ReadAccount { id } => append(into, format_args!("/accounts/{id}")),
        }
    }

    fn encode_call_headers(call: &Call, each: &mut dyn FnMut(&'static str, &dyn Display)) {
        if let Call::Transfer { transfer, .. } = call {
            each(KEY, &transfer.key);
        }
    }

    fn races(extent: &Cardinality, salt: u32, round: u32) -> Vec<Race<Transfers>> {
        crate::races::races(extent, salt, round)
    }

    fn encode_call(call: &Call, into: &mut Vec<u8>) {
        if let Call::Transfer { transfer: Transfer { source, target, amount, .. }, .. } = *call {
            write(&CreateBody { source, target, amount }, into);
        }
    }

    fn decode_call(kind: usize, size: &Cardinality, request: &Request<'_>) -> Result<Call, BadCall> {
        match kind {
            0..=3 => {
                let key = json::key(request, "transfer")?;
                let CreateBody { source, target, amount } = strict::body(request.body)?;
                account("source", source, size)?;
                account("target", target, size)?;
                if source == target {
                    return Err(BadCall::invalid(format!(
                        "source and target are both {source}; they must differ"
                    )));
                }
                if !(1..=AMOUNT_MAX).contains(&amount) {
                    return Err(BadCall::invalid(format!(
                        "amount is {amount}; it runs from 1 to {AMOUNT_MAX}"
                    )));
                }
                Ok(Call::of(Transfer { key, source, target, amount }, size))
            }
            4 => {
                let Id(source, key) = request.id("id").and_then(Id::parse).ok_or_else(|| {
                    let detail =
                        "the id in the path is not that of an answer: the source, a hyphen and the key";
                    BadCall::unknown(detail.into())
                })?;
                Ok(Call::ReadTransfer { source, key })
            }
            5 => {
                let id = request.id("id").and_then(number).ok_or_else(|| {
                    BadCall::unknown("the id in the path is not the number of an account".into())
                })?;
                account("the id in the path", id, size)?;
                Ok(Call::ReadAccount { id })
            }
            _ => Err(BadCall::unknown(format!("there is no kind {kind}"))),
        }
    }

    fn status(outcome: &Outcome) -> u16 {
        match outcome {
            Outcome::Moved { .. } => 201,
            Outcome::Declined(why) => why.status(),
            Outcome::Found { .. } | Outcome::Balance { .. } => 200,
        }
    }

    fn is_problem(outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Declined(_))
    }

    fn encode_outcome(outcome: &Outcome, into: &mut Vec<u8>) {
        match *outcome {
            Outcome::Moved { state, balance } => write(&Moved { state: state.name().into(), balance }, into),
            Outcome::Found { target, amount, state } => {
                write(&TransferBody { target, amount, state: state.name().into() }, into);
            }
            Outcome::Balance { balance } => write(&Balance { balance }, into),
            Outcome::Declined(why) => write(&problem(why), into),
        }
    }

    fn is_outcome(_: &Call, answer: &Answer<'_>) -> bool {
        matches!(answer.status, 200 | 201) || declined(answer).is_some()
    }

    fn decode_outcome(call: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
        let wanted = match call {
            Call::Transfer { .. } => 201,
            Call::ReadTransfer { .. } | Call::ReadAccount { .. } => 200,
        };
        if answer.status != wanted {
            let why = declined(answer)
                .ok_or_else(|| format!("the status is {}, where the contract has {wanted}", answer.status))?;
            return Ok(Outcome::Declined(why));
        }
        Ok(match call {
            Call::Transfer { .. } => {
                let Moved { state, balance } = read(answer)?;
                Outcome::Moved { state: named(&state)?, balance }
            }
            Call::ReadTransfer { .. } => {
                let TransferBody { target, amount, state } = read(answer)?;
                Outcome::Found { target, amount, state: named(&state)? }
            }
            Call::ReadAccount { .. } => Outcome::Balance { balance: read::<Balance>(answer)?.balance },
        })
    }
}

/// A transfer's id: its source and its key, so that its store is known.
struct Id(u32, Key);

impl Id {
    fn parse(text: &str) -> Option<Id> {
        let (source, key) = text.split_once('-')?;
        Some(Id(number(source)?, Key::parse(key)?))
    }
}

impl Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.0, self.1)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateBody {
    source: u32,
    target: u32,
    amount: i64,
}

#[derive(Serialize, Deserialize)]
struct Moved<'a> {
    #[serde(borrow)]
    state: Cow<'a, str>,
    balance: i64,
}

#[derive(Serialize, Deserialize)]
struct TransferBody<'a> {
    target: u32,
    amount: i64,
    #[serde(borrow)]
    state: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct Balance {
    balance: i64,
}

fn problem(why: Decline) -> Problem<Balance> {
    let balance = match why {
        Decline::InsufficientFunds { balance } => Some(Balance { balance }),
        Decline::KeyReused | Decline::NoSuchTransfer => None,
    };
    let detail = "the call was declined, and moved nothing";
    Problem::declined(why.name(), why.title(), why.status(), detail, balance)
}

/// Why a call was declined, if the answer is a problem document of the workload's, with the status of its type.
fn declined(answer: &Answer<'_>) -> Option<Decline> {
    #[derive(Deserialize)]
    struct Read<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        #[serde(default)]
        balance: Option<i64>,
    }
    if !answer.is_problem || !matches!(answer.status, 404 | 409 | 422) {
        return None;
    }
    let Read { kind, balance } = serde_json::from_slice(answer.body).ok()?;
    let name = kind.strip_prefix(PROBLEM)?;
    let funds = balance.map(|balance| Decline::InsufficientFunds { balance });
    let all = [Some(Decline::KeyReused), Some(Decline::NoSuchTransfer), funds];
    all.into_iter().flatten().find(|why| why.name() == name && why.status() == answer.status)
}

fn named(state: &str) -> Result<State, String> {
    State::of_name(state).ok_or_else(|| format!("there is no state `{state}`"))
}

/// An account that is there.
fn account(name: &str, id: u32, size: &Cardinality) -> Result<(), BadCall> {
    let ids = size.ids();
    if ids.contains(&id) {
        return Ok(());
    }
    let (first, last) = ids.into_inner();
    Err(BadCall::unknown(format!("{name} {id} does not exist; accounts run from {first} to {last}")))
}

#[cfg(test)]
mod tests;
