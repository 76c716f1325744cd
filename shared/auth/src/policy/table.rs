//! The rows in the policy table.
//!
//! Conditions, resources and kinds are types, so unknown ones do not compile. [`check`] covers the
//! rest at compile time.

use ars_types::{ActorClass, Visibility};

use super::{
    Condition::{
        self, AgentGranted, AgentIs, AllChannels, Always, Grant, Granted, Member, Own, RepoListed,
        Visible,
    },
    ResourceKind::{self, Agent, ChannelScope, Command, OrgScope, Repo, RepoScope, Run, UserScope},
};
use crate::TableFault;

/// A row: an actor that meets all conditions may perform any of the actions on such a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Actions that the row permits.
    pub actions: &'static [&'static str],
    /// The resource kind it applies to.
    pub resource: ResourceKind,
    /// Conditions that must all hold.
    pub when: &'static [Condition],
}

/// Defines the command groups and the actions that their commands perform.
macro_rules! commands {
    ($($group:literal)+) => {
        /// Names of the command groups.
        pub const GROUPS: &[&str] = &[$($group),+];
        const COMMANDS: &[&str] = &[$(concat!($group, ":read"), concat!($group, ":write")),+];
    };
}

commands! { "runs" "friction" "repo" "config" "help" "status" "schedule" "deploy" "mcp" "memory" "review" "env" }

/// The table. If no row permits an action, the first determines why it is denied.
pub const ROWS: &[Row] = &[
    row(&["runs:read"], Run, &[Member]),
    row(&["runs:read"], Run, &[AllChannels]),
    row(&["runs:read"], Run, &[Own]),
    // Owning a run is not sufficient to stop it.
    row(&["runs:write"], Run, &[Granted, Member]),
    row(&["runs:write"], Run, &[Granted, AllChannels]),
    row(COMMANDS, Command, &[Granted]),
    row(
        &["config:write"],
        Command,
        &[Condition::Class(ActorClass::User)],
    ),
    row(&["config:write"], ChannelScope, &[Granted]),
    row(&["config:write"], UserScope, &[Own]),
    row(&["repo:write"], Repo, &[Granted]),
    row(&["repo:exec"], Agent, &[AgentIs("coding"), AgentGranted]),
    row(&["repo:exec"], Agent, &[AgentIs("coding"), Granted]),
    row(&["repo:use"], Repo, &[RepoListed]),
    row(&["issue:write"], Repo, &[Granted]),
    row(&["agent:run"], Agent, &[AgentGranted]),
    row(&["mcp:write"], ChannelScope, &[Grant("config:write")]),
    row(
        &["mcp:write"],
        ChannelScope,
        &[Condition::Class(ActorClass::Service), Granted],
    ),
    row(&["mcp:write"], OrgScope, &[Grant("repo:write")]),
    row(
        &["mcp:write"],
        OrgScope,
        &[Condition::Class(ActorClass::Service), Granted],
    ),
    row(&["memory:read"], OrgScope, &[Always]),
    row(
        &["memory:write"],
        OrgScope,
        &[Visible(&[Visibility::Public, Visibility::Machine])],
    ),
    row(&["memory:read", "memory:write"], UserScope, &[Own]),
    row(&["memory:read", "memory:write"], ChannelScope, &[Member]),
    row(&["memory:read", "memory:write"], RepoScope, &[RepoListed]),
    row(
        &["schedule:fire"],
        Command,
        &[Condition::Class(ActorClass::Schedule)],
    ),
];

// An invalid table fails the build.
const _: () = assert!(check(ROWS).is_ok());

const fn row(
    actions: &'static [&'static str],
    resource: ResourceKind,
    when: &'static [Condition],
) -> Row {
    Row {
        actions,
        resource,
        when,
    }
}

/// Checks that every row can be evaluated.
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
    fn invalid_row_is_reported_by_number() {
        let sound = row(&["x:read"], Run, &[Member, Own]);
        assert_eq!(check(&[sound]), Ok(()));
        for (row, fault) in [
            (row(&[], Run, &[Member]), TableFault::NoAction(1)),
            (row(&["x:read"], Run, &[]), TableFault::NoCondition(1)),
            (
                row(&["x:read"], Command, &[Member]),
                TableFault::LacksAttribute(1),
            ),
            (
                row(&["x:read"], Run, &[Granted, RepoListed]),
                TableFault::LacksAttribute(1),
            ),
            (
                row(&["x:read"], RepoScope, &[Own]),
                TableFault::LacksAttribute(1),
            ),
            (
                row(&["x:read"], Repo, &[AgentGranted]),
                TableFault::LacksAttribute(1),
            ),
            (
                row(&["x:read"], UserScope, &[Visible(&[])]),
                TableFault::LacksAttribute(1),
            ),
        ] {
            assert_eq!(check(&[sound, row]), Err(fault));
        }
    }
}
