//! What servers add to a read of the catalogue, and to a booking that is declined because its event is sold out: the rate of each
//! compared with that of a minimal handler in the same framework and driver, which does one prepared point read and answers a fixed body.
//! wrk asks both, in turn, over as many connections as each has to the engine; both speak HTTP on one thread. Ours on PostgreSQL,
//! those of `servers` on PostgreSQL and MariaDB.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::routing::{get, post};
use contract::Wire;
use model::{Mix, Workload};
use rig::{Engine, Running};
use sql::ServerUrl;
use stackmark_benches::data::Folder;
use stackmark_benches::pairs::{Ratio, Side, turns};
use stackmark_benches::server::Server;
use stackmark_benches::{engine, output, wrk};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio_postgres::{Client, NoTls, Statement};
use workload::{Benchmark, Streams};
use workload_booking::{Bookings, Decline, Outcome};
use workload_catalogue::FoodCatalogue;

const KINDS: [&str; 2] = ["food-read", "categories"];
/// A decline after sell-out.
const DECLINE: &str = "book";
/// Connections to the server, and from it to the engine.
const CONNECTIONS: usize = 8;
const PAIRS: usize = 5;
const SECONDS: u64 = 4;
/// Our rate, of the minimal handler's; and that of servers in other languages.
const RATIO_MIN: f64 = 0.8;
const OTHERS_RATIO_MIN: f64 = 0.7;
/// As large as a food.
const BODY: &[u8] = br#"{"id":501,"category":1,"name":"boiled onion 501","kcal":497,"protein":389,"fat":280,"carbs":224,"fibre":85,"price":120,"version":1}"#;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    if !wrk::is_here() {
        return output::skipped("the minimal handlers: wrk is not installed");
    }
    for engine in [Engine::Postgres, Engine::MariaDb] {
        let Some(running) = engine::start(engine) else { continue };
        running.create_database("catalogue").expect("a private engine takes a database");
        let url = running.tcp_url("catalogue");
        let password = running.url("catalogue").password.map(|secret| secret.reveal().to_owned());
        let at = At { engine, url, password: password.unwrap_or_default() };
        if let Err(why) = ours(&at) {
            output::skipped(&format!("our server: {why}"));
            continue;
        }
        if engine == Engine::Postgres
            && let Err(why) = declines(&running)
        {
            output::skipped(&format!("declined bookings: {why}"));
        }
        for other in OTHERS.iter().filter(|other| other.engine == engine) {
            if let Err(why) = theirs(&at, other) {
                output::skipped(&format!("servers/{}: {why}", other.folder));
            }
        }
    }
}

/// A loaded database.
struct At {
    engine: Engine,
    url: ServerUrl,
    password: String,
}

/// Loads the catalogue; where there is a minimal handler of ours, our server is compared with it.
fn ours(at: &At) -> Result<(), String> {
    let server = Server::of_catalogue_on(&at.url.to_string(), &at.password, None)?;
    if at.engine == Engine::MariaDb {
        return Ok(());
    }
    let minimal = minimal(at, "catalogue", FOOD);
    compare::<FoodCatalogue>("our server", at.engine, (&KINDS, &foods()), RATIO_MIN, &minimal, &server);
    Ok(())
}

/// The minimal handler, whose one statement is `statement`.
fn minimal(at: &At, database: &str, statement: &str) -> Server {
    let ServerUrl { port, user, .. } = &at.url;
    let config = format!("host=127.0.0.1 port={port} user={user} password={} dbname={database}", at.password);
    let executable = std::env::current_exe().expect("the system knows what it runs");
    Server::start(Command::new(executable).arg("serve").env(CONFIG, config).env(STATEMENT, statement))
}

