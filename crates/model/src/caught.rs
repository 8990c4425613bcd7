//! Panics of a driver: what a server sends must not end the process.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;

/// The start of the message about a panic that was caught in a driver.
pub const DRIVER_PANICKED: &str = "the driver panicked at what the server sent";

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    /// Where the last panic that was caught on this thread began.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a future to its end; a panic inside becomes its message and place, and nothing is printed.
///
/// # Errors
/// The future panicked. What it had borrowed may be in any state: discard it.
pub async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    listen();
    let mut future = pin!(future);
    poll_fn(|cx| {
        let outer = CATCHING.replace(true);
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        CATCHING.set(outer);
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(payload) => {
                Poll::Ready(Err(format!("{} ({})", panic_message(payload.as_ref()), PLACE.take())))
            }
        }
    })
    .await
}

/// The message of a panic.
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "no message".to_owned(),
    }
}

/// Keeps panics that are caught out of standard error; all others go to the hook that was there before.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if CATCHING.get() {
                let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
                PLACE.replace(place.unwrap_or_default());
            } else {
                before(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Waker};

    fn run<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("nothing here waits"),
        }
    }

    #[test]
    fn a_panic_becomes_its_message_and_place() {
        assert_eq!(run(caught(async { 7 })), Ok(7));
        let panicked = run(caught(async {
            let plugin = "ed25519";
            assert_eq!(plugin, "known", "no such plugin");
        }));
        let words = panicked.unwrap_err();
        assert!(words.contains("no such plugin") && words.contains("caught.rs:"), "{words}");
        // The next one outside is loud again.
        assert!(!CATCHING.get());
    }
}
