//! One call, one procedure.

use super::answer;
use super::procedures::Procedure;
use adapter_mysql_async::MySqlConn;
use arrayvec::{ArrayString, ArrayVec};
use model::{
    CallWork, Clock, DefectKind, Fault, Nanos, Refusal, Session, StatementClock, StatementTimes, Verdict,
    Workload,
};
use sql::{ColumnError, Columns, IDLE_MAX, Param, SqlConn};
use std::fmt::Write;
use workload_tpcc::{Call, LINES_MAX, Line, NewOrder, Outcome, PROCEDURE, Tpcc, Who};

/// Runs the transactions by one procedure call each.
#[derive(Debug)]
pub struct ProcedureSession<K> {
    conn: MySqlConn,
    clock: K,
    /// When the last call ended.
    used: Nanos,
    calls: StatementClock,
}

/// Characters of a line at most: four numbers of up to ten digits, a pass of two, and what divides them.
const LINE_CHARS: usize = 4 * 10 + 2 + 7;
/// The lines as JSON, and the passes that they take.
struct Packed {
    lines: ArrayString<{ LINE_CHARS * LINES_MAX + 2 }>,
    passes: usize,
}

impl<K: Clock> ProcedureSession<K> {
    pub(crate) fn new(conn: MySqlConn, clock: K) -> ProcedureSession<K> {
        ProcedureSession { conn, used: clock.now(), clock, calls: StatementClock::default() }
    }

    async fn transact(&mut self, call: &Call, rows: &mut u32) -> Result<Outcome, Fault> {
        let result = self.call(call, rows).await;
        if let Err(Fault::Conflict(_) | Fault::Refused(_) | Fault::Defect(_)) = result {
            // The procedure was left in its middle, and its transaction with it. The fault tells more than one of the
            // roll-back; after a commit or where nothing is open this does nothing.
            let _ = self.conn.rollback().await;
        }
        result
    }

    async fn call(&mut self, call: &Call, rows: &mut u32) -> Result<Outcome, Fault> {
        match call {
            Call::NewOrder(call) => {
                let Packed { lines, passes } = packed(call);
                let params = [
                    call.w_id.into(),
                    call.d_id.into(),
                    call.c_id.into(),
                    (call.lines.len() as i64).into(),
                    i64::from(call.all_local()).into(),
                    Param::Text(&lines),
                    (passes as i64).into(),
                ];
                let outcome = self.one(Procedure::NewOrder, &params, true, rows, answer::new_order).await?;
                outcome.ok_or_else(|| unanswered("stackmark_new_order"))
            }
            Call::Payment(call) => {
                let (c_id, c_last) = who(&call.customer);
                let params = [
                    call.w_id.into(),
                    call.d_id.into(),
                    call.c_w_id.into(),
                    call.c_d_id.into(),
                    c_id.into(),
                    Param::Text(c_last),
                    call.h_amount.into(),
                ];
                let outcome = self.one(Procedure::Payment, &params, true, rows, answer::payment).await?;
                outcome.ok_or_else(|| no_such_customer(&call.customer))
            }
            Call::OrderStatus(call) => {
                let (c_id, c_last) = who(&call.customer);
                let params = [call.w_id.into(), call.d_id.into(), c_id.into(), Param::Text(c_last)];
                let mut report = None;
                self.each(Procedure::OrderStatus, &params, false, rows, &mut |row| {
                    answer::order_status(row, &mut report)
                })
                .await?;
                report.map(Outcome::Status).ok_or_else(|| no_such_customer(&call.customer))
            }
            Call::Delivery(call) => {
                let params = [call.w_id.into(), call.o_carrier_id.into()];
                let outcome = self.one(Procedure::Delivery, &params, true, rows, answer::delivery).await?;
                outcome.ok_or_else(|| unanswered("stackmark_delivery"))
            }
            Call::StockLevel(call) => {
                let params = [call.w_id.into(), call.d_id.into(), call.threshold.into()];
                let outcome =
                    self.one(Procedure::StockLevel, &params, false, rows, answer::stock_level).await?;
                outcome.ok_or_else(|| unanswered("stackmark_stock_level"))
            }
        }
    }

