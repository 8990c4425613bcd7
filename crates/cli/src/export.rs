//! `stackmark export`: the calls of a workload, written down for another load generator.
//!
//! They are drawn as for `run` and encoded as for its HTTP client. Where they follow from answers, the workload's oracle gives
//! those in place of a server.

use crate::args::{ExportK6, MixArgs};
use crate::outcome::CommandOutcome;
use crate::ui::Ui;
use anyhow::{Result, anyhow, bail};
use model::{Inputs, Verdict};
use serde::Serialize;
use std::fmt::Write;
use std::marker::PhantomData;
use targets::Driven;
use workload::Streams;

/// The script around its calls.
const K6: &str = include_str!("export/k6.js");
/// What the contracts of all workloads share.
const CONTRACT: &str = include_str!("../spec/openapi/common.yaml");
/// Far more than k6 has memory for where each is of 50 rows; a script is kept whole while it is written.
const CALLS_MAX: u64 = 1_000_000;

pub(crate) fn k6<W: Driven>(args: &ExportK6, ui: &Ui) -> Result<CommandOutcome> {
    ui.put(args.output.as_deref(), &script::<W>(args)?)?;
    Ok(CommandOutcome::Good)
}

/// The script: a function of its arguments.
fn script<W: Driven>(args: &ExportK6) -> Result<String> {
    if args.calls > CALLS_MAX {
        bail!("--calls is {}; a script has {CALLS_MAX} at most", args.calls);
    }
    let scale = args.amounts.scale::<W>()?.unwrap_or(W::SCALE_DEFAULT);
    let drawn = Drawn::<W>::new(args, scale)?;
    let kinds: Vec<String> = drawn.kinds().map(|kind| format!("  {},", json(&kind))).collect();
    let first = W::KINDS.iter().zip(&drawn.counts).find(|(_, count)| **count > 0);
    let filled = [
        ("WORKLOAD", W::NAME),
        ("VERSION", env!("CARGO_PKG_VERSION")),
        ("COMMAND", &command(args)),
        ("SCALE", &scale.to_string()),
        ("CLIENTS", &args.clients.to_string()),
        ("EACH", &each(args).to_string()),
        ("KINDS", &kinds.join("\n")),
        ("FAILURES", &json(&failures().collect::<Vec<_>>())),
        ("FIRST", first.map_or("", |(kind, _)| kind.name)),
        // Last, so that nothing in it is taken for a place to be filled.
        ("CALLS", drawn.lines.trim_end()),
    ];
    Ok(filled
        .into_iter()
        .fold(K6.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value)))
}

/// Calls of each client.
fn each(args: &ExportK6) -> u64 {
    args.calls.div_ceil(args.clients.into())
}

/// What makes the same script again, without where it is written to.
fn command(args: &ExportK6) -> String {
    let ExportK6 { workload, clients, calls, seed, .. } = args;
    let amounts = args.amounts.typed();
    let mix = match &args.mix {
        MixArgs { only: Some(kind), .. } => format!(" --only {kind}"),
        MixArgs { mix: Some(weights), .. } => {
            let weights: Vec<String> =
                weights.0.iter().map(|(kind, weight)| format!("{kind}={weight}")).collect();
            format!(" --mix {}", weights.join(","))
        }
        _ => String::new(),
    };
    let skew = args.mix.skew.map_or_else(String::new, |skew| format!(" --skew {skew}"));
    format!(
        "stackmark export k6 --workload {workload}{amounts} --clients {clients} --calls {calls} --seed {seed}{mix}{skew}"
    )
}

/// Names of the problem types of a call that was not completed, as the contract lists them.
fn failures() -> impl Iterator<Item = &'static str> {
    CONTRACT.lines().filter_map(|line| line.trim().strip_prefix("- urn:stackmark:problem:"))
}

/// The calls of a script.
struct Drawn<W> {
    /// One call per line.
    lines: String,
    /// How many there are of each kind.
    counts: Vec<u64>,
    /// The statuses of those of each kind that are done.
    done: Vec<Vec<u16>>,
    workload: PhantomData<W>,
}

/// A kind, as the script knows it.
#[derive(Serialize)]
struct ScriptKind<'a> {
    name: &'a str,
    method: &'a str,
    calls: u64,
    done: &'a [u16],
    declines: bool,
}

impl<W: Driven> Drawn<W> {
    /// Draws the calls of all clients in turn, as if they were made so, and writes down each client's by themselves.
    fn new(args: &ExportK6, scale: u32) -> Result<Drawn<W>> {
        let size = workload::sized::<W>(scale, &args.amounts.chosen::<W>()?)?;
        let mix = args.mix.of::<W>()?;
        let skew = args.mix.skew_of::<W>()?;
        let streams = Streams { seed: args.seed, mix: mix.as_ref(), skew, ..Streams::default() };
        let inputs = workload::inputs::<W>(&size, &streams);
        let mut clients: Vec<(W::Inputs, String)> =
            (0..args.clients).map(|client| (inputs(client), String::new())).collect();
        let mut answers = W::rehearsal(&size);
        let kinds = W::KINDS.len();
        // Where nothing is rehearsed, what is done is answered with 200, as by most workloads.
        let done = vec![if answers.is_some() { Vec::new() } else { vec![200] }; kinds];
        let mut drawn = Drawn { lines: String::new(), counts: vec![0; kinds], done, workload: PhantomData };
        for _ in 0..each(args) {
            for (inputs, lines) in &mut clients {
                let call = inputs.draw();
                writeln!(lines, "{},", line::<W>(&call)?)?;
                drawn.counts[W::kind(&call)] += 1;
                if let Some(answer) = &mut answers {
                    let outcome = answer(&call);
                    inputs.check(&call, &outcome).map_err(|why| anyhow!("the rehearsal is wrong: {why}"))?;
                    drawn.note(W::kind(&call), &outcome);
                }
            }
        }
        for (_, lines) in clients {
            write!(drawn.lines, "[\n{lines}],\n")?;
        }
        Ok(drawn)
    }

