//! The residents with the live runs on their trees, and a feed with their changes.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::Duration,
};

use ars_auth::Viewer;
use ars_bot_ports::ResidentsError;
use ars_resident::{names::StrictThreadKey, wire::ResidentsResponse};
use ars_types::ThreadKey;
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use tokio_util::sync::CancellationToken;

use super::{Queries, RunSummary};
use crate::{context::RunContext, registry::IndexChange};

/// Interval at which a feed compares the residents.
const FLEET_INTERVAL: Duration = Duration::from_secs(5);
/// Delay between a run's change and a feed's comparison. Further changes meanwhile add no
/// comparison.
const FLEET_DELAY: Duration = Duration::from_millis(500);
/// The version reported when residents do not answer.
const UNAVAILABLE: &str = "unavailable";

/// The residents, and the live runs that the viewer may read.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The residents, as their listing returned them.
    pub answer: ResidentsResponse,
    /// The runs by thread.
    pub runs: BTreeMap<StrictThreadKey, RunSummary>,
}

impl Fleet {
    /// Returns a text that changes with the residents and the runs.
    pub fn version(&self) -> String {
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(&self.answer)
            .unwrap_or_default()
            .hash(&mut hasher);
        for (thread, run) in &self.runs {
            (thread.as_str(), run.id.as_str()).hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }
}

impl Queries {
    /// Returns whether the installation has residents.
    pub fn has_residents(&self) -> bool {
        self.context
            .deps()
            .capabilities
            .commands
            .residents
            .is_some()
    }

    /// Returns the residents. Their registry is read at each call.
    ///
    /// # Errors
    /// The residents reject the request or do not answer.
    pub async fn fleet(&self, viewer: &Viewer) -> Result<Fleet, ResidentsError> {
        let residents = self
            .context
            .deps()
            .capabilities
            .commands
            .residents
            .as_deref();
        let residents =
            residents.ok_or_else(|| ResidentsError::Unreachable("not configured".to_owned()))?;
        let answer = residents.list(&CancellationToken::new()).await?;
        let active = self.known(viewer).await.active;
        let runs = active.into_iter().filter_map(|run| {
            let thread = ThreadKey::from_text(run.detail.thread_key.as_deref()?)?;
            Some((StrictThreadKey::from_thread_key(&thread), run.summary))
        });
        Ok(Fleet {
            answer,
            runs: runs.collect(),
        })
    }

    /// Follows the residents' versions.
    pub fn fleet_changes(&self, viewer: Viewer) -> FleetChanges {
        let mut refresh = interval_at(Instant::now() + FLEET_INTERVAL, FLEET_INTERVAL);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        FleetChanges {
            runs: self.context.registry().subscribe_index(),
            context: self.context.clone(),
            viewer,
            refresh,
            last: None,
        }
    }
}

/// The residents' versions for a single viewer. The first is the current version.
pub struct FleetChanges {
    context: RunContext,
    viewer: Viewer,
    runs: Receiver<IndexChange>,
    refresh: Interval,
    last: Option<String>,
}

impl FleetChanges {
    /// Returns the next version, or `None` once the process ends.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if self.last.is_some() {
                self.wait().await?;
            }
            let fleet = Queries::new(self.context.clone()).fleet(&self.viewer).await;
            let version = fleet.map_or_else(|_| UNAVAILABLE.to_owned(), |fleet| fleet.version());
            if self.last.as_ref() != Some(&version) {
                self.last = Some(version.clone());
                return Some(version);
            }
        }
    }

    /// Waits until a comparison is due. Returns `None` once the process ends.
    async fn wait(&mut self) -> Option<()> {
        let mut is_soon = false;
        loop {
            tokio::select! {
                _ = self.refresh.tick() => return Some(()),
                change = self.runs.recv() => match change {
                    Err(RecvError::Closed) => return None,
                    Ok(_) | Err(RecvError::Lagged(_)) if is_soon => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => {
                        is_soon = true;
                        self.refresh.reset_after(FLEET_DELAY);
                    }
                },
            }
        }
    }
}
