//! Places at which the bot kills itself when told: `ARS_KILL_AT=<port>.<method>.<before|after>:<n>` aborts the process
//! around the n-th such call, as `kill -9` would, without a last word (docs/testing.md, the drills).
//!
//! Only under the feature `kill-points`, which no release has: `tests/drills` builds the bot with it. The points are
//! decorators over the ports, put on where the parts are joined; the core and the adapters know nothing of them. Not
//! here: what must hold after a death, which the drills say.

mod model;
mod stores;
mod workspace;

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ars_bot_core::Deps;

use self::{
    model::KilledModels,
    stores::{KilledLedger, KilledRuns, KilledTranscripts},
    workspace::KilledWorkspaces,
};
use crate::{commands::Failure, environment};

/// Names the point; without it nothing is killed.
const VARIABLE: &str = "ARS_KILL_AT";
/// How a point is written, for whoever wrote it otherwise.
const SHAPE: &str = "ARS_KILL_AT must be <port>.<method>.<before|after>:<n>, n from 1";

/// The point of this process, if it has one. Cheap to clone.
#[derive(Clone)]
struct KillPoint {
    place: Arc<str>,
    is_after: bool,
    /// Calls still to come, this one included.
    left: Arc<AtomicU64>,
}

/// Puts the point of the environment around the ports.
pub fn arm(deps: Deps) -> Result<Deps, Failure> {
    let Some(text) = environment::variable(VARIABLE) else { return Ok(deps) };
    let point = KillPoint::parse(&text).ok_or_else(|| Failure::InvalidInput(SHAPE.to_owned()))?;
    let mut deps = deps;
    deps.store = Arc::new(KilledRuns { inner: deps.store, point: point.clone() });
    deps.models = Arc::new(KilledModels { inner: deps.models, point: point.clone() });
    deps.workspaces = Arc::new(KilledWorkspaces { inner: deps.workspaces, point: point.clone() });
    if let Some(ledger) = &mut deps.capabilities.ledger {
        let stores = &mut ledger.stores;
        stores.ledger = Arc::new(KilledLedger { inner: Arc::clone(&stores.ledger), point: point.clone() });
        stores.transcripts = Arc::new(KilledTranscripts { inner: Arc::clone(&stores.transcripts), point });
    }
    Ok(deps)
}

impl KillPoint {
    fn parse(text: &str) -> Option<Self> {
        let (place, count) = text.trim().split_once(':')?;
        let (place, side) = place.rsplit_once('.')?;
        let is_after = match side {
            "before" => false,
            "after" => true,
            _ => return None,
        };
        place.split_once('.')?;
        let count = count.parse().ok().filter(|count| *count > 0)?;
        Some(Self { place: place.into(), is_after, left: Arc::new(AtomicU64::new(count)) })
    }

    /// Does a call of this place, and dies around it when its turn has come.
    async fn around<T>(&self, place: &str, call: impl Future<Output = T>) -> T {
        if *self.place != *place {
            return call.await;
        }
        let is_last = self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        if is_last && !self.is_after {
            std::process::abort();
        }
        let answer = call.await;
        if is_last {
            std::process::abort();
        }
        answer
    }
}
