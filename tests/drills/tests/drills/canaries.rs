//! Every configured secret has a distinct value that must not appear anywhere. Not in logs,
//! records, streams, pages, prompts, spans, metrics, memory, files, or child processes' arguments
//! and environments. Every place that could hold a secret is in use, and each secret is sent only
//! to its own service, in a header.
//!
//! Logs, records, prompts, streams and processes are searched when every drill ends
//! (`src/searched.rs`); this drill ensures that each had a secret to show.

use std::path::Path;

use ars_testkit::{FakeOpenAi, Reply};
use ars_tests_drills::{Bot, Machine, Outside, Sent, Setup, State, answers, below, secrets, until};
use ars_tests_workerd::{Running, state_worker_build};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{PROGRAM, kills::over};

/// Prints every secret, as a leaked file would, its own environment and that of its ancestors. Then
/// waits to be inspected.
fn probing() -> String {
    let said = BASE64_STANDARD.encode(secrets::ALL.join("\n"));
    format!("echo {said} | base64 -d; {PROBE}")
}

/// Last part of the probe.
const PROBE: &str = r#"env; p=$$
while [ "$p" -gt 1 ]; do tr '\0' '\n' < /proc/$p/environ; tr '\0' ' ' < /proc/$p/cmdline; p=$(awk '/^PPid/{print $2}' /proc/$p/status); done
touch begun; while [ ! -e go ]; do sleep 0.02; done; echo the end of the probe"#;
/// Name of the configuration file.
const CONFIGURATION: &str = "ars.toml";

fn is_reflection(body: &Value) -> bool {
    body["messages"].to_string().contains("Remembered already:")
}

fn answer(body: &Value) -> Reply {
    let words = format!("the key {} is not accepted", secrets::ANTHROPIC);
    match answers(body) {
        _ if is_reflection(body) => {
            let text = format!(
                "The token is {}, the password {}",
                secrets::QUOTED,
                secrets::ORIGIN
            );
            let fact = json!({ "text": text, "confidence": 1, "audience": "user" });
            Reply::text(json!({ "facts": [fact] }).to_string())
        }
        _ if body.to_string().contains("be refused") => {
            Reply::error(401, "authentication_error", words)
        }
        0 => Reply::tool("bash", json!({ "command": probing() })),
        1 => Reply::tool(
            "read_file",
            json!({ "path": format!("{}.txt", secrets::QUOTED) }),
        ),
        _ => Reply::text(format!("You told me {}.", secrets::ALL.join(", "))),
    }
}

fn research(body: &Value) -> Reply {
    match answers(body) {
        0 => Reply::tool(
            "web_search",
            json!({ "query": format!("what is {}", secrets::QUOTED) }),
        ),
        _ => Reply::text(format!("Nobody says, {}.", secrets::OPENAI)),
    }
}

