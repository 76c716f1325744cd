//! Every command answers the same bytes on each surface, and no output has a run's capability token.
//!
//! Each invocation has a separate installation, so that changes and times are the same everywhere.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a double that cannot go on fails its test"
)]

use ars_auth::{Grants, Set};
use ars_bot_core::{commands::Caller, registry::RunHandle, settings::Settings};
use ars_commands::{RawInput, Surface};
use ars_types::RunId;
use reqwest::Client;
use serde_json::{Value, json};

use super::support::{ACTOR, Answer, RECORD, get, post, review, whole};
use crate::{
    remote_runs::{TOKEN, beside_another_with},
    support::{Bot, by_token, record, say},
};

/// Token for the ingress and MCP.
const BEARER: &str = "one-token";
const CHANNEL: &str = "http:default";
/// The stateless MCP revision.
const REVISION: &str = "2026-07-28";

/// An invocation: the command, its words on text surfaces, and the JSON input.
struct Row {
    id: &'static str,
    words: &'static [&'static str],
    input: Value,
    /// The failure's code.
    code: Option<&'static str>,
}

const fn row(id: &'static str, words: &'static [&'static str], input: Value) -> Row {
    Row {
        id,
        words,
        input,
        code: None,
    }
}

fn failing(
    code: &'static str,
    id: &'static str,
    words: &'static [&'static str],
    input: Value,
) -> Row {
    Row {
        code: Some(code),
        ..row(id, words, input)
    }
}

fn rows() -> Vec<Row> {
    let here = || json!({ "scope": "channel", "channel": CHANNEL });
    let with = |mut input: Value, name: &str, value: Value| {
        input[name] = value;
        input
    };
    vec![
        row("help.show", &[], json!({})),
        row("status.show", &[], json!({})),
        row(
            "config.show",
            &["--channel", CHANNEL],
            json!({ "channel": CHANNEL }),
        ),
        row(
            "config.set",
            &[
                "channel",
                "--channel",
                CHANNEL,
                "--effort=low",
                "--models.coding",
                "a/b",
            ],
            with(
                with(here(), "effort", json!("low")),
                "models",
                json!({ "coding": "a/b" }),
            ),
        ),
        row(
            "config.instructions",
            &["channel", "--channel", CHANNEL, "be", "brief"],
            with(here(), "text", json!("be brief")),
        ),
        row("config.clear", &["channel", "--channel", CHANNEL], here()),
        row(
            "runs.list",
            &["--status", "all"],
            json!({ "status": "all" }),
        ),
        row("runs.get", &["away"], json!({ "id": "away" })),
        row(
            "runs.get",
            &["live", "--include", "messages"],
            json!({ "id": "live", "include": "messages" }),
        ),
        row(
            "runs.get",
            &["done", "--include", "messages"],
            json!({ "id": "done", "include": "messages" }),
        ),
        row(
            "runs.events",
            &["live", "--after-seq", "0"],
            json!({ "id": "live", "afterSeq": 0 }),
        ),
        row("runs.friction", &["done"], json!({ "id": "done" })),
        row(
            "runs.outcomes",
            &["--agent", "coding"],
            json!({ "agent": "coding" }),
        ),
        row(
            "runs.stop",
            &["live", "--mode", "soft"],
            json!({ "id": "live", "mode": "soft" }),
        ),
        row("runs.restore", &["done"], json!({ "id": "done" })),
        failing(
            "conflict",
            "runs.restore",
            &["live"],
            json!({ "id": "live" }),
        ),
        failing("invalid_input", "runs.restore", &[], json!({})),
        row(
            "review.abridge",
            &["reviewed", "--wait"],
            json!({ "id": "reviewed", "wait": true }),
        ),
        row(
            "memory.list",
            &["--scope", "org"],
            json!({ "scope": "org" }),
        ),
        row("memory.forget", &[RECORD], json!({ "id": RECORD })),
        row(
            "friction.report",
            &["--min-runs", "1"],
            json!({ "minRuns": 1 }),
        ),
        row(
            "friction.propose",
            &["--repo", "acme/app", "--min-runs", "1"],
            json!({ "repo": "acme/app", "minRuns": 1 }),
        ),
        row("repo.list", &[], json!({})),
        row(
            "repo.onboard",
            &[
                "acme/new",
                "--test",
                "true",
                "--build=true",
                "--evict-coldest",
            ],
            json!({ "slug": "acme/new", "test": "true", "build": "true", "evictColdest": true }),
        ),
        row(
            "repo.offboard",
            &["acme/app"],
            json!({ "slug": "acme/app" }),
        ),
        row(
            "repo.offboard",
            &["acme/app", "--dry-run"],
            json!({ "slug": "acme/app", "dryRun": true }),
        ),
        row(
            "repo.reconfigure",
            &["acme/app", "--ref", "dev"],
            json!({ "slug": "acme/app", "ref": "dev" }),
        ),
        row(
            "repo.rebuild",
            &["acme/app", "--dry-run"],
            json!({ "slug": "acme/app", "dryRun": true }),
        ),
        row("repo.test", &["acme/app"], json!({ "slug": "acme/app" })),
        row(
            "repo.build",
            &["acme/app", "dev"],
            json!({ "slug": "acme/app", "ref": "dev" }),
        ),
        failing(
            "not_found",
            "repo.test",
            &["acme/gone"],
            json!({ "slug": "acme/gone" }),
        ),
        failing(
            "conflict",
            "repo.onboard",
            &["acme/app"],
            json!({ "slug": "acme/app" }),
        ),
        failing(
            "invalid_input",
            "repo.reconfigure",
            &["acme/app"],
            json!({ "slug": "acme/app" }),
        ),
        row("schedule.list", &[], json!({})),
        failing(
            "not_found",
            "review.abridge",
            &["unknown"],
            json!({ "id": "unknown" }),
        ),
        failing(
            "not_found",
            "runs.get",
            &["unknown"],
            json!({ "id": "unknown" }),
        ),
        failing(
            "invalid_input",
            "runs.list",
            &["--limit", "0"],
            json!({ "limit": 0 }),
        ),
        failing(
            "conflict",
            "runs.stop",
            &["done", "--mode", "hard"],
            json!({ "id": "done", "mode": "hard" }),
        ),
        failing(
            "invalid_input",
            "runs.stop",
            &["live"],
            json!({ "id": "live" }),
        ),
        failing(
            "invalid_input",
            "config.set",
            &["channel", "--channel", CHANNEL],
            here(),
        ),
        failing(
            "not_found",
            "memory.forget",
            &["mem:org:acme:9"],
            json!({ "id": "mem:org:acme:9" }),
        ),
    ]
}