/// Bookings of an event that is sold out: the only ticket is booked by the first call.
fn declines(running: &Running) -> Result<(), String> {
    running.create_database("booking").expect("a private engine takes a database");
    let url = running.tcp_url("booking");
    let password =
        running.url("booking").password.map(|secret| secret.reveal().to_owned()).unwrap_or_default();
    let options = ["--events", "1", "--stock", "1"];
    let server = Server::of("booking", &options, (&url.to_string(), &password), None)?;
    let at = At { engine: Engine::Postgres, url, password };
    let minimal = minimal(&at, "booking", EVENT);
    let folder = Folder::create("minimal-handler");
    let size = workload_booking::Cardinality { stock: 1, quantity: 1, ..Bookings::standard(1) };
    // The calls of another worker, whose keys are not those of the calls that are measured.
    let first = wrk::script(folder.path(), "first", &mut inputs::<Bookings>(&size, DECLINE, 1));
    let sold = wrk::run(None, 1, 1, &first, &server.url);
    if sold.refused == 0.0 || sold.refused >= sold.requests {
        return Err(format!("{} of {} calls were declined, not all but some", sold.refused, sold.requests));
    }
    compare::<Bookings>("our server", at.engine, (&[DECLINE], &size), RATIO_MIN, &minimal, &server);
    Ok(())
}

/// Calls of one kind by a worker.
fn inputs<W: Benchmark>(size: &W::Extent, only: &str, worker: u32) -> W::Inputs {
    let mix = Mix::of(W::KINDS, &[(only.to_owned(), 1.0)]).expect("it is a kind of the workload");
    workload::inputs::<W>(size, &Streams { seed: 1, mix: mix.as_ref(), ..Streams::default() })(worker)
}

/// A server in another language: how it is started, and the minimal handler next to it.
struct Other {
    folder: &'static str,
    engine: Engine,
    how: &'static str,
    server: &'static [&'static str],
    minimal: &'static [&'static str],
}

const fn other(
    folder: &'static str,
    engine: Engine,
    how: &'static str,
    server: &'static [&'static str],
    minimal: &'static [&'static str],
) -> Other {
    Other { folder, engine, how, server, minimal }
}

const PYTHON: &str = "./.venv/bin/python";
const OTHERS: &[Other] = &[
    other("c", Engine::Postgres, "libpq", &["./server"], &["./minimal"]),
    other("c", Engine::Postgres, "libpq/epoll", &["./server"], &["./minimal"]),
    other("c", Engine::MariaDb, "libmariadb", &["./server"], &["./minimal"]),
    other("c", Engine::MariaDb, "libmariadb/epoll", &["./server"], &["./minimal"]),
    other("go", Engine::Postgres, "pgx", &["./bin/net-http"], &["./bin/minimal"]),
    other("go", Engine::MariaDb, "go-sql-driver", &["./bin/net-http"], &["./bin/minimal"]),
    other("python", Engine::Postgres, "asyncpg", &[PYTHON, "main.py"], &[PYTHON, "minimal.py"]),
    other("python", Engine::MariaDb, "asyncmy", &[PYTHON, "main.py"], &[PYTHON, "minimal.py"]),
];

/// Holds a server in another language against its minimal handler.
fn theirs(at: &At, other: &Other) -> Result<(), String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../servers").join(other.folder);
    let built = Command::new("make").args(["--silent", "build"]).current_dir(&folder).output();
    let built = built.map_err(|error| format!("make: {error}"))?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    let start = |words: &[&str]| {
        let mut command = Command::new(folder.join(words[0]));
        command.args(&words[1..]).current_dir(&folder).envs([
            ("STACKMARK_WORKLOAD", FoodCatalogue::NAME),
            ("STACKMARK_ADAPTER", other.how),
            ("STACKMARK_DB", &at.url.to_string()),
            ("STACKMARK_DB_PASSWORD", &at.password),
            ("STACKMARK_POOL", &CONNECTIONS.to_string()),
            ("STACKMARK_THREADS", "1"),
            ("STACKMARK_LISTEN", "127.0.0.1:0"),
        ]);
        Server::start(&mut command)
    };
    let (minimal, server) = (start(other.minimal), start(other.server));
    let name = format!("servers/{}, {}", other.folder, other.how);
    // A point read next to a list: what else the list costs is in the ratio.
    compare::<FoodCatalogue>(&name, at.engine, (&KINDS[1..], &foods()), OTHERS_RATIO_MIN, &minimal, &server);
    Ok(())
}

/// The size of the catalogue.
fn foods() -> <FoodCatalogue as Wire>::Extent {
    FoodCatalogue::standard(1)
}

