//! Agents and repositories that require a grant.

use std::collections::BTreeSet;

/// Restrictions of the installation; unlisted agents and repositories are open to all dispatchers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Agents open only to holders of `agent:run:<name>` (or `agent:run:*`).
    pub agents: BTreeSet<String>,
    /// Repositories open only to actors that hold them on the `repos` axis.
    pub repos: BTreeSet<String>,
}
