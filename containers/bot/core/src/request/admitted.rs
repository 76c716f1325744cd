//! A request that owns its thread.

use serde_json::Value;

use super::{plan::RunPlan, stages::Stages};
use crate::{limits::RunSlot, threads::Claim};

/// A request that owns its thread in this process.
pub(crate) struct AdmittedRequest {
    /// The thread claim.
    pub(crate) claim: Claim,
    /// The run's slot, or place in the queue.
    pub(crate) slot: RunSlot,
    /// A waiting run's stored request.
    pub(crate) queued: Option<Value>,
    pub(crate) plan: RunPlan,
    /// The stages so far.
    pub(crate) stages: Stages,
}
