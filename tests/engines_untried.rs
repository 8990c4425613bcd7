//! Engines that speak PostgreSQL's or MySQL's protocol and cannot be had here, as a user meets them by their address: the real
//! PostgreSQL or MariaDB behind a proxy that has it say what they say of themselves, and refuse what they refuse. What that is comes
//! from their documentation and sources; that everything else works there is not shown by it.

use crate::e2e_workdir::{Ran, Workdir, assert_good, parse};
use crate::engines_workdir::{SHORT, Server, on};
use rig::{Engine, Options};
use serde_json::Value;
use sql::Dialect;
use stackmark_tests::proxy::Proxy;

/// What is put into statements on their way, and for what.
type Instead = &'static [(&'static str, &'static str)];

/// An extension of PostgreSQL, which a database has or has not. Its functions, by which tables are spread, the tests define.
const CITUS: Instead = &[(
    "(select ', Citus ' || extversion from pg_extension where extname = 'citus')",
    "(select ', Citus ' || '12.1-1' from pg_proc where proname = 'create_reference_table')",
)];

/// CockroachDB v25: settings of its own, and neither advisory locks with two keys, snapshots to export, sizes, `freeze`, binary `copy … to`,
/// `vacuum`, `checkpoint`, places of rows nor temporary tables unless they are asked for.
const COCKROACH: Instead = &[
    (
        "version()",
        "'CockroachDB CCL v25.3.4 (x86_64-pc-linux-gnu, built 2025/10/28 18:12:22, go1.23.12)'::text",
    ),
    ("current_setting('server_version')", "'13.0.0'::text"),
    ("current_setting('server_version_num')", "'130000'::text"),
    ("pg_try_advisory_lock", "no_such_lock"),
    ("pg_export_snapshot", "no_such_snapshot"),
    ("pg_database_size", "no_such_size"),
    ("pg_total_relation_size", "no_such_size"),
    ("pg_relation_size", "no_such_size"),
    ("freeze", "no_such_option"),
    ("to stdout (format binary)", "to stdout (format no_such_format)"),
    ("vacuum", "no_such_statement"),
    ("checkpoint", "no_such_statement"),
    ("ctid", "no_such_column"),
    ("maintenance_work_mem", "no_such_setting"),
    ("work_mem = ", "no_such_setting = "),
    ("temp_buffers", "no_such_setting"),
    ("experimental_enable_temp_tables", "stackmark.temporary"),
    ("copy_from_atomic_enabled", "stackmark.atomic"),
    ("default_int_size", "stackmark.int_size"),
];

/// YugabyteDB 2025.1: no places of rows, and no `freeze`; sizes that mean nothing. A database whose tables share a tablet; what keeps a
/// table out of it is an option of PostgreSQL that can be read back.
const YUGABYTE: Instead = &[
    ("current_setting('server_version')", "'15.12-YB-2025.1.0.0-b0'::text"),
    ("pg_export_snapshot", "no_such_snapshot"),
    ("freeze", "no_such_option"),
    ("ctid", "no_such_column"),
    ("pg_database_size(current_database())", "null::int8"),
    ("pg_total_relation_size(oid)", "0::int8"),
    ("checkpoint", "no_such_statement"),
    ("yb_is_database_colocated()", "true"),
    ("colocation = false", "autovacuum_enabled = false"),
];

/// TiDB: one characteristic of a transaction at most, no `lock tables`, and none of the views of InnoDB.
const TIDB: Instead = &[
    ("consistent snapshot, read only", "no such snapshot"),
    ("lock tables ", "lock nothing "),
    ("load data", "load nothing"),
    ("innodb_sys_tablespaces", "no_such_table"),
    ("information_schema.system_variables", "information_schema.no_such_table"),
    ("tidb_tmp_table_max_size = 4294967296", "autocommit = 1"),
];

/// Vitess: the number of a connection is not the one that its greeting said, since it is of a shard's server.
const VITESS: Instead = &[
    ("lock tables ", "lock nothing "),
    ("load data", "load nothing"),
    ("select connection_id() + 0", "select connection_id() + 1"),
];

/// A database of the server as the address of another engine.
fn address(server: &Server, dialect: Dialect, database: &str, instead: Instead) -> String {
    let url = server.engine.tcp_url(database);
    let proxy = Proxy::disguised(dialect, url.port, instead).unwrap();
    let scheme = if dialect == Dialect::Postgres { "postgres" } else { "mysql" };
    format!("{scheme}://{}@127.0.0.1:{}/{}?sslmode=disable", url.user, proxy.port(), url.database)
}

