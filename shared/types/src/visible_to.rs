//! Run visibility as a predicate.
//!
//! The bot compiles it from an actor's grants (`ars-auth`), it is sent as JSON, and the store
//! evaluates it inside SQL (`ars-runs`). `allows` is the reference implementation for tests. Not
//! here: parsing, which is the store's.

use serde::{Serialize, Serializer};

use crate::Visibility;

/// A predicate over runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Allows every run there is.
    All,
    /// Allows no run at all.
    None,
    /// Runs in these channels.
    ChannelsIn(Vec<String>),
    /// Runs by this user.
    UserIs(String),
    /// Runs on these repositories.
    ReposIn(Vec<String>),
    /// Runs in channels with one of these visibilities.
    VisibilityIn(Vec<Visibility>),
    /// Runs that any of these allows. An empty list allows none.
    Or(Vec<Filter>),
    /// Runs that all of these allow. An empty list allows none.
    And(Vec<Filter>),
}

/// The run fields that a predicate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The run's channel id.
    pub channel_id: &'a str,
    /// The run's user id.
    pub user_id: &'a str,
    /// The run's repository, if any.
    pub repo: Option<&'a str>,
    /// The channel's visibility, stamped on the run.
    pub visibility: Visibility,
}

impl Filter {
    /// Returns whether the run is visible.
    pub fn allows(&self, run: &Subject<'_>) -> bool {
        let listed = |list: &[String], item: &str| list.iter().any(|listed| listed == item);
        match self {
            Self::All => true,
            Self::None => false,
            Self::ChannelsIn(channels) => listed(channels, run.channel_id),
            Self::UserIs(user) => user == run.user_id,
            Self::ReposIn(repos) => run.repo.is_some_and(|repo| listed(repos, repo)),
            Self::VisibilityIn(words) => words.contains(&run.visibility),
            Self::Or(of) => of.iter().any(|filter| filter.allows(run)),
            // Fail closed: an empty conjunction allows no run.
            Self::And(of) => !of.is_empty() && of.iter().all(|filter| filter.allows(run)),
        }
    }
}

/// A predicate's wire form: serde cannot tag variants with a list, so these borrow it under that
/// name.
#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
enum WireFilter<'a> {
    All,
    None,
    ChannelsIn { channel_ids: &'a [String] },
    UserIs { user_id: &'a str },
    ReposIn { repos: &'a [String] },
    VisibilityIn { visibilities: &'a [Visibility] },
    Or { of: &'a [Filter] },
    And { of: &'a [Filter] },
}

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let travelling = match self {
            Self::All => WireFilter::All,
            Self::None => WireFilter::None,
            Self::ChannelsIn(channel_ids) => WireFilter::ChannelsIn { channel_ids },
            Self::UserIs(user_id) => WireFilter::UserIs { user_id },
            Self::ReposIn(repos) => WireFilter::ReposIn { repos },
            Self::VisibilityIn(visibilities) => WireFilter::VisibilityIn { visibilities },
            Self::Or(of) => WireFilter::Or { of },
            Self::And(of) => WireFilter::And { of },
        };
        travelling.serialize(serializer)
    }
}
