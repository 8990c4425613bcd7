//! TPC-C as JSON. The contract is `spec/openapi/tpcc.yaml`.

use crate::{
    Call, Cardinality, DISTRICTS, Delivery, LINES_MIN, NewOrder, OrderStatus, Outcome, Payment, Placed,
    PlacedLine, StockLevel, Text, Tpcc, Unused, Who, kind,
};
use arrayvec::ArrayVec;
use contract::json::write;
use contract::{Answer, BadCall, BadCallKind, Endpoint, Race, Request, Wire, strict};
use model::{BasisPoints, Cents};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Payment with the two ways to name a customer side by side, exactly one of which is given.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PaymentJson {
    w_id: u32,
    d_id: u32,
    c_w_id: u32,
    c_d_id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c_id: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c_last: Option<Text<16>>,
    h_amount: Cents,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderStatusJson {
    w_id: u32,
    d_id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c_id: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c_last: Option<Text<16>>,
}

/// The answer to a New-Order, placed or declined; what belongs to only one of them is optional.
#[derive(Serialize, Deserialize)]
struct NewOrderJson {
    status: Status,
    o_id: u32,
    c_last: Text<16>,
    c_credit: Text<2>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    o_entry_d: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c_discount: Option<BasisPoints>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    w_tax: Option<BasisPoints>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    d_tax: Option<BasisPoints>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total_amount: Option<Cents>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<ArrayVec<PlacedLine, 15>>,
}

#[derive(Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Status {
    Placed,
    ItemNotValid,
}

