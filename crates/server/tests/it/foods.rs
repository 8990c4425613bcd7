//! Calls that are HTTP's own, from the client's session through the server to sessions and back.

use crate::rig::Client;
use crate::toy::foods::{Call, Foods, Outcome};
use adapter_http::{Expected, HttpTarget};
use model::{
    AnyTarget, CallWork, Conflict, DefectKind, Fault, Home, OpenError, Refusal, Session, Stack, Target,
    Verdict, Workload,
};
use server::{Server, Settings};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// The last food that exists: one with which the engine has a conflict.
const CONTESTED: u32 = 7;

/// Version and what is left of each food, and what was answered to each key.
#[derive(Default)]
struct Shop {
    foods: HashMap<u32, (u32, u32)>,
    answered: HashMap<u32, Outcome>,
}

struct Shops(Arc<Mutex<Shop>>);

impl Target<Foods> for Shops {
    type Session = Shops;

    fn home(&self) -> Home {
        Home::Task
    }

    async fn open(&self, _worker: u32) -> Result<Shops, OpenError> {
        Ok(Shops(self.0.clone()))
    }

    fn stack(&self) -> Stack {
        Stack::default()
    }
}

impl Session<Foods> for Shops {
    async fn run(&mut self, call: &Call, _: &mut CallWork) -> Result<Outcome, Fault> {
        let mut shop = self.0.lock().unwrap();
        let Shop { foods, answered } = &mut *shop;
        let (Call::Look { food } | Call::Take { food, .. }) = *call;
        if food == CONTESTED {
            return Err(Fault::Conflict(Conflict::Deadlock));
        }
        let (version, left) = foods.entry(food).or_insert((1, 1));
        let Call::Take { seen, key, .. } = *call else {
            return Ok(Outcome::Seen { version: *version, left: *left });
        };
        Ok(*answered.entry(key).or_insert_with(|| {
            if seen != *version {
                return Outcome::Stale { version: *version, left: *left };
            }
            if *left == 0 {
                return Outcome::SoldOut { version: *version };
            }
            (*version, *left) = (*version + 1, *left - 1);
            Outcome::Seen { version: *version, left: *left }
        }))
    }
}

/// Runs a test against a server of foods.
fn with_server(test: impl AsyncFnOnce(SocketAddr)) {
    let settings = Settings { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Settings::default() };
    let bound = Server::bind(settings).unwrap();
    let addr = bound.addr();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        bound.serve::<Foods>(AnyTarget::new(Shops(Arc::default())), CONTESTED, async {
            let _ = stopped.await;
        })
    });
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test(addr));
    stop.send(()).unwrap();
    thread.join().unwrap().unwrap();
}

#[test]
fn ids_headers_and_statuses_cross_the_wire_and_the_workload_says_what_is_declined() {
    with_server(async |addr| {
        let target =
            HttpTarget::<Foods>::reach(&format!("http://{addr}"), &Expected::default()).await.unwrap();
        let mut session = target.open(0).await.unwrap();
        let mut run = async |call: Call| session.run(&call, &mut CallWork::default()).await;
        assert_eq!(run(Call::Look { food: 3 }).await, Ok(Outcome::Seen { version: 1, left: 1 }));
        let taken = Ok(Outcome::Seen { version: 2, left: 0 });
        assert_eq!(run(Call::Take { food: 3, seen: 1, key: 10 }).await, taken);
        // The same key once more takes nothing, and gets the same answer.
        assert_eq!(run(Call::Take { food: 3, seen: 1, key: 10 }).await, taken);
        let stale = run(Call::Take { food: 3, seen: 1, key: 11 }).await.unwrap();
        assert_eq!(stale, Outcome::Stale { version: 2, left: 0 });
        let sold_out = run(Call::Take { food: 3, seen: 2, key: 12 }).await.unwrap();
        assert_eq!(sold_out, Outcome::SoldOut { version: 2 });
        assert_eq!([stale, sold_out].map(|outcome| Foods::verdict(&outcome)), [Verdict::Declined; 2]);
        // A 409 of the engine's is not an outcome, and the connection goes on.
        let contested = run(Call::Take { food: CONTESTED, seen: 1, key: 13 }).await;
        assert_eq!(contested, Err(Fault::Conflict(Conflict::Deadlock)));
        match run(Call::Look { food: 99 }).await {
            Err(Fault::Defect(defect)) => assert_eq!(defect.kind, DefectKind::BadCall, "{defect:?}"),
            other => panic!("{other:?}"),
        }
        assert_ne!(run(Call::Look { food: 3 }).await, Err(Fault::Refused(Refusal::Unreachable)));
    });
}

#[test]
fn a_request_of_another_method_or_without_its_headers_is_told_so() {
    with_server(async |addr| {
        let mut client = Client::connect(addr);
        let looked = client.exchange("GET /foods/1?why=not HTTP/1.1\r\nhost: x\r\n\r\n");
        assert_eq!((looked.status, looked.header("etag"), &*looked.body), (200, Some("\"1\""), "1"));
        let of = |headers: &str| {
            let body = "content-type: application/json\r\ncontent-length: 10\r\n\r\n{\"take\":1}";
            format!("PATCH /foods/1 HTTP/1.1\r\nhost: x\r\n{headers}{body}")
        };
        let taken = client.exchange(of("If-Match: \"1\"\r\nIdempotency-Key: 5\r\n"));
        assert_eq!((taken.status, taken.header("etag")), (200, Some("\"2\"")));
        let stale = client.exchange(of("if-match: \"1\"\r\nidempotency-key: 6\r\n"));
        assert_eq!((stale.status, stale.header("content-type")), (409, Some("application/json")));
        let without = client.exchange(of("if-match: \"1\"\r\n"));
        assert_eq!((without.status, &*without.problem("detail")), (422, "idempotency-key is missing"));
        // Which of two would count is no one's guess.
        let twice = client.exchange(of("if-match: \"2\"\r\nif-match: \"2\"\r\nidempotency-key: 7\r\n"));
        assert_eq!(twice.status, 422);
        let posted = client.exchange("POST /foods/1 HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(posted.status, 405);
        assert!(posted.header("allow").is_some_and(|allowed| allowed.contains("PATCH")), "{posted:?}");
    });
}
