//! A drill with two subjects who do not trust each other, on the same local resident.
//!
//! The same in containers: `tests/residents`.

use ars_testkit::subjects::{FIND, HONEST, PASSED, PLANT, PLANTED, TIDY};
use ars_testkit::{FakeAnthropic, Reply};
use serde_json::{Value, json};

use crate::residents::{configured, run_until_resident, server};
use crate::support::Machine;

/// A run's commands, by a word in the request.
const COMMANDS: [(&str, &[&str]); 3] = [
    ("please plant", &[PLANT, FIND]),
    ("please tidy", &[PLANT, TIDY, FIND]),
    ("please look", &[FIND, HONEST]),
];

fn answer(body: &Value) -> Reply {
    let asked = body["messages"].to_string();
    let commands = COMMANDS
        .iter()
        .find(|(words, _)| asked.contains(words))
        .map(|(_, commands)| *commands);
    let answered = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|said| said["role"] == "assistant")
        .count();
    commands
        .and_then(|commands| commands.get(answered))
        .map_or_else(
            || Reply::text("done"),
            |command| Reply::tool("bash", json!({ "command": command })),
        )
}

/// Nothing that a subject plants on a resident reaches the others, and their work succeeds.
#[tokio::test]
async fn one_subject_finds_nothing_of_another() {
    let machine = Machine::new();
    let fake = FakeAnthropic::answering(answer).await;
    let mut server = server(&machine, &fake, &configured(&machine, "")).await;
    run_until_resident(&machine, &mut server).await;
    // Twice: a tree with work keeps its user, and a clean tree's user goes to the next thread.
    for (subject, words) in [
        ("ann", "please plant"),
        ("bob", "please look"),
        ("ann", "please tidy"),
        ("bob", "please look"),
        ("bob", "please look"),
    ] {
        let thread = format!("{subject}-{}", fake.request_count());
        let text = format!("agent:coding repo:acme/app {words}");
        let (status, said) = server
            .ask_as(subject, &json!({ "text": text, "thread": thread }))
            .await;
        assert_eq!(status, 200, "{said}");
        let record = machine.records().await.remove(0);
        let meta = record["events"]
            .as_array()
            .unwrap()
            .iter()
            .find(|event| event["type"] == "run_meta")
            .unwrap();
        assert_eq!(meta["tree"], "resident", "{words}");
        let seen = fake.requests().pop().unwrap().body.to_string();
        if subject == "ann" {
            assert!(
                seen.contains(PLANTED),
                "the drill finds what was planted: {seen}"
            );
        } else {
            assert!(
                !seen.contains(PLANTED) && seen.contains(PASSED),
                "{words}: {seen}"
            );
        }
    }
}
