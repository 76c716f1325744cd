//! The table, row by row: every covered pair of actor and resource, and some uncovered pairs.

use ars_types::Visibility::{self, Dm, Machine, Private, Public, Unknown};

use super::*;
use crate::{Grants, Set, policy::GROUPS};

const RUN: Resource<'_> = Resource::Run {
    channel: "C1",
    visibility: Private,
    user: "slack:U1",
};

fn actor(id: &str, actions: &[&str], channels: &[&str], repos: &[&str]) -> Actor {
    let grants = Grants {
        actions: Set::only(actions),
        channels: Set::only(channels),
        repos: Set::only(repos),
    };
    Actor::new(id, grants)
}

fn holder(actions: &[&str]) -> Actor {
    actor("slack:U2", actions, &[], &[])
}

fn in_every_channel(actions: &[&str]) -> Actor {
    let grants = Grants {
        actions: Set::only(actions),
        channels: Set::All,
        repos: Set::default(),
    };
    Actor::new("slack:U2", grants)
}

fn channel(visibility: Visibility) -> Resource<'static> {
    Resource::ChannelScope {
        channel: "C1",
        visibility,
    }
}

#[test]
fn members_and_the_user_read_a_run() {
    let read = |actor: &Actor| decide(actor, "runs:read", &RUN);
    assert_eq!(read(&actor("slack:U2", &[], &["C1"], &[])), Ok(()));
    assert_eq!(read(&in_every_channel(&[])), Ok(()));
    assert_eq!(read(&actor("slack:U1", &[], &[], &[])), Ok(()));
    assert_eq!(
        read(&actor(
            "slack:U2",
            &["runs:read", "runs:write"],
            &["C2"],
            &[]
        )),
        Err(Denied::NotMember)
    );
}

#[test]
fn only_public_runs_are_open_to_all() {
    for (visibility, expected) in [
        (Public, Ok(())),
        (Private, Err(Denied::NotMember)),
        (Dm, Err(Denied::NotMember)),
        (Machine, Err(Denied::NotMember)),
        (Unknown, Err(Denied::NotMember)),
    ] {
        let run = Resource::Run {
            channel: "C1",
            visibility,
            user: "slack:U1",
        };
        assert_eq!(
            decide(&holder(&[]), "runs:read", &run),
            expected,
            "{visibility}"
        );
    }
}

#[test]
fn stop_requires_grant_and_membership() {
    let write = |actor: &Actor| decide(actor, "runs:write", &RUN);
    assert_eq!(
        write(&actor("slack:U2", &["runs:write"], &["C1"], &[])),
        Ok(())
    );
    assert_eq!(write(&in_every_channel(&["runs:write"])), Ok(()));
    assert_eq!(
        write(&actor("slack:U1", &[], &[], &[])),
        Err(Denied::MissingGrant)
    );
    assert_eq!(
        write(&actor("slack:U1", &["runs:write"], &[], &[])),
        Err(Denied::NotMember)
    );
    assert_eq!(
        write(&in_every_channel(&["runs:read"])),
        Err(Denied::MissingGrant)
    );
}

#[test]
fn each_command_requires_its_grant() {
    for group in GROUPS {
        for verb in ["read", "write"] {
            let action = format!("{group}:{verb}");
            let service = |actions: &[&str]| actor("http:ann", actions, &[], &[]);
            assert_eq!(
                decide(&service(&[&action]), &action, &Resource::Command),
                Ok(()),
                "{action}"
            );
            let others = service(&["dispatch", "*", group, "help:other"]);
            assert_eq!(
                decide(&others, &action, &Resource::Command),
                Err(Denied::MissingGrant),
                "{action}"
            );
        }
    }
}

#[test]
fn machines_need_a_grant_to_change_configuration() {
    let change = |id: &str| {
        decide(
            &actor(id, &[], &[], &[]),
            "config:write",
            &Resource::Command,
        )
    };
    for person in ["slack:U1", "access:ann", "cli:local"] {
        assert_eq!(change(person), Ok(()), "{person}");
    }
    for other in [
        "http:ann",
        "mcp:ann",
        "access:svc:ci",
        "schedule:nightly",
        "agent:coding",
        "x",
    ] {
        assert_eq!(change(other), Err(Denied::MissingGrant), "{other}");
    }
}

#[test]
fn channel_configuration_requires_grant_and_users_own_theirs() {
    let in_channel = |actor: &Actor| decide(actor, "config:write", &channel(Public));
    assert_eq!(in_channel(&holder(&["config:write"])), Ok(()));
    assert_eq!(
        in_channel(&actor("slack:U2", &[], &["C1"], &[])),
        Err(Denied::MissingGrant)
    );
    let of_user = |actor: &Actor| decide(actor, "config:write", &Resource::UserScope("slack:U2"));
    assert_eq!(of_user(&holder(&[])), Ok(()));
    assert_eq!(
        of_user(&actor("slack:U1", &["config:write"], &[], &[])),
        Err(Denied::NotSelf)
    );
    let agent = Actor::agent("coding", &Grants::everything(), &holder(&[]));
    assert_eq!(of_user(&agent), Ok(()));
}

