//! Notifications of a real server.

use crate::support::{batch, database, wait};
use adapter_tokio_postgres::Listener;
use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};

#[test]
fn a_listener_hears_what_has_committed_and_how_its_connection_ends() {
    let url = database("listen");
    wait(async {
        let mut listener = Listener::reach(&url, "heard").await.unwrap();
        batch(&url, "begin; notify heard; rollback; notify another").await;
        assert!(
            pin!(listener.notified()).poll(&mut Context::from_waker(Waker::noop())).is_pending(),
            "nothing was committed on its channel"
        );
        // What comes before it waits is kept, as one notification.
        batch(&url, "begin; notify heard; commit").await;
        batch(&url, "notify heard").await;
        assert!(listener.notified().await);
        let end = "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen heard'";
        batch(&url, end).await;
        while listener.notified().await {}
        assert!(!listener.notified().await, "its connection has ended");
    });
}
