//! Every process's live runs, as the ledger lists them.

use std::{sync::Arc, time::Duration};

use ars_agent::resume::RunState;
use ars_bot_ports::{Clock, Ledger, StoreError, StoreErrorKind};
use ars_types::{Generation, RunId, StopMode, UnixMillis};
use ars_wire::ledger;
use subtle::ConstantTimeEq;
use tokio::sync::Mutex;

use super::{Meta, is_transient};
use crate::registry::{RunFacts, is_token};

/// Maximum age of a listing that serves queries.
const MAX_AGE_MS: i64 = 2_000;
/// Timeout for a listing, both attempts together.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A live run in any process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveRow {
    pub id: RunId,
    /// `None` if another version wrote the row. The run is then hidden, and so is the provisional
    /// record.
    pub facts: Option<RunFacts>,
    /// Capability token of the run, if it has any.
    pub token: Option<String>,
    pub started_at: UnixMillis,
    pub stop: Option<StopMode>,
    /// The process that drives it.
    pub owner: Generation,
}

/// Every process's live runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveListing {
    rows: Arc<[LiveRow]>,
    /// The ledger did not answer, so a run without a row may be live in another process.
    pub is_unavailable: bool,
}

impl LiveListing {
    /// Returns the rows; none if the ledger did not answer.
    pub(crate) fn rows(&self) -> &[LiveRow] {
        &self.rows
    }

    /// Returns a run's row.
    pub(crate) fn find(&self, id: &RunId) -> Option<&LiveRow> {
        self.rows.iter().find(|row| row.id == *id)
    }
}

/// The newest listing and when it was made. The lock is held during a request, so concurrent
/// queries share it.
#[derive(Default)]
pub(crate) struct LiveRows {
    newest: Mutex<Option<(UnixMillis, LiveListing)>>,
}

impl LiveRow {
    fn from_row(row: ledger::LiveRun) -> Self {
        Self {
            facts: Meta::of_row(&row.meta).ok().map(|meta| meta.facts()),
            token: RunState::of_row(&row.state).view_token,
            started_at: row.started_at.rounded(),
            stop: row.stop,
            owner: row.owner_gen,
            id: row.run_id,
        }
    }

    /// Returns `true` if `token` is the run's capability token, compared in constant time. A stored
    /// text in another form opens nothing: the owner replaces it, as the registry does.
    pub(crate) fn is_opened_by(&self, token: &str) -> bool {
        self.token
            .as_ref()
            .is_some_and(|own| is_token(own) && own.as_bytes().ct_eq(token.as_bytes()).into())
    }
}

impl LiveRows {
    /// Returns the live runs.
    pub(crate) async fn get(&self, ledger: &dyn Ledger, clock: &dyn Clock) -> LiveListing {
        let mut newest = self.newest.lock().await;
        let now = clock.now();
        if let Some((_, listing)) = newest
            .as_ref()
            .filter(|(at, _)| (0..MAX_AGE_MS).contains(&(now - at)))
        {
            return listing.clone();
        }
        let listed = tokio::time::timeout(TIMEOUT, list(ledger)).await;
        let listing =
            match listed.map_err(|_elapsed| "the ledger did not answer in time".to_owned()) {
                Ok(Ok(rows)) => LiveListing {
                    rows: rows.into_iter().map(LiveRow::from_row).collect(),
                    is_unavailable: false,
                },
                Ok(Err(StoreError { message: error, .. })) | Err(error) => {
                    tracing::warn!(error, "live runs of other processes not listed");
                    LiveListing {
                        is_unavailable: true,
                        ..LiveListing::default()
                    }
                }
            };
        // A failure is kept too, so that queries during an outage do not each wait for a request.
        *newest = Some((clock.now(), listing.clone()));
        listing
    }

    /// Discards the listing, so that the next query sees this process's change.
    pub(crate) async fn invalidate(&self) {
        *self.newest.lock().await = None;
    }
}

/// Lists the live runs, and once more after a transient failure. A store without the route has none.
async fn list(ledger: &dyn Ledger) -> Result<Vec<ledger::LiveRun>, StoreError> {
    match ledger.live().await {
        Err(error) if is_transient(&error) => ledger.live().await,
        Err(error) if error.kind == StoreErrorKind::RouteMissing => Ok(Vec::new()),
        listed => listed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_well_formed_token_opens_a_row() {
        let row = |token: &str| LiveRow {
            id: RunId::parse("r1").unwrap(),
            facts: None,
            token: Some(token.to_owned()),
            started_at: 1,
            stop: None,
            owner: Generation::parse("g1").unwrap(),
        };
        let whole = "0123456789abcdef".repeat(4);
        assert!(row(&whole).is_opened_by(&whole));
        assert!(!row(&whole).is_opened_by(&whole[1..]));
        for malformed in ["", "short", &whole.to_uppercase(), &whole[1..]] {
            assert!(!row(malformed).is_opened_by(malformed), "{malformed}");
        }
    }
}