/// Loads a workload, makes calls and audits; gives the trial.
#[track_caller]
fn used(server: &Server, subject: &str, url: &str, name: &str) -> Value {
    let workdir = Workdir::empty();
    let workload = subject.split('/').next().unwrap();
    let loaded = server.run(&workdir, &format!("load {workload} --golden --db {url}"));
    assert_eq!(loaded.code(), 0, "{name}: {loaded:?}");
    let note = format!("note: {name} speaks the protocol of ");
    assert!(loaded.err.contains(&note) && !loaded.out.contains(" MB,"), "{name}: {loaded:?}");
    let ran = server.run(&workdir, &format!("run {subject} --db {url} {SHORT} --json"));
    assert_eq!(ran.code(), 0, "{name}: {ran:?}");
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let trial = document["trials"][0].clone();
    let version = trial["stack"]["engine_version"].as_str().unwrap();
    assert_eq!(model::Product::of(version).map(model::Product::name), Some(name), "{version}");
    assert_eq!(trial["stack"]["durability"]["claimed"], true, "{name}: {trial}");
    assert!(trial["data"]["bytes"].is_null(), "{name}: {}", trial["data"]);
    assert!(trial["engine"]["gauges"].as_array().is_none_or(Vec::is_empty), "{name}: {}", trial["engine"]);
    for audit in trial["audits"].as_array().unwrap() {
        assert_ne!(audit["check"], "failed", "{name}: {audit}");
    }
    let rules = trial["rules"].as_array().unwrap();
    let said = rules.iter().find(|rule| rule["name"] == "untried-engine").unwrap_or_else(|| panic!("{name}"));
    assert!(said["sentence"].as_str().unwrap().contains("has not been tried on it"), "{said}");
    trial
}

