//! A real broker, written to, read, and missing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use broker::{Address, Broker, BrokerError, Record, Stored};
use model::Nanos;
use sql::Secret;
use std::future::Future;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn shared_broker() -> Option<Address> {
    let (place, user, password) = rig::for_tests::broker()?;
    Address::of_user(&place, user, password)
}

fn record(key: u32, value: u32) -> Record {
    let created = Some(Nanos::from_secs(1_764_000_000) + Nanos::from_millis(value.into()));
    Record { key: key.to_be_bytes().to_vec(), value: value.to_string().into_bytes(), created }
}

async fn all(broker: &Broker, topic: &str) -> Vec<Stored> {
    let mut found = Vec::new();
    let each = |stored| {
        found.push(stored);
        Ok::<_, BrokerError>(())
    };
    broker.read(topic, each).await.unwrap();
    found
}

#[test]
fn what_is_written_is_read_in_its_order_in_each_partition() {
    let Some(address) = shared_broker() else { return };
    let topic = format!("order-{}", std::process::id());
    block_on(async {
        let broker = Broker::connect(&address).await.unwrap();
        broker.create_topic(&topic, 2).await.unwrap();
        assert!(
            broker.create_topic(&topic, 2).await.unwrap_err().to_string().contains(&topic),
            "it is there"
        );
        assert_eq!(broker.topics().await.unwrap().get(&topic), Some(&2));
        assert_eq!(all(&broker, &topic).await, []);
        for number in 0..2 {
            let partition = broker.partition(&topic, number).await.unwrap();
            for batch in 0..5 {
                let records = (0..100).map(|at| record(number, batch * 100 + at)).collect();
                partition.write(records).await.unwrap();
            }
            assert_eq!(partition.bounds().await.unwrap(), (0, 500));
            let some = partition.read(250, Duration::ZERO).await.unwrap();
            assert_eq!((some[0].offset, &some[0].record), (250, &record(number, 250)));
            assert_eq!(partition.read(500, Duration::from_millis(50)).await.unwrap(), []);
        }
        let found = all(&broker, &topic).await;
        let expected = (0..2).flat_map(|number| (0..500).map(move |at| (number, record(number, at))));
        assert!(found.iter().map(|stored| (stored.partition, stored.record.clone())).eq(expected));
        let now_s = measure::unix_seconds() as f64;
        let is_recent = |stored: &Stored| (now_s - stored.written.unwrap().as_secs_f64()).abs() < 60.0;
        assert!(found.iter().all(is_recent), "retention counts from the write, not from {:?}", found[0]);
        let undated = Record { created: None, ..record(0, 500) };
        let partition = broker.partition(&topic, 0).await.unwrap();
        partition.write(vec![undated]).await.unwrap();
        let read = partition.read(500, Duration::ZERO).await.unwrap();
        assert!(read[0].record.created.is_none() && is_recent(&read[0]), "{read:?}");
        broker.delete_topic(&topic).await.unwrap();
        broker.delete_topic(&topic).await.unwrap();
        assert_eq!(broker.topics().await.unwrap().get(&topic), None);
        let error = broker.read(&topic, |_| Ok::<_, BrokerError>(())).await.unwrap_err();
        assert!(error.to_string().contains("no such topic"), "{error}");
    });
}

#[test]
fn no_one_gets_in_with_another_password_or_with_none() {
    let Some(address) = shared_broker() else { return };
    let other = Address { password: Some(Secret::new("0000")), ..address.clone() };
    let none = Address { user: None, password: None, ..address };
    block_on(async {
        let error = Broker::connect(&other).await.unwrap_err();
        assert!(matches!(error, BrokerError::Refused { .. }), "{error:?}");
        assert!(!error.to_string().contains("0000"), "{error}");
        Broker::connect(&none).await.unwrap_err();
    });
}

/// Connects to a server that answers each connection by a function, and gives the error.
async fn error_of<A: Future<Output = std::io::Result<()>>>(answer: impl Fn(TcpStream) -> A) -> BrokerError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: Address = listener.local_addr().unwrap().to_string().parse().unwrap();
    let answering = async {
        loop {
            // A client that has gone before its answer is not an error.
            let _ = answer(listener.accept().await.unwrap().0).await;
        }
    };
    let error = tokio::select! {
        answer = Broker::connect(&address) => answer.unwrap_err(),
        () = answering => unreachable!("it accepts for ever"),
    };
    assert!(error.to_string().starts_with(&address.place()), "{error}");
    error
}

#[test]
fn what_is_no_broker_is_said_to_be_none() {
    block_on(async {
        let error = error_of(async |mut stream: TcpStream| {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await
        });
        let error = error.await;
        assert!(matches!(error, BrokerError::Foreign { .. }), "{error:?}");
        // One that ends each connection, as PostgreSQL does with what it does not understand.
        let error = error_of(async |stream: TcpStream| {
            drop(stream);
            Ok(())
        });
        let error = error.await;
        assert!(matches!(error, BrokerError::Unavailable { .. } | BrokerError::Foreign { .. }), "{error:?}");

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: Address = listener.local_addr().unwrap().to_string().parse().unwrap();
        drop(listener);
        let error = Broker::connect(&address).await.unwrap_err();
        assert!(matches!(error, BrokerError::Unavailable { .. }), "{error:?}");
    });
}

/// A broker that knows version 100 of the request `Metadata` alone, and says so in version 3 of `ApiVersions`.
async fn answer_as_another_version(mut stream: TcpStream) -> std::io::Result<()> {
    const METADATA: i16 = 3;
    const API_VERSIONS: i16 = 18;
    loop {
        let size = stream.read_i32().await?;
        let mut request = vec![0; size as usize];
        stream.read_exact(&mut request).await?;
        let mut answer = request[4..8].to_vec();
        answer.extend([0, 0, 3]);
        for (request, versions) in [(METADATA, [100, 100]), (API_VERSIONS, [0, 3])] {
            let [least, most]: [i16; 2] = versions;
            [request, least, most].iter().for_each(|number| answer.extend(number.to_be_bytes()));
            answer.push(0);
        }
        answer.extend([0; 5]);
        stream.write_i32(answer.len() as i32).await?;
        stream.write_all(&answer).await?;
    }
}

#[test]
fn a_broker_of_another_version_is_named_as_such() {
    block_on(async {
        let error = error_of(answer_as_another_version).await;
        assert!(matches!(error, BrokerError::OtherVersion { .. }), "{error:?}");
        assert!(error.to_string().contains("Metadata"), "{error}");
    });
}
