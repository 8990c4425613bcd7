//! Reads what the procedures give. Columns are those of `spec/sql/tpcc/procedures.mysql.sql`.

use arrayvec::ArrayVec;
use model::Cents;
use sql::{ColumnError, Columns};
use workload_tpcc::columns::{self, address, cents, id, rate, text};
use workload_tpcc::{
    Customer, Delivered, LINES_MAX, OrderReport, Outcome, Paid, Placed, PlacedLine, Short, Text, Unused,
    order_total,
};

/// The column of the lines of a new order.
const PLACED: usize = 7;

pub(crate) fn new_order(row: &dyn Columns) -> Result<Outcome, ColumnError> {
    let (o_id, o_entry_d) = (id(row, 0)?, row.int(1)?);
    let (c_last, c_credit) = (text(row, 2)?, text(row, 3)?);
    // Not a number, but null is what is asked.
    let Ok(packed) = row.text(PLACED) else {
        row.int_or_null(PLACED)?;
        return Ok(Outcome::Unused(Unused { o_id, c_last, c_credit }));
    };
    let (c_discount, w_tax, d_tax) = (rate(row, 4)?, rate(row, 5)?, rate(row, 6)?);
    let mut taken = [const { None::<PlacedLine> }; LINES_MAX];
    let mut amounts = Cents(0);
    let malformed = || ColumnError::new(PLACED, "a list of lines");
    for line in packed.split_terminator('\u{1e}') {
        let (number, line) = placed_line(line).ok_or_else(malformed)?;
        amounts += line.ol_amount;
        *number.checked_sub(1).and_then(|index| taken.get_mut(index)).ok_or_else(malformed)? = Some(line);
    }
    let total_amount = order_total(amounts, c_discount, w_tax, d_tax);
    let lines = taken.into_iter().flatten().collect();
    Ok(Outcome::Placed(Placed {
        o_id,
        o_entry_d,
        c_last,
        c_credit,
        c_discount,
        w_tax,
        d_tax,
        total_amount,
        lines,
    }))
}

/// A line with its place in the order, from 1.
fn placed_line(text: &str) -> Option<(usize, PlacedLine)> {
    let mut fields = text.split('\u{1f}');
    let number = fields.next()?.parse().ok()?;
    let i_price = money(fields.next()?)?;
    let ol_amount = money(fields.next()?)?;
    let s_quantity = fields.next()?.parse().ok()?;
    let brand_generic = Text::from(fields.next()?).ok()?;
    let i_name = Text::from(fields.next()?).ok()?;
    fields
        .next()
        .is_none()
        .then_some((number, PlacedLine { i_name, i_price, s_quantity, brand_generic, ol_amount }))
}

/// A decimal of two digits, as SQL writes it.
fn money(text: &str) -> Option<Cents> {
    let (units, cents) = text.split_once('.')?;
    let (units, cents): (i64, i64) = (units.parse().ok()?, (cents.len() == 2).then(|| cents.parse().ok())??);
    (units >= 0).then_some(Cents(units * 100 + cents))
}

pub(crate) fn payment(row: &dyn Columns) -> Result<Outcome, ColumnError> {
    let customer = Customer { c_id: id(row, 11)?, ..columns::customer(row, 12)? };
    let c_data = (customer.c_credit.as_str() == "BC").then(|| {
        let data = row.text(26)?;
        columns::fit(&data[..data.floor_char_boundary(200)], 26)
    });
    Ok(Outcome::Paid(Paid {
        h_date: row.int(0)?,
        warehouse: address(row, 1)?,
        district: address(row, 6)?,
        customer,
        c_data: c_data.transpose()?,
    }))
}

/// Each row has one more line of the order.
pub(crate) fn order_status(row: &dyn Columns, report: &mut Option<OrderReport>) -> Result<(), ColumnError> {
    let report = match report {
        Some(report) => report,
        None => report.insert(OrderReport {
            c_id: id(row, 0)?,
            c_first: text(row, 1)?,
            c_middle: text(row, 2)?,
            c_last: text(row, 3)?,
            c_balance: cents(row, 4)?,
            o_id: id(row, 5)?,
            o_entry_d: row.int(6)?,
            o_carrier_id: row.int_or_null(7)?.map(|carrier| carrier as u32),
            lines: ArrayVec::new(),
        }),
    };
    // As in the plain style, lines beyond those that the standard allows are not reported.
    let _ = report.lines.try_push(columns::report_line(row, 8)?);
    Ok(())
}

pub(crate) fn delivery(row: &dyn Columns) -> Result<Outcome, ColumnError> {
    let malformed = || ColumnError::new(0, "a list of ten orders");
    let mut o_ids = ArrayVec::new();
    for word in row.text(0)?.split_ascii_whitespace() {
        let o_id: u32 = word.parse().map_err(|_| malformed())?;
        o_ids.try_push((o_id > 0).then_some(o_id)).map_err(|_| malformed())?;
    }
    Ok(Outcome::Delivered(Delivered { o_ids }))
}

pub(crate) fn stock_level(row: &dyn Columns) -> Result<Outcome, ColumnError> {
    Ok(Outcome::Short(Short { low_stock: id(row, 0)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whole_or_not_at_all() {
        let (number, line) = placed_line("3\u{1f}12.05\u{1f}24.10\u{1f}17\u{1f}B\u{1f}an item").unwrap();
        assert_eq!(
            (number, line.i_price, line.ol_amount, line.s_quantity),
            (3, Cents(1_205), Cents(2_410), 17)
        );
        assert_eq!((line.brand_generic.as_str(), line.i_name.as_str()), ("B", "an item"));
        for broken in [
            "",
            "3",
            "3\u{1f}12.5\u{1f}24.10\u{1f}17\u{1f}B\u{1f}x",
            "3\u{1f}1.00\u{1f}1.00\u{1f}1\u{1f}B\u{1f}x\u{1f}y",
        ] {
            assert!(placed_line(broken).is_none(), "{broken:?}");
        }
    }
}
