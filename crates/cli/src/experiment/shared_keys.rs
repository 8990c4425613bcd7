//! Keys that the command line has too. Their values are handed to its own parser, so that a file and the command line
//! cannot disagree about ranges, units and defaults.

use super::expand::plain;
use super::source::{KeyValue, Source, Span, ValueKind};
use crate::{args, workloads};
use anyhow::Result;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use drive::PlanError;
use std::error::Error;
use targets::Driven;
use workload::Chosen;

/// What `compare` takes.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct VariantOptions {
    #[command(flatten)]
    compare: args::Compare,
}

/// Which type a value has in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Whole,
    Number,
    Truth,
    /// Text, with an example.
    Text(&'static str),
    /// Text such as `5%`, or a number.
    Share,
    Weights,
}

/// What the load generator does: for the whole experiment or for a variant.
pub(super) const PLAN: &[&str] = &[
    "clients",
    "duration",
    "calls",
    "warmup",
    "warmup-max",
    "through-checkpoints",
    "trials",
    "rate",
    "stages",
    "arrivals",
    "think",
    "mix",
    "only",
    "skew",
    "delivery",
    "deadline",
    "drain",
    "settle",
    "generator-threads",
];
/// What must be the same for all variants.
pub(super) const PLAN_WHOLE: &[&str] = &["blocks", "seed", "control"];

fn type_of(key: &str) -> Type {
    match key {
        "calls" | "clients" | "generator-threads" | "blocks" | "seed" | "pool" | "server-threads"
        | "batch" | "relay-connections" | "partitions" => Type::Whole,
        "rate" => Type::Number,
        "control" | "consumer" | "statement-statistics" | "through-checkpoints" | "trials" => Type::Truth,
        "margin" | "max-loss" => Type::Share,
        "arrivals" => Type::Text("\"poisson\""),
        "think" => Type::Text("\"spec\""),
        "stages" => Type::Text("\"30s@100,10s@500\""),
        "mix" => Type::Weights,
        "only" => Type::Text("\"payment\""),
        "skew" => Type::Text("\"zipf:0.99\""),
        "delivery" => Type::Text("\"deferred\""),
        "durability" => Type::Text("\"delayed\""),
        "limit" => Type::Text("\"cpu=1,mem=1GiB\""),
        "sink" => Type::Text("\"null\""),
        "transport" => Type::Text("\"unix\""),
        "connections" => Type::Text("\"per-call\""),
        "polling" => Type::Text("\"500ms\""),
        key if workloads::all().flat_map(|row| row.parameters).any(|parameter| parameter.name == key) => {
            Type::Whole
        }
        _ => Type::Text("\"30s\""),
    }
}

/// One key and its value, as the command line takes it.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) key: String,
    /// The value, for names and reports.
    pub(super) value: String,
    /// `--clients=8`; empty where a switch is off.
    typed: String,
    pub(super) span: Span,
}

impl Word {
    /// A word from an entry whose value may stand alone.
    ///
    /// # Errors
    /// When the type or the value is wrong.
    pub(super) fn read(source: &Source<'_>, entry: &KeyValue) -> Result<Word> {
        let key = entry.key.as_str();
        let weights: String;
        if let (Type::Truth, ValueKind::Truth(is_on)) = (type_of(key), &entry.value.kind) {
            let typed = if *is_on { format!("--{key}") } else { String::new() };
            return Word::new(source, key, plain(&entry.value), typed, &entry.value.span);
        }
        let value = match (type_of(key), &entry.value.kind) {
            (Type::Weights, ValueKind::Table(entries)) => {
                let weight = |entry: &KeyValue| format!("{}={}", entry.key, plain(&entry.value));
                weights = entries.iter().map(weight).collect::<Vec<_>>().join(",");
                &weights
            }
            (Type::Weights, _) => {
                return Err(source.mistyped(entry, "a table", "{ new-order = 45, payment = 43 }"));
            }
            (Type::Whole | Type::Number | Type::Share, ValueKind::Whole(text)) => text,
            (Type::Number | Type::Share, ValueKind::Decimal(text)) => text,
            (Type::Text(_) | Type::Share, ValueKind::Text(text)) => text,
            (Type::Whole, _) => return Err(source.mistyped(entry, "a whole number", "8")),
            (Type::Number, _) => return Err(source.mistyped(entry, "a number", "250")),
            (Type::Truth, _) => return Err(source.mistyped(entry, "true or false", "true")),
            (Type::Share, _) => return Err(source.mistyped(entry, "a share", "\"5%\" or 0.05")),
            (Type::Text(such), _) => return Err(source.mistyped(entry, "text", such)),
        };
        // Two shares, of which the command line has one.
        let flag = if key == "margin" { "max-loss" } else { key };
        Word::new(source, key, value.clone(), format!("--{flag}={value}"), &entry.value.span)
    }

    /// A word of which the command line has another spelling: `--limit=engine:cpu=1`.
    pub(super) fn new(
        source: &Source<'_>,
        key: &str,
        value: String,
        typed: String,
        span: &Span,
    ) -> Result<Word> {
        let word = Word { key: key.to_owned(), value, typed, span: span.clone() };
        match line(std::slice::from_ref(&word)) {
            // What else must be there is asked when all words are.
            Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => {
                Err(source.wrong(span, format!("`{key}`: {}", reason(&error, &word.value))))
            }
            _ => Ok(word),
        }
    }
}