/// Everything on: memory, metrics, spans, a search, a second vendor, an origin with a password.
fn everything(outside: &Outside, vendor: &FakeOpenAi, memory: &Running) -> Setup {
    Setup {
        origin: Some(outside.origin()),
        config: format!(
            "[defaults.models]\nresearch = \"openai/gpt-drill\"\n\n[memory]\nenabled = true\n\n\
             [memory.worker]\nbase_url = \"http://{}\"\ntoken_env = \"OWN_MEMORY_TOKEN\"\n\n\
             [telemetry]\nprometheus = true\n",
            memory.client.address()
        ),
        environment: vec![
            ("OPENAI_BASE_URL", vendor.url()),
            ("BRAVE_SEARCH_BASE_URL", outside.url()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", outside.url()),
        ],
        ..Setup::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_leaked() {
    let (outside, vendor) = (
        Outside::start().await,
        FakeOpenAi::answering(research).await,
    );
    let memory = Running::start(state_worker_build(), |settings| {
        settings.secret("MEMORY_TOKEN", secrets::OWN_MEMORY)
    });
    let machine = Machine::with(PROGRAM, everything(&outside, &vendor, &memory), answer).await;
    let mut bot = machine.bot().await;
    let mut seen = Vec::new();

    let run = probe(&machine, &bot, &mut seen).await;
    for (text, thread) in [
        ("be refused", "two"),
        ("agent:research look it up", "three"),
    ] {
        let answered = bot
            .ask(&json!({ "text": text, "thread": thread }))
            .await
            .unwrap()
            .unwrap()
            .1;
        look(&mut seen, "a reply", &answered.to_string());
        over(&machine).await;
    }
    for path in ["", "/events", "/friction"] {
        look(
            &mut seen,
            &format!("the run's page {path}"),
            &bot.read(&format!("/runs/{run}{path}")).await,
        );
    }
    look(&mut seen, "the index", &bot.read("/runs?all=1").await);
    let metrics = bot.read("/metrics").await;
    assert!(metrics.contains("ars_"), "{metrics}");
    look(&mut seen, "the metrics", &metrics);
    bot.terminate().await;
    assert!(bot.log().contains(&run), "{}", bot.log());
    assert!(
        machine.streams().contains("the end of the probe"),
        "a stream goes on to the end"
    );
    for record in machine.state.records() {
        assert!(record["eventCount"].as_u64() > Some(2), "{record}");
    }
    let remembered = State::new(&memory.client, secrets::OWN_MEMORY).remembered("user:http:ann");
    look(&mut seen, "memory", &remembered.concat());
    assert!(
        machine.state.remembered("user:http:ann").is_empty(),
        "memory has a Worker of its own"
    );
    look(&mut seen, "the memory Worker's log", &memory.log());
    look_at_prompts(&machine, &vendor, &mut seen);
    look_outside(&outside, &mut seen);
    look_at_files(&machine.path(""), &mut seen);
    assert!(seen.is_empty(), "secrets show:\n{}", seen.join("\n"));
}

/// Starts a run that looks around, and inspects it meanwhile; returns the run's id.
async fn probe(machine: &Machine, bot: &Bot, seen: &mut Vec<String>) -> String {
    let text = format!("my token is {}, look around", secrets::QUOTED);
    let accepted = bot
        .ask(&json!({ "text": text, "async": true }))
        .await
        .unwrap()
        .unwrap()
        .1;
    let run = accepted["runId"].as_str().unwrap().to_owned();
    until("the probe runs", || machine.path_in_tree("begun").is_some()).await;
    look_at_processes(bot, seen);
    let index = bot.read("/runs").await;
    look(seen, "the index of live runs", &index);
    look(seen, "the ledger", &json!(machine.state.live()).to_string());
    let of_run = |route: &str| machine.state.ask(route, json!({ "runId": run }));
    look(
        seen,
        "the ledger's events",
        &of_run("/runs/live-events").to_string(),
    );
    look(
        seen,
        "the transcript",
        &prompts_say(&of_run("/runs/transcript/read")),
    );
    until("its stream is read live", || {
        machine.streams().contains("data: ")
    })
    .await;
    let began = machine.path_in_tree("begun").unwrap();
    std::fs::write(began.with_file_name("go"), "").unwrap();
    over(machine).await;
    run
}

/// Checks the models' requests. Only those of the reflection omit the texts of users and models.
fn look_at_prompts(machine: &Machine, vendor: &FakeOpenAi, seen: &mut Vec<String>) {
    let requests: Vec<_> = machine
        .vendor
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    let has = |words: &str| requests.iter().any(|body| body.to_string().contains(words));
    assert!(
        has("the end of the probe"),
        "the probe's output reaches the model"
    );
    assert!(requests.iter().any(is_reflection), "there was a reflection");
    for body in &requests {
        let said = if is_reflection(body) {
            body.to_string()
        } else {
            prompts_say(body)
        };
        look(seen, "a prompt", &said);
    }
    let searched: Vec<_> = vendor
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert!(
        searched
            .iter()
            .any(|body| body.to_string().contains("is in use")),
        "the search was reported"
    );
    for body in &searched {
        look(seen, "a prompt of the other vendor", &prompts_say(body));
    }
}

/// Checks the requests to other services: each has its own secret, in a header, and no other.
fn look_outside(outside: &Outside, seen: &mut Vec<String>) {
    let own = [
        ("/v1/traces", Some(secrets::SPANS)),
        ("/res/", Some(secrets::SEARCH)),
        ("/repo.git/", None),
    ];
    let sent = outside.sent();
    for (prefix, secret) in own {
        let here: Vec<&Sent> = sent
            .iter()
            .filter(|sent| sent.path.starts_with(prefix))
            .collect();
        assert!(!here.is_empty(), "nothing was sent to {prefix}");
        for Sent {
            path,
            headers,
            body,
        } in here
        {
            look(seen, "an address", &path.replace(secrets::QUOTED, ""));
            seen.extend(
                secrets::seen_in(body)
                    .into_iter()
                    .map(|found| format!("{found} in a body to {path}")),
            );
            let headers = format!("{headers:?}");
            let others = secrets::seen_in(&headers)
                .into_iter()
                .filter(|found| Some(*found) != secret);
            seen.extend(others.map(|found| format!("{found} in a header to {path}")));
            assert!(
                secret.is_none_or(|secret| headers.contains(secret)),
                "{prefix} receives its own"
            );
        }
    }
    assert!(
        outside.shown().contains("remote-http"),
        "git was looked at: {}",
        outside.shown()
    );
    look(seen, "git's arguments and environment", &outside.shown());
}

/// Notes the secrets in a text.
fn look(seen: &mut Vec<String>, place: &str, text: &str) {
    assert!(
        !text.is_empty() || place.ends_with("log"),
        "{place} is empty"
    );
    seen.extend(
        secrets::seen_in(text)
            .into_iter()
            .map(|secret| format!("{secret} in {place}")),
    );
}

/// Returns a conversation without the texts of the user and of the model.
fn prompts_say(conversation: &Value) -> String {
    conversation.to_string().replace(secrets::QUOTED, "")
}

fn look_at_processes(bot: &Bot, seen: &mut Vec<String>) {
    let own = std::fs::read_to_string(format!("/proc/{}/cmdline", bot.pid())).unwrap();
    look(seen, "the bot's arguments", &own);
    let children = below(bot.pid());
    assert!(
        children
            .iter()
            .any(|child| child.arguments.contains("begun")),
        "the probe is below the bot"
    );
    // A process that has just ended shows nothing.
    for child in children.iter().filter(|child| !child.arguments.is_empty()) {
        look(seen, "a child's arguments", &child.arguments);
        look(seen, "a child's environment", &child.environment);
    }
}

/// The bot's own folders; the conversation is kept by the Worker.
fn look_at_files(folder: &Path, seen: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() || path.ends_with(CONFIGURATION) {
            continue;
        }
        if path.is_dir() {
            look_at_files(&path, seen);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes);
            seen.extend(
                secrets::seen_in(&text)
                    .into_iter()
                    .map(|secret| format!("{secret} in {}", path.display())),
            );
        }
    }
}
