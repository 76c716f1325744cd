//! Who may see which runs, as a predicate in wire form (state-worker supplement section 6).
//!
//! The store evaluates it inside SQL (`sql` below); `allows` says the same in plain code, for rows that are not in
//! a store and as what tests hold the SQL against. Whatever is not understood is refused, never read as `all`.
//! Not here: making a predicate from an actor's grants.

mod parse;
mod sql;

use ars_types::Visibility;

pub use parse::parse;
pub(crate) use sql::{Condition, condition};

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
