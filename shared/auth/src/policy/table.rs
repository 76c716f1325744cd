//! The rows of the policy table (bot supplement section 7.2).
//!
//! Conditions, resources and kinds are types, so one that does not exist does not compile; what types cannot say is
//! asked by [`check`], while compiling too.

use ars_types::Visibility;

use super::{
    Condition::{
        self, AgentGranted, AgentIs, AllChannels, Always, Grant, Granted, Member, Own, RepoListed, Visible,
    },
    ResourceKind::{self, Agent, ChannelScope, Command, OrgScope, Repo, RepoScope, Run, UserScope},
};
use crate::Kind;

/// One row: who meets every condition may do each of the actions to such a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The actions.
    pub actions: &'static [&'static str],
    /// To what.
    pub resource: ResourceKind,
    /// Who.
    pub when: &'static [Condition],
}

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableFault {
    /// A row names no action.
    #[error("row {0} of the policy table names no action")]
    NoAction(usize),
    /// A row asks nothing. What is open to everybody says so.
    #[error("row {0} of the policy table has no condition")]
    NoCondition(usize),
    /// A row looks at something its resource does not have.
    #[error("row {0} of the policy table looks at an attribute that its resource lacks")]
    LacksAttribute(usize),
}

/// The command groups, and the actions of their commands.
macro_rules! commands {
    ($($group:literal)+) => {
        /// The groups of commands.
        pub const GROUPS: &[&str] = &[$($group),+];
        const COMMANDS: &[&str] = &[$(concat!($group, ":read"), concat!($group, ":write")),+];
    };
}

commands! { "runs" "friction" "repo" "config" "help" "status" "schedule" "deploy" "mcp" "memory" "review" "env" }

/// The table. Of rows of which one has to hold, the first tells why somebody is refused.
pub const ROWS: &[Row] = &[
    row(&["runs:read"], Run, &[Member]),
    row(&["runs:read"], Run, &[AllChannels]),
    row(&["runs:read"], Run, &[Own]),
    // Owning a run is not enough to stop it.
    row(&["runs:write"], Run, &[Granted, Member]),
    row(&["runs:write"], Run, &[Granted, AllChannels]),
    row(COMMANDS, Command, &[Granted]),
    row(&["config:write"], Command, &[Condition::Kind(Kind::User)]),
    row(&["config:write"], ChannelScope, &[Granted]),
    row(&["config:write"], UserScope, &[Own]),
    row(&["repo:write"], Repo, &[Granted]),
    row(&["repo:exec"], Agent, &[AgentIs("coding"), AgentGranted]),
    row(&["repo:exec"], Agent, &[AgentIs("coding"), Granted]),
    row(&["repo:use"], Repo, &[RepoListed]),
    row(&["agent:run"], Agent, &[AgentGranted]),
    row(&["mcp:write"], ChannelScope, &[Grant("config:write")]),
    row(&["mcp:write"], ChannelScope, &[Condition::Kind(Kind::Service), Granted]),
    row(&["mcp:write"], OrgScope, &[Grant("repo:write")]),
    row(&["mcp:write"], OrgScope, &[Condition::Kind(Kind::Service), Granted]),
    row(&["memory:read"], OrgScope, &[Always]),
    row(&["memory:write"], OrgScope, &[Visible(&[Visibility::Public, Visibility::Machine])]),
    row(&["memory:read", "memory:write"], UserScope, &[Own]),
    row(&["memory:read", "memory:write"], ChannelScope, &[Member]),
    row(&["memory:read", "memory:write"], RepoScope, &[RepoListed]),
    row(&["schedule:fire"], Command, &[Condition::Kind(Kind::Schedule)]),
];

// A table that is not sound fails the build, long before it could fail a start.
const _: () = assert!(check(ROWS).is_ok());

const fn row(actions: &'static [&'static str], resource: ResourceKind, when: &'static [Condition]) -> Row {
    Row { actions, resource, when }
}

/// Whether every row can be asked.
pub const fn check(rows: &[Row]) -> Result<(), TableFault> {
    let mut at = 0;
    while at < rows.len() {
        let row = rows[at];
        if row.actions.is_empty() {
            return Err(TableFault::NoAction(at));
        }
        if row.when.is_empty() {
            return Err(TableFault::NoCondition(at));
        }
        let mut condition = 0;
        while condition < row.when.len() {
            if let Some(attribute) = row.when[condition].needs()
                && !row.resource.has(attribute)
            {
                return Err(TableFault::LacksAttribute(at));
            }
            condition += 1;
        }
        at += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_cannot_be_asked_is_found_by_its_number() {
        let sound = row(&["x:read"], Run, &[Member, Own]);
        assert_eq!(check(&[sound]), Ok(()));
        for (row, fault) in [
            (row(&[], Run, &[Member]), TableFault::NoAction(1)),
            (row(&["x:read"], Run, &[]), TableFault::NoCondition(1)),
            (row(&["x:read"], Command, &[Member]), TableFault::LacksAttribute(1)),
            (row(&["x:read"], Run, &[Granted, RepoListed]), TableFault::LacksAttribute(1)),
            (row(&["x:read"], RepoScope, &[Own]), TableFault::LacksAttribute(1)),
            (row(&["x:read"], Repo, &[AgentGranted]), TableFault::LacksAttribute(1)),
            (row(&["x:read"], UserScope, &[Visible(&[])]), TableFault::LacksAttribute(1)),
        ] {
            assert_eq!(check(&[sound, row]), Err(fault));
        }
    }
}