fn compare<W: Benchmark>(
    name: &str,
    engine: Engine,
    (kinds, size): (&[&str], &W::Extent),
    least: f64,
    minimal: &Server,
    server: &Server,
) {
    let folder = Folder::create("minimal-handler");
    for only in kinds {
        let script = wrk::script(folder.path(), only, &mut inputs::<W>(size, only, 0));
        let mut rates = [Vec::new(), Vec::new()];
        for side in turns(PAIRS).flatten() {
            let server = if side == Side::A { minimal } else { server };
            let ran = wrk::run(None, CONNECTIONS as u32, SECONDS, &script, &server.url);
            // A decline is answered with 409.
            let answered = if *only == DECLINE { ran.refused } else { ran.requests - ran.refused };
            rates[usize::from(side == Side::B)].push(answered / ran.seconds);
        }
        let engine = engine.title();
        output::title(&format!(
            "{only}{} from {engine}, {CONNECTIONS} connections: {name} compared with a minimal handler",
            if *only == DECLINE { ", sold out," } else { "" }
        ));
        output::figure("minimal handler", &format!("{}/s", output::spread(&rates[0], 0)));
        output::figure("the server", &format!("{}/s", output::spread(&rates[1], 0)));
        let ratio = Ratio::of(&rates[0], &rates[1]);
        output::ratio("  server of the minimal", ratio);
        output::goal(&format!("at least {least} of the minimal handler's"), ratio.median >= least);
    }
}

const CONFIG: &str = "MINIMAL_HANDLER_CONFIG";
const STATEMENT: &str = "MINIMAL_HANDLER_STATEMENT";
const FOOD: &str =
    "select id, category, name, kcal, protein, fat, carbs, fibre, price, version from food where id = $1";
const EVENT: &str = "select available::bigint from event where id = $1::bigint";

/// Connections with the one statement, of which each request takes one.
struct Pool {
    free: Mutex<Vec<(Client, Statement)>>,
    permits: Semaphore,
}

/// Becomes the minimal handler, on one thread.
fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system gives a runtime");
    runtime.block_on(async {
        let config = std::env::var(CONFIG).expect("the bench says where the engine is");
        let statement = std::env::var(STATEMENT).expect("the bench says what is read");
        let mut free = Vec::new();
        for _ in 0..CONNECTIONS {
            let (client, connection) =
                tokio_postgres::connect(&config, NoTls).await.expect("the engine takes connections");
            tokio::spawn(connection);
            let statement = client.prepare(&statement).await.expect("the data are loaded");
            free.push((client, statement));
        }
        let mut sold_out = Vec::new();
        Bookings::encode_outcome(&Outcome::Declined(Decline::SoldOut { available: 0 }), &mut sold_out);
        let sold_out = Bytes::from(sold_out);
        let pool = Arc::new(Pool { free: Mutex::new(free), permits: Semaphore::new(CONNECTIONS) });
        let router = Router::new()
            .route("/foods/{id}", get(|State(pool): State<Arc<Pool>>, Path(id): Path<i64>| read(pool, id)))
            .route("/categories", get(|State(pool): State<Arc<Pool>>| read(pool, 1)))
            .route("/bookings", post(|State(pool): State<Arc<Pool>>, _: Bytes| decline(pool, sold_out)))
            .with_state(pool);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        writeln!(std::io::stdout(), "listening on http://{address}").expect("someone waits for this line");
        let _ = axum::serve(listener, router).await;
    });
}

/// A connection that goes back to its pool, also from a request whose client has gone.
struct Taken<'a> {
    pool: &'a Pool,
    connection: Option<(Client, Statement)>,
}

impl Pool {
    fn take(&self) -> Taken<'_> {
        Taken { pool: self, connection: self.free.lock().unwrap_or_else(PoisonError::into_inner).pop() }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).extend(self.connection.take());
    }
}

async fn decline(
    pool: Arc<Pool>,
    body: Bytes,
) -> (StatusCode, [(axum::http::HeaderName, &'static str); 1], Bytes) {
    let _ = read(pool, 1).await;
    (StatusCode::CONFLICT, [(CONTENT_TYPE, "application/problem+json")], body)
}

async fn read(pool: Arc<Pool>, id: i64) -> ([(axum::http::HeaderName, &'static str); 2], Bytes) {
    let _permit = pool.permits.acquire().await.expect("it is never closed");
    let taken = pool.take();
    let (client, statement) = taken.connection.as_ref().expect("there is one for each permit");
    client.query_opt(statement, &[&id]).await.expect("the engine answers");
    ([(CONTENT_TYPE, "application/json"), (ETAG, "\"1\"")], Bytes::from_static(BODY))
}
