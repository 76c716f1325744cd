//! Actors and their grants on three axes (bot supplement section 7.1).

use std::collections::BTreeSet;

/// Somebody or something that acts, as one channel knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Namespaced id, such as `http:alice` or `cli:local`.
    pub id: String,
    /// What it may do.
    pub grants: Grants,
}

/// Grants; an absent axis is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Actions, such as `runs:read` or `agent:run:coding`.
    pub actions: Set,
    /// Channel ids.
    pub channels: Set,
    /// Repository slugs.
    pub repos: Set,
}

/// One axis: everything, or these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Set {
    /// Everything.
    All,
    /// Exactly these.
    Only(BTreeSet<String>),
}

impl Default for Set {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Set {
    /// Whether `item` is granted.
    pub fn contains(&self, item: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(items) => items.contains(item),
        }
    }
}
