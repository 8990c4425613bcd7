//! Which store an account is in: one map of ranges, made of what each store reports in its table `shard_range`.
//!
//! Everybody who has to know asks here: sessions over several stores, their recovery, relays, and who forgets keys.

use crate::sql::absent;
use crate::{Call, Cardinality, Transfer};
use model::Fault;
use sql::{Catalogue, CatalogueError, Dialect, SqlConn, StmtId, TxKind};
use std::sync::Arc;

/// The one statement of who makes a router, on every engine.
pub fn router_catalogue(_: Dialect) -> Result<Vec<String>, CatalogueError> {
    Catalogue::parse(include_str!("../spec/sql/transfer/router.sql"))?.select(&["read_range"])
}

/// The accounts of each store, in the order of the stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Router {
    /// The first account and the last one.
    ranges: Arc<[[u32; 2]]>,
}

/// Where a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way<'a> {
    /// The store of its account, or of its source.
    pub(crate) here: usize,
    /// A transfer to another store, and which.
    pub(crate) crosses: Option<(&'a Transfer, usize)>,
}

impl Router {
    /// Of what the stores hold, in their order: each goes on where the one before has ended.
    pub fn of(id_ranges: &[[i64; 2]]) -> Result<Router, (usize, String)> {
        let mut next = 1;
        let mut ranges = Vec::with_capacity(id_ranges.len());
        for (at, &[first, last]) in id_ranges.iter().enumerate() {
            let range = u32::try_from(first).ok().zip(u32::try_from(last).ok());
            let Some((first, last)) =
                range.filter(|(first, last)| i64::from(*first) == next && last >= first)
            else {
                return Err((
                    at,
                    format!("it holds the accounts {first} to {last}, and those from {next} on belong there"),
                ));
            };
            ranges.push([first, last]);
            next = i64::from(last) + 1;
        }
        Ok(Router { ranges: ranges.into() })
    }

    /// From what stores answer over connections whose statement is that of [`router_catalogue`], in the order of the stores.
    ///
    /// # Errors
    /// Which store could not be asked or does not hold its part, and why.
    pub async fn read<C: SqlConn>(stores: &mut [C]) -> Result<Router, (usize, String)> {
        let mut id_ranges = Vec::with_capacity(stores.len());
        for (at, store) in stores.iter_mut().enumerate() {
            let ranges = ranges(store).await.map_err(|fault| (at, fault.to_string()))?;
            let &[range] = &ranges[..] else {
                return Err((at, format!("its record of accounts exists {} times", ranges.len())));
            };
            id_ranges.push(range);
        }
        Router::of(&id_ranges)
    }

    /// The store of an account, by its index; of an account that does not exist one of those that do.
    pub fn store_of(&self, account: u32) -> usize {
        self.ranges.partition_point(|[_, last]| *last < account).min(self.ranges.len().saturating_sub(1))
    }

    /// The accounts of a store, by its index: the first and the last.
    pub fn ids(&self, store: usize) -> [u32; 2] {
        self.ranges[store]
    }

    /// The last account of all.
    pub(crate) fn last(&self) -> u32 {
        self.ranges.last().map_or(0, |[_, last]| *last)
    }

    fn is_there(&self, account: u32) -> bool {
        (1..=self.last()).contains(&account)
    }

    /// The transfer of a call, if both of its accounts exist and are in two stores.
    pub fn crossing(&self, call: &Call) -> Option<Transfer> {
        let (transfer, _) = self.way(call).ok()?.crosses?;
        self.is_there(transfer.source).then_some(*transfer)
    }

    /// Where a call goes. What a transfer's target is is in another store perhaps, so that someone has to know whether it
    /// exists before the source is asked.
    pub(crate) fn way<'a>(&self, call: &'a Call) -> Result<Way<'a>, Fault> {
        let here = self.store_of(call.account());
        let crosses = match call {
            Call::Transfer { transfer, .. } if !self.is_there(transfer.target) => {
                return Err(absent(transfer.target));
            }
            Call::Transfer { transfer, .. } => Some((transfer, self.store_of(transfer.target))),
            Call::ReadTransfer { .. } | Call::ReadAccount { .. } => None,
        };
        Ok(Way { here, crosses: crosses.filter(|(_, to)| *to != here) })
    }
}

/// What is loaded into the stores.
impl From<Cardinality> for Router {
    fn from(size: Cardinality) -> Router {
        let range = |part: Cardinality| {
            let (first, last) = part.ids().into_inner();
            [first, last]
        };
        Router { ranges: size.parts().map(range).collect() }
    }
}

async fn ranges<C: SqlConn>(store: &mut C) -> Result<Vec<[i64; 2]>, Fault> {
    let mut ranges = Vec::new();
    store.begin(TxKind::OneRead).await?;
    store.rows(StmtId(0), &[], |row| Ok([row.int(0)?, row.int(1)?]), &mut ranges).await?;
    store.commit().await?;
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;

    const KEY: Key = Key { run: 1, worker: 0, sequence: 0 };

    #[test]
    fn it_says_what_the_load_has_put_where() {
        for shards in 1..=3 {
            let size = Cardinality { shards, ..Cardinality::tiny() };
            let router = Router::from(size);
            for account in size.ids() {
                assert_eq!(router.store_of(account), size.shard_of(account) as usize);
            }
            let id_ranges: Vec<_> =
                (0..shards as usize).map(|store| router.ids(store).map(i64::from)).collect();
            assert_eq!(Router::of(&id_ranges), Ok(router));
        }
    }

    #[test]
    fn stores_that_are_not_one_after_the_other_are_refused_by_name() {
        let check = |id_ranges: &[[i64; 2]], at: usize, why: &str| {
            let (found, text) = Router::of(id_ranges).unwrap_err();
            assert!(found == at && text.contains(why), "{found} {text}");
        };
        check(&[[9, 24], [1, 8]], 0, "9 to 24, and those from 1 on");
        check(&[[1, 8], [1, 8]], 1, "1 to 8, and those from 9 on");
        check(&[[1, 8], [17, 24]], 1, "17 to 24, and those from 9 on");
        check(&[[1, 0]], 0, "1 to 0");
        check(&[[1, 5_000_000_000]], 0, "1 to 5000000000");
    }

    #[test]
    fn a_call_goes_where_its_account_is_and_a_transfer_to_no_one_nowhere() {
        let router = Router::of(&[[1, 8], [9, 24]]).unwrap();
        let transfer = |source, target| Transfer { key: KEY, source, target, amount: 1 };
        let call = |source, target| Call::of(transfer(source, target), &Cardinality::tiny());
        assert_eq!(router.way(&call(1, 8)), Ok(Way { here: 0, crosses: None }));
        assert_eq!(router.way(&call(9, 8)), Ok(Way { here: 1, crosses: Some((&transfer(9, 8), 0)) }));
        assert_eq!(router.way(&Call::ReadAccount { id: 99 }), Ok(Way { here: 1, crosses: None }));
        for missing in [0, 25] {
            assert!(matches!(router.way(&call(1, missing)), Err(Fault::Defect(_))));
        }
    }
}
