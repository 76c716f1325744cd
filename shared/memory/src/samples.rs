//! Sample records for tests.

use ars_types::StoreKey;
use ars_wire::memory::{Kind, MemoryRecord, Status};

/// Returns a scope's `n`th record, a fact.
pub(crate) fn record(scope: &str, n: i64, text: &str) -> MemoryRecord {
    MemoryRecord {
        id: format!("mem:{scope}:{n}"),
        scope_key: StoreKey::parse(scope).unwrap(),
        kind: Kind::Fact,
        text: text.into(),
        keywords: Vec::new(),
        source_thread_key: "t:C1:1".into(),
        source_run_id: None,
        created_at: 1_700_000_000_000,
        last_used_at: None,
        use_count: 0,
        confidence: None,
        supersedes: None,
        taint: Vec::new(),
        status: Status::Active,
    }
}
