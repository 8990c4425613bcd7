//! Values of the standard, read from the columns of a row. All fail where a column holds something else.

use crate::outcome::{Address, Customer, ReportLine, Text};
use model::{BasisPoints, Cents};
use sql::{ColumnError, Columns};

/// A number that is not negative.
pub fn id(row: &dyn Columns, index: usize) -> Result<u32, ColumnError> {
    u32::try_from(row.int(index)?).map_err(|_| ColumnError::new(index, "a 32-bit number"))
}

/// A decimal of four digits.
pub fn rate(row: &dyn Columns, index: usize) -> Result<BasisPoints, ColumnError> {
    row.scaled(index, 4).map(BasisPoints)
}

/// A decimal of two digits.
pub fn cents(row: &dyn Columns, index: usize) -> Result<Cents, ColumnError> {
    row.scaled(index, 2).map(Cents)
}

pub fn text<const N: usize>(row: &dyn Columns, index: usize) -> Result<Text<N>, ColumnError> {
    fit(row.text(index)?, index)
}

/// A text of a column into the capacity that the standard gives it.
pub fn fit<const N: usize>(text: &str, index: usize) -> Result<Text<N>, ColumnError> {
    Text::from(text).map_err(|_| ColumnError::new(index, "a text of the standard's length"))
}

/// Five columns: street, street, city, state, zip.
pub fn address(row: &dyn Columns, first: usize) -> Result<Address, ColumnError> {
    Ok(Address {
        street_1: text(row, first)?,
        street_2: text(row, first + 1)?,
        city: text(row, first + 2)?,
        state: text(row, first + 3)?,
        zip: text(row, first + 4)?,
    })
}

/// Fourteen columns, in the order of `read_customer`; the number is known to the caller.
pub fn customer(row: &dyn Columns, first: usize) -> Result<Customer, ColumnError> {
    Ok(Customer {
        c_id: 0,
        c_first: text(row, first)?,
        c_middle: text(row, first + 1)?,
        c_last: text(row, first + 2)?,
        address: address(row, first + 3)?,
        c_phone: text(row, first + 8)?,
        c_since: row.int(first + 9)?,
        c_credit: text(row, first + 10)?,
        c_credit_lim: cents(row, first + 11)?,
        c_discount: rate(row, first + 12)?,
        c_balance: cents(row, first + 13)?,
    })
}

/// Five columns, in the order of `order_lines`.
pub fn report_line(row: &dyn Columns, first: usize) -> Result<ReportLine, ColumnError> {
    Ok(ReportLine {
        ol_i_id: id(row, first)?,
        ol_supply_w_id: id(row, first + 1)?,
        ol_quantity: id(row, first + 2)?,
        ol_amount: cents(row, first + 3)?,
        ol_delivery_d: row.int_or_null(first + 4)?,
    })
}
