//! Agents and repositories that require a grant.

use std::collections::BTreeSet;

/// The installation's restrictions; unlisted agents and repositories are open to all dispatchers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Agents open only to actors that hold `agent:run:<name>` (or `agent:run:*`).
    pub agents: BTreeSet<String>,
    /// Repositories open only to actors that hold them on the `repos` axis.
    pub repos: BTreeSet<String>,
}
