//! Connections by the simple protocol, as `pgbench` has them unless told otherwise: each statement is one text with its
//! parameters in it, answers come as text, and nothing is prepared.
//!
//! Whole numbers and null are all that is ever composed into a text, so that nothing which someone else wrote becomes part
//! of a statement: `docs/decisions/0026`. What a column's type would say is not known here: a date is not a number, and the
//! blanks that fill up a `char(n)` stay.

use crate::tx::{self, Control, Transacting, Tx};
use crate::{Connected, Link, PostgresOpener, connect_to_write};
use futures_util::StreamExt as _;
use model::{DefectKind, Fault, Home, Nanos, OpenError, Stack};
use sql::{
    ColumnError, Columns, Dialect, Param, Read, ServerUrl, SqlConn, SqlOpener, StmtId, Take, TxKind,
    positional,
};
use std::fmt::Write as _;
use std::iter::repeat_n;
use std::pin::pin;
use std::sync::Arc;
use tokio_postgres::{Client, Error, SimpleQueryMessage, SimpleQueryRow};

/// Opens connections to one database that speak the simple protocol.
#[derive(Debug)]
pub struct SimpleOpener {
    reached: PostgresOpener,
    statements: Arc<[Split]>,
}

impl SimpleOpener {
    /// As [`PostgresOpener::reach`], which has the statements prepared once to see that they fit the schema.
    ///
    /// # Errors
    /// Those of [`PostgresOpener::reach`]; [`OpenError::Unusable`] when a statement has a question mark that is not a parameter.
    pub async fn reach(url: &ServerUrl, statements: Vec<String>) -> Result<SimpleOpener, OpenError> {
        let split = statements.iter().map(|text| {
            let why = || format!("a question mark in the statement `{text}` is not a parameter");
            Split::of(text).ok_or_else(|| OpenError::Unusable { what: url.place(), why: why() })
        });
        let split = split.collect::<Result<_, _>>()?;
        let reached = PostgresOpener::reach_by("simple, text", url, statements).await?;
        Ok(SimpleOpener { reached, statements: split })
    }
}

impl SqlOpener for SimpleOpener {
    type Conn = SimpleConn;
    const HOME: Home = Home::Task;

    async fn open(&self) -> Result<SimpleConn, OpenError> {
        let Connected { client, link, .. } = connect_to_write(&self.reached.url).await?;
        let statements = Arc::clone(&self.statements);
        Ok(SimpleConn { client, link, statements, text: String::new(), tx: Tx::new() })
    }

    fn stack(&self) -> Stack {
        Stack { style: "simple".into(), ..self.reached.stack() }
    }
}

/// A connection to PostgreSQL that sends texts.
#[derive(Debug)]
pub struct SimpleConn {
    client: Client,
    link: Link,
    statements: Arc<[Split]>,
    /// The text of now, in room that is used again.
    text: String,
    tx: Tx,
}

impl SimpleConn {
    /// Sends a statement and gives each message of the answer to `hear`.
    #[inline]
    async fn ask(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        mut hear: impl FnMut(SimpleQueryMessage),
    ) -> Result<(), Fault> {
        let statement = &self.statements[usize::from(stmt.0)];
        if let Err(refused) = statement.compose(params, &mut self.text) {
            self.tx.failed = true;
            return Err(refused);
        }
        let asked = async {
            let mut answer = pin!(self.client.simple_query_raw(&self.text).await?);
            // To the end: the next statement must find the connection idle.
            while let Some(message) = answer.next().await {
                hear(message?);
            }
            Ok(())
        };
        self.link.until(asked).await.map_err(|error| self.tx.fault(&error))
    }

    /// Gives every row of a statement to `take`, up to the first that it refuses.
    #[inline]
    async fn each(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        mut take: impl FnMut(&Current<'_>) -> Result<(), ColumnError>,
    ) -> Result<(), Fault> {
        let mut refused = Ok(());
        self.ask(stmt, params, |message| {
            if let SimpleQueryMessage::Row(row) = message
                && refused.is_ok()
            {
                refused = take(&Current(&row));
            }
        })
        .await?;
        Ok(refused?)
    }
}

impl Transacting for SimpleConn {
    fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    fn is_connected(&self) -> bool {
        self.link.is_open()
    }

