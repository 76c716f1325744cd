//! Tests the residents that `ars serve` makes on the machine.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use ars_testkit::{FakeAnthropic, Reply};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{Machine, SERVE, Server, TIMEOUT, events, sleeps, until};

/// The request for a run that works. Any other run answers at once.
const WORK: &str = "compute the numbers";
/// A command that writes a number which the text does not contain.
const FIRST: &str = "echo $((1234 * 5678)) > first.txt";
/// Number that the second command writes.
const FIRST_RESULT: &str = "7006652";
/// The same, before the bot is killed.
const SECOND: &str = "echo $((4321 * 8765)) > second.txt";
/// Number that the second command writes.
const SECOND_RESULT: &str = "37873565";

/// Writes a configuration with a repository and these further settings.
pub(crate) fn configured(machine: &Machine, settings: &str) -> PathBuf {
    let project = machine.project();
    let config = format!("[[repositories]]\nname = \"acme/app\"\norigin = {project:?}\n{settings}");
    machine.file("ars.toml", &config)
}

/// Starts a server with a configuration.
pub(crate) async fn server(machine: &Machine, fake: &FakeAnthropic, config: &Path) -> Server {
    let arguments = [&SERVE[..], &["--config", config.to_str().unwrap()]].concat();
    Server::start(&mut machine.ars_with(&fake.url(), &arguments)).await
}

/// Runs in a new thread. Returns where the tree is and the notes about it.
async fn run(machine: &Machine, server: &Server, thread: &str) -> (Value, String) {
    let request = json!({"text": "agent:coding repo:acme/app greet", "thread": thread});
    let (status, body) = server.ask(&request).await;
    assert_eq!(status, 200, "{body}");
    let record = machine.records().await.remove(0);
    let events = record["events"].as_array().unwrap();
    let place = events
        .iter()
        .find(|event| event["type"] == "run_meta")
        .unwrap()["tree"]
        .clone();
    let is_note = |event: &&Value| event["kind"] == "tree";
    let notes = events
        .iter()
        .filter(is_note)
        .map(|event| event["summary"].as_str().unwrap());
    (place, notes.collect::<Vec<_>>().join("\n"))
}

/// Runs in new threads until a run works in a resident. The first run clones, and leaves a resident
/// behind.
pub(crate) async fn run_until_resident(machine: &Machine, server: &mut Server) {
    let (place, notes) = run(machine, server, "first").await;
    assert_eq!(place, "local");
    assert!(
        notes.contains("a resident of acme/app is being prepared"),
        "{notes}"
    );
    server
        .running
        .wait_for("repository onboarded automatically")
        .await;
    // The resident becomes warm while threads come and go.
    for number in 0.. {
        let (place, notes) = run(machine, server, &format!("later-{number}")).await;
        if place == "resident" {
            assert!(notes.contains("resident · acme/app · main@"), "{notes}");
            break;
        }
        assert!(number < 500 && notes.contains("onboarding"), "{notes}");
    }
}

/// No setting is needed for a resident.
#[tokio::test]
async fn later_threads_work_in_a_resident() {
    let machine = Machine::new();
    let fake = FakeAnthropic::answering(|_| Reply::text("hello")).await;
    let mut server = server(&machine, &fake, &configured(&machine, "")).await;
    run_until_resident(&machine, &mut server).await;
}

/// Answers by conversation length, so any process gets the same answers.
fn work(body: &Value, waiting: &str) -> Reply {
    let messages = body["messages"].as_array().unwrap();
    let is_work = body["messages"].to_string().contains(WORK);
    let bash = |command: &str| Reply::tool("bash", json!({ "command": command }));
    match messages
        .iter()
        .filter(|message| message["role"] == "assistant")
        .count()
    {
        _ if !is_work => Reply::text("hello"),
        0 => Reply::tool(
            "write_file",
            json!({ "path": "notes.txt", "content": "one\n" }),
        ),
        // The third command is followed by a checkpoint.
        1 => bash(FIRST),
        2 => bash("echo two >> notes.txt"),
        3 => bash("cat notes.txt"),
        4 => bash(waiting),
        5 => bash("cat first.txt second.txt"),
        _ => Reply::text("done"),
    }
}

/// Returns a checkpoint's file in the resident's mirror.
fn saved(machine: &Machine, checkpoint: &str, file: &str) -> String {
    let mirror = machine.path("data/residents/acme/app/workspace/mirror");
    let mut git = Command::new("git");
    git.arg("--git-dir")
        .arg(mirror)
        .args(["show", &format!("{checkpoint}:{file}")]);
    String::from_utf8(git.output().unwrap().stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// The bot is killed beside a command in a local resident, and started again.
#[tokio::test]
async fn killed_run_resumes_in_its_resident() {
    let machine = Machine::new();
    let time = format!("2000.{}", std::process::id());
    let waiting = format!("{SECOND}; trap '' TERM HUP; sleep {time} & exec sleep {time}");
    let fake = FakeAnthropic::answering(move |body| work(body, &waiting)).await;
    let config = configured(&machine, "");
    let mut killed = server(&machine, &fake, &config).await;
    run_until_resident(&machine, &mut killed).await;
    let text = format!("agent:coding repo:acme/app {WORK}");
    let (status, accepted) = killed
        .ask(&json!({"text": text, "thread": "killed", "async": true}))
        .await;
    assert_eq!(status, 202, "{accepted}");
    let id = accepted["runId"].as_str().unwrap();
    until("the command runs", || sleeps(&time)).await;
    killed.kill().await;
    until("the command ends with the bot", || !sleeps(&time)).await;
    assert_eq!(
        saved(&machine, &format!("refs/ars/{id}/1"), "first.txt"),
        FIRST_RESULT
    );
    machine.end_leases();
    let asked = fake.request_count();
    let server = server(&machine, &fake, &config).await;
    timeout(TIMEOUT, fake.wait_for_requests(asked + 2))
        .await
        .expect("the run resumes");
    server.terminate().await.assert_code(0);
    // The tree also has what the command wrote after the checkpoint, so it was not made again.
    let last = fake.requests().pop().unwrap().body.to_string();
    let expected = [FIRST_RESULT, SECOND_RESULT, "may have had its effect"];
    assert!(expected.iter().all(|text| last.contains(text)), "{last}");
    let records = machine.records().await;
    let record = records.iter().find(|record| record["id"] == id).unwrap();
    assert_eq!(
        (&record["status"], &events(record, "run_meta")[0]["tree"]),
        (&json!("completed"), &json!("resident"))
    );
    let checkpoint = record["checkpoint"].as_str().unwrap();
    assert_eq!(saved(&machine, checkpoint, "second.txt"), SECOND_RESULT);
}

#[tokio::test]
async fn residents_can_be_switched_off() {
    for settings in [
        "[execution.resident]\nlocal = false\n",
        "[execution.resident]\nauto = false\n",
    ] {
        let machine = Machine::new();
        let fake = FakeAnthropic::answering(|_| Reply::text("hello")).await;
        let server = server(&machine, &fake, &configured(&machine, settings)).await;
        assert_eq!(
            run(&machine, &server, "first").await,
            (json!("local"), String::new()),
            "{settings}"
        );
        assert!(!machine.path("data/residents").exists(), "{settings}");
    }
}
