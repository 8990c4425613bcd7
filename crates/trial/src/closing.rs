//! Closing questions: when the last call has been answered, the subject is asked what its calls have left behind, and each answer is
//! compared with what our own statements read.

use anyhow::Result;
use contract::conformance::{CallResult, call_json, describe, short};
use deploy::Interrupt;
use measure::Monotonic;
use model::{CallWork, Clock, Fault, Inputs, Session, Target, Wanted};
use result::{Audit, AuditFamily, AuditWhen, Check};
use sql::{DbUrl, Dialect};
use std::time::Duration;
use targets::{Driven, Driver, How, Style, TrialTarget, wait_for};
use workload::Streams;

/// Questions of each kind.
const EACH: usize = 50;
/// Clients of whose calls they ask, at most.
const CLIENTS: u32 = 8;
/// The latest calls of each client that they are chosen from.
const LATEST: u64 = 2_000;
/// Calls of a client that are drawn again to find these, at most.
const DRAWN_MAX: u64 = 200_000;
/// A question that is not answered is asked again after these times; so is one whose answer differs where the data may still change: calls
/// are in doubt, a relay works, or nodes of a cluster apply what others commit. Once one has differed in the end, others are asked again
/// after the first of them alone.
pub(crate) const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1_500)];
/// All questions together take no longer than this.
const LONGEST: Duration = Duration::from_secs(60);
/// Differences that are shown, of each kind.
pub(crate) const SHOWN: usize = 5;

/// Who is asked, and about what.
pub(crate) struct Closing<'a, W: Driven> {
    pub(crate) target: &'a TrialTarget<W>,
    /// Whether our own sessions are what is measured.
    pub(crate) is_direct: bool,
    pub(crate) how: How,
    pub(crate) urls: &'a [DbUrl],
    pub(crate) size: &'a W::Extent,
    pub(crate) streams: &'a Streams<'a>,
    /// The clients that have made calls, by their numbers.
    pub(crate) clients: std::ops::Range<u32>,
    /// Calls that each of them has made, on average.
    pub(crate) made: u64,
    /// Whether some may still be done.
    pub(crate) is_in_doubt: bool,
    pub(crate) interrupt: &'a Interrupt,
}

/// What came of the questions of a kind.
enum Compared {
    /// What differs, in words.
    Differences(Vec<String>),
    /// Why it is not known.
    Unknown(String),
}

impl<W: Driven> Closing<'_, W> {
    /// Asks the subject and the store, and says of each kind of question whether they agree. Nothing where the subject reads by
    /// the same statements in the same way, or where the workload has no questions.
    pub(crate) fn audits(&self) -> Vec<Audit> {
        let ours = reference(self.how, self.urls.len());
        if self.is_direct && ours == self.how {
            return Vec::new();
        }
        let questions = self.questions();
        if questions.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let store = targets::target_over::<W>(ours, self.urls, self.size);
        let clock = Monotonic::start();
        let mut audits = Vec::new();
        for (kind, calls) in W::KINDS.iter().zip(questions).filter(|(_, calls)| !calls.is_empty()) {
            let started = clock.now();
            let left = LONGEST.saturating_sub(Duration::from(started));
            let compared = match &store {
                Ok(store) => self.compare_within(store, &calls, left),
                Err(error) => Compared::Unknown(format!("{error:#}")),
            };
            let judged = judged(kind.name, calls.len(), compared);
            let duration_s = (clock.now() - started).as_secs_f64();
            audits.push(of_answers(&format!("closing-{}", kind.name), judged, duration_s));
        }
        audits
    }

    /// Questions of each kind, evenly from the latest calls of the first clients.
    fn questions(&self) -> Vec<Vec<W::Call>> {
        let mut all: Vec<Vec<W::Call>> = W::KINDS.iter().map(|_| Vec::new()).collect();
        let inputs = workload::inputs::<W>(self.size, self.streams);
        let drawn = self.made.clamp(1, DRAWN_MAX);
        for client in self.clients.clone().take(CLIENTS as usize) {
            let mut inputs = inputs(client);
            for number in 0..drawn {
                let call = inputs.draw();
                if let Some(question) = W::closing(&call).filter(|_| number + LATEST >= drawn) {
                    all[W::kind(&question)].push(question);
                }
            }
        }
        let some = |calls: Vec<W::Call>| {
            let apart = calls.len().div_ceil(EACH).max(1);
            calls.into_iter().step_by(apart).collect()
        };
        all.into_iter().map(some).collect()
    }

    fn compare_within(&self, store: &TrialTarget<W>, questions: &[W::Call], left: Duration) -> Compared {
        let mut differences = Vec::new();
        let compared = wait_for(async {
            tokio::time::timeout(left, self.compare(store, questions, &mut differences)).await
        });
        let unknown = match compared {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(why))) => Some(why),
            Ok(Err(_)) => Some("there was no answer in time".into()),
            Err(error) => Some(format!("{error:#}")),
        };
        // What differs does so, whatever could not be asked after it.
        match unknown.filter(|_| differences.is_empty()) {
            Some(why) => Compared::Unknown(why),
            None => Compared::Differences(differences),
        }
    }

    /// Adds what the subject answers otherwise than it is stored; ends with the reason where one of them does not answer.
    async fn compare(
        &self,
        store: &TrialTarget<W>,
        questions: &[W::Call],
        differences: &mut Vec<String>,
    ) -> Result<(), String> {
        let mut subject = self.target.open(0).await.map_err(|error| error.to_string())?;
        let mut ours = store.open(0).await.map_err(|error| error.to_string())?;
        let nodes = |url: &DbUrl| matches!(url, DbUrl::Server(url) if url.nodes().len() > 1);
        let is_relayed = self.how.style.is_relayed();
        let changes = self.is_in_doubt || is_relayed || self.urls.iter().any(nodes);
        for question in questions {
            if self.interrupt.requested() {
                return Err("it was interrupted".into());
            }
            let pauses = if differences.is_empty() { &PAUSES[..] } else { &PAUSES[..1] };
            let mut both = ask::<W>(&mut subject, &mut ours, question, Wanted::default()).await;
            let mut wrong = None;
            for pause in pauses {
                match &both {
                    (Ok(answered), Ok(stored)) if answered == stored => break,
                    (Ok(_), Ok(_)) => {
                        wrong = Some(differing::<W>(question, &both));
                        if !changes {
                            break;
                        }
                    }
                    _ => {}
                }
                tokio::time::sleep(*pause).await;
                both = ask::<W>(&mut subject, &mut ours, question, Wanted::default()).await;
            }
            match &both {
                (Ok(answered), Ok(stored)) if answered == stored => continue,
                (Err(fault @ (Fault::Refused(_) | Fault::InDoubt(_) | Fault::Conflict(_))), _) => {
                    // The first answer was wrong, whatever comes of asking again.
                    differences.extend(wrong.map(|wrong| format!("{wrong}; asked again: {fault}")));
                    return Err(format!("the subject does not answer: {fault}"));
                }
                (_, Err(fault)) => return Err(format!("Stackmark's own session does not answer: {fault}")),
                _ => {}
            }
            // Once more, for the whole of both.
            let whole = ask::<W>(&mut subject, &mut ours, question, Wanted::Both).await;
            differences.push(match (&whole, wrong) {
                // The first answer was wrong, whatever comes of asking again.
                ((Err(fault), _), Some(wrong)) => format!("{wrong}; asked again: {fault}"),
                ((Ok(answered), Ok(stored)), Some(wrong)) if answered == stored => {
                    format!("{wrong}; the same when asked again")
                }
                _ => differing::<W>(question, &whole),
            });
            if differences.len() > SHOWN {
                break;
            }
        }
        Ok(())
    }
}

