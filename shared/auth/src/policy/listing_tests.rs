//! Lists agree with single reads: the compiled predicate against the table, for any actor and run.

use ars_types::visible_to::Subject;
use proptest::prelude::*;

use super::*;
use crate::{Grants, people::People, policy::decide};

fn actor(channels: &[&str], actions: &[&str]) -> Actor {
    let grants = Grants {
        actions: Set::only(actions),
        channels: Set::only(channels),
        repos: Set::default(),
    };
    Actor::new("slack:U1", grants)
}

fn people() -> People {
    let mut people = People::default();
    people.add(&["slack:U1", "http:ann"]).unwrap();
    people
}

fn many(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("C{n:04}")).collect()
}

fn public() -> Filter {
    Filter::VisibilityIn(vec![Visibility::Public])
}

fn own() -> Filter {
    Filter::UserIs("slack:U1".into())
}

#[test]
fn actor_without_channels_sees_public_and_own_runs() {
    let Listing { filter, left_out } = listing(&actor(&[], &[]), "runs:read");
    assert_eq!((filter, left_out), (Filter::Or(vec![public(), own()]), 0));
}

#[test]
fn member_sees_channels_in_wire_order() {
    let filter = listing(&actor(&["C2", "C1"], &[]), "runs:read").filter;
    let travelling = r#"{"kind":"or","of":[{"kind":"channels-in","channelIds":["C1","C2"]},{"kind":"visibility-in","visibilities":["public"]},{"kind":"user-is","userId":"slack:U1"}]}"#;
    assert_eq!(serde_json::to_string(&filter).unwrap(), travelling);
}

#[test]
fn who_has_every_channel_sees_everything() {
    assert_eq!(
        listing(&Actor::cli_local(), "runs:read").filter,
        Filter::All
    );
}

#[test]
fn an_agent_sees_also_what_is_its_principals() {
    let agent = Actor::agent("coding", &Grants::default(), &actor(&[], &[]));
    let own = [Filter::UserIs("agent:coding".into()), own()];
    assert_eq!(
        listing(&agent, "runs:read").filter,
        Filter::Or([vec![public()], own.to_vec()].concat())
    );
}

#[test]
fn person_sees_the_runs_of_every_account() {
    let own = |id: &str| Filter::UserIs(id.into());
    let all = [own("http:ann"), own("mcp:ann"), own("slack:U1")];
    assert_eq!(
        listing(&people().identify(actor(&[], &[])), "runs:read").filter,
        Filter::Or([vec![public()], all.to_vec()].concat())
    );
}

#[test]
fn missing_grant_or_unknown_action_lists_none() {
    assert_eq!(
        listing(&actor(&["C1"], &[]), "runs:write").filter,
        Filter::None
    );
    assert_eq!(
        listing(&Actor::cli_local(), "runs:delete").filter,
        Filter::None
    );
    let granted = listing(&actor(&["C1"], &["runs:write"]), "runs:write").filter;
    assert_eq!(
        granted,
        Filter::Or(vec![Filter::ChannelsIn(vec!["C1".into()]), public()])
    );
}

#[test]
fn excess_channels_are_omitted_and_counted() {
    // Besides the channels the predicate has a single word and user.
    for (channels, left_out) in [(MAX_IDS - 2, 0), (MAX_IDS - 1, 1), (500, 500 + 2 - MAX_IDS)] {
        let ids = many(channels);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let listing = listing(&actor(&ids, &[]), "runs:read");
        assert_eq!(listing.left_out, left_out, "{channels}");
        let Filter::Or(of) = &listing.filter else {
            panic!("{:?}", listing.filter)
        };
        assert_eq!(of[0], Filter::ChannelsIn(many(channels - left_out)));
        assert_eq!(of[1..], [public(), own()]);
    }
}

fn any_grants() -> impl Strategy<Value = Grants> {
    let set = |items: &'static [&'static str]| {
        let some =
            proptest::sample::subsequence(items, 0..=items.len()).prop_map(|some| Set::only(&some));
        prop_oneof![1 => Just(Set::All), 4 => some]
    };
    (
        set(&["runs:read", "runs:write"]),
        set(&["C1", "C2", "http:ops"]),
        set(&["o/n"]),
    )
        .prop_map(|(actions, channels, repos)| Grants {
            actions,
            channels,
            repos,
        })
}

fn any_actor() -> impl Strategy<Value = Actor> {
    let id = proptest::sample::select(vec!["slack:U1", "http:ann", "access:svc:ci", "cli:local"]);
    let parts = (
        id,
        any_grants(),
        proptest::option::of(any_grants()),
        proptest::bool::ANY,
    );
    parts.prop_map(|(id, grants, agents, is_person)| {
        let people = if is_person {
            people()
        } else {
            People::default()
        };
        let actor = people.identify(Actor::new(id, grants));
        agents.map_or(actor.clone(), |own| Actor::agent("coding", &own, &actor))
    })
}

proptest! {
    #[test]
    fn a_list_shows_exactly_what_single_reads_would(
        actor in any_actor(),
        action in proptest::sample::select(vec!["runs:read", "runs:write", "runs:other"]),
        channel in proptest::sample::select(vec!["C1", "C2", "C3", "http:ops"]),
        user in proptest::sample::select(vec!["slack:U1", "http:ann", "agent:coding", "slack:U9"]),
        visibility in proptest::sample::select(Visibility::ALL),
    ) {
        let run = Resource::Run { channel, visibility, user };
        let subject = Subject { channel_id: channel, user_id: user, repo: None, visibility };
        let filter = listing(&actor, action).filter;
        prop_assert_eq!(filter.allows(&subject), decide(&actor, action, &run).is_ok(), "{:?}", filter);
    }

    #[test]
    fn shortened_list_never_adds_runs(count in 0_usize..300, channel in 0_usize..400) {
        let ids = many(count);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let actor = actor(&ids, &[]);
        let channel = format!("C{channel:04}");
        let run = Resource::Run { channel: &channel, visibility: Visibility::Unknown, user: "slack:U2" };
        let subject =
            Subject { channel_id: &channel, user_id: "slack:U2", repo: None, visibility: Visibility::Unknown };
        let listing = listing(&actor, "runs:read");
        prop_assert!(ids_of(&listing.filter) <= MAX_IDS);
        prop_assert!(!listing.filter.allows(&subject) || decide(&actor, "runs:read", &run).is_ok());
    }
}

fn ids_of(filter: &Filter) -> usize {
    let travelling = serde_json::to_value(filter).unwrap();
    fn count(value: &serde_json::Value) -> usize {
        let listed = ["channelIds", "repos", "visibilities"]
            .iter()
            .filter_map(|key| value[*key].as_array());
        let below = value["of"]
            .as_array()
            .into_iter()
            .flatten()
            .map(count)
            .sum::<usize>();
        listed.map(Vec::len).sum::<usize>() + below + usize::from(value["userId"].is_string())
    }
    count(&travelling)
}
