//! Audits of stored data: queries, and what their rows mean.
//!
//! A workload lists what must hold as [`AuditSet`] queries by name; [`groups`] finds their texts for an engine. Whoever asks
//! the engine hands the rows to [`Audit::judge`]. `C` is what a workload knows about the database besides its rows.

use crate::{Catalogue, CatalogueError, Value};

/// What an audit belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A consistency condition of the workload.
    Consistency,
    /// The shape of the data that the run left behind.
    Shape,
}

/// What an audit that was run has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOutcome {
    Passed,
    /// It does not hold.
    Failed,
    /// The rows do not decide it.
    Inconclusive,
}

impl AuditOutcome {
    /// That of a condition.
    pub const fn from_passed(passed: bool) -> AuditOutcome {
        if passed { AuditOutcome::Passed } else { AuditOutcome::Failed }
    }
}

/// Violations that are listed; a broken database may have millions.
pub const VIOLATIONS_SHOWN: usize = 5;
/// Deviations beyond this many standard errors are not chance: one in two million.
pub const SIGMAS: f64 = 5.0;

/// From rows to a finding.
pub type Judge<C> = fn(&Audit<C>, &[Vec<Value>], &C) -> Finding;

/// Audits that share temporary tables, and so a connection.
#[derive(Debug, Clone)]
pub struct AuditGroup<C> {
    /// Statements that make the temporary tables, in order.
    pub prepare: Vec<String>,
    pub audits: Vec<Audit<C>>,
}

/// A query and what its rows mean.
#[derive(Debug, Clone)]
pub struct Audit<C> {
    /// Its name in results: `warehouse-ytd`.
    pub name: String,
    /// What it belongs to.
    pub family: Family,
    /// The clause or part of the workload's definition that asks for it.
    pub clause: &'static str,
    /// What it checks, for someone who does not know the definition.
    pub sentence: &'static str,
    /// The query; its parameters are the workload's, the same for all its audits.
    pub query: String,
    /// Rows that are enough for a judgement.
    pub rows_max: usize,
    columns: &'static [&'static str],
    judge: Judge<C>,
}

impl<C> Audit<C> {
    /// Judges what the query returned.
    pub fn judge(&self, rows: &[Vec<Value>], context: &C) -> Finding {
        (self.judge)(self, rows, context)
    }

    /// Whether it judges a figure that chance makes of many calls.
    pub const fn is_of_chance(&self) -> bool {
        self.columns.is_empty()
    }

    /// Rows in which a figure cannot be found.
    pub fn unreadable(&self) -> Finding {
        let sentence = format!("not applicable to these figures: {}", self.sentence);
        Finding::not_told(sentence, None)
    }
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub verdict: AuditOutcome,
    /// What holds or does not, in one sentence.
    pub sentence: String,
    /// The first violations.
    pub details: Vec<String>,
    /// The figure that was judged, where one was.
    pub figure: Option<Figure>,
}

impl Finding {
    /// Of a figure, without details.
    pub fn of(verdict: AuditOutcome, sentence: String, figure: Figure) -> Finding {
        Finding { verdict, sentence, details: Vec::new(), figure: Some(figure) }
    }

    /// What is inconclusive, and why.
    pub fn not_told(sentence: String, figure: Option<Figure>) -> Finding {
        Finding { verdict: AuditOutcome::Inconclusive, sentence, details: Vec::new(), figure }
    }
}

/// A share or a ratio, and what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Measured; a share is 0 to 1, a spread that is what chance gives is 1.
    pub measured: f64,
    pub expected: f64,
    /// How far it may be off for this many samples.
    pub tolerance: f64,
    pub samples: u64,
}

/// A judgement of what was sent, which a workload makes of its ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct InputFinding {
    pub name: &'static str,
    /// The clause or part of the workload's definition.
    pub clause: &'static str,
    pub finding: Finding,
}