/// An installation with a stored run and review, a live run, and a run live in another process.
/// Each surface's caller has every grant.
struct World {
    bot: Bot,
    live: RunHandle,
}

impl World {
    async fn new() -> Self {
        let grants = || Grants {
            actions: Set::All,
            channels: Set::All,
            ..Grants::default()
        };
        let grants = [ACTOR, "http:op", "mcp:op"].map(|actor| (actor.to_owned(), grants()));
        let settings = Settings {
            grants: grants.into(),
            ..Settings::default()
        };
        let tokens = json!({ BEARER: { "subject": "op", "scopes": ["dispatch"] } }).to_string();
        let (bot, _) = beside_another_with(by_token(ACTOR), &tokens, settings, whole).await;
        bot.store.insert(record(
            "done",
            1_760_000_000_000,
            &[json!({ "type": "answer", "text": "x", "seq": 1 })],
        ));
        bot.store.insert(review("reviewed", 1_760_000_000_000));
        bot.script(&["One line."]);
        let live = bot.run_as(RunId::parse("live").unwrap(), "live", "scripted/m");
        say(&live, "hello");
        Self { bot, live }
    }

    /// Fails if a text has a capability token.
    fn check(&self, text: &str, place: &str) {
        for token in [TOKEN, &self.live.view().token] {
            assert!(!text.contains(token), "{place}: {text}");
        }
        for name in ["\"viewToken\"", "\"token\"", "?t="] {
            assert!(!text.contains(name), "{place}: {text}");
        }
    }
}

/// An invocation's result: JSON on a single line, or the failure's code and text.
type Outcome = Result<String, (String, String)>;

/// Invokes the command as the command line does. Returns the outcome and the text.
async fn on_command_line(row: &Row) -> (Outcome, String) {
    let world = World::new().await;
    let words = row.words.iter().map(|word| (*word).to_owned()).collect();
    let invoked = world
        .bot
        .core
        .commands()
        .invoke(&Caller::cli(), row.id, &RawInput::Tokens(words))
        .await;
    let (outcome, text) = match invoked {
        Ok(success) => (Ok(success.json), success.text),
        Err(failure) => {
            let text = failure.chat_text();
            (
                Err((failure.code.as_str().to_owned(), failure.message)),
                text,
            )
        }
    };
    world.check(&format!("{outcome:?} {text}"), row.id);
    (outcome, text)
}

fn of_http(answer: &Answer) -> Outcome {
    if answer.status == 200 {
        return Ok(answer.body.clone());
    }
    let body = answer.json();
    let member = |name: &str| body[name].as_str().unwrap().to_owned();
    Err((member("code"), member("error")))
}

