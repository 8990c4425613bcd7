//! Results as JUnit XML, for the pages of CI systems: a suite a run, a test case a comparison, search, fault, limit that was set with
//! `--slo`, and check that failed or was not run. Checks that passed are one case for all of their kind.
//!
//! A run or a trial that was interrupted or did not finish, a check that failed, a rule that calls a number bad, a comparison of different
//! work, a loss beyond the limit, a variant that could not start and a service level that no rate keeps are failures; what was not
//! run or cannot be told is skipped.

use result::{
    Check, Comparison, Document, Drill, Experiment, RunKind, Search, Severity, State, Trial, Variant,
    VariantState, Verdict,
};

#[derive(Debug)]
pub struct Case {
    /// What it is about: a subject.
    pub class: String,
    /// Its name within that.
    pub name: String,
    /// Seconds that it took.
    pub time_s: f64,
    pub outcome: Outcome,
}

impl Case {
    fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(..))
    }
}

/// How a test case ended.
#[derive(Debug)]
pub enum Outcome {
    Passed,
    /// Not at all: why.
    Skipped(String),
    /// Badly: in a sentence, and the evidence.
    Failed(String, Vec<String>),
}

/// The document that holds one suite of these cases.
pub fn of_cases(name: &str, cases: &[Case]) -> String {
    let mut xml = Xml::default();
    let all: Vec<&Case> = cases.iter().collect();
    xml.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites").attribute("name", "stackmark");
    totals(&mut xml, &all).raw(">\n  <testsuite").attribute("name", name);
    totals(&mut xml, &all).raw(">\n");
    for case in cases {
        write(&mut xml, case);
    }
    xml.raw("  </testsuite>\n</testsuites>\n");
    xml.text
}

/// The document that holds one suite a run.
pub fn render(documents: &[Document]) -> String {
    let suites: Vec<(&Document, Vec<Case>)> =
        documents.iter().map(|document| (document, cases(document))).collect();
    let mut xml = Xml::default();
    let all: Vec<&Case> = suites.iter().flat_map(|(_, cases)| cases).collect();
    xml.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites").attribute("name", "stackmark");
    totals(&mut xml, &all).raw(">\n");
    for (document, cases) in &suites {
        suite(&mut xml, document, cases);
    }
    xml.raw("</testsuites>\n");
    xml.text
}

fn suite(xml: &mut Xml, document: &Document, cases: &[Case]) {
    xml.raw("  <testsuite").attribute("name", &document.id);
    totals(xml, &cases.iter().collect::<Vec<_>>());
    // Without the zone, as the schema of JUnit has it; it is UTC.
    xml.attribute("timestamp", document.started.utc.trim_end_matches('Z'));
    xml.attribute("hostname", "localhost").raw(">\n    <properties>\n");
    for (name, value) in [
        ("stackmark", document.stackmark.as_str()),
        ("state", document.state.word()),
        ("command", &document.command.join(" ")),
    ] {
        xml.raw("      <property").attribute("name", name).attribute("value", value).raw("/>\n");
    }
    xml.raw("    </properties>\n");
    for case in cases {
        write(xml, case);
    }
    xml.raw("  </testsuite>\n");
}

fn totals<'a>(xml: &'a mut Xml, cases: &[&Case]) -> &'a mut Xml {
    let count =
        |wanted: fn(&Outcome) -> bool| cases.iter().filter(|case| wanted(&case.outcome)).count().to_string();
    let time_s: f64 = cases.iter().map(|case| case.time_s).sum();
    xml.attribute("tests", &cases.len().to_string())
        .attribute("failures", &count(|outcome| matches!(outcome, Outcome::Failed(..))))
        .attribute("errors", "0")
        .attribute("skipped", &count(|outcome| matches!(outcome, Outcome::Skipped(_))))
        .attribute("time", &format!("{time_s:.3}"))
}