impl InputFinding {
    /// Of the share of a kind of call: `counted` of all `calls`, where `expected` (0 to 1) was drawn, but for `slack` calls at most
    /// that are of another kind than was drawn.
    pub fn of_share(name: &'static str, counted: u64, calls: u64, expected: f64, slack: u64) -> InputFinding {
        let samples = calls.max(1) as f64;
        let measured = counted as f64 / samples;
        // That all calls are of one kind, or none, needs no tolerance.
        let tolerance = SIGMAS * (expected * (1.0 - expected) / samples).sqrt() + slack as f64 / samples;
        let figure = Figure { measured, expected, tolerance, samples: calls };
        let found = format!(
            "{name} is {:.2} % of {calls} calls; expected {:.2} % ± {:.2}",
            measured * 100.0,
            expected * 100.0,
            tolerance * 100.0
        );
        // A tolerance of half the share would pass what is plainly wrong, so it tells nothing.
        let finding = if calls == 0 || (expected > 0.0 && tolerance >= expected / 2.0) {
            Finding::of(AuditOutcome::Inconclusive, format!("too few to decide whether {found}"), figure)
        } else if (measured - expected).abs() <= tolerance {
            Finding::of(AuditOutcome::Passed, found, figure)
        } else {
            Finding::of(AuditOutcome::Failed, format!("violated: {found}"), figure)
        };
        InputFinding { name, clause: "mix", finding }
    }
}

/// Audits of a workload that share temporary tables, by the names of their queries.
pub struct AuditSet<C: 'static> {
    /// Statements that make the temporary tables, in order.
    pub prepare: &'static [&'static str],
    pub audits: &'static [About<C>],
}

/// What a workload says of one of its audits.
pub struct About<C> {
    query: &'static str,
    family: Family,
    clause: &'static str,
    sentence: &'static str,
    columns: &'static [&'static str],
    judge: Judge<C>,
}

impl<C> About<C> {
    /// A consistency condition whose query returns what violates it, in these columns.
    pub const fn condition(
        query: &'static str,
        clause: &'static str,
        sentence: &'static str,
        columns: &'static [&'static str],
    ) -> About<C> {
        About { query, family: Family::Consistency, clause, sentence, columns, judge: violations }
    }

    /// A property of shape whose query returns what violates it, in these columns.
    pub const fn shape(
        query: &'static str,
        clause: &'static str,
        sentence: &'static str,
        columns: &'static [&'static str],
    ) -> About<C> {
        About { query, family: Family::Shape, clause, sentence, columns, judge: violations }
    }

    /// A property of shape whose query returns figures.
    pub const fn figure(
        query: &'static str,
        clause: &'static str,
        sentence: &'static str,
        judge: Judge<C>,
    ) -> About<C> {
        About { query, family: Family::Shape, clause, sentence, columns: &[], judge }
    }

    /// The same, judged otherwise.
    #[must_use]
    pub const fn judged(self, judge: Judge<C>) -> About<C> {
        About { judge, ..self }
    }

    /// The name of its query.
    pub const fn query(&self) -> &'static str {
        self.query
    }

    /// What it belongs to.
    pub const fn family(&self) -> Family {
        self.family
    }

    /// The clause or part of the workload's definition that asks for it.
    pub const fn clause(&self) -> &'static str {
        self.clause
    }

    fn read(&self, catalogue: &Catalogue) -> Result<Audit<C>, CatalogueError> {
        Ok(Audit {
            name: self.query.replace('_', "-"),
            family: self.family,
            clause: self.clause,
            sentence: self.sentence,
            query: catalogue.text(self.query)?,
            rows_max: VIOLATIONS_SHOWN + 1,
            columns: self.columns,
            judge: self.judge,
        })
    }
}

/// The audits that are asked for, with their texts, in groups that may run side by side.
pub fn groups<C>(asked: &[AuditSet<C>], catalogue: &Catalogue) -> Result<Vec<AuditGroup<C>>, CatalogueError> {
    let group = |asked: &AuditSet<C>| {
        Ok(AuditGroup {
            prepare: asked.prepare.iter().map(|name| catalogue.text(name)).collect::<Result<_, _>>()?,
            audits: asked.audits.iter().map(|about| about.read(catalogue)).collect::<Result<_, _>>()?,
        })
    };
    asked.iter().map(group).collect()
}

/// Nothing may come back.
pub fn violations<C>(audit: &Audit<C>, rows: &[Vec<Value>], _: &C) -> Finding {
    let details = rows.iter().take(VIOLATIONS_SHOWN).map(|row| described(audit.columns, row)).collect();
    let (verdict, sentence) = match rows.len() {
        0 => (AuditOutcome::Passed, audit.sentence.to_owned()),
        count if count > VIOLATIONS_SHOWN => {
            (AuditOutcome::Failed, format!("violated more than {VIOLATIONS_SHOWN} times: {}", audit.sentence))
        }
        1 => (AuditOutcome::Failed, format!("violated once: {}", audit.sentence)),
        count => (AuditOutcome::Failed, format!("violated {count} times: {}", audit.sentence)),
    };
    Finding { verdict, sentence, details, figure: None }
}

