//! Command messages, and messages that only resemble a command.

use std::sync::Arc;

use ars_auth::{Actor, Grants, Set};
use ars_bot_core::{
    Capabilities,
    memory::{Budget, MemoryDeps},
};
use ars_bot_ports::{IncomingMessage, Memory};

use crate::{memory::support::Stores, steering::last_text, support::*};

/// The sender's grants.
const GRANTS: [&str; 5] = [
    "help:read",
    "config:read",
    "friction:read",
    "memory:write",
    "status:read",
];

/// A world with memory, which some commands need.
pub fn remembering(moves: Vec<Move>, capabilities: Capabilities) -> World {
    let store: Arc<dyn Memory> = Arc::new(Stores::default());
    let memory = MemoryDeps {
        store,
        organization: None,
        budget: Budget::default(),
        model: None,
    };
    world_with(
        moves,
        Capabilities {
            memory: Some(memory),
            ..capabilities
        },
    )
}

/// A message from a sender who may invoke commands.
pub fn command(text: &str) -> IncomingMessage {
    let grants = Grants {
        actions: Set::only(&GRANTS),
        ..Grants::default()
    };
    IncomingMessage {
        actor: Actor::new("http:ann", grants),
        ..message(text)
    }
}

#[tokio::test]
async fn commands_are_answered_without_a_run() {
    for (text, answer, is_ok) in [
        ("help", "Agents:\n", true),
        (" help\n", "Agents:\n", true),
        ("config help", "- `config show", true),
        ("config show", "In effect here: `general`", true),
        ("config show --help", "Shows the agent, the model", true),
        (
            "config  show --channel=http:ops",
            "In effect here: `general`",
            true,
        ),
        // A malformed tail leaves no run, even for a command that leaves a run.
        ("memory forget", "⚠️ `memory forget`: id", false),
        (
            "memory forget everything about me",
            "⚠️ `memory forget`: ",
            false,
        ),
        ("friction report \"open", "⚠️ `friction report`: ", false),
        (
            "friction report --canary-value",
            "⚠️ `friction report`: ",
            false,
        ),
        ("config show --bogus", "⚠️ `config show`: ", false),
        (
            "runs list",
            "⛔ `runs list`: you do not have permission",
            false,
        ),
        (
            "config set --agent coding",
            "⛔ `config set`: you do not have permission",
            false,
        ),
        (
            "config shwo",
            "⚠️ there is no such command: did you mean `config show`?",
            false,
        ),
    ] {
        let world = remembering(vec![Move::Say("prose")], Capabilities::default());
        let io = say(&world, command(text)).await;
        world.settle().await;
        let said = io.said();
        assert!(
            said.len() == 1 && said[0].starts_with(answer),
            "{text}: {said:?}"
        );
        assert!(!said[0].contains("canary-value"), "{text}: {said:?}");
        assert_eq!(io.commands(), [is_ok], "{text}");
        assert!(
            io.started().is_empty() && io.finished().is_empty(),
            "{text}"
        );
        assert!(
            world.core.registry().list().is_empty() && world.records().is_empty(),
            "{text}"
        );
        assert!(world.model.seen.lock().unwrap().is_empty(), "{text}");
        assert_eq!(io.history_reads(), 0, "{text}");
    }
}

#[tokio::test]
async fn other_messages_are_for_the_model() {
    for text in [
        "help me",
        "Help",
        "please config show",
        "config",
        "config shown to me",
        "config.show",
        "`config show`",
        "agent:general config show",
        "config agent:general show",
        "runs stopping is broken",
    ] {
        let world = remembering(vec![Move::Say("prose")], Capabilities::default());
        let io = say(&world, command(text)).await;
        world.settle().await;
        assert_eq!(io.said(), ["prose"], "{text}");
        assert!(io.commands().is_empty(), "{text}");
    }
}

/// A sentence about tests is a request to an agent, in an installation with residents too.
#[tokio::test]
async fn operation_in_prose_is_for_the_model() {
    for text in [
        "run the tests of acme/app",
        "Run the tests on main in acme/app",
        "please repo test acme/app",
        "build acme/app",
        "test acme/app",
    ] {
        let residents = MemoryResidents::with_one("acme/app");
        let capabilities = with_residents(&residents)(Capabilities::default());
        let world = world_with(vec![Move::Say("prose")], capabilities);
        let io = say(&world, command(text)).await;
        world.settle().await;
        assert_eq!(io.said(), ["prose"], "{text}");
        assert!(residents.ops.lock().unwrap().is_empty(), "{text}");
    }
}

#[tokio::test]
async fn command_whose_part_is_off_is_no_run() {
    let world = world(vec![Move::Say("prose")]);
    let [reply] = &say(&world, command("memory forget mem:user:http:ann:1"))
        .await
        .said()[..]
    else {
        panic!("one reply")
    };
    assert!(
        reply.starts_with("⚠️ `memory forget`: memory is off: set memory.enabled = true"),
        "{reply}"
    );
    assert!(world.records().is_empty(), "no model was asked");
}

#[tokio::test]
async fn command_never_steers_a_live_run() {
    let moves = vec![Move::SayWhenReleased("done")];
    let world = Arc::new(remembering(moves, Capabilities::default()));
    let (first, running) = under_way(&world, "translate it").await;
    for (text, answer) in [
        ("config show", "In effect here"),
        ("config show --bogus", "⚠️ `config show`: "),
        ("friction report", ""),
    ] {
        let said = say(&world, command(text)).await.said();
        assert_eq!(said.len(), 1, "{text}: {said:?}");
        assert!(said[0].starts_with(answer), "{text}: {said:?}");
        assert!(!said[0].starts_with('↪'), "{text}: {said:?}");
    }
    world.finish_and_settle(running).await;
    assert_eq!(first.said(), ["done"]);
    assert_eq!(
        outline(&world.last_record()),
        ["input", "run_meta", "answer"]
    );
}

/// The first process recognized neither message as a command.
#[tokio::test]
async fn joined_follow_ups_are_no_command() {
    let moves = vec![Move::FailWhenReleased, Move::Say("both answered")];
    let world = Arc::new(remembering(moves, Capabilities::default()));
    let (_, running) = under_way(&world, "hello").await;
    let words = [
        say(&world, command("config")).await,
        say(&world, command("show")).await,
    ];
    world.finish_and_settle(running).await;
    assert!(last_text(&world).contains("config") && last_text(&world).contains("show"));
    assert_eq!(words[1].said()[1], "both answered");
}