    fn note(&mut self, kind: usize, outcome: &W::Outcome) {
        let (statuses, status) = (&mut self.done[kind], W::status(outcome));
        if W::verdict(outcome) == Verdict::Committed && !statuses.contains(&status) {
            statuses.push(status);
        }
    }

    fn kinds(&self) -> impl Iterator<Item = ScriptKind<'_>> {
        W::KINDS.iter().enumerate().map(|(at, kind)| ScriptKind {
            name: kind.name,
            method: W::ENDPOINTS[at].method.name(),
            calls: self.counts[at],
            done: &self.done[at],
            declines: kind.may_be_declined(),
        })
    }
}

/// A call as an array: number of its kind, path, headers, body.
fn line<W: Driven>(call: &W::Call) -> Result<String> {
    let kind = W::kind(call);
    let (mut path, mut body) = (Vec::new(), Vec::new());
    W::encode_path(call, &mut path);
    if W::ENDPOINTS[kind].method.has_body() {
        W::encode_call(call, &mut body);
    }
    let mut headers = serde_json::Map::new();
    W::encode_call_headers(call, &mut |name, value| {
        headers.insert(name.to_owned(), value.to_string().into());
    });
    let (path, body) = (String::from_utf8(path)?, String::from_utf8(body)?);
    Ok(match (headers.is_empty(), body.is_empty()) {
        (true, true) => json(&(kind, path)),
        (_, true) => json(&(kind, path, headers)),
        _ => json(&(kind, path, headers, body)),
    })
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values always become JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Amounts;
    use serde_json::Value;
    use std::collections::BTreeSet;
    use workload_catalogue::FoodCatalogue;
    use workload_tpcb::Tpcb;
    use workload_tpcc::Tpcc;

    fn args(workload: &str, clients: u32, calls: u64, seed: u64) -> ExportK6 {
        let (mix, workload) = (MixArgs::default(), workload.to_owned());
        ExportK6 { workload, amounts: Amounts::of(&[("scale", 1)]), clients, calls, mix, seed, output: None }
    }

    /// The calls in a script, by client.
    fn calls(script: &str) -> Vec<Vec<Value>> {
        let mut clients = Vec::new();
        for line in script.lines() {
            match line.strip_suffix(',').map(serde_json::from_str) {
                Some(Ok(call @ Value::Array(_))) => {
                    clients.last_mut().map_or((), |own: &mut Vec<_>| own.push(call))
                }
                _ if line == "[" => clients.push(Vec::new()),
                _ => {}
            }
        }
        clients
    }

    #[test]
    fn the_same_arguments_make_the_same_script_and_another_seed_makes_another() {
        let same = |first: Result<String>, again: Result<String>, other: Result<String>| {
            let first = first.unwrap();
            assert_eq!(first, again.unwrap());
            assert_ne!(calls(&first), calls(&other.unwrap()));
        };
        let [one, two] = [1, 2].map(|seed| args("", 3, 300, seed));
        same(script::<FoodCatalogue>(&one), script::<FoodCatalogue>(&one), script::<FoodCatalogue>(&two));
        same(script::<Tpcc>(&one), script::<Tpcc>(&one), script::<Tpcc>(&two));
        same(script::<Tpcb>(&one), script::<Tpcb>(&one), script::<Tpcb>(&two));
    }

    #[test]
    fn every_client_has_as_many_calls_and_no_two_create_the_same() {
        let script = script::<FoodCatalogue>(&args("catalogue", 7, 5_000, 1)).unwrap();
        let clients = calls(&script);
        assert_eq!(clients.iter().map(Vec::len).collect::<Vec<_>>(), [715; 7]);
        let mut created = BTreeSet::new();
        for call in clients.iter().flatten().filter(|call| call[1] == "/foods" || call[1] == "/categories") {
            let Some(body) = call[3].as_str() else { continue };
            let body: Value = serde_json::from_str(body).unwrap();
            assert!(created.insert((call[1].to_string(), body["id"].as_i64())), "{body} is created twice");
        }
        assert!(created.len() > 100);
    }

    #[test]
    fn no_place_is_left_empty_and_problems_are_those_of_the_contract() {
        let script = script::<FoodCatalogue>(&args("catalogue", 1, 2_000, 1)).unwrap();
        let program: Vec<&str> = script.lines().filter(|line| !line.starts_with('[')).collect();
        assert!(!program.iter().any(|line| line.contains('@')), "{program:#?}");
        assert_eq!(failures().count(), 13);
        assert!(script.contains(r#""too-large","unsupported-type","unconditional","conflict","refused""#));
        assert!(script.contains(r#"{"name":"food-create","method":"POST","calls":"#));
        for done in [
            "\"done\":[201],\"declines\":true",
            "\"done\":[204],\"declines\":true",
            "\"done\":[200],\"declines\":false",
        ] {
            assert!(script.contains(done), "{done}");
        }
    }
}