fn described(columns: &[&str], row: &[Value]) -> String {
    let pairs: Vec<String> = columns.iter().zip(row).map(|(name, value)| format!("{name} {value}")).collect();
    pairs.join(", ")
}

/// The one row of a query, value by value; nothing where there are more or fewer, or `read` takes one for no figure.
pub fn only_row<T: Copy + Default, const N: usize>(
    rows: &[Vec<Value>],
    read: impl Fn(&Value) -> Option<T>,
) -> Option<[T; N]> {
    let [row] = rows else { return None };
    let row: &[Value; N] = row.as_slice().try_into().ok()?;
    let mut figures = [T::default(); N];
    for (figure, value) in figures.iter_mut().zip(row) {
        *figure = read(value)?;
    }
    Some(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: [AuditSet<()>; 1] = [AuditSet {
        prepare: &["prepare_sums"],
        audits: &[
            About::condition("warehouse_ytd", "3.3.2.1", "it adds up", &["warehouse", "sum"]),
            About::figure("skew", "2.1.6", "it is skewed", |audit, rows, ()| {
                match only_row(rows, Value::int) {
                    Some([samples]) => {
                        let samples = u64::try_from(samples).unwrap();
                        let figure = Figure { measured: 1.0, expected: 1.0, tolerance: 0.0, samples };
                        Finding::of(AuditOutcome::Passed, audit.sentence.into(), figure)
                    }
                    None => audit.unreadable(),
                }
            }),
        ],
    }];

    fn catalogue() -> Catalogue {
        let text = "-- name: prepare_sums\ncreate temp table sums as select 1;\n-- name: warehouse_ytd\nselect 1, 2;\n\
                    -- name: skew\nselect 3;\n";
        Catalogue::parse(text).unwrap()
    }

    #[test]
    fn what_is_asked_for_becomes_audits_with_the_texts_of_the_catalogue() {
        let found = groups(&ASKED, &catalogue()).unwrap();
        let [AuditGroup { prepare, audits }] = &found[..] else { panic!("{found:?}") };
        assert!(prepare.len() == 1 && prepare[0].starts_with("create temp table sums"), "{prepare:?}");
        let [ytd, skew] = &audits[..] else { panic!("{audits:?}") };
        assert_eq!(
            (ytd.name.as_str(), ytd.clause, ytd.family),
            ("warehouse-ytd", "3.3.2.1", Family::Consistency)
        );
        assert_eq!((skew.query.trim_end_matches(';'), skew.family), ("select 3", Family::Shape));
        let none = groups(&ASKED, &Catalogue::parse("-- name: skew\nselect 3;\n").unwrap());
        assert!(matches!(none, Err(CatalogueError::Missing(name)) if name == "prepare_sums"));
    }

    #[test]
    fn whatever_comes_back_is_a_violation_and_the_first_are_shown_by_name() {
        let found = groups(&ASKED, &catalogue()).unwrap();
        let ytd = &found[0].audits[0];
        let judge = |count: usize| ytd.judge(&vec![vec![Value::Int(7), Value::Int(9)]; count], &());
        assert_eq!((judge(0).verdict, judge(0).sentence.as_str()), (AuditOutcome::Passed, "it adds up"));
        let once = judge(1);
        assert_eq!(
            (once.verdict, once.sentence.as_str()),
            (AuditOutcome::Failed, "violated once: it adds up")
        );
        assert_eq!(once.details, ["warehouse 7, sum 9"]);
        assert_eq!(judge(2).sentence, "violated 2 times: it adds up");
        let many = judge(ytd.rows_max);
        assert_eq!(
            (many.details.len(), many.sentence.as_str()),
            (5, "violated more than 5 times: it adds up")
        );
    }

    #[test]
    fn figures_are_those_of_the_only_row_or_tell_nothing() {
        let found = groups(&ASKED, &catalogue()).unwrap();
        let judge = |rows: &[Vec<Value>]| found[0].audits[1].judge(rows, &());
        let listed = judge(&[vec![Value::Int(3)]]);
        assert_eq!(
            (listed.verdict, listed.figure.map(|figure| figure.samples)),
            (AuditOutcome::Passed, Some(3))
        );
        for rows in
            [vec![], vec![vec![Value::Null]], vec![vec![Value::Int(1), Value::Int(2)]], vec![vec![]; 2]]
        {
            assert_eq!(judge(&rows).verdict, AuditOutcome::Inconclusive, "{rows:?}");
        }
    }
}
