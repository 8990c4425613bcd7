//! Servers, reached as what a trial is run on.

use adapter_http::{Expected, HttpTarget};
use anyhow::{Result, anyhow};
use deploy::Server;
use model::{AnyTarget, HttpOptions, RetryPolicy, RetryingTarget};
use targets::{Driven, TrialTarget};

/// A server as what a trial is run on.
pub fn of_server<W: Driven>(target: HttpTarget<W>) -> TrialTarget<W> {
    RetryingTarget::new(AnyTarget::new(target), RetryPolicy::ONCE)
}

/// Finds a server and checks that it keeps the contract.
pub fn reach<W: Driven>(url: &str, scale: Option<u64>) -> Result<HttpTarget<W>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(HttpTarget::reach(url, &Expected { scale }))?)
}

/// The same of a server that was started here: what it has to say about a failure is in its log.
pub(crate) fn reach_started<W: Driven>(
    server: &Server,
    scale: u32,
    options: HttpOptions,
) -> Result<HttpTarget<W>> {
    let reached = reach(server.url(), Some(scale.into())).and_then(|target| Ok(target.through(options)?));
    reached.map_err(|error| anyhow!("{error:#}{}", server.log_tail()))
}

/// Why the server of a trial is not the one that it began with, if so: it ended, or was started again.
pub(crate) fn gone<W: Driven>(url: &str, about: &adapter_http::About) -> Option<String> {
    match reach::<W>(url, None) {
        Ok(target) if target.about().is_of(about) => None,
        Ok(_) => Some("the server was replaced by another one during the trial".into()),
        Err(error) => Some(format!("the server is gone after the trial: {error:#}")),
    }
}
