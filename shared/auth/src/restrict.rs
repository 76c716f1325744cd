//! Agents and repositories closed to all but holders of a grant (bot supplement section 7.3, `restrict`).

use std::collections::BTreeSet;

/// What the installation closes. An agent or repository that is not listed is open to whoever may dispatch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Agents open only to holders of `agent:run:<name>` (or `agent:run:*`).
    pub agents: BTreeSet<String>,
    /// Repositories open only to actors that hold them on the `repos` axis.
    pub repos: BTreeSet<String>,
}