fn write(xml: &mut Xml, case: &Case) {
    xml.raw("    <testcase").attribute("name", &case.name).attribute("classname", &case.class);
    xml.attribute("time", &format!("{:.3}", case.time_s));
    match &case.outcome {
        Outcome::Passed => xml.raw("/>\n"),
        Outcome::Skipped(why) => {
            xml.raw(">\n      <skipped").attribute("message", why).raw("/>\n    </testcase>\n")
        }
        Outcome::Failed(sentence, evidence) => {
            xml.raw(">\n      <failure").attribute("message", sentence).attribute("type", "failed").raw(">");
            xml.data(&evidence.join("\n")).raw("</failure>\n    </testcase>\n")
        }
    };
}

fn cases(document: &Document) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    cases.extend(document.drill.iter().flat_map(of_drill));
    if document.trials.is_empty() && document.drill.is_none() {
        let why = format!("no trial was measured; the run is {}", document.state.word());
        let outcome = Outcome::Failed(why, Vec::new());
        cases.push(Case { class: "run".into(), name: "has trials".into(), time_s: 0.0, outcome });
    }
    // Of a run that was killed or interrupted the trials that ended may all be good.
    if document.kind != RunKind::Trial
        && document.state != State::Complete
        && !cases.iter().any(Case::has_failed)
    {
        let why = format!("{}: the result covers what was measured until then", document.state.word());
        let outcome = Outcome::Failed(why, Vec::new());
        cases.push(Case { class: "run".into(), name: "complete".into(), time_s: 0.0, outcome });
    }
    let several = document.trials.len() > 1;
    let mut checks = Checks::default();
    for (index, trial) in document.trials.iter().enumerate() {
        let place = if several { format!("trial {}, ", index + 1) } else { String::new() };
        let steps = document.search.iter().flat_map(|search| &search.steps);
        let ended_early = steps.into_iter().any(|step| step.trial == index && step.ended_early_s.is_some());
        of_trial(&mut checks, trial, &place, ended_early);
    }
    cases.extend(checks.passed.into_iter().chain(checks.others));
    let variants = document.experiment.iter().flat_map(|experiment| &experiment.variants);
    cases.extend(variants.filter(|variant| variant.state == VariantState::NotStarted).map(not_started));
    for (at, (metric, comparisons)) in document.experiment.iter().flat_map(Experiment::by_metric).enumerate()
    {
        let of = if at == 0 { String::new() } else { format!(", {}", metric.name) };
        cases.extend(comparisons.iter().map(|comparison| of_comparison(comparison, &of)));
    }
    cases.extend(document.search.as_ref().map(of_search));
    cases
}

/// A case for each fault, and one for those that were asked for and did not come.
fn of_drill(drill: &Drill) -> Vec<Case> {
    let faults = drill.faults.iter().enumerate().map(|(at, fault)| Case {
        class: "drill".into(),
        name: format!("fault {}: {} {}", at + 1, fault.component, fault.action.word()),
        time_s: fault.after_s + fault.unavailable_s + fault.recovery_s,
        outcome: match &fault.failures[..] {
            [] => Outcome::Passed,
            [first, more @ ..] => Outcome::Failed(first.clone(), more.to_vec()),
        },
    });
    let came = drill.faults.len();
    let missing = (came < drill.planned as usize).then(|| Case {
        class: "drill".into(),
        name: "all faults came".into(),
        time_s: 0.0,
        outcome: Outcome::Skipped(format!("{came} of {} came to their end", drill.planned)),
    });
    faults.chain(missing).collect()
}

/// Checks of all trials.
#[derive(Default)]
struct Checks {
    /// Those that passed: a case for all of a subject and a kind, so that those that did not are seen.
    passed: Vec<Case>,
    /// Those that failed or were not run, and limits that were set.
    others: Vec<Case>,
}

impl Checks {
    fn add(&mut self, all: &'static str, place: &str, case: Case) {
        let is_same = |other: &&mut Case, name: &str| other.class == case.class && other.name == name;
        match case.outcome {
            Outcome::Passed => match self.passed.iter_mut().find(|other| is_same(other, all)) {
                Some(other) => other.time_s += case.time_s,
                None => self.passed.push(Case { name: all.to_owned(), ..case }),
            },
            // For the same reason in each trial.
            Outcome::Skipped(ref why) => match self.others.iter_mut().find(|other| {
                is_same(other, &case.name)
                    && matches!(&other.outcome, Outcome::Skipped(known) if known == why)
            }) {
                Some(other) => other.time_s += case.time_s,
                None => self.others.push(case),
            },
            Outcome::Failed(..) => self.others.push(Case { name: format!("{place}{}", case.name), ..case }),
        }
    }
}

