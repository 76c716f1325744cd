//! Destructive commands on a channel that asks the requester to confirm them.

use std::{sync::Arc, time::Duration};

use ars_auth::Actor;
use ars_bot_core::Capabilities;
use ars_bot_ports::{ChannelEvent, Confirmation, IncomingMessage};
use ars_resident::lifecycle::StateWord;
use ars_types::{ChannelTraits, RunStatus};

use super::commands::{command, remembering};
use crate::support::*;

fn admin(text: &str) -> IncomingMessage {
    IncomingMessage {
        actor: Actor::cli_local(),
        ..message(text)
    }
}

/// Dispatches a message on a channel that can confirm.
async fn ask(world: &World, message: IncomingMessage) -> Arc<RecordingChannel> {
    let io = Arc::new(RecordingChannel {
        traits: ChannelTraits {
            can_confirm: true,
            ..ChannelTraits::PATIENT
        },
        ..RecordingChannel::default()
    });
    let channel: Arc<RecordingChannel> = Arc::clone(&io);
    world.core.dispatch(message, channel).await;
    io
}

/// A rebuild waits, and runs once confirmed, with its run and its second reply.
#[tokio::test(start_paused = true)]
async fn confirmed_rebuild_replies_twice() {
    let residents = MemoryResidents::with_one("acme/app");
    let world = world_with(
        Vec::new(),
        with_residents(&residents)(Capabilities::default()),
    );
    let asked = ask(&world, admin(" repo rebuild  acme/app")).await;
    let confirmation = Confirmation {
        user: "cli:local".into(),
        text: "repo rebuild  acme/app".into(),
        command: "repo rebuild acme/app".into(),
        about: "Discards the snapshots of a resident and prepares it anew.",
    };
    assert_eq!(
        asked.events(),
        [ChannelEvent::Confirm(confirmation.clone())]
    );
    assert!(world.core.registry().list().is_empty());

    let confirmed = IncomingMessage {
        is_confirmed: true,
        ..admin(&confirmation.text)
    };
    let io = ask(&world, confirmed).await;
    residents.change("acme/app", |view| view.state = StateWord::Warm);
    while io.said().len() < 2 {
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    let said = io.said();
    assert!(
        said[0].contains("is being prepared anew") && said[1].contains("is ready"),
        "{said:?}"
    );
    assert_eq!(io.finished(), [RunStatus::Completed]);
    world.settle().await;
    assert_eq!(world.records().len(), 1);
}

/// Refusals and plans are answered, and an interruption is not delayed.
#[tokio::test]
async fn other_commands_are_answered_at_once() {
    let residents = MemoryResidents::with_one("acme/app");
    let capabilities = with_residents(&residents)(Capabilities::default());
    let world = remembering(Vec::new(), capabilities);
    for (message, answer) in [
        (
            admin("repo offboard acme/app --dry-run"),
            "`acme/app` would",
        ),
        (admin("repo offboard"), "⚠️ `repo offboard`: slug"),
        (admin("runs stop r1234 --mode hard"), "⚠️ `runs stop`: "),
        (command("config clear me"), "⛔ `config clear`: "),
        // Only the command knows who owns the record.
        (
            command("memory forget mem:user:http:bob:9"),
            "⛔ `memory forget`: ",
        ),
        (admin("config show"), "In effect here"),
    ] {
        let text = message.text.clone();
        let io = ask(&world, message).await;
        let said = io.said();
        assert!(
            said.len() == 1 && said[0].starts_with(answer),
            "{text}: {said:?}"
        );
        assert_eq!(io.commands().len(), 1, "{text}");
    }
    let unasked = say(&world, admin("repo offboard acme/app")).await;
    assert!(unasked.said()[0].starts_with("`acme/app` is removed"));
}

#[tokio::test]
async fn confirmation_hides_secrets() {
    let world = world(Vec::new());
    let text = "config clear channel --channel http:canary-value";
    let [ChannelEvent::Confirm(confirmation)] = &ask(&world, admin(text)).await.events()[..] else {
        panic!("a confirmation")
    };
    let shown = &confirmation.command;
    assert!(
        shown.starts_with("config clear channel --channel ") && !shown.contains("canary"),
        "{shown}"
    );
}

/// The command of an earlier release must not become a request to a model.
#[tokio::test]
async fn confirmed_prose_is_no_run() {
    let world = world(vec![Move::Say("prose")]);
    let confirmed = IncomingMessage {
        is_confirmed: true,
        ..admin("repo obliterate acme/app")
    };
    let io = ask(&world, confirmed).await;
    assert_eq!(io.said(), ["⚠️ there is no such command"]);
    assert!(world.model.seen.lock().unwrap().is_empty());
}
