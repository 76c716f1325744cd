//! Requests that name a repository that is not configured and may be onboarded.

use std::{sync::Arc, time::Duration};

use ars_auth::Restrictions;
use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_ports::ResidentsError;

use crate::support::*;

const TOOL: &str = "acme/tool";
/// The name that a run gives it.
const PLACE: &str = "origin:github.com/acme/tool";
const DEFAULT: &str = "acme/app";

/// Creates a core whose requests may name `acme`'s repositories on the code host.
fn open_world(residents: &Arc<MemoryResidents>) -> World {
    let capabilities = with_residents(residents)(Capabilities::default());
    world_of(vec![Move::Say("done")], capabilities, |settings| Settings {
        allowed_origins: vec!["https://github.com/acme/".into()],
        default_repository: Some(DEFAULT.into()),
        restrictions: Restrictions {
            repos: ["acme/closed".to_owned()].into(),
            ..Restrictions::default()
        },
        ..settings
    })
}

/// Returns the only run's repository.
fn worked_on(world: &World) -> Option<String> {
    let asked_for = world.workspace.asked_for.lock().unwrap();
    assert_eq!(asked_for.len(), 1, "{asked_for:?}");
    asked_for[0].0.clone()
}

#[tokio::test]
async fn onboarded_repository_is_named_in_prose() {
    let residents = MemoryResidents::with_one(TOOL);
    for (text, expected) in [
        ("agent:coding fix the tests in acme/tool", PLACE),
        ("agent:coding fix acme/tool", PLACE),
        ("agent:coding fix the tests in acme/other", DEFAULT),
        ("agent:coding fix the tests in src/main", DEFAULT),
    ] {
        let world = open_world(&residents);
        world.ask(text).await;
        assert_eq!(worked_on(&world).as_deref(), Some(expected), "{text}");
    }
}

/// An unknown list is not a list without the repository.
#[tokio::test(start_paused = true)]
async fn unreachable_residents_reject_the_request() {
    let residents = MemoryResidents::with_one(TOOL);
    residents.fail(ResidentsError::Unreachable("refused".into()));
    let world = open_world(&residents);
    // The second request does not ask the residents.
    for _ in 0..2 {
        let io = world.ask("agent:coding fix the tests in acme/tool").await;
        let replies = io.said();
        assert!(
            replies.len() == 1 && replies[0].contains("`acme/tool` may be a repository"),
            "{replies:?}"
        );
        assert!(io.started().is_empty());
    }
    tokio::time::advance(Duration::from_secs(31)).await;
    world.ask("agent:coding fix the tests in acme/tool").await;
    assert_eq!(worked_on(&world).as_deref(), Some(PLACE));
}

/// Neither without a candidate nor before the requester's gate.
#[tokio::test]
async fn other_texts_ask_no_resident() {
    for text in [
        "agent:coding say hello",
        "agent:coding fix the tests in acme/app",
        "agent:coding fix the tests in other/tool",
        "agent:coding fix the tests in acme/closed",
        "agent:coding fix the tests `in acme/tool`",
        "agent:coding repo:acme/app fix the tests in acme/tool",
    ] {
        let residents = MemoryResidents::with_one(TOOL);
        residents.fail(ResidentsError::Busy);
        let world = open_world(&residents);
        world.ask(text).await;
        assert_eq!(worked_on(&world).as_deref(), Some(DEFAULT), "{text}");
        assert_eq!(residents.failures.lock().unwrap().len(), 1, "{text}");
    }
}