    async fn control(&mut self, control: Control) -> Result<(), Error> {
        self.link.until(self.client.batch_execute(Control::TEXTS[control as usize])).await
    }
}

impl SqlConn for SimpleConn {
    const DIALECT: Dialect = Dialect::Postgres;
    const IDLE_MAX: Nanos = Link::IDLE_MAX;

    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        tx::begin(self, tx).await
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        tx::commit(self).await
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        tx::rollback(self).await
    }

    async fn is_alive(&mut self) -> bool {
        self.link.look().await
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let mut changed = 0;
        self.ask(stmt, params, |message| {
            if let SimpleQueryMessage::CommandComplete(count) = message {
                changed = count;
            }
        })
        .await?;
        Ok(changed)
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        let mut first = None;
        self.each(stmt, params, |row| {
            if first.is_none() {
                first = Some(read(row)?);
            }
            Ok(())
        })
        .await?;
        Ok(first)
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        self.each(stmt, params, |row| take(state, row)).await
    }
}

/// A statement, split at its parameters.
#[derive(Debug, PartialEq, Eq)]
struct Split {
    /// What stands before each parameter, and which one that is, from 0.
    before: Vec<(String, u16)>,
    /// What stands behind the last.
    end: String,
}

impl Split {
    /// A statement whose parameters are written `?1`, `?2`, …; none if it has another question mark, in a literal for one,
    /// since no one could tell the two apart from here on.
    fn of(text: &str) -> Option<Split> {
        let positional = positional(text);
        let mut pieces: Vec<String> = positional.text.split('?').map(String::from).collect();
        let end = pieces.pop()?;
        let is_whole = pieces.len() == positional.order.len();
        is_whole.then(|| Split { before: pieces.into_iter().zip(positional.order).collect(), end })
    }

    /// Writes the statement with its parameters into `text`, over what was there.
    fn compose(&self, params: &[Param<'_>], text: &mut String) -> Result<(), Fault> {
        text.clear();
        for (before, index) in &self.before {
            text.push_str(before);
            match params.get(usize::from(*index)) {
                // In parentheses, since `- -5` without its blank would begin a comment, and since `::` binds closer than `-`.
                Some(Param::Int(value @ ..0)) => write!(text, "({value})"),
                Some(Param::Int(value)) => write!(text, "{value}"),
                Some(Param::Null) => write!(text, "null"),
                Some(Param::Text(_) | Param::Cents(_)) => {
                    return Err(refused(*index, "is not a whole number"));
                }
                None => return Err(refused(*index, "is missing")),
            }
            .expect("a text takes everything");
        }
        text.push_str(&self.end);
        Ok(())
    }
}

/// A parameter that is never composed into a text: nothing was sent.
#[cold]
fn refused(index: u16, why: &str) -> Fault {
    let number = u32::from(index) + 1;
    let what =
        format!("parameter {number} {why}; by the simple protocol only whole numbers and null are sent");
    Fault::defect(DefectKind::BadCall, what)
}

/// The row at hand.
struct Current<'a>(&'a SimpleQueryRow);

impl Current<'_> {
    #[inline]
    fn value(&self, index: usize) -> Result<Option<&str>, ColumnError> {
        self.0.try_get(index).map_err(|_| ColumnError::new(index, "there"))
    }
}

impl Columns for Current<'_> {
    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        let found = self.value(index)?;
        found.and_then(|text| decimal(text, 0)).ok_or_else(|| ColumnError::new(index, "a whole number"))
    }

    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        let Some(text) = self.value(index)? else { return Ok(None) };
        decimal(text, 0).map(Some).ok_or_else(|| ColumnError::new(index, "a whole number or null"))
    }

    fn scaled(&self, index: usize, digits: u32) -> Result<i64, ColumnError> {
        let found = self.value(index)?;
        found
            .and_then(|text| decimal(text, digits))
            .ok_or_else(|| ColumnError::new(index, "a number of so few digits"))
    }

    fn text(&self, index: usize) -> Result<&str, ColumnError> {
        self.value(index)?.ok_or_else(|| ColumnError::new(index, "a text"))
    }
}

