//! What a run store can be asked for.

use ars_wire::runs::route;

/// One route of the object, the same path inside and outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Writes a record.
    Put,
    /// Reads a record.
    Get,
    /// Lists records.
    List,
    /// Reads a page of events.
    Events,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 4] = [Self::Put, Self::Get, Self::List, Self::Events];

    /// Its path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Put => route::PUT,
            Self::Get => route::GET,
            Self::List => route::LIST,
            Self::Events => route::EVENTS,
        }
    }

    /// The verb of a path.
    pub fn of(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.path() == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_verbs_name_each_other() {
        for verb in Verb::ALL {
            assert_eq!(Verb::of(verb.path()), Some(verb));
        }
        assert_eq!(Verb::of("/runs/put/"), None);
    }
}