/// `ended_early`: by a search that had seen enough.
fn of_trial(checks: &mut Checks, trial: &Trial, place: &str, ended_early: bool) {
    let class = || trial.subject.clone();
    for slo in &trial.slos {
        let (name, outcome) = (format!("SLO {}", slo.slo), checked(slo.check, &slo.sentence, &[]));
        checks.others.push(Case { class: class(), name, time_s: 0.0, outcome });
    }
    let mut push = |all: &'static str, name: String, time_s: f64, outcome: Outcome| {
        checks.add(all, place, Case { class: class(), name, time_s, outcome });
    };
    let ran = match trial.state {
        State::Complete if trial.defects.is_empty() => Outcome::Passed,
        State::Interrupted if ended_early && trial.defects.is_empty() => Outcome::Passed,
        State::Interrupted if trial.defects.is_empty() => {
            Outcome::Failed("interrupted: the result covers what was measured until then".into(), Vec::new())
        }
        State::Running => Outcome::Failed("not finished: still running, or killed".into(), Vec::new()),
        _ => Outcome::Failed(
            trial.failure.clone().unwrap_or_else(|| "calls broke the contract".into()),
            trial.defects.clone(),
        ),
    };
    push("run", "run".into(), trial.measured_s, ran);
    let conformance = &trial.conformance;
    let outcome = checked(conformance.check, &conformance.sentence, &conformance.mismatches);
    push("conformance", "conformance".into(), conformance.duration_s, outcome);
    for audit in &trial.audits {
        let outcome = checked(audit.check, &audit.sentence, &audit.violations);
        let name = format!("audit {}, {}", audit.full_name(), audit.when.words());
        push("audits that passed", name, audit.duration_s, outcome);
    }
    for ledger in &trial.ledger {
        let outcome = checked(ledger.check, &ledger.sentence, &[]);
        push("ledgers that passed", format!("ledger {}", ledger.name), 0.0, outcome);
    }
    for input in &trial.inputs {
        let sentence = format!(
            "{:.4} of what was sent, {:.4} ± {:.4} prescribed",
            input.measured, input.expected, input.tolerance
        );
        let outcome = checked(input.check, &sentence, &[]);
        push("inputs that passed", format!("inputs {}", input.name), 0.0, outcome);
    }
    for rule in &trial.rules {
        let outcome = match rule.severity {
            Severity::Bad => {
                Outcome::Failed(rule.sentence.clone(), rule.advice.clone().into_iter().collect())
            }
            _ => Outcome::Passed,
        };
        push("rules that are not bad", format!("rule {}", rule.name), 0.0, outcome);
    }
}

fn checked(check: Check, sentence: &str, evidence: &[String]) -> Outcome {
    match check {
        Check::Passed => Outcome::Passed,
        Check::Failed => Outcome::Failed(sentence.to_owned(), evidence.to_vec()),
        Check::NotRun | Check::Inconclusive => Outcome::Skipped(sentence.to_owned()),
    }
}

/// `of` tells the case of a further metric apart: `, p99`.
fn of_comparison(comparison: &Comparison, of: &str) -> Case {
    let evidence = comparison.effect().into_iter().collect();
    let outcome = match comparison.verdict {
        _ if comparison.loses_too_much() => {
            let most = comparison.loss_max.unwrap_or_default() * 100.0;
            Outcome::Failed(
                format!("More is lost than the {most:.1} % allowed. {}", comparison.sentence),
                evidence,
            )
        }
        Verdict::NotComparable => Outcome::Failed(comparison.sentence.clone(), evidence),
        Verdict::Inconclusive => Outcome::Skipped(comparison.sentence.clone()),
        Verdict::Better | Verdict::Worse | Verdict::NoDifference => Outcome::Passed,
    };
    Case {
        class: "comparison".into(),
        name: format!("{} vs {}{of}", comparison.b.label, comparison.a.label),
        time_s: 0.0,
        outcome,
    }
}

