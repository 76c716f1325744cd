//! The live runs of every process, as the ledger lists them.

use std::{sync::Arc, time::Duration};

use ars_agent::resume::RunState;
use ars_bot_ports::{Clock, Ledger};
use ars_types::{RunId, StopMode, UnixMillis};
use ars_wire::ledger;
use subtle::ConstantTimeEq;
use tokio::sync::Mutex;

use super::Meta;
use crate::registry::RunFacts;

/// Time for which one listing serves every query.
const MAX_AGE_MS: i64 = 2_000;
/// Timeout of a listing. Afterwards the registry alone answers.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A live run of any process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveRow {
    pub id: RunId,
    /// `None` if another version wrote the row. The run is then hidden, and its provisional record too.
    pub facts: Option<RunFacts>,
    /// The capability token.
    pub token: Option<String>,
    pub started_at: UnixMillis,
    pub stop: Option<StopMode>,
}

/// The newest listing. The lock is held during a request, so concurrent queries share it.
#[derive(Default)]
pub(crate) struct LiveRows {
    newest: Mutex<Option<Listing>>,
}

struct Listing {
    at: UnixMillis,
    rows: Arc<[LiveRow]>,
}

impl LiveRow {
    fn of(row: ledger::LiveRun) -> Self {
        Self {
            facts: Meta::of_row(&row.meta).ok().map(|meta| meta.facts()),
            token: RunState::of_row(&row.state).view_token,
            started_at: row.started_at.rounded(),
            stop: row.stop,
            id: row.run_id,
        }
    }

    /// Returns `true` if `token` is the run's capability token. Compares in constant time.
    pub(crate) fn is_opened_by(&self, token: &str) -> bool {
        self.token
            .as_ref()
            .is_some_and(|own| !own.is_empty() && own.as_bytes().ct_eq(token.as_bytes()).into())
    }
}

impl LiveRows {
    /// Returns the live runs; none while the ledger does not answer.
    pub(crate) async fn get(&self, ledger: &dyn Ledger, clock: &dyn Clock) -> Arc<[LiveRow]> {
        let mut newest = self.newest.lock().await;
        let now = clock.now();
        if let Some(listing) = newest.as_ref().filter(|listing| (0..MAX_AGE_MS).contains(&(now - listing.at)))
        {
            return Arc::clone(&listing.rows);
        }
        let listed = match tokio::time::timeout(TIMEOUT, ledger.live()).await {
            Ok(Ok(rows)) => rows,
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "live runs of other processes not listed");
                Vec::new()
            }
            Err(_elapsed) => {
                tracing::warn!("live runs of other processes not listed: the ledger did not answer in time");
                Vec::new()
            }
        };
        let rows: Arc<[LiveRow]> = listed.into_iter().map(LiveRow::of).collect();
        *newest = Some(Listing { at: clock.now(), rows: Arc::clone(&rows) });
        rows
    }

    /// Discards the listing, so that the next query sees a change of this process.
    pub(crate) async fn invalidate(&self) {
        *self.newest.lock().await = None;
    }
}
