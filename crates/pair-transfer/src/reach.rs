//! Stores by their addresses, whatever driver reaches them.

use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::SqliteOpener;
use adapter_tokio_postgres::PostgresOpener;
use anyhow::{Context, Result};
use measure::Monotonic;
use model::{OpenError, store_name};
use sql::{CatalogueError, DbUrl, Dialect, SqlOpener};

/// A driver that opens sessions in a store.
pub trait Reach: SqlOpener + Sized {
    /// What opens sessions that run `statements` in a store, after one attempt; `clock` times what waits within the process.
    ///
    /// # Errors
    /// The store cannot be reached or used, or is of another engine than the driver.
    fn reach(
        store: &DbUrl,
        statements: Vec<String>,
        clock: Monotonic,
    ) -> impl Future<Output = Result<Self, OpenError>>;
}

impl Reach for SqliteOpener<Monotonic> {
    async fn reach(store: &DbUrl, statements: Vec<String>, clock: Monotonic) -> Result<Self, OpenError> {
        SqliteOpener::new(store.sqlite()?, statements, clock)
    }
}

impl Reach for PostgresOpener {
    async fn reach(store: &DbUrl, statements: Vec<String>, _: Monotonic) -> Result<Self, OpenError> {
        PostgresOpener::reach(store.server()?, statements).await
    }
}

impl Reach for MySqlOpener {
    async fn reach(store: &DbUrl, statements: Vec<String>, _: Monotonic) -> Result<Self, OpenError> {
        MySqlOpener::reach(store.server()?, statements).await
    }
}

/// Openers of all stores, in their order, for the statements of a catalogue.
pub(crate) async fn reach_all<O: Reach>(
    stores: &[DbUrl],
    catalogue: fn(Dialect) -> Result<Vec<String>, CatalogueError>,
    clock: Monotonic,
) -> Result<Vec<O>> {
    let mut openers = Vec::with_capacity(stores.len());
    for (shard, store) in stores.iter().enumerate() {
        let statements = catalogue(store.dialect())?;
        openers.push(O::reach(store, statements, clock).await.with_context(|| store_name(shard))?);
    }
    Ok(openers)
}