#[test]
fn repository_actions_require_grant_axis_or_agent() {
    let repo = Resource::Repo("acme/site");
    assert_eq!(
        decide(&holder(&["repo:write"]), "repo:write", &repo),
        Ok(())
    );
    let listed = actor("slack:U2", &[], &[], &["acme/site"]);
    assert_eq!(
        decide(&listed, "repo:write", &repo),
        Err(Denied::MissingGrant)
    );
    assert_eq!(decide(&listed, "repo:use", &repo), Ok(()));
    assert_eq!(
        decide(&holder(&["repo:use", "repo:write"]), "repo:use", &repo),
        Err(Denied::MissingGrant)
    );
    let execute =
        |actions: &[&str], agent| decide(&holder(actions), "repo:exec", &Resource::Agent(agent));
    for grant in ["agent:run:coding", "agent:run:*", "repo:exec"] {
        assert_eq!(execute(&[grant], "coding"), Ok(()), "{grant}");
        assert_eq!(
            execute(&[grant], "general"),
            Err(Denied::WrongAgent),
            "{grant}"
        );
    }
    assert_eq!(
        execute(&["agent:run:review", "repo:write"], "coding"),
        Err(Denied::MissingGrant)
    );
}

#[test]
fn server_changes_require_the_scope_grant() {
    let org = Resource::OrgScope { origin: Private };
    for (resource, grant) in [(channel(Private), "config:write"), (org, "repo:write")] {
        assert_eq!(decide(&holder(&[grant]), "mcp:write", &resource), Ok(()));
        assert_eq!(
            decide(&holder(&["mcp:write"]), "mcp:write", &resource),
            Err(Denied::MissingGrant)
        );
        for service in ["http:ann", "access:svc:ci"] {
            let granted = actor(service, &["mcp:write"], &[], &[]);
            assert_eq!(decide(&granted, "mcp:write", &resource), Ok(()));
            let other = actor(service, &["mcp:read"], &[], &[]);
            assert_eq!(
                decide(&other, "mcp:write", &resource),
                Err(Denied::MissingGrant)
            );
        }
    }
}

#[test]
fn memory_belongs_to_its_scope() {
    let ann = actor("slack:U1", &[], &["C1"], &["acme/site"]);
    let bob = actor("slack:U2", &[], &["C2"], &["acme/docs"]);
    for action in ["memory:read", "memory:write"] {
        for (resource, refusal) in [
            (Resource::UserScope("slack:U1"), Denied::NotSelf),
            (channel(Unknown), Denied::NotMember),
            (Resource::RepoScope("acme/site"), Denied::MissingGrant),
        ] {
            assert_eq!(
                decide(&ann, action, &resource),
                Ok(()),
                "{action} {resource:?}"
            );
            assert_eq!(
                decide(&bob, action, &resource),
                Err(refusal),
                "{action} {resource:?}"
            );
        }
    }
}

#[test]
fn shared_memory_is_written_from_public_or_machine_channels() {
    let nobody = holder(&[]);
    for (origin, written) in [
        (Public, Ok(())),
        (Machine, Ok(())),
        (Private, Err(Denied::WrongVisibility)),
        (Dm, Err(Denied::WrongVisibility)),
        (Unknown, Err(Denied::WrongVisibility)),
    ] {
        let org = Resource::OrgScope { origin };
        assert_eq!(decide(&nobody, "memory:read", &org), Ok(()), "{origin}");
        assert_eq!(decide(&nobody, "memory:write", &org), written, "{origin}");
    }
}

#[test]
fn only_schedules_fire() {
    let fire = |id: &str| {
        decide(
            &actor(id, &["schedule:fire"], &[], &[]),
            "schedule:fire",
            &Resource::Command,
        )
    };
    assert_eq!(fire("schedule:nightly"), Ok(()));
    for other in [
        "slack:U1",
        "cli:local",
        "http:schedule:nightly",
        "agent:coding",
    ] {
        assert_eq!(fire(other), Err(Denied::WrongKind), "{other}");
    }
}

#[test]
fn uncovered_action_is_denied() {
    let everything = Actor::cli_local();
    for (action, resource) in [
        ("runs:read", Resource::Repo("acme/site")),
        ("runs:delete", RUN),
        ("runs", RUN),
        ("", Resource::Command),
        ("repo:exec", Resource::Command),
        ("memory:write", Resource::Agent("coding")),
        ("mcp:write", Resource::UserScope("cli:local")),
        ("billing:read", Resource::Command),
    ] {
        assert_eq!(
            decide(&everything, action, &resource),
            Err(Denied::NoRule),
            "{action} {resource:?}"
        );
    }
}