    /// The one row of a procedure, if it gives one.
    async fn one(
        &mut self,
        procedure: Procedure,
        params: &[Param<'_>],
        writes: bool,
        rows: &mut u32,
        read: fn(&dyn Columns) -> Result<Outcome, ColumnError>,
    ) -> Result<Option<Outcome>, Fault> {
        let mut outcome = None;
        self.each(procedure, params, writes, rows, &mut |row| {
            outcome = Some(read(row)?);
            Ok(())
        })
        .await?;
        Ok(outcome)
    }

    async fn each(
        &mut self,
        procedure: Procedure,
        params: &[Param<'_>],
        writes: bool,
        rows: &mut u32,
        read: &mut (dyn FnMut(&dyn Columns) -> Result<(), ColumnError> + Send),
    ) -> Result<(), Fault> {
        self.conn
            .call(procedure.id(), params, writes, &mut |_set, row| {
                *rows += 1;
                read(row)
            })
            .await
    }
}

impl<K: Clock> Session<Tpcc> for ProcedureSession<K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.calls.start(work);
        let (asked, mut rows) = (self.clock.now(), 0);
        if asked - self.used > IDLE_MAX && !self.conn.is_alive().await {
            return Err(Fault::Refused(Refusal::Unreachable));
        }
        let sent = self.calls.asked(&self.clock);
        let result = self.transact(call, &mut rows).await;
        self.calls.answered(PROCEDURE, sent, &self.clock);
        work.attempts += 1;
        // Begin, statements and commit are one round trip; none of it can be distinguished from here.
        self.used = self.clock.now();
        work.spent.statements += self.used - asked;
        work.rows += rows;
        if let Ok(outcome) = &result {
            work.statements += 1;
            work.commits += u32::from(Tpcc::verdict(outcome) == Verdict::Committed);
        }
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.calls.times())
    }
}

/// A customer by number or by name, as the procedures take one; the other is zero, or empty.
fn who(customer: &Who) -> (u32, &str) {
    match customer {
        Who::Id(c_id) => (*c_id, ""),
        Who::LastName(name) => (0, name),
    }
}

/// The lines sorted by their stock rows: two orders that want the same rows then wait for each other in one direction only.
/// An unused item number is the highest of all, so it comes last. Lines of one stock row take a pass each.
fn packed(call: &NewOrder) -> Packed {
    let mut order: ArrayVec<usize, LINES_MAX> = (0..call.lines.len()).collect();
    order.sort_by_key(|index| (call.lines[*index].i_id, call.lines[*index].supply_w_id, *index));
    let mut packed = Packed { lines: ArrayString::new(), passes: 0 };
    let (mut last, mut pass) = (None, 0);
    for index in order {
        let (number, line) = (index + 1, &call.lines[index]);
        let stock = Some((line.i_id, line.supply_w_id));
        pass = if stock == last { pass + 1 } else { 0 };
        last = stock;
        packed.passes = packed.passes.max(pass + 1);
        let before = if packed.lines.is_empty() { '[' } else { ',' };
        let Line { i_id, supply_w_id, quantity } = line;
        write!(packed.lines, "{before}[{number},{i_id},{supply_w_id},{quantity},{pass}]")
            .expect("15 lines of four numbers and a pass, by the types of a line's fields");
    }
    packed.lines.push(']');
    packed
}

#[cold]
fn no_such_customer(customer: &Who) -> Fault {
    match customer {
        Who::LastName(name) => Fault::defect(DefectKind::BadCall, format!("no customer is called {name}")),
        Who::Id(c_id) => {
            Fault::defect(DefectKind::BadData, format!("customer {c_id} or the order is not there"))
        }
    }
}

#[cold]
fn unanswered(procedure: &str) -> Fault {
    Fault::defect(DefectKind::BadData, format!("procedure `{procedure}` gave no row where there must be one"))
}

#[cfg(test)]
mod tests {
    use super::*;
    fn check(lines: &[Line], expected: (&str, usize)) {
        let call = NewOrder { w_id: 1, d_id: 1, c_id: 1, lines: lines.iter().copied().collect() };
        let Packed { lines, passes } = packed(&call);
        assert_eq!((lines.as_str(), passes), expected);
    }

    fn line(i_id: u32, supply_w_id: u32, quantity: u32) -> Line {
        Line { i_id, supply_w_id, quantity }
    }

    #[test]
    fn lines_are_packed_in_the_order_of_their_stock_rows() {
        let lines = [line(100_001, 1, 5), line(7, 2, 10), line(7, 1, 3)];
        check(&lines, ("[[3,7,1,3,0],[2,7,2,10,0],[1,100001,1,5,0]]", 1));
    }

    #[test]
    fn lines_of_one_stock_row_take_a_pass_each() {
        let lines = [line(7, 1, 1), line(8, 1, 2), line(7, 1, 3), line(7, 1, 4)];
        check(&lines, ("[[1,7,1,1,0],[3,7,1,3,1],[4,7,1,4,2],[2,8,1,2,0]]", 3));
    }

    #[test]
    fn the_largest_order_that_types_allow_fits() {
        let Packed { lines, passes } = packed(&NewOrder {
            w_id: 1,
            d_id: 1,
            c_id: 1,
            lines: [line(u32::MAX, u32::MAX, u32::MAX); LINES_MAX].into_iter().collect(),
        });
        assert!(lines.ends_with(",14]]") && lines.len() <= 700, "{lines}");
        assert_eq!(passes, LINES_MAX);
    }
}
