//! `[grants."<actor>"]` and `[restrict]`. Grants only add permissions.

use std::collections::{BTreeMap, BTreeSet};

use ars_auth::{Grants, Restrictions, Set, grants::check_entry};
use ars_bot_tools::agents;
use ars_types::RepoSlug;
use serde::Deserialize;

use super::ConfigError;

/// Grants for a single actor.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Entry {
    actions: Axis,
    channels: Axis,
    repos: Axis,
}

/// A list, or the word `all`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a list of strings or \"all\"")]
enum Axis {
    All(All),
    Only(BTreeSet<String>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum All {
    All,
}

impl Default for Axis {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Axis {
    fn set(&self) -> Set {
        match self {
            Self::All(All::All) => Set::All,
            Self::Only(items) => Set::Only(items.clone()),
        }
    }
}

/// Agents and repositories that need a grant.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Restrict {
    agents: BTreeSet<String>,
    repos: BTreeSet<String>,
}

/// Returns the grants by actor, and by whole platform (`http:*`).
pub fn grants(entries: &BTreeMap<String, Entry>) -> Result<BTreeMap<String, Grants>, ConfigError> {
    let checked = entries.iter().map(|(actor, entry)| {
        check_entry(actor).map_err(|fault| ConfigError::invalid("grants", fault.to_string()))?;
        let grants = Grants {
            actions: entry.actions.set(),
            channels: entry.channels.set(),
            repos: entry.repos.set(),
        };
        Ok((actor.clone(), grants))
    });
    checked.collect()
}

/// Returns the restrictions.
/// An unknown agent or a malformed repository is an error, because it would restrict nothing.
pub fn restrictions(restrict: &Restrict) -> Result<Restrictions, ConfigError> {
    if restrict
        .agents
        .iter()
        .any(|agent| agents::find(agent).is_none())
    {
        return Err(ConfigError::invalid(
            "restrict.agents",
            format!("the agents are: {}", agents::names()),
        ));
    }
    if restrict
        .repos
        .iter()
        .any(|repo| RepoSlug::parse(repo.as_str()).is_err())
    {
        return Err(ConfigError::invalid(
            "restrict.repos",
            "a repository must be `owner/name` in lower case",
        ));
    }
    Ok(Restrictions {
        agents: restrict.agents.clone(),
        repos: restrict.repos.clone(),
    })
}
