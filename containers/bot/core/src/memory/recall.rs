//! Recall before a run: the records that concern the request.

use std::sync::Arc;

use ars_bot_ports::Memory;
use ars_events::Redactor;
use ars_memory::{
    Query, normalize,
    reading::{Budget, block, union, within},
};
use ars_types::UnixMillis;
use ars_wire::memory::MemoryRecord;
use futures::future::join_all;

use super::RunScopes;

/// Maximum records a store returns.
const MAX_LIMIT: usize = 50;

/// Reads memory for a request.
pub struct Recaller {
    /// Stores for every memory scope.
    pub store: Arc<dyn Memory>,
    /// Budget for the memory block.
    pub budget: Budget,
}

/// A request's recalled records.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Starts the system prompt.
    pub block: String,
    /// The records in it, best first.
    pub records: Vec<MemoryRecord>,
}

impl Recaller {
    /// Queries every scope concurrently. Returns `None` when no record matches.
    pub async fn recall(
        &self,
        scopes: &RunScopes,
        request: &str,
        redactor: &Redactor,
        now: UnixMillis,
    ) -> Option<Recalled> {
        let request = redactor.clean(request, usize::MAX);
        let query = Query::new(&request);
        let limit = u32::try_from(self.budget.limit.min(MAX_LIMIT)).unwrap_or_default();
        if query.is_empty() || limit == 0 {
            return None;
        }
        let keys = scopes.readable();
        let of_scopes = join_all(
            keys.iter()
                .map(|key| self.store.retrieve(key, &request, limit)),
        )
        .await;
        let ranked = union(of_scopes, &query, now)
            .into_iter()
            .filter_map(|record| cleaned(record, redactor));
        let records = within(ranked.collect(), self.budget);
        let block = block(&records)?;
        Some(Recalled { block, records })
    }
}

/// Redacts secrets in the record that became known only after the write; `None` if nothing remains.
pub(super) fn cleaned(record: MemoryRecord, redactor: &Redactor) -> Option<MemoryRecord> {
    let text = redactor.clean(&record.text, usize::MAX);
    let source_thread_key = redactor.clean(&record.source_thread_key, usize::MAX);
    (!normalize(&text).is_empty()).then_some(MemoryRecord {
        text,
        source_thread_key,
        ..record
    })
}