/// Keys of what users can choose of a workload besides its scale.
pub(super) fn parameters<W: Driven>() -> impl Iterator<Item = &'static str> {
    W::PARAMETERS.iter().map(|parameter| parameter.name)
}

/// What the command line makes of words.
fn line(words: &[Word]) -> Result<args::Compare, clap::Error> {
    let sides = ["a", "b"].into_iter();
    let typed = words.iter().map(|word| word.typed.as_str()).filter(|typed| !typed.is_empty());
    VariantOptions::try_parse_from(sides.chain(typed)).map(|line| line.compare)
}

/// Why the command line refuses a value, without its own way of saying where.
fn reason(error: &clap::Error, value: &str) -> String {
    if let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue)
        && !valid.is_empty()
    {
        return format!("it is one of {}, not `{value}`", valid.join(", "));
    }
    match error.source() {
        Some(source) => source.to_string().replace("..=", " to "),
        None => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

/// Words of a variant over those of the whole experiment.
#[derive(Debug, Clone, Default)]
pub(super) struct Words(pub(super) Vec<Word>);

impl Words {
    pub(super) fn get(&self, key: &str) -> Option<&Word> {
        self.0.iter().find(|word| word.key == key)
    }

    /// These, and of `common` what they leave open.
    pub(super) fn over(mut self, common: &Words) -> Words {
        // Two ways to say which kinds are called: either of the variant's takes the place of either.
        let mixed = |key: &str| ["mix", "only"].contains(&key);
        let is_mixed = self.0.iter().any(|word| mixed(&word.key));
        let is_open = |key: &str| self.get(key).is_none() && !(is_mixed && mixed(key));
        let open: Vec<Word> = common.0.iter().filter(|word| is_open(&word.key)).cloned().collect();
        self.0.extend(open);
        self
    }

    /// The command line that they are. `span` is where to point when nothing else is to blame.
    pub(super) fn line(&self, source: &Source<'_>, span: &Span) -> Result<args::Compare> {
        let mut words = self.0.clone();
        // Nothing is also what an open loop has.
        words.retain(|word| !(word.key == "think" && word.value == "none"));
        let wanted = |key: &str| words.iter().find(|word| word.key == key);
        match (wanted("rate"), wanted("think"), wanted("arrivals")) {
            (Some(rate), Some(think), _) => {
                // The one that stands in the variant comes first.
                let blamed =
                    words.iter().find(|word| word.key == "rate" || word.key == "think").unwrap_or(rate);
                let other = if blamed.key == "rate" { think } else { rate };
                return Err(source.wrong(
                    &blamed.span,
                    format!(
                        "`{}` and `{}` exclude each other: an open loop has a timetable of its own\nhint: leave one \
                         out, or write think = \"none\" here",
                        blamed.key, other.key
                    ),
                ));
            }
            (None, _, Some(arrivals)) if wanted("stages").is_none() => {
                return Err(source.wrong(
                    &arrivals.span,
                    "`arrivals` is for an open loop: give `rate` too, in calls per second",
                ));
            }
            _ => {}
        }
        line(&words).map_err(|error| source.wrong(span, reason(&error, "")))
    }

    /// What is chosen of the workload's parameters.
    pub(super) fn chosen<W: Driven>(
        &self,
        source: &Source<'_>,
        span: &Span,
        args: &args::DataArgs,
    ) -> Result<Chosen> {
        args.amounts.chosen::<W>().map_err(|error| {
            let text = error.to_string();
            let named = parameters::<W>().find(|name| text.starts_with(&format!("--{name}")));
            let at = named.and_then(|name| self.get(name)).map_or(span, |word| &word.span);
            let text = parameters::<W>()
                .fold(text, |text, name| text.replace(&format!("--{name}"), &format!("`{name}`")));
            source.wrong(at, text)
        })
    }

    /// What the load generator does.
    ///
    /// # Errors
    /// When it cannot be done, or not with this workload.
    pub(super) fn plan<W: Driven>(
        &self,
        source: &Source<'_>,
        span: &Span,
        args: &args::PlanArgs,
        scale: u32,
    ) -> Result<drive::Plan> {
        crate::run::plan::<W>(args, scale).map_err(|error| {
            let at = |key: &str| self.get(key).map_or(span, |word| &word.span);
            if let Some(wrong) = error.downcast_ref::<PlanError>() {
                return source.wrong(at(blamed(wrong)), wrong);
            }
            let mut text = error.to_string();
            match PLAN.iter().find(|key| text.contains(&format!("--{key}"))) {
                Some(key) => {
                    text = text.replace(&format!("--{key}"), &format!("`{key}`"));
                    source.wrong(at(key), text)
                }
                None => source.wrong(span, text),
            }
        })
    }
}

/// The key that an error of the plan is about.
fn blamed(error: &PlanError) -> &'static str {
    match error {
        PlanError::NoPace => "think",
        PlanError::NothingToDefer => "delivery",
        PlanError::Mix => "mix",
        PlanError::Skew => "skew",
        PlanError::OutOfRange { what, .. } => match *what {
            "workers" => "clients",
            "runtimes" => "generator-threads",
            "the drain" => "drain",
            "the deadline per call" => "deadline",
            "the rate" => "rate",
            "the length of a stage" | "the rate of a stage" | "the number of stages" => "stages",
            "the number of calls" => "calls",
            _ => "duration",
        },
    }
}
