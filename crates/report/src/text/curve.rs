//! Load curves and searches for the terminal.

use super::{Colour, Ink, durability, failures, loud_tier, sentence, warnings};
use crate::{curve, figures, findings};
use result::{Axis, Curve, Document, Search};
use std::fmt::Write as _;

/// A sweep: what it says, a line a load, the law.
pub(super) fn sweep(out: &mut String, document: &Document, found: &Curve, colour: Colour) {
    opening(out, document, colour);
    sentence(out, "", &found.sentence);
    if let Some(knee) = &found.knee {
        sentence(out, "", &knee.sentence);
    }
    let unit = curve::unit_of(&found.points, &document.trials);
    let _ = writeln!(out);
    // Of a closed loop every call that is due is begun.
    let (served, width) = if found.axis == Axis::Rate { ("served", 10) } else { ("", 0) };
    let header = format!("  {:<12}{unit:>18}{:>10}{:>10}{served:>width$}  saturated", "", "p50", "p99");
    let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &header));
    for (point, [load, rate, p50, p99, share, who]) in
        found.points.iter().zip(curve::rows(found, &document.trials))
    {
        let share = if width > 0 { share } else { String::new() };
        let is_knee = found.knee.as_ref().is_some_and(|knee| knee.load == point.load);
        let who = if is_knee { format!("{who}  <- knee") } else { who };
        let _ = writeln!(out, "  {load:<12}{rate:>18}{p50:>10}{p99:>10}{share:>width$}  {who}");
    }
    if let Some(fit) = &found.fit {
        let _ = writeln!(out);
        let header = format!("  {:<8}{:<30}meaning", "law", "value (95 % interval)");
        let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &header));
        for [name, value, meaning] in curve::parameters(fit, unit) {
            let _ = writeln!(out, "  {name:<8}{value:<30}{meaning}");
        }
    }
    closing(out, document, colour);
}

/// A search: the rate, what gives out beyond it, a line a step.
pub(super) fn search(out: &mut String, document: &Document, found: &Search, colour: Colour) {
    opening(out, document, colour);
    let ink = if found.highest_per_s.is_some() { Ink::Good } else { Ink::Warn };
    let word = if found.highest_per_s.is_some() { "kept" } else { "missed" };
    sentence(out, "", &format!("{}: {}", found.slo, found.sentence));
    if let Some(gives_out) = &found.gives_out {
        sentence(out, "", gives_out);
    }
    let _ = writeln!(out, "\n  {} {}", colour.paint(Ink::Dim, "service level"), colour.paint(ink, word));
    let remarks = found.steps.iter().map(|step| figures::remarks(step).join(", ").chars().count());
    let remarks_width = remarks.max().map_or(0, |width| if width > 0 { width + 2 } else { 0 });
    let header = format!("  {:<6}{:>12}  {:<8}{:<remarks_width$}{}", "step", "rate/s", "", "", "why");
    let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &header));
    for (i, step) in found.steps.iter().enumerate() {
        let (word, ink) = if step.kept { ("kept", Ink::Good) } else { ("broken", Ink::Warn) };
        let rate = figures::trimmed(step.rate_per_s, 1);
        let word = colour.paint(ink, &format!("{word:<8}"));
        let label =
            format!("  {:<6}{rate:>12}  {word}{:<remarks_width$}", i + 1, figures::remarks(step).join(", "));
        let _ = writeln!(out, "{label}{}", step.why);
    }
    closing(out, document, colour);
}

fn opening(out: &mut String, document: &Document, colour: Colour) {
    let subjects = colour.paint(Ink::Bold, &document.subjects.join(" and "));
    let _ = writeln!(out, "{subjects}      {}", colour.paint(Ink::Dim, document.state.word()));
    if let Some(trial) = document.trials.first() {
        let _ = writeln!(out, "  {}", colour.paint(Ink::Dim, &durability(trial)));
        loud_tier(out, trial, colour);
    }
    failures(out, findings::failures_of_all(document), colour);
}

fn closing(out: &mut String, document: &Document, colour: Colour) {
    let audits = document.trials.iter().flat_map(|trial| &trial.audits).map(|audit| audit.check);
    let _ = writeln!(out, "\n  audits of all trials  {}", findings::passed_of(audits));
    let _ = writeln!(out);
    warnings(out, &findings::rules_to_mind_of_all(document), colour);
}
