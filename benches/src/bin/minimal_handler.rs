//! What our server adds to a read of the catalogue from PostgreSQL: its rate beside that of a minimal handler in the same
//! framework and driver, which does one prepared point read and answers a fixed body. wrk asks both, in turn, over as many
//! connections as each has to the engine; both speak HTTP on one thread.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::routing::get;
use benchmark::Benchmark;
use model::{Mix, Workload};
use rig::Engine;
use stackmark_benches::data::Folder;
use stackmark_benches::pairs::{Ratio, Side, Spread, turns};
use stackmark_benches::server::Server;
use stackmark_benches::{engine, say, wrk};
use std::io::Write as _;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio_postgres::{Client, NoTls, Statement};
use workload_catalogue::FoodCatalogue;

const KINDS: [&str; 2] = ["food-read", "categories"];
/// Connections to the server, and from it to the engine.
const CONNECTIONS: usize = 8;
const PAIRS: usize = 5;
const SECONDS: u64 = 4;
/// Our rate, of the minimal handler's.
const RATIO_MIN: f64 = 0.8;
/// As large as a food.
const BODY: &[u8] = br#"{"id":501,"category":1,"name":"boiled onion 501","kcal":497,"protein":389,"fat":280,"carbs":224,"fibre":85,"price":120,"version":1}"#;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    let Some(running) = engine::start(Engine::Postgres) else { return };
    if !wrk::is_here() {
        return say::skipped("the minimal handler: wrk is not installed");
    }
    running.create_database("catalogue").expect("a private engine takes a database");
    let url = running.tcp_url("catalogue");
    let password = running.url("catalogue").password.map(|secret| secret.reveal().to_owned());
    let password = password.unwrap_or_default();
    let ours = match Server::of_catalogue_on(&url.to_string(), &password, None) {
        Ok(server) => server,
        Err(why) => return say::skipped(&format!("our server: {why}")),
    };
    let config = format!(
        "host=127.0.0.1 port={} user={} password={password} dbname=catalogue",
        running.tcp_url("x").port,
        running.tcp_url("x").user
    );
    let executable = std::env::current_exe().expect("the system knows what it runs");
    let minimal = Server::start(Command::new(executable).arg("serve").env(CONFIG, config));
    let folder = Folder::create("minimal-handler");
    let size = FoodCatalogue::standard(1);
    for only in KINDS {
        let mix =
            Mix::of(FoodCatalogue::KINDS, &[(only.to_owned(), 1.0)]).expect("it is a kind of the catalogue");
        let mut inputs = FoodCatalogue::inputs(&size, None, 1, mix.as_ref())(0);
        let script = wrk::gets_script(folder.path(), only, &mut inputs);
        let mut rates = [Vec::new(), Vec::new()];
        for side in turns(PAIRS).flatten() {
            let server = if side == Side::A { &minimal } else { &ours };
            let ran = wrk::run(None, CONNECTIONS as u32, SECONDS, &script, &server.url);
            rates[usize::from(side == Side::B)].push((ran.requests - ran.refused) / ran.seconds);
        }
        say::title(&format!(
            "{only} from PostgreSQL, {CONNECTIONS} connections: our server beside a minimal handler"
        ));
        say::figure("minimal handler", &format!("{}/s", say::spread(&rates[0], 0)));
        say::figure("our server", &format!("{}/s", say::spread(&rates[1], 0)));
        say::ratio("  ours of the minimal", Ratio::of(&rates[0], &rates[1]));
        let ratio = Spread::of(&rates[1]).median / Spread::of(&rates[0]).median;
        say::goal(&format!("at least {RATIO_MIN} of the minimal handler's"), ratio >= RATIO_MIN);
    }
}

const CONFIG: &str = "MINIMAL_HANDLER_CONFIG";

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
        let mut free = Vec::new();
        for _ in 0..CONNECTIONS {
            let (client, connection) =
                tokio_postgres::connect(&config, NoTls).await.expect("the engine takes connections");
            tokio::spawn(connection);
            let statement = client.prepare("select id, category, name, kcal, protein, fat, carbs, fibre, price, version from food where id = $1");
            let statement = statement.await.expect("the catalogue is loaded");
            free.push((client, statement));
        }
        let pool = Arc::new(Pool { free: Mutex::new(free), permits: Semaphore::new(CONNECTIONS) });
        let router = Router::new()
            .route("/foods/{id}", get(|State(pool): State<Arc<Pool>>, Path(id): Path<i64>| read(pool, id)))
            .route("/categories", get(|State(pool): State<Arc<Pool>>| read(pool, 1)))
            .with_state(pool);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        writeln!(std::io::stdout(), "listening on http://{address}").expect("somebody waits for this line");
        let _ = axum::serve(listener, router).await;
    });
}

async fn read(pool: Arc<Pool>, id: i64) -> ([(axum::http::HeaderName, &'static str); 2], Bytes) {
    let _permit = pool.permits.acquire().await.expect("it is never closed");
    let free = || pool.free.lock().unwrap_or_else(PoisonError::into_inner);
    let (client, statement) = free().pop().expect("there is one for each permit");
    let row = client.query_opt(&statement, &[&id]).await;
    free().push((client, statement));
    row.expect("the engine answers");
    ([(CONTENT_TYPE, "application/json"), (ETAG, "\"1\"")], Bytes::from_static(BODY))
}