/// A number as the whole number of its last digit, `digits` behind the point, exactly; none where it is not a number, too
/// large, or has more digits than asked for.
#[inline]
fn decimal(text: &str, digits: u32) -> Option<i64> {
    let (unsigned, negative) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let fraction = fraction.trim_end_matches('0');
    let missing = usize::try_from(digits).ok()?.checked_sub(fraction.len())?;
    if whole.is_empty() {
        return None;
    }
    let mut sum = 0_i64;
    for digit in whole.bytes().chain(fraction.bytes()).chain(repeat_n(b'0', missing)) {
        let digit = char::from(digit).to_digit(10)?;
        // Downwards, where there is one more number.
        sum = sum.checked_mul(10)?.checked_sub(digit.into())?;
    }
    if negative { Some(sum) } else { sum.checked_neg() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Cents, Defect};

    /// `params` composed into `text`, or what is said of them.
    #[track_caller]
    fn check(text: &str, params: &[Param<'_>], expected: Result<&str, &str>) {
        let mut into = "what was there".to_owned();
        match (Split::of(text).unwrap().compose(params, &mut into), expected) {
            (Ok(()), Ok(expected)) => assert_eq!(into, expected),
            (Err(Fault::Defect(defect)), Err(expected)) => {
                let Defect { kind, what } = *defect;
                assert!(kind == DefectKind::BadCall && what.contains(expected), "{what}");
            }
            (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn whole_numbers_and_null_are_composed_where_they_belong() {
        let int = Param::Int;
        check("select 1", &[], Ok("select 1"));
        check("a = ?2 + ?1 and b = ?2", &[int(7), int(80)], Ok("a = 80 + 7 and b = 80"));
        check("?1", &[int(i64::MAX)], Ok("9223372036854775807"));
        check("values (?1, ?2)", &[int(0), Param::Null], Ok("values (0, null)"));
    }

    #[test]
    fn a_negative_number_makes_neither_a_comment_nor_another_term() {
        check("a - ?1, a -?1", &[Param::Int(-5)], Ok("a - (-5), a -(-5)"));
        check("?1::integer", &[Param::Int(-5)], Ok("(-5)::integer"));
        check("?1", &[Param::Int(i64::MIN)], Ok("(-9223372036854775808)"));
    }

    #[test]
    fn texts_and_amounts_are_refused_and_so_is_what_is_not_there() {
        check("?1, ?2", &[Param::Int(1), Param::Text("x'; --")], Err("parameter 2 is not a whole number"));
        check("?1", &[Param::Text("1")], Err("parameter 1 is not a whole number"));
        check("?1", &[Param::Cents(Cents(100))], Err("parameter 1 is not a whole number"));
        check("?1 + ?2", &[Param::Int(1)], Err("parameter 2 is missing"));
    }

    #[test]
    fn a_question_mark_that_is_no_parameter_is_not_taken() {
        for text in
            ["select 'really?', ?1", "select '?1'", "select '{}'::jsonb ? 'a'", "?0", "? ?1", "'it''s ?1'"]
        {
            assert_eq!(Split::of(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_read_exactly_or_not_at_all() {
        for (text, digits, expected) in [
            ("0", 0, Some(0)),
            ("-5000", 0, Some(-5_000)),
            ("12.00", 0, Some(12)),
            ("12.29", 2, Some(1_229)),
            ("-0.07", 2, Some(-7)),
            ("7", 2, Some(700)),
            ("0.1250", 4, Some(1_250)),
            ("0.125", 2, None),
            ("9223372036854775807", 0, Some(i64::MAX)),
            ("-9223372036854775808", 0, Some(i64::MIN)),
            ("9223372036854775808", 0, None),
            ("92233720368547758.07", 2, Some(i64::MAX)),
            ("92233720368547758.08", 2, None),
            ("", 0, None),
            ("-", 0, None),
            ("--1", 0, None),
            ("+1", 0, None),
            (" 1", 0, None),
            ("1e3", 0, None),
            ("NaN", 0, None),
            ("2026-01-31 00:00:00", 0, None),
        ] {
            assert_eq!(decimal(text, digits), expected, "{text} with {digits} digits");
        }
    }
}