impl Wire for Tpcc {
    const ENDPOINTS: &'static [Endpoint] = &[
        Endpoint::post("/tpcc/new-order"),
        Endpoint::post("/tpcc/payment"),
        Endpoint::post("/tpcc/order-status"),
        Endpoint::post("/tpcc/delivery"),
        Endpoint::post("/tpcc/stock-level"),
    ];
    const CONTRACT: &'static [(&'static str, &'static str)] = &[
        ("tpcc.yaml", include_str!("../spec/openapi/tpcc.yaml")),
        ("common.yaml", include_str!("../spec/openapi/common.yaml")),
    ];
    type Extent = Cardinality;

    fn races(extent: &Cardinality, salt: u32, round: u32) -> Vec<Race<Tpcc>> {
        crate::races::races(extent, salt, round)
    }

    fn encode_call(call: &Call, into: &mut Vec<u8>) {
        match call {
            Call::NewOrder(call) => write(call, into),
            Call::Payment(call) => {
                let (c_id, c_last) = split(call.customer);
                let Payment { w_id, d_id, c_w_id, c_d_id, h_amount, .. } = *call;
                write(&PaymentJson { w_id, d_id, c_w_id, c_d_id, c_id, c_last, h_amount }, into);
            }
            Call::OrderStatus(call) => {
                let (c_id, c_last) = split(call.customer);
                write(&OrderStatusJson { w_id: call.w_id, d_id: call.d_id, c_id, c_last }, into);
            }
            Call::Delivery(call) => write(call, into),
            Call::StockLevel(call) => write(call, into),
        }
    }

    fn decode_call(kind: usize, size: &Cardinality, request: &Request<'_>) -> Result<Call, BadCall> {
        let body = request.body;
        Ok(match kind {
            kind::NEW_ORDER => Call::NewOrder(admit_new_order(strict::body(body)?, size)?),
            kind::PAYMENT => {
                let json: PaymentJson = strict::body(body)?;
                let customer = join(json.c_id, json.c_last, size)?;
                let PaymentJson { w_id, d_id, c_w_id, c_d_id, h_amount, .. } = json;
                home(w_id, d_id, size)?;
                known("c_w_id", c_w_id, 1..=size.warehouses)?;
                known("c_d_id", c_d_id, 1..=DISTRICTS)?;
                within("h_amount", h_amount.0, 1..=1_000_000_000)?;
                Call::Payment(Payment { w_id, d_id, c_w_id, c_d_id, customer, h_amount })
            }
            kind::ORDER_STATUS => {
                let json: OrderStatusJson = strict::body(body)?;
                home(json.w_id, json.d_id, size)?;
                let customer = join(json.c_id, json.c_last, size)?;
                Call::OrderStatus(OrderStatus { w_id: json.w_id, d_id: json.d_id, customer })
            }
            kind::DELIVERY => {
                let call: Delivery = strict::body(body)?;
                known("w_id", call.w_id, 1..=size.warehouses)?;
                within("o_carrier_id", i64::from(call.o_carrier_id), 1..=10)?;
                Call::Delivery(call)
            }
            kind::STOCK_LEVEL => {
                let call: StockLevel = strict::body(body)?;
                home(call.w_id, call.d_id, size)?;
                within("threshold", i64::from(call.threshold), 10..=20)?;
                Call::StockLevel(call)
            }
            _ => return Err(bad(BadCallKind::Unknown, format!("there is no kind {kind}"))),
        })
    }

    fn encode_outcome(outcome: &Outcome, into: &mut Vec<u8>) {
        match outcome {
            Outcome::Placed(placed) => {
                let Placed {
                    o_id,
                    o_entry_d,
                    c_last,
                    c_credit,
                    c_discount,
                    w_tax,
                    d_tax,
                    total_amount,
                    ref lines,
                } = *placed;
                write(
                    &NewOrderJson {
                        status: Status::Placed,
                        o_id,
                        c_last,
                        c_credit,
                        o_entry_d: Some(o_entry_d),
                        c_discount: Some(c_discount),
                        w_tax: Some(w_tax),
                        d_tax: Some(d_tax),
                        total_amount: Some(total_amount),
                        lines: Some(lines.clone()),
                    },
                    into,
                );
            }
            Outcome::Unused(Unused { o_id, c_last, c_credit }) => write(
                &NewOrderJson {
                    status: Status::ItemNotValid,
                    o_id: *o_id,
                    c_last: *c_last,
                    c_credit: *c_credit,
                    o_entry_d: None,
                    c_discount: None,
                    w_tax: None,
                    d_tax: None,
                    total_amount: None,
                    lines: None,
                },
                into,
            ),
            Outcome::Paid(outcome) => write(outcome, into),
            Outcome::Status(outcome) => write(outcome, into),
            Outcome::Delivered(outcome) => write(outcome, into),
            Outcome::Short(outcome) => write(outcome, into),
        }
    }

    fn decode_outcome(call: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
        let body = answer.body;
        Ok(match call {
            Call::NewOrder(_) => answered(body)?,
            Call::Payment(_) => Outcome::Paid(parse(body)?),
            Call::OrderStatus(_) => Outcome::Status(parse(body)?),
            Call::Delivery(_) => Outcome::Delivered(parse(body)?),
            Call::StockLevel(_) => Outcome::Short(parse(body)?),
        })
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn answered(body: &[u8]) -> Result<Outcome, String> {
    let json: NewOrderJson = parse(body)?;
    let NewOrderJson { status, o_id, c_last, c_credit, .. } = json;
    if status == Status::ItemNotValid {
        return Ok(Outcome::Unused(Unused { o_id, c_last, c_credit }));
    }
    let missing = |name: &str| format!("missing field `{name}`");
    Ok(Outcome::Placed(Placed {
        o_id,
        o_entry_d: json.o_entry_d.ok_or_else(|| missing("o_entry_d"))?,
        c_last,
        c_credit,
        c_discount: json.c_discount.ok_or_else(|| missing("c_discount"))?,
        w_tax: json.w_tax.ok_or_else(|| missing("w_tax"))?,
        d_tax: json.d_tax.ok_or_else(|| missing("d_tax"))?,
        total_amount: json.total_amount.ok_or_else(|| missing("total_amount"))?,
        lines: json.lines.ok_or_else(|| missing("lines"))?,
    }))
}

fn split(customer: Who) -> (Option<u32>, Option<Text<16>>) {
    match customer {
        Who::Id(c_id) => (Some(c_id), None),
        Who::LastName(name) => (None, Some(name)),
    }
}

fn join(c_id: Option<u32>, c_last: Option<Text<16>>, size: &Cardinality) -> Result<Who, BadCall> {
    match (c_id, c_last) {
        (Some(c_id), None) => {
            known("c_id", c_id, 1..=size.customers)?;
            Ok(Who::Id(c_id))
        }
        (None, Some(c_last)) => Ok(Who::LastName(c_last)),
        _ => Err(bad(BadCallKind::Invalid, "exactly one of c_id and c_last names the customer".into())),
    }
}

fn bad(kind: BadCallKind, detail: String) -> BadCall {
    BadCall { kind, detail }
}

/// An id of something stored.
fn known(name: &str, id: u32, range: RangeInclusive<u32>) -> Result<(), BadCall> {
    if range.contains(&id) {
        return Ok(());
    }
    let detail = format!("{name} {id} does not exist; it runs from {} to {}", range.start(), range.end());
    Err(bad(BadCallKind::Unknown, detail))
}

/// A plain number.
fn within(name: &str, value: i64, range: RangeInclusive<i64>) -> Result<(), BadCall> {
    if range.contains(&value) {
        return Ok(());
    }
    let detail = format!("{name} is {value}; it runs from {} to {}", range.start(), range.end());
    Err(bad(BadCallKind::Invalid, detail))
}

fn home(w_id: u32, d_id: u32, size: &Cardinality) -> Result<(), BadCall> {
    known("w_id", w_id, 1..=size.warehouses)?;
    known("d_id", d_id, 1..=DISTRICTS)
}

/// An unknown item is not a bad call: it is the standard's way to ask for a roll-back.
fn admit_new_order(call: NewOrder, size: &Cardinality) -> Result<NewOrder, BadCall> {
    home(call.w_id, call.d_id, size)?;
    known("c_id", call.c_id, 1..=size.customers)?;
    if call.lines.len() < LINES_MIN {
        let detail = format!("an order has 5 to 15 lines, not {}", call.lines.len());
        return Err(bad(BadCallKind::Invalid, detail));
    }
    for line in &call.lines {
        known("supply_w_id", line.supply_w_id, 1..=size.warehouses)?;
        within("i_id", i64::from(line.i_id), 1..=i64::from(u32::MAX))?;
        within("quantity", i64::from(line.quantity), 1..=10)?;
    }
    Ok(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(call: &Call) -> String {
        let mut body = Vec::new();
        Tpcc::encode_call(call, &mut body);
        String::from_utf8(body).unwrap()
    }

    fn refused(kind: usize, body: &str) -> (BadCallKind, String) {
        let error =
            Tpcc::decode_call(kind, &Cardinality::standard(1), &contract::Request::of(body.as_bytes()))
                .unwrap_err();
        (error.kind, error.detail)
    }

    #[test]
    fn calls_survive_the_wire() {
        use model::Inputs as _;
        let size = Cardinality::standard(3);
        let mut inputs = crate::Inputs::new(size, 7, 1, 0);
        for _ in 0..2_300 {
            let call = inputs.draw();
            let kind = <Tpcc as model::Workload>::kind(&call);
            assert_eq!(
                Tpcc::decode_call(kind, &size, &contract::Request::of(json(&call).as_bytes())).unwrap(),
                call
            );
        }
    }

    #[test]
    fn the_json_is_the_contracts() {
        let call = Call::OrderStatus(OrderStatus { w_id: 1, d_id: 2, customer: Who::Id(3) });
        assert_eq!(json(&call), r#"{"w_id":1,"d_id":2,"c_id":3}"#);
        let call = Call::StockLevel(StockLevel { w_id: 1, d_id: 2, threshold: 12 });
        assert_eq!(json(&call), r#"{"w_id":1,"d_id":2,"threshold":12}"#);
    }

    #[test]
    fn what_is_wrong_with_a_call_is_said() {
        use BadCallKind::{Invalid, Malformed, Unknown};
        let check = |kind, body: &str, expected: (BadCallKind, &str)| {
            let (found, detail) = refused(kind, body);
            assert!(found == expected.0 && detail.contains(expected.1), "{body}: {found:?} {detail}");
        };
        check(kind::STOCK_LEVEL, "{", (Malformed, "EOF"));
        check(kind::STOCK_LEVEL, "[]", (Invalid, "invalid type: array, expected an object"));
        check(kind::STOCK_LEVEL, "[1,1,10]", (Invalid, "invalid type: array, expected an object"));
        check(kind::STOCK_LEVEL, "null", (Invalid, "invalid type: null, expected an object"));
        check(kind::PAYMENT, "[1,1,1,1,1,null,100]", (Invalid, "invalid type: array, expected an object"));
        check(kind::STOCK_LEVEL, r#"{"w_id":1,"d_id":1}"#, (Invalid, "missing field `threshold`"));
        check(
            kind::STOCK_LEVEL,
            r#"{"w_id":"1","d_id":1,"threshold":10}"#,
            (Invalid, "w_id: invalid type: string"),
        );
        let whole = "d_id: invalid value: integer `-1`, expected a whole number from 0 to 4294967295";
        check(kind::STOCK_LEVEL, r#"{"w_id":1,"d_id":-1,"threshold":10}"#, (Invalid, whole));
        check(
            kind::STOCK_LEVEL,
            r#"{"w_id":1,"d_id":{},"threshold":10}"#,
            (Invalid, "d_id: invalid type: object"),
        );
        check(kind::STOCK_LEVEL, r#"{"w_id":1,"d_id":1,"threshold":99}"#, (Invalid, "threshold is 99"));
        check(kind::STOCK_LEVEL, r#"{"w_id":2,"d_id":1,"threshold":10}"#, (Unknown, "w_id 2 does not exist"));
        check(kind::ORDER_STATUS, r#"{"w_id":1,"d_id":1}"#, (Invalid, "exactly one"));
        check(kind::ORDER_STATUS, r#"{"w_id":1,"d_id":1,"c_id":1,"c_last":"X"}"#, (Invalid, "exactly one"));
        check(kind::ORDER_STATUS, r#"{"w_id":1,"d_id":1,"c_id":3001}"#, (Unknown, "c_id 3001"));
        check(kind::DELIVERY, r#"{"w_id":1,"o_carrier_id":1,"x":1}"#, (Invalid, "unknown field `x`"));
        check(kind::NEW_ORDER, r#"{"w_id":1,"d_id":1,"c_id":1,"lines":[]}"#, (Invalid, "5 to 15 lines"));
        let line = r#"{"i_id":1,"supply_w_id":1,"quantity":1}"#;
        let many = format!(r#"{{"w_id":1,"d_id":1,"c_id":1,"lines":[{}]}}"#, [line; 16].join(","));
        check(kind::NEW_ORDER, &many, (Invalid, "lines: invalid length"));
        let first = |line: &str| many.replacen(r#"{"i_id":1,"supply_w_id":1,"quantity":1}"#, line, 1);
        check(
            kind::NEW_ORDER,
            &first("[1,1,1]"),
            (Invalid, "lines: invalid type: array, expected an object"),
        );
        check(kind::NEW_ORDER, &first(r#"{"i_id":1}"#), (Invalid, "lines: missing field `supply_w_id`"));
        check(
            kind::NEW_ORDER,
            &first(r#"{"i_id":true,"supply_w_id":1,"quantity":1}"#),
            (Invalid, "i_id: invalid type: boolean `true`, expected a whole number from 0 to 4294967295"),
        );
        check(
            kind::NEW_ORDER,
            r#"{"w_id":1,"d_id":1,"c_id":1,"lines":{}}"#,
            (Invalid, "lines: invalid type: object"),
        );
        check(kind::NEW_ORDER, r#"{"w_id":1,"d_id":1,"c_id":1,"lines":[{]}"#, (Malformed, "lines: "));
        check(
            kind::STOCK_LEVEL,
            r#"{"w_id":1,"d_id":1,"threshold":10}}"#,
            (Malformed, "trailing characters"),
        );
        let long = r#"{"w_id":1,"d_id":1,"c_last":"BARBARBARBARBARBAR"}"#;
        check(kind::ORDER_STATUS, long, (Invalid, "c_last: invalid length 18"));
    }

    /// Each object of every kind of call in turn as an array of its values, which is what derived code would take too.
    #[test]
    fn an_array_of_the_values_is_no_object_at_any_depth() {
        use model::Inputs as _;
        let size = Cardinality::standard(1);
        let mut inputs = crate::Inputs::new(size, 7, 1, 0);
        let mut kinds = [false; 5];
        while kinds.contains(&false) {
            let call = inputs.draw();
            let kind = <Tpcc as model::Workload>::kind(&call);
            let whole = json(&call);
            for (at, _) in whole.match_indices('{') {
                let end = at + whole[at..].rfind('}').filter(|_| at == 0).or(whole[at..].find('}')).unwrap();
                let values = values_of(&whole[at..=end]);
                let body = format!("{}{values}{}", &whole[..at], &whole[end + 1..]);
                let (found, detail) = refused(kind, &body);
                assert_eq!(found, BadCallKind::Invalid, "{body}");
                assert!(detail.contains("array, expected an object"), "{body}: {detail}");
            }
            kinds[kind] = true;
        }
    }

    /// An object's values as an array.
    fn values_of(object: &str) -> String {
        let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(object).unwrap();
        serde_json::Value::from_iter(members.into_iter().map(|(_, value)| value)).to_string()
    }

    #[test]
    fn an_answer_without_a_field_is_no_answer() {
        let call = Call::NewOrder(NewOrder { w_id: 1, d_id: 1, c_id: 1, lines: ArrayVec::new() });
        let body = br#"{"status":"placed","o_id":1,"c_last":"A","c_credit":"GC","o_entry_d":1}"#;
        assert_eq!(
            Tpcc::decode_outcome(&call, &contract::Answer::of(body)).unwrap_err(),
            "missing field `c_discount`"
        );
        let body = br#"{"status":"item-not-valid","o_id":1,"c_last":"A","c_credit":"GC"}"#;
        assert!(matches!(Tpcc::decode_outcome(&call, &contract::Answer::of(body)), Ok(Outcome::Unused(_))));
    }
}
