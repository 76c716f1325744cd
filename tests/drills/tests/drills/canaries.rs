//! Every configured secret has a value of its own, and shows nowhere: not in logs, records, streams, pages, prompts,
//! files, nor in the arguments or environments of what a run starts.

use std::path::Path;

use ars_testkit::Reply;
use ars_tests_drills::{Bot, Machine, answers, below, secrets, until};
use serde_json::{Value, json};

use crate::{PROGRAM, kills::over};

/// Prints its own environment and that of every process above it, then waits to be looked at.
const PROBE: &str = r#"env; p=$$
while [ "$p" -gt 1 ]; do tr '\0' '\n' < /proc/$p/environ; tr '\0' ' ' < /proc/$p/cmdline; p=$(awk '/^PPid/{print $2}' /proc/$p/status); done
touch begun; while [ ! -e go ]; do sleep 0.02; done; echo the end of the probe"#;

fn answer(body: &Value) -> Reply {
    let words = format!("the key {} is not accepted", secrets::ANTHROPIC);
    match answers(body) {
        _ if body.to_string().contains("be refused") => Reply::error(401, "authentication_error", words),
        0 => Reply::tool("bash", json!({ "command": PROBE })),
        1 => Reply::tool("read_file", json!({ "path": format!("{}.txt", secrets::QUOTED) })),
        _ => Reply::text(format!("You told me {}.", secrets::QUOTED)),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_shows_in_anything_a_run_leaves_or_starts() {
    let machine = Machine::new(PROGRAM, answer).await;
    let mut bot = machine.bot().await;
    let mut seen = Vec::new();

    let text = format!("my token is {}, look around", secrets::QUOTED);
    let accepted = bot.ask(&json!({ "text": text, "async": true })).await.unwrap().unwrap().1;
    let run = accepted["runId"].as_str().unwrap().to_owned();
    until("the probe runs", || machine.path_in_tree("begun").is_some()).await;
    look_at_processes(&bot, &mut seen);
    look(&mut seen, "the index of live runs", &bot.read("/runs").await);
    look(&mut seen, "the ledger", &json!(machine.state.live()).to_string());
    look(
        &mut seen,
        "the ledger's events",
        &machine.state.ask("/runs/live-events", json!({ "runId": run })).to_string(),
    );
    look(
        &mut seen,
        "the transcript",
        &prompts_say(&machine.state.ask("/runs/transcript/read", json!({ "runId": run }))),
    );
    let tree = machine.path_in_tree("begun").unwrap();
    std::fs::write(tree.with_file_name("go"), "").unwrap();
    over(&machine).await;
    let refused = bot.ask(&json!({ "text": "be refused", "thread": "other" })).await.unwrap().unwrap().1;
    look(&mut seen, "the refused reply", &refused.to_string());
    over(&machine).await;

    for path in ["", "/events", "/friction"] {
        look(&mut seen, &format!("the run's page {path}"), &bot.read(&format!("/runs/{run}{path}")).await);
    }
    look(&mut seen, "the index", &bot.read("/runs").await);
    bot.terminate().await;
    look(&mut seen, "the bot's log", &bot.log().await);
    look(&mut seen, "the Worker's log", &machine.log_of_the_worker());
    for record in machine.state.records() {
        look(&mut seen, "a record", &record.to_string());
        assert!(record["eventCount"].as_u64() > Some(2), "{record}");
    }
    for request in machine.vendor.requests() {
        look(&mut seen, "a prompt", &prompts_say(&request.body));
    }
    look_at_files(&machine.path(""), &mut seen);
    let probed = machine
        .vendor
        .requests()
        .iter()
        .any(|request| request.body.to_string().contains("the end of the probe"));
    assert!(probed, "the probe's output reaches the model");
    assert!(seen.is_empty(), "secrets show:\n{}", seen.join("\n"));
}

/// Notes the secrets in a text.
fn look(seen: &mut Vec<String>, place: &str, text: &str) {
    assert!(!text.is_empty() || place.ends_with("log"), "{place} is empty");
    seen.extend(secrets::seen_in(text).into_iter().map(|secret| format!("{secret} in {place}")));
}

/// A conversation without what its requester and its model said themselves: the model is told what people write.
fn prompts_say(conversation: &Value) -> String {
    conversation.to_string().replace(secrets::QUOTED, "")
}

fn look_at_processes(bot: &Bot, seen: &mut Vec<String>) {
    let own = std::fs::read_to_string(format!("/proc/{}/cmdline", bot.pid())).unwrap();
    look(seen, "the bot's arguments", &own);
    let children = below(bot.pid());
    assert!(children.iter().any(|child| child.arguments.contains("begun")), "the probe is below the bot");
    // One that has just ended shows nothing.
    for child in children.iter().filter(|child| !child.arguments.is_empty()) {
        look(seen, "a child's arguments", &child.arguments);
        look(seen, "a child's environment", &child.environment);
    }
}

/// The bot's own folders; the conversation is kept by the Worker.
fn look_at_files(folder: &Path, seen: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            look_at_files(&path, seen);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes);
            seen.extend(
                secrets::seen_in(&text).into_iter().map(|secret| format!("{secret} in {}", path.display())),
            );
        }
    }
}