/// What differs, in words.
fn differing<W: Driven>(question: &W::Call, both: &(CallResult<W>, CallResult<W>)) -> String {
    let [answered, stored] = [&both.0, &both.1].map(|answer| short(&describe::<W>(answer)));
    format!("{}: answered {answered}, stored {stored}", short(&call_json::<W>(question)))
}

/// A question to both.
async fn ask<W: Driven>(
    subject: &mut impl Session<W>,
    ours: &mut impl Session<W>,
    question: &W::Call,
    wanted: Wanted,
) -> (CallResult<W>, CallResult<W>) {
    let answered = subject.run(question, &mut CallWork { wanted, ..CallWork::default() }).await;
    let stored = ours.run(question, &mut CallWork { wanted, ..CallWork::default() }).await;
    (answered, stored)
}

/// An audit of answers.
pub(crate) fn of_answers(
    name: &str,
    (check, sentence, violations): (Check, String, Vec<String>),
    duration_s: f64,
) -> Audit {
    Audit {
        name: name.to_owned(),
        store: None,
        family: AuditFamily::Responses,
        when: AuditWhen::AfterRun,
        clause: None,
        check,
        sentence,
        violations,
        duration_s,
    }
}

fn judged(kind: &str, count: usize, compared: Compared) -> (Check, String, Vec<String>) {
    match compared {
        Compared::Unknown(why) => {
            let sentence = format!("not compared: the {kind} answers after the last call ({why})");
            (Check::Inconclusive, sentence, Vec::new())
        }
        Compared::Differences(none) if none.is_empty() => {
            let sentence = format!("all {count} {kind} answers after the last call match the stored data");
            (Check::Passed, sentence, none)
        }
        Compared::Differences(all) => {
            let wrong = if all.len() > SHOWN { format!("more than {SHOWN}") } else { all.len().to_string() };
            let sentence =
                format!("{wrong} of {count} {kind} answers after the last call differ from the stored data");
            (Check::Failed, sentence, all.into_iter().take(SHOWN).collect())
        }
    }
}

/// Our own statements, one after the other, through the driver that is in use where none is chosen.
pub(crate) fn reference(how: How, stores: usize) -> How {
    let driver = match how.dialect {
        Dialect::Sqlite => Driver::Rusqlite,
        Dialect::Postgres => Driver::TokioPostgres,
        Dialect::MySql => Driver::MySqlAsync,
    };
    // Over several stores all styles read alike, and this one does nothing else: it brings no earlier call to its end.
    let style = if stores > 1 { Style::Saga } else { Style::Plain };
    How { driver, style, ..how }
}