async fn by_post(row: &Row) -> Outcome {
    let world = World::new().await;
    let answer = post(&world.bot, row.id, &row.input).await;
    world.check(&answer.body, row.id);
    of_http(&answer)
}

async fn by_get(row: &Row) -> Outcome {
    let world = World::new().await;
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in row.input.as_object().unwrap() {
        query.append_pair(name, value.to_string().trim_matches('"'));
    }
    of_http(&get(&world.bot, &format!("/api/{}?{}", row.id, query.finish())).await)
}

async fn by_tool(row: &Row) -> Outcome {
    let world = World::new().await;
    let params = json!({ "name": row.id.replace('.', "_"), "arguments": row.input });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = Client::new()
        .post(world.bot.url("/mcp"))
        .bearer_auth(BEARER)
        .body(body.to_string());
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    world.check(&answer.to_string(), row.id);
    if let Some(text) = answer["result"]["content"][0]["text"].as_str() {
        let json = text.strip_prefix(&format!("{}: ok\n", row.id));
        return Ok(json.unwrap_or_else(|| panic!("{text}")).to_owned());
    }
    let error = &answer["error"];
    Err((
        error["data"]["code"].as_str().unwrap().to_owned(),
        error["message"].as_str().unwrap().to_owned(),
    ))
}

/// Calls the tool in revision 2026-07-28. A failure is a result there.
async fn by_stateless_tool(row: &Row) -> Outcome {
    let world = World::new().await;
    let name = row.id.replace('.', "_");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta, "name": name, "arguments": row.input });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = Client::new()
        .post(world.bot.url("/mcp"))
        .bearer_auth(BEARER)
        .header("mcp-protocol-version", REVISION)
        .header("mcp-method", "tools/call")
        .header("mcp-name", name);
    let answer: Value = request
        .body(body.to_string())
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    world.check(&answer.to_string(), row.id);
    let result = &answer["result"];
    let text = result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    if result["isError"] == true {
        return of_http(&Answer {
            status: 400,
            body: text.to_owned(),
        });
    }
    let json = text
        .strip_prefix(&format!("{}: ok\n", row.id))
        .unwrap_or_else(|| panic!("{text}"));
    assert_eq!(result["structuredContent"].to_string(), json);
    Ok(json.to_owned())
}

/// Sends the command as a message, and returns the reply.
async fn by_message(row: &Row) -> String {
    let world = World::new().await;
    let text = format!("{} {}", row.id.replace('.', " "), row.words.join(" "));
    let body = json!({ "text": text }).to_string();
    let request = Client::new()
        .post(world.bot.url("/ingress"))
        .bearer_auth(BEARER)
        .body(body);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    world.check(&answer.to_string(), row.id);
    answer["reply"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn surfaces_give_the_same_bytes() {
    let world = World::new().await;
    let registry = world.bot.core.commands().registry().clone();
    let rows = rows();
    for definition in registry.on(Surface::Api) {
        assert!(
            rows.iter().any(|row| row.id == definition.id),
            "{} has no row",
            definition.id
        );
    }
    for row in &rows {
        let definition = registry.get(row.id, Surface::Api).unwrap();
        let (expected, text) = on_command_line(row).await;
        let code = expected.as_ref().err().map(|(code, _)| code.as_str());
        assert_eq!(code, row.code, "{} {:?}: {expected:?}", row.id, row.words);
        if row.id == "runs.list"
            && let Ok(json) = &expected
        {
            assert_eq!(
                json.matches("\"threadKey\"").count(),
                4,
                "each kind of run is listed: {json}"
            );
        }
        assert_eq!(by_post(row).await, expected, "{} by POST", row.id);
        assert_eq!(by_tool(row).await, expected, "{} by MCP", row.id);
        assert_eq!(
            by_stateless_tool(row).await,
            expected,
            "{} by MCP {REVISION}",
            row.id
        );
        if !definition.effect.is_write() {
            assert_eq!(by_get(row).await, expected, "{} by GET", row.id);
        }
        if definition.surfaces.contain(Surface::Chat) {
            // The message itself is a request in flight.
            let text = text.replace("in flight: 0", "in flight: 1");
            let message = by_message(row).await;
            if row.id == "runs.list" && code.is_none() {
                // A terminal has a table with the same runs.
                let ids =
                    |text: &str| ["live", "away", "reviewed", "done"].map(|id| text.contains(id));
                assert_eq!(ids(&message), ids(&text), "{:?} by a message", row.words);
            } else {
                assert_eq!(message, text, "{} {:?} by a message", row.id, row.words);
            }
        }
    }
}
