//! Memory scopes.

use ars_bot_ports::{Memory, StoreError, Written};
use ars_types::StoreKey;
use ars_wire::{
    memory::{
        Candidate, ForgetRequest, ForgetResponse, ListRequest, MemoryRecord, RecordsResponse,
        RetrieveRequest, Status, WriteRequest, WriteResponse,
    },
    state::{MemoryVerb, Route},
};
use async_trait::async_trait;
use serde_json::Value;

use super::{Client, Transport};

/// Maximum query length in characters; the store accepts 4000.
const MAX_QUERY_CHARS: usize = 3900;

#[async_trait]
impl<T: Transport> Memory for Client<T> {
    async fn retrieve(&self, scope: &StoreKey, query: &str, limit: u32) -> Vec<MemoryRecord> {
        let request = RetrieveRequest {
            scope_key: scope.clone(),
            query: cut(query),
            limit,
        };
        match self
            .ask(Route::Memory(MemoryVerb::Retrieve), &request)
            .await
        {
            Ok(answer) => sound(scope, answer),
            Err(error) => {
                tracing::warn!(error = %error, "memory not retrieved: the run continues without it");
                Vec::new()
            }
        }
    }

    async fn write(
        &self,
        scope: &StoreKey,
        candidates: &[Candidate],
    ) -> Result<Written, StoreError> {
        if candidates.is_empty() {
            return Ok(Written::default());
        }
        let (scope_key, records) = (scope.clone(), candidates.to_vec());
        let request = WriteRequest {
            scope_key,
            records,
            cap: self.memory_cap,
        };
        let answer = self
            .command(Route::Memory(MemoryVerb::Write), &request)
            .await?;
        let WriteResponse {
            inserted,
            deduped,
            superseded,
            evicted,
            ..
        } = answer;
        Ok(Written {
            inserted,
            deduped,
            superseded,
            evicted,
        })
    }

    async fn list(
        &self,
        scope: &StoreKey,
        query: Option<&str>,
        limit: u32,
    ) -> Result<Vec<MemoryRecord>, StoreError> {
        let request = ListRequest {
            scope_key: scope.clone(),
            limit,
            query: query.map(cut),
        };
        Ok(sound(
            scope,
            self.ask(Route::Memory(MemoryVerb::List), &request).await?,
        ))
    }

    async fn forget(&self, scope: &StoreKey, id: &str) -> Result<bool, StoreError> {
        // An id has a key's grammar, so any other text cannot name a record.
        if StoreKey::parse(id).is_err() {
            return Ok(false);
        }
        let request = ForgetRequest {
            scope_key: scope.clone(),
            id: id.to_owned(),
        };
        let ForgetResponse { forgotten, .. } = self
            .command(Route::Memory(MemoryVerb::Forget), &request)
            .await?;
        Ok(forgotten)
    }
}

fn cut(query: &str) -> String {
    query.chars().take(MAX_QUERY_CHARS).collect()
}

/// Returns the valid records in this scope; invalid records are skipped.
fn sound(scope: &StoreKey, answer: RecordsResponse<Value>) -> Vec<MemoryRecord> {
    let given = answer.records.len();
    let records = answer
        .records
        .into_iter()
        .filter_map(|record| serde_json::from_value(record).ok());
    let is_ours =
        |record: &MemoryRecord| &record.scope_key == scope && record.status == Status::Active;
    let records: Vec<_> = records.filter(is_ours).collect();
    if records.len() < given {
        tracing::warn!(
            dropped = given - records.len(),
            "malformed memory records dropped"
        );
    }
    records
}
