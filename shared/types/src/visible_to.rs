//! Who may see which runs, as a predicate (document 2 section 4.3, state-worker supplement section 6).
//!
//! The bot compiles it from an actor's grants (`ars-auth`), it travels as JSON, and the store evaluates it inside SQL
//! (`ars-runs`); `allows` says the same in plain code, which is what tests hold both against. Reading it from JSON
//! within its bounds is the store's.

use serde::{Serialize, Serializer};

use crate::Visibility;

/// A predicate over runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Every run.
    All,
    /// No run.
    None,
    /// Runs of these channels.
    ChannelsIn(Vec<String>),
    /// Runs of this user.
    UserIs(String),
    /// Runs on these repositories.
    ReposIn(Vec<String>),
    /// Runs of channels this visible.
    VisibilityIn(Vec<Visibility>),
    /// Runs that any of these allows; of none when there are none.
    Or(Vec<Filter>),
    /// Runs that all of these allow; of none when there are none.
    And(Vec<Filter>),
}

/// What a predicate looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The run's channel.
    pub channel_id: &'a str,
    /// The run's user.
    pub user_id: &'a str,
    /// The run's repository.
    pub repo: Option<&'a str>,
    /// Who may see the channel.
    pub visibility: Visibility,
}

impl Filter {
    /// Whether a run may be seen.
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
            // Fail closed: nobody said who may see it.
            Self::And(of) => !of.is_empty() && of.iter().all(|filter| filter.allows(run)),
        }
    }
}

/// The predicate as it travels. Serde cannot tag variants that hold a list, so these borrow it under its name.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Travelling<'a> {
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
            Self::All => Travelling::All,
            Self::None => Travelling::None,
            Self::ChannelsIn(channel_ids) => Travelling::ChannelsIn { channel_ids },
            Self::UserIs(user_id) => Travelling::UserIs { user_id },
            Self::ReposIn(repos) => Travelling::ReposIn { repos },
            Self::VisibilityIn(visibilities) => Travelling::VisibilityIn { visibilities },
            Self::Or(of) => Travelling::Or { of },
            Self::And(of) => Travelling::And { of },
        };
        travelling.serialize(serializer)
    }
}
