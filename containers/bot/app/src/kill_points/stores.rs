//! Kill points around the stores' transport: `ledger`, `transcripts`, `runs` and every other store.

use std::sync::Arc;

use ars_bot_adapters::stores::{StoreResponse, Transport};
use ars_bot_ports::StoreError;
use ars_wire::state::{Route, RunVerb, TranscriptVerb};
use async_trait::async_trait;

use super::point::KillPoint;

/// A transport with points.
pub(super) struct KillingTransport {
    pub(super) inner: Arc<dyn Transport>,
    pub(super) point: KillPoint,
}

#[async_trait]
impl Transport for KillingTransport {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        self.point
            .around(&place(route), self.inner.send(route, body))
            .await
    }
}

/// Returns a route's place, such as `ledger.live_events`, `runs.put` or `memory.write`.
fn place(route: Route) -> String {
    let store = match route {
        Route::Runs(
            RunVerb::Put
            | RunVerb::Get
            | RunVerb::Summary
            | RunVerb::List
            | RunVerb::Events
            | RunVerb::Delete,
        ) => "runs",
        Route::Runs(_) => "ledger",
        Route::Transcript(TranscriptVerb::Owner) => return "transcripts.set_owner".to_owned(),
        Route::Transcript(_) => "transcripts",
        Route::Memory(_) => "memory",
        Route::Friction(_) => "friction",
        Route::Schedules(_) => "schedules",
        Route::Config(_) => "config",
    };
    let verb = route
        .path()
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .replace('-', "_");
    format!("{store}.{verb}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_has_a_place_named_after_its_store() {
        for (path, expected) in [
            ("/runs/claim", "ledger.claim"),
            ("/runs/live-events", "ledger.live_events"),
            ("/runs/put", "runs.put"),
            ("/runs/transcript/owner", "transcripts.set_owner"),
            ("/runs/transcript/write", "transcripts.write"),
            ("/write", "memory.write"),
        ] {
            assert_eq!(
                Route::from_path(path).map(place).as_deref(),
                Some(expected),
                "{path}"
            );
        }
    }
}
