//! Tables as other tools make them: read, recognised, and usable by our statements.

use super::support::{empty, execute, tiny};
use admin::store;
use sql::Dialect;
use workload_tpcc::Cardinality;
use workload_tpcc::foreign_schema::{ForeignSchema, discover_query};

/// go-tpc's tables.
const GO_TPC: &str = include_str!("../../../../../tests/data/go-tpc.schema.sql");

/// What HammerDB's differ in: times with a zone, small counters, and in older versions numeric everywhere.
const HAMMERDB: &str = "
alter table customer alter c_since type timestamptz, alter c_payment_cnt type smallint, alter c_delivery_cnt type smallint;
alter table history alter h_date type timestamptz;
alter table orders alter o_entry_d type timestamptz, alter o_d_id type smallint, alter o_ol_cnt type numeric;
alter table order_line alter ol_delivery_d type timestamptz, alter ol_quantity type numeric;
alter table stock alter s_quantity type numeric, alter s_ytd type numeric, alter s_order_cnt type numeric;
alter table district alter d_next_o_id type numeric;";

#[test]
fn tables_of_other_kits_are_recognised_and_take_our_statements() {
    for (database, name, statements, noted) in [
        ("go_tpc", "go-tpc", GO_TPC.to_owned(), ""),
        ("hammerdb", "HammerDB", format!("{GO_TPC}{HAMMERDB}"), "stock.s_ytd is numeric, not integer"),
    ] {
        let url = empty(database);
        execute(&url, &statements);
        let tool = ForeignSchema::recognise(Dialect::Postgres, &store(&url).columns().unwrap()).unwrap();
        assert_eq!(tool.name, Some(name));
        match noted {
            "" => assert_eq!(tool.notes, [""; 0]),
            note => assert!(tool.notes.iter().any(|found| found == note), "{:?}", tool.notes),
        }
        for text in workload_tpcc::catalogue(Dialect::Postgres).unwrap() {
            execute(&url, &format!("prepare one as {}", sql::dollars(&text)));
        }
    }
}

#[test]
fn a_key_of_its_own_in_history_is_fine_and_one_that_no_one_gives_is_not() {
    let url = empty("keyed");
    execute(&url, GO_TPC);
    execute(&url, "alter table history add h_id bigint generated always as identity primary key");
    let tool = ForeignSchema::recognise(Dialect::Postgres, &store(&url).columns().unwrap()).unwrap();
    assert_eq!(tool.notes, ["history has a column more, h_id bigint"]);
    execute(&url, "alter table history add row_id bytea not null; alter table stock drop s_data");
    let error =
        ForeignSchema::recognise(Dialect::Postgres, &store(&url).columns().unwrap()).unwrap_err().to_string();
    assert!(error.contains("history.row_id must be given"), "{error}");
    assert!(error.contains("table stock has no column s_data"), "{error}");
}

#[test]
fn our_own_tables_and_how_much_they_hold_are_recognised() {
    let url = tiny("own");
    let tool = ForeignSchema::recognise(Dialect::Postgres, &store(&url).columns().unwrap()).unwrap();
    assert_eq!((tool.name, tool.notes.len()), (Some("stackmark"), 0), "{tool:?}");
    let rows = store(&url).rows(&discover_query().unwrap(), &[]).unwrap();
    let row: Vec<i64> = rows[0].iter().filter_map(sql::Value::int).collect();
    assert_eq!(Cardinality::discovered(&row), Some(Cardinality::tiny()));
}
