//! Data over several stores: a session has one in each, and passes each call on to the store that the call is for.

use model::{
    AnySession, AnyTarget, CallWork, Fault, Home, OpenError, Session, Stack, StatementTimes, Target,
};
use workload::Benchmark;

/// Targets of the same subject on each store, in order; at least one.
pub(crate) struct Sharded<W: Benchmark> {
    pub(crate) stores: Vec<AnyTarget<W>>,
    pub(crate) size: W::Extent,
}

impl<W: Benchmark> Target<W> for Sharded<W> {
    type Session = ShardedSession<W>;

    fn home(&self) -> Home {
        // One driver reaches all of them.
        self.stores[0].home()
    }

    async fn open(&self, worker: u32) -> Result<ShardedSession<W>, OpenError> {
        let mut sessions = Vec::with_capacity(self.stores.len());
        for (shard, store) in self.stores.iter().enumerate() {
            sessions.push(store.open(worker).await.map_err(|error| error.in_store(shard))?);
        }
        Ok(ShardedSession { sessions, size: self.size.clone(), last: 0 })
    }

    fn stack(&self) -> Stack {
        Stack::joined(&self.stores.iter().map(AnyTarget::stack).collect::<Vec<_>>())
    }
}

/// One session in each store.
pub(crate) struct ShardedSession<W: Benchmark> {
    sessions: Vec<AnySession<W>>,
    size: W::Extent,
    /// The store of the last call.
    last: usize,
}

impl<W: Benchmark> Session<W> for ShardedSession<W> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        self.last = W::shard(&self.size, call);
        self.sessions[self.last].run(call, work).await
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.sessions[self.last].statement_times()
    }
}
