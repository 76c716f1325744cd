//! The runs on which an actor may perform an action, as a list predicate.
//!
//! It is compiled from the rows that [`super::decide()`] evaluates, so a list agrees with single
//! reads. Not here: evaluating the predicate (`ars-runs`).

use std::collections::BTreeSet;

use ars_types::{Visibility, visible_to::Filter};

use super::{Condition, ROWS, Resource, ResourceKind};
use crate::{Actor, Set};

/// Maximum number of ids, words and users in a predicate.
/// The contract allows 100, but some stores bind at most 93.
pub const MAX_IDS: usize = 93;

/// The runs that a list may contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The predicate. A request omits `All`, and is not sent for `None`.
    pub filter: Filter,
    /// Number of channels or repositories that did not fit. The list then omits runs, but never adds any.
    pub left_out: usize,
}

/// Compiles the rows about runs for a single actor. An action without a row lists no run.
pub fn listing(actor: &Actor, action: &str) -> Listing {
    let about = ROWS
        .iter()
        .filter(|row| row.resource == ResourceKind::Run && row.actions.contains(&action));
    let mut filter =
        any(about.map(|row| all(row.when.iter().map(|&when| compile(when, actor, action)))));
    let left_out = ids(&filter).saturating_sub(MAX_IDS);
    shorten(&mut filter, left_out);
    Listing { filter, left_out }
}

fn compile(condition: Condition, actor: &Actor, action: &str) -> Filter {
    let grants = &actor.grants;
    match condition {
        Condition::Member => match &grants.channels {
            Set::All => Filter::All,
            Set::Only(channels) => any([
                Filter::ChannelsIn(channels.iter().cloned().collect()),
                Filter::VisibilityIn(vec![Visibility::Public]),
            ]),
        },
        Condition::Own => any(actor.own_ids().map(|own| Filter::UserIs(own.to_owned()))),
        Condition::RepoListed => match &grants.repos {
            Set::All => Filter::All,
            Set::Only(repos) => Filter::ReposIn(repos.iter().cloned().collect()),
        },
        Condition::Visible(words) => Filter::VisibilityIn(words.to_vec()),
        // Independent of the run, so true for all runs or for none.
        Condition::Always
        | Condition::AllChannels
        | Condition::Class(_)
        | Condition::Granted
        | Condition::Grant(_) => match condition.holds(actor, action, &Resource::Command) {
            true => Filter::All,
            false => Filter::None,
        },
        // Runs have no agent attribute, and the table's check excludes such rows.
        Condition::AgentGranted | Condition::AgentIs(_) => Filter::None,
    }
}

/// OR without duplicates. Sets are sorted, so that equal predicates have equal texts.
fn any(of: impl IntoIterator<Item = Filter>) -> Filter {
    let (mut channels, mut users, mut repos) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut words, mut others) = (BTreeSet::new(), Vec::new());
    let mut open: Vec<Filter> = of.into_iter().collect();
    while let Some(filter) = open.pop() {
        match filter {
            Filter::All => return Filter::All,
            Filter::None => {}
            Filter::ChannelsIn(list) => channels.extend(list),
            Filter::UserIs(user) => drop(users.insert(user)),
            Filter::ReposIn(list) => repos.extend(list),
            Filter::VisibilityIn(list) => words.extend(list),
            Filter::Or(of) => open.extend(of),
            and @ Filter::And(_) if others.contains(&and) => {}
            and @ Filter::And(_) => others.insert(0, and),
        }
    }
    let lists = [
        Filter::ChannelsIn(sorted(channels)),
        Filter::ReposIn(sorted(repos)),
        Filter::VisibilityIn(sorted(words)),
    ];
    let mut of: Vec<Filter> = lists.into_iter().filter(|list| ids(list) > 0).collect();
    of.extend(users.into_iter().map(Filter::UserIs));
    of.extend(others);
    match of.len() {
        0 => Filter::None,
        1 => of.remove(0),
        _ => Filter::Or(of),
    }
}

/// AND. The table's check excludes rows without conditions, so an empty list opens no run.
fn all(of: impl IntoIterator<Item = Filter>) -> Filter {
    let mut of: Vec<Filter> = of
        .into_iter()
        .filter(|filter| *filter != Filter::All)
        .collect();
    if of.contains(&Filter::None) {
        return Filter::None;
    }
    match of.len() {
        0 => Filter::All,
        1 => of.remove(0),
        _ => Filter::And(of),
    }
}

fn sorted<T>(set: BTreeSet<T>) -> Vec<T> {
    set.into_iter().collect()
}

/// Counts the ids as the store does.
fn ids(filter: &Filter) -> usize {
    match filter {
        Filter::All | Filter::None => 0,
        Filter::UserIs(_) => 1,
        Filter::ChannelsIn(list) | Filter::ReposIn(list) => list.len(),
        Filter::VisibilityIn(words) => words.len(),
        Filter::Or(of) | Filter::And(of) => of.iter().map(ids).sum(),
    }
}

/// Removes `excess` ids from the lists and returns how many it could not remove.
/// Predicates have no negation, so a shorter list never permits more.
fn shorten(filter: &mut Filter, excess: usize) -> usize {
    match filter {
        Filter::ChannelsIn(list) | Filter::ReposIn(list) => {
            let kept = list.len().saturating_sub(excess);
            let taken = list.len() - kept;
            list.truncate(kept);
            excess - taken
        }
        Filter::Or(of) | Filter::And(of) => of
            .iter_mut()
            .fold(excess, |excess, filter| shorten(filter, excess)),
        Filter::All | Filter::None | Filter::UserIs(_) | Filter::VisibilityIn(_) => excess,
    }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
