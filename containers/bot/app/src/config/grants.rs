//! `[grants."<actor>"]` and `[restrict]` (bot supplement section 7.3). Grants only ever add.

use std::collections::{BTreeMap, BTreeSet};

use ars_auth::{Grants, Restrictions, Set};
use ars_bot_core::agents;
use ars_types::RepoSlug;
use serde::Deserialize;

use super::ConfigError;

/// Platforms whose actors can be granted something.
const PLATFORMS: &[&str] = &["slack", "http", "mcp", "access", "schedule"];

/// One actor's grants.
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

/// What is closed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Restrict {
    agents: BTreeSet<String>,
    repos: BTreeSet<String>,
}

/// The grants by actor.
pub fn grants(entries: &BTreeMap<String, Entry>) -> Result<BTreeMap<String, Grants>, ConfigError> {
    let checked = entries.iter().map(|(actor, entry)| {
        let known = actor
            .split_once(':')
            .is_some_and(|(platform, id)| PLATFORMS.contains(&platform) && !id.is_empty());
        if !known || actor.ends_with('*') {
            let problem = format!("an actor must be `<platform>:<id>` with one of {}", PLATFORMS.join(", "));
            return Err(ConfigError::invalid("grants", problem));
        }
        let grants =
            Grants { actions: entry.actions.set(), channels: entry.channels.set(), repos: entry.repos.set() };
        Ok((actor.clone(), grants))
    });
    checked.collect()
}

/// The restrictions; an unknown agent or a malformed repository would close nothing, so it is an error.
pub fn restrictions(restrict: &Restrict) -> Result<Restrictions, ConfigError> {
    if restrict.agents.iter().any(|agent| agents::find(agent).is_none()) {
        return Err(ConfigError::invalid("restrict.agents", format!("the agents are: {}", agents::names())));
    }
    if restrict.repos.iter().any(|repo| RepoSlug::parse(repo.as_str()).is_err()) {
        return Err(ConfigError::invalid(
            "restrict.repos",
            "a repository must be `owner/name` in lower case",
        ));
    }
    Ok(Restrictions { agents: restrict.agents.clone(), repos: restrict.repos.clone() })
}
