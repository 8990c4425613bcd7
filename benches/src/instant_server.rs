//! A server that answers at once: what is left of a call's cost is the load generator's own.
//!
//! It speaks the contract as far as a benchmark of the generator's New-Order loop needs it: `/about`,
//! `/health` and New-Order, with answers that were written before the first call. They pass every check of
//! the workload: as many lines as the call has, at a price of zero, so that all amounts and the total are
//! right whatever was ordered.

use arrayvec::ArrayVec;
use contract::Wire;
use model::{BasisPoints, Cents, Stack};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use workload_tpcc::{LINES_MAX, LINES_MIN, Outcome, Placed, PlacedLine, Text, Tpcc, kind, order_total};

/// Bytes of a request, head and body.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// What each line of a New-Order has once.
const LINE_MARK: &[u8] = b"\"i_id\"";

/// Pieces of each line for which the answers are right.
pub const QUANTITY: u32 = 5;

/// Starts the server on a free port of the loopback address, with one thread that lives as long as the
/// process.
pub fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let answers: &'static Answers = Box::leak(Box::new(Answers::new()));
    std::thread::Builder::new()
        .name("instant-server".into())
        .spawn(move || runtime.block_on(accept(listener, answers)))?;
    Ok(addr)
}

async fn accept(listener: TcpListener, answers: &'static Answers) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve(stream, answers));
    }
}

/// Whole answers, ready to be sent.
struct Answers {
    about: Vec<u8>,
    health: Vec<u8>,
    /// By the number of lines.
    placed: Vec<Vec<u8>>,
    unknown: Vec<u8>,
}

impl Answers {
    fn new() -> Answers {
        let about = serde_json::json!({
            "name": "instant-server",
            "version": env!("CARGO_PKG_VERSION"),
            "contract": "tpcc/1",
            "workload": "tpcc",
            "scale": 1,
            "pool": 1,
            "pid": std::process::id(),
            "stack": Stack { engine: "none".into(), ..Stack::default() },
        });
        Answers {
            about: answer("200 OK", about.to_string().as_bytes()),
            health: answer("200 OK", br#"{"status":"ok"}"#),
            placed: (0..=LINES_MAX).map(placed).collect(),
            unknown: answer("404 Not Found", b"{}"),
        }
    }

    /// The answer to a request with this path and body.
    fn to(&self, path: &str, body: &[u8]) -> &[u8] {
        if path == Tpcc::ENDPOINTS[kind::NEW_ORDER].path {
            let lines = body.windows(LINE_MARK.len()).filter(|window| *window == LINE_MARK).count();
            return self.placed.get(lines).unwrap_or(&self.unknown);
        }
        match path {
            "/about" => &self.about,
            "/health" => &self.health,
            _ => &self.unknown,
        }
    }
}

/// The outcome of a New-Order of so many lines.
pub fn outcome(lines: usize) -> Outcome {
    let lines = lines.max(LINES_MIN);
    let (i_price, c_discount, w_tax, d_tax) =
        (Cents(4_567), BasisPoints(1_234), BasisPoints(1_000), BasisPoints(500));
    let ol_amount = i_price.times(i64::from(QUANTITY));
    let total_amount = order_total(ol_amount.times(lines as i64), c_discount, w_tax, d_tax);
    let text = |text: &str| Text::from(text).expect("the sample texts fit");
    let line = PlacedLine {
        i_name: Text::from("abcdefghijklmnopqr").expect("the sample text fits"),
        i_price,
        s_quantity: 57,
        brand_generic: Text::from("G").expect("one letter fits"),
        ol_amount,
    };
    Outcome::Placed(Placed {
        o_id: 3_001,
        o_entry_d: 1_700_000_000,
        c_last: text("BARBARBAR"),
        c_credit: Text::from("GC").expect("two letters fit"),
        c_discount,
        w_tax,
        d_tax,
        total_amount,
        lines: std::iter::repeat_n(line, lines).collect::<ArrayVec<_, LINES_MAX>>(),
    })
}

fn placed(lines: usize) -> Vec<u8> {
    let mut body = Vec::new();
    Tpcc::encode_outcome(&outcome(lines), &mut body);
    answer("200 OK", &body)
}

/// With the headers of the reference server, so that reading them is part of what is measured.
fn answer(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nserver-timing: queue;dur=0.001000, pool;dur=0.000000, \
         begin;dur=0.001000, query;dur=0.010000, commit;dur=0.001000, encode;dur=0.002000, total;dur=0.015000\r\n\
         stackmark-work: attempts=1, statements=46, rows=33, commits=1\r\ncontent-length: {}\r\n\
         date: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

async fn serve(mut stream: TcpStream, answers: &'static Answers) -> io::Result<()> {
    let mut buffer = vec![0; REQUEST_BYTES_MAX];
    let mut filled = 0;
    loop {
        let bytes = stream.read(&mut buffer[filled..]).await?;
        if bytes == 0 {
            return Ok(());
        }
        filled += bytes;
        while let Some((used, answer)) = next(&buffer[..filled], answers)? {
            stream.write_all(answer).await?;
            buffer.copy_within(used..filled, 0);
            filled -= used;
        }
    }
}

/// The length of the request at the start of `bytes` and its answer; `None` if it is not all there yet.
fn next<'a>(bytes: &[u8], answers: &'a Answers) -> io::Result<Option<(usize, &'a [u8])>> {
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(bytes).map_err(io::Error::other)?;
    let httparse::Status::Complete(head) = parsed else { return Ok(None) };
    let length = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length =
        length.and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse().ok()).unwrap_or(0);
    let Some(body) = bytes.get(head..head + length) else { return Ok(None) };
    Ok(Some((head + length, answers.to(request.path.unwrap_or_default(), body))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Inputs as _, Workload};
    use workload_tpcc::{Call, Cardinality, Inputs};

    #[test]
    fn its_answers_pass_the_workloads_checks() {
        let answers = Answers::new();
        let mut inputs = Inputs::new(Cardinality::standard(1), 1, 1, 0);
        let mut seen = 0;
        while seen < 200 {
            let Call::NewOrder(mut order) = inputs.draw() else { continue };
            order.lines.iter_mut().for_each(|line| line.quantity = QUANTITY);
            let call = Call::NewOrder(order);
            seen += 1;
            let mut body = Vec::new();
            Tpcc::encode_call(&call, &mut body);
            let request = format!("POST /tpcc/new-order HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
            let request = [request.as_bytes(), &body].concat();
            assert!(next(&request[..request.len() - 1], &answers).unwrap().is_none());
            let (used, answer) = next(&request, &answers).unwrap().unwrap();
            assert_eq!(used, request.len());
            let body = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            let outcome = Tpcc::decode_outcome(&call, &contract::Answer::of(&answer[body..])).unwrap();
            Tpcc::check(&call, &outcome).unwrap();
        }
    }
}