/// A variant without a trial, of which nothing else would tell.
fn not_started(variant: &Variant) -> Case {
    let why = variant.reason.clone().unwrap_or_else(|| "no reason is known".into());
    Case {
        class: "variant".into(),
        name: format!("{} starts", variant.name),
        time_s: 0.0,
        outcome: Outcome::Failed(why, Vec::new()),
    }
}

fn of_search(search: &Search) -> Case {
    let outcome = match search.highest_per_s {
        Some(_) => Outcome::Passed,
        None => Outcome::Failed(search.sentence.clone(), Vec::new()),
    };
    Case { class: "search".into(), name: format!("a rate meets {}", search.slo), time_s: 0.0, outcome }
}

/// XML in the making.
#[derive(Default)]
struct Xml {
    text: String,
}

impl Xml {
    fn raw(&mut self, literal: &'static str) -> &mut Xml {
        self.text.push_str(literal);
        self
    }

    fn attribute(&mut self, name: &'static str, value: &str) -> &mut Xml {
        self.text.push_str(&format!(" {name}=\""));
        self.escaped(value, true);
        self.raw("\"")
    }

    fn data(&mut self, text: &str) -> &mut Xml {
        self.escaped(text, false);
        self
    }

    fn escaped(&mut self, text: &str, attribute: bool) {
        for char in text.chars() {
            match char {
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '&' => self.text.push_str("&amp;"),
                '"' => self.text.push_str("&quot;"),
                // A reader would make a space of it.
                '\n' | '\t' | '\r' if attribute => self.text.push_str(&format!("&#{};", char as u32)),
                '\r' => self.text.push_str("&#13;"),
                '\n' | '\t' => self.text.push(char),
                // XML 1.0 has no way to say these.
                char if char.is_control() && char < ' ' => self.text.push('\u{fffd}'),
                '\u{fffe}' | '\u{ffff}' => self.text.push('\u{fffd}'),
                char => self.text.push(char),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> roxmltree::Document<'_> {
        roxmltree::Document::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What the common schema of JUnit asks for: names, order of elements, and totals that are right.
    fn check(text: &str) {
        let document = parsed(text);
        let root = document.root_element();
        assert_eq!(root.tag_name().name(), "testsuites");
        for suite in root.children().filter(roxmltree::Node::is_element) {
            assert_eq!(suite.tag_name().name(), "testsuite");
            let elements: Vec<_> = suite.children().filter(roxmltree::Node::is_element).collect();
            assert_eq!(elements[0].tag_name().name(), "properties");
            let cases = &elements[1..];
            let mut counts = [0; 2];
            let mut time_s = 0.0;
            for case in cases {
                assert_eq!(case.tag_name().name(), "testcase");
                assert!(
                    ["name", "classname"]
                        .iter()
                        .all(|name| case.attribute(*name).is_some_and(|v| !v.is_empty()))
                );
                time_s += case.attribute("time").unwrap().parse::<f64>().unwrap();
                let inside: Vec<_> = case.children().filter(roxmltree::Node::is_element).collect();
                assert!(inside.len() <= 1);
                for outcome in inside {
                    assert!(outcome.attribute("message").is_some());
                    match outcome.tag_name().name() {
                        "failure" => counts[0] += 1,
                        "skipped" => counts[1] += 1,
                        other => panic!("{other}"),
                    }
                }
            }
            let number = |name: &str| suite.attribute(name).unwrap().parse::<usize>().unwrap();
            assert_eq!(
                [number("tests"), number("failures"), number("skipped")],
                [cases.len(), counts[0], counts[1]]
            );
            assert!((suite.attribute("time").unwrap().parse::<f64>().unwrap() - time_s).abs() < 0.5);
            assert_eq!(suite.attribute("timestamp").unwrap().len(), "2026-11-20T23:08:43".len());
        }
    }

    fn failures(text: &str) -> Vec<String> {
        let document = parsed(text);
        let failed = document.descendants().filter(|node| node.has_tag_name("failure"));
        failed.map(|node| node.parent().unwrap().attribute("name").unwrap().to_owned()).collect()
    }

    #[test]
    fn every_document_keeps_to_the_schema() {
        let all: Vec<Document> =
            sample_documents::samples().into_iter().map(|(_, document)| document).collect();
        all.iter().for_each(|document| check(&render(std::slice::from_ref(document))));
        check(&render(&all));
    }

    #[test]
    fn a_good_trial_has_no_failure_and_a_failed_audit_is_one() {
        assert_eq!(failures(&render(&[sample_documents::trial()])), [""; 0]);
        let failed = failures(&render(&[sample_documents::failed_trial()]));
        assert!(failed.contains(&"run".to_owned()), "{failed:?}");
        assert!(failed.iter().any(|name| name.starts_with("audit ")), "{failed:?}");
    }

    #[test]
    fn checks_that_passed_are_one_case_and_each_limit_is_one_of_its_own() {
        let document = sample_documents::open_trial();
        let text = render(std::slice::from_ref(&document));
        let named = |name: &str| text.matches(&format!("name=\"{name}\" classname")).count();
        assert_eq!(named("audits that passed"), 1);
        assert_eq!(named("SLO rate&gt;1000"), 1, "{text}");
        assert_eq!(failures(&text), ["SLO errors&lt;1%".replace("&lt;", "<")]);
        assert!(text.contains("delivery p99.9 is not known"));
        // As many for a run of several trials.
        let (trial, cases) = (document.trials[0].clone(), cases(&document).len());
        let several = Document { trials: vec![Trial { slos: Vec::new(), ..trial }; 20], ..document };
        assert!(super::cases(&several).len() < cases, "{}", super::cases(&several).len());
    }

    #[test]
    fn a_loss_beyond_the_limit_is_a_failure_and_a_loss_within_it_is_none() {
        let mut document = sample_documents::comparison();
        let comparison = sample_documents::compared_mut(&mut document);
        comparison.loss_max = Some(0.001);
        assert!(comparison.loses_too_much(), "the sample loses more than that");
        let said = failures(&render(&[document.clone()]));
        assert!(said.contains(&"through HTTP vs direct".to_owned()), "{said:?}");
        sample_documents::compared_mut(&mut document).loss_max = Some(0.9);
        assert_eq!(failures(&render(&[document])), [""; 0]);
    }

    #[test]
    fn a_level_that_no_rate_keeps_is_a_failure_and_a_step_that_ended_early_is_none() {
        let mut document = sample_documents::search();
        document.trials[1].state = State::Interrupted;
        let text = render(&[document.clone()]);
        assert_eq!((failures(&text), text.contains("<skipped")), (Vec::new(), false));
        let search = document.search.as_mut().unwrap();
        search.highest_per_s = None;
        assert_eq!(failures(&render(&[document])), ["a rate meets new-order.p99<50ms"]);
    }

    #[test]
    fn a_variant_that_could_not_start_is_a_failure() {
        let mut document = sample_documents::experiment();
        let variant = &mut document.experiment.as_mut().unwrap().variants[1];
        (variant.state, variant.reason) = (VariantState::NotStarted, Some("no engine here".into()));
        let name = format!("{} starts", variant.name);
        assert!(failures(&render(&[document])).contains(&name));
    }

    #[test]
    fn control_characters_do_not_break_the_document() {
        let mut document = sample_documents::failed_trial();
        document.trials[0].failure = Some("a\u{0}b\u{1b}[31m\n<c>&\"'\u{ffff}]]>".into());
        let text = render(&[document]);
        let parsed = parsed(&text);
        let message = parsed
            .descendants()
            .find_map(|node| node.has_tag_name("failure").then(|| node.attribute("message")));
        assert_eq!(message.flatten(), Some("a\u{fffd}b\u{fffd}[31m\n<c>&\"'\u{fffd}]]>"));
    }
}
