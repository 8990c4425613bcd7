//! A MariaDB for these tests, and TPC-C's data in it.

#![allow(dead_code, reason = "each test file uses what it needs")]

use adapter_mysql_async::connect;
use model::rows::{Dataset, RowSink};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use rig::for_tests::{SharedEngine, shared};
use rig::{Engine, Options, Running};
use sql::{Dialect, ServerUrl};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use workload_tpcc::conformance::GOLDEN_LOAD_SEED;
use workload_tpcc::{Cardinality, Data, schema};

/// The server, which others may share.
pub(crate) fn server() -> &'static SharedEngine {
    shared(Engine::MariaDb)
}

/// An empty database on it.
pub(crate) fn database(name: &str) -> ServerUrl {
    server().create_database(name).expect("a server takes a database");
    server().url(name)
}

/// A server of one's own, with settings of its own and an empty database, `tpcc`. It goes with the value.
pub(crate) fn server_with(settings: &[(&str, &str)]) -> Running {
    let mut options = Options { connections: 20, ..Options::small(Engine::MariaDb) };
    options.settings.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let running = rig::start(Engine::MariaDb, &options)
        .expect("a private MariaDB starts; Debian's package is mariadb-server");
    running.create_database("tpcc").expect("a fresh server takes a database");
    running
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts")
        .block_on(future)
}

/// Creates the schema and the golden rows.
pub(crate) async fn load_tiny(url: &ServerUrl) {
    let mut conn = connect(url).await.expect("the server was started for us");
    let schema = schema(Dialect::MySql).expect("kept valid by a test");
    create(&mut conn, &schema, "table_").await;
    let data = Data::new(Cardinality::tiny(), GOLDEN_LOAD_SEED);
    for (index, table) in data.tables().iter().enumerate() {
        for chunk in 0..table.chunks {
            let mut rows = Rows { columns: table.columns, ..Rows::default() };
            data.fill(index, chunk, &mut rows);
            for rows in rows.done.chunks(500) {
                let (name, columns) = (table.name, table.columns.join(", "));
                let text = format!("insert into {name} ({columns}) values {}", rows.join(", "));
                conn.query_drop(text).await.expect("generated rows fit the schema");
            }
        }
    }
    create(&mut conn, &schema, "index_").await;
}

async fn create(conn: &mut Conn, schema: &sql::Catalogue, prefix: &str) {
    for (_, text) in schema.iter().filter(|(name, _)| name.starts_with(prefix)) {
        conn.query_drop(text).await.expect("the schema fits MariaDB");
    }
}

/// Rows as the text of an insert.
#[derive(Default)]
struct Rows {
    columns: &'static [&'static str],
    row: Vec<String>,
    done: Vec<String>,
}

impl RowSink for Rows {
    fn int(&mut self, value: i64) {
        // Amounts and rates are given as whole numbers of their last digit, dates as seconds.
        let text = match self.columns[self.row.len()] {
            "w_tax" | "d_tax" | "c_discount" => format!("{value} / 10000"),
            "w_ytd" | "d_ytd" | "c_credit_lim" | "c_balance" | "c_ytd_payment" | "h_amount" | "ol_amount"
            | "i_price" => format!("{value} / 100"),
            "c_since" | "h_date" | "o_entry_d" | "ol_delivery_d" => format!("from_unixtime({value})"),
            _ => value.to_string(),
        };
        self.row.push(text);
    }
    fn text(&mut self, value: &str) {
        self.row.push(format!("'{value}'"));
    }
    fn null(&mut self) {
        self.row.push("null".to_owned());
    }
    fn end(&mut self) {
        self.done.push(format!("({})", std::mem::take(&mut self.row).join(", ")));
    }
}

/// Stands between a client and a server, and can end what passes.
pub(crate) struct Proxy {
    pub(crate) url: ServerUrl,
    cut: watch::Sender<Cut>,
}

/// What a proxy lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Nothing,
    /// The next question reaches the server, and its answer is lost.
    Answer,
    /// The connection is closed at once.
    Now,
}

impl Proxy {
    pub(crate) async fn before(url: &ServerUrl) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
        let port = listener.local_addr().expect("it is bound").port();
        let (cut, seen) = watch::channel(Cut::Nothing);
        let server = url.place();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server runs");
                tokio::spawn(pass(client, server, seen.clone()));
            }
        });
        Proxy { url: ServerUrl { port, host: "127.0.0.1".into(), socket: None, ..url.clone() }, cut }
    }

    pub(crate) fn cut(&self, cut: Cut) {
        self.cut.send_replace(cut);
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, mut cut: watch::Receiver<Cut>) {
    let (mut up, mut down) = ([0; 65_536], [0; 65_536]);
    loop {
        if *cut.borrow_and_update() == Cut::Now {
            return;
        }
        tokio::select! {
            read = client.read(&mut up) => match read {
                Ok(count) if count > 0 => server.write_all(&up[..count]).await.expect("the server reads"),
                _ => return,
            },
            read = server.read(&mut down) => match read {
                Ok(count) if count > 0 => {
                    if *cut.borrow() == Cut::Answer {
                        return;
                    }
                    client.write_all(&down[..count]).await.expect("the client reads");
                }
                _ => return,
            },
            _ = cut.changed() => {}
        }
    }
}
