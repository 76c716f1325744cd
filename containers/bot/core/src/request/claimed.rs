//! A request whose run is claimed.

use ars_types::RunId;

use super::{admitted::AdmittedRequest, parse::ParsedRequest, resolve::ResolvedRequest};
use crate::{registry::RunFacts, run::Assignment};

/// A dispatched request that becomes a run.
pub(crate) struct DispatchedRun {
    /// The parsed request text.
    pub(crate) parsed: ParsedRequest,
    /// The requester and agent.
    pub(crate) resolved: ResolvedRequest,
    pub(crate) claimed: ClaimedRun,
}

/// A run that may be created.
pub(crate) struct ClaimedRun {
    pub(crate) id: RunId,
    /// Run facts for the registry.
    pub(crate) facts: RunFacts,
    pub(crate) admitted: AdmittedRequest,
    /// The assignment, without a workspace and a prompt.
    pub(crate) assignment: Assignment,
    /// The ledger granted the claim.
    pub(crate) is_tracked: bool,
}