fn settings(trial: &Value) -> Vec<&str> {
    trial["stack"]["settings"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(words.iter().all(|word| ran.err.contains(word)), "{words:?}: {ran:?}");
}

#[test]
fn what_speaks_postgresqls_protocol_is_recognised_and_used_within_what_it_can_do() {
    on(Engine::Postgres, |server| {
        for (name, instead) in [("CockroachDB", COCKROACH), ("YugabyteDB", YUGABYTE), ("Citus", CITUS)] {
            let database = format!("as_{}", name.to_lowercase());
            server.engine.create_database(&database).unwrap();
            if name == "Citus" {
                server.engine.client(&database, SPREADING).unwrap();
            }
            let url = address(server, Dialect::Postgres, &database, instead);
            let trial = used(server, "tpcc/postgres/tokio-postgres", &url, name);
            if name == "CockroachDB" {
                server.engine.client(&database, CONFLICTS_AT_COMMIT).unwrap();
                repeats(server, "tpcc/postgres/tokio-postgres", &url);
            }
            let has_own = settings(&trial).contains(&"fsync");
            assert_eq!(has_own, name == "Citus", "{name}: what it answers for the sake of clients: {trial}");
            let ran = server.run(
                &Workdir::empty(),
                &format!("compare tpcc/postgres tpcc/postgres/sqlx --db {url} {SHORT} --blocks 1"),
            );
            refused(&ran, &[name, "copies"]);
        }
        for name in ["as_cockroachdb", "as_yugabytedb"] {
            let answer = server.engine.client(name, KEYS_BEFORE_ROWS).unwrap();
            assert!(answer.contains("keys first"), "{name}: {answer}");
        }
        let apart = server.engine.client("as_yugabytedb", TABLETS).unwrap();
        for table in "customer district history new_order order_line orders stock warehouse".split(' ') {
            assert!(apart.contains(&format!("{table} {{autovacuum_enabled=false}}")), "{table}: {apart}");
        }
        assert!(!apart.lines().any(|line| line.starts_with("item ")), "{apart}");
        // Tables that have an option already.
        server.engine.create_database("as_yugabytedb_bank").unwrap();
        let url = address(server, Dialect::Postgres, "as_yugabytedb_bank", YUGABYTE);
        let loaded = server.run(&Workdir::empty(), &format!("load tpcb --golden --db {url}"));
        assert_eq!(loaded.code(), 0, "{loaded:?}");
        let bank = server.engine.client("as_yugabytedb_bank", TABLETS).unwrap();
        assert!(bank.contains("pgbench_accounts {fillfactor=100,autovacuum_enabled=false}"), "{bank}");
        let spread = server.engine.client("as_citus", SPREAD).unwrap();
        for line in [
            "customer spread by c_w_id",
            "item on each node",
            "order_line spread by ol_w_id",
            "warehouse spread by w_id",
        ] {
            assert!(spread.contains(line), "{line}: {spread}");
        }
    });
}

/// Whether the key of a table was made before its rows were stored.
const KEYS_BEFORE_ROWS: &str = "
select case when i.xmin::text::int8 < r.first then 'keys first' else 'rows first' end
from pg_index i, (select min(xmin::text::int8) as first from item) r where i.indisprimary and i.indrelid = 'item'::regclass";
/// What tables are made with.
const TABLETS: &str =
    "select relname || ' ' || reloptions::text from pg_class where reloptions is not null order by 1";

/// One payment in twenty fails when it is committed, as CockroachDB has it with serializable transactions.
const CONFLICTS_AT_COMMIT: &str = "
create function collide() returns trigger language plpgsql as $$
begin if random() < 0.05 then raise exception 'restart transaction: TransactionRetryWithProtoRefreshError'
using errcode = '40001'; end if; return null; end $$;
create constraint trigger collides after insert on history deferrable initially deferred for each row execute function collide();";
/// One payment in ten fails with a number of TiDB's.
const CONFLICTS_OF_TIDB: &str = "
delimiter //
create trigger collides before insert on history for each row begin
  declare number int default floor(rand() * 40);
  if number = 0 then signal sqlstate 'HY000' set mysql_errno = 8002, message_text = 'select for update aborted'; end if;
  if number = 1 then signal sqlstate 'HY000' set mysql_errno = 8022, message_text = 'commit failed, can be repeated'; end if;
  if number = 2 then signal sqlstate 'HY000' set mysql_errno = 8028, message_text = 'schema has changed'; end if;
  if number = 3 then signal sqlstate 'HY000' set mysql_errno = 9007, message_text = 'Write conflict'; end if;
end//";

/// Runs where one call or more fails in a way that the engine wants repeated: it is, and the data is right.
#[track_caller]
fn repeats(server: &Server, subject: &str, url: &str) {
    let ran = server.run(&Workdir::empty(), &format!("run {subject} --db {url} {SHORT} --json"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let counts = &document["trials"][0]["overall"]["call_counts"];
    assert!(counts["retries"].as_u64().unwrap() > 0 && counts["conflict"] == 0, "{counts}");
    assert!(counts["defect"] == 0 && counts["in_doubt"] == 0, "{counts}");
}

/// What the functions of Citus are asked for, kept as the comments of tables.
const SPREADING: &str = "
create function create_distributed_table(what regclass, by text) returns void language plpgsql as $$
begin execute format('comment on table %s is %L', what, what || ' spread by ' || by); end $$;
create function create_reference_table(what regclass) returns void language plpgsql as $$
begin execute format('comment on table %s is %L', what, what || ' on each node'); end $$;";
const SPREAD: &str = "select obj_description(oid, 'pg_class') from pg_class where relnamespace = 'public'::regnamespace order by 1";

#[test]
fn an_isolation_that_is_raised_or_lowered_is_refused_by_name() {
    on(Engine::Postgres, |server| {
        server.engine.create_database("as_isolated").unwrap();
        // CockroachDB raises what it is asked for where read committed is not enabled.
        let raised: Instead = &[("current_setting('transaction_isolation')", "'serializable'::text")];
        let url = address(server, Dialect::Postgres, "as_isolated", raised);
        let workdir = Workdir::empty();
        assert_eq!(server.run(&workdir, &format!("load tpcc --golden --db {url}")).code(), 0);
        for subject in ["tokio-postgres", "sqlx", "diesel"] {
            let ran = server.run(&workdir, &format!("run tpcc/postgres/{subject} --db {url} {SHORT}"));
            refused(
                &ran,
                &["requested isolation read-committed", "server uses serializable", "isolation=serializable"],
            );
        }
        let ran =
            server.run(&workdir, &format!("run tpcc/postgres --db {url}&isolation=serializable {SHORT}"));
        assert_eq!(ran.code(), 0, "{ran:?}");
    });
}

#[test]
fn what_speaks_mysqls_protocol_is_recognised_and_used_within_what_it_can_do() {
    for (name, version, instead) in
        [("TiDB", "8.0.11-TiDB-v7.5.0", TIDB), ("Vitess", "8.0.30-Vitess", VITESS)]
    {
        let mut options = Options::small(Engine::MariaDb);
        options.settings.push(("version".to_owned(), version.to_owned()));
        let server = Server { engine: rig::start(Engine::MariaDb, &options).unwrap() };
        server.engine.create_database("bench").unwrap();
        let url = address(&server, Dialect::MySql, "bench", instead);
        let workload = if name == "Vitess" { "tpcb" } else { "tpcc" };
        let trial = used(&server, &format!("{workload}/mariadb/mysql-async"), &url, name);
        assert_eq!(settings(&trial).contains(&"innodb_doublewrite"), name == "Vitess", "{name}: {trial}");
        let workdir = Workdir::empty();
        if name == "TiDB" {
            server.engine.client("bench", CONFLICTS_OF_TIDB).unwrap();
            repeats(&server, "tpcc/mariadb/mysql-async", &url);
            let procedure = format!("run tpcc/mariadb/mysql-async/procedure --db {url} {SHORT}");
            refused(&server.run(&workdir, &procedure), &["cannot run on", name, "stored procedures"]);
        }
        let compare =
            format!("compare {workload}/mariadb {workload}/mariadb/sqlx --db {url} {SHORT} --blocks 1");
        let ran = server.run(&workdir, &compare);
        refused(&ran, &[name, "copies"]);
    }
}
