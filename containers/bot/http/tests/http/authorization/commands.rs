//! Tests every command with every caller kind on every surface.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use ars_bot_core::commands::{Caller, catalogue};
use ars_commands::{RawInput, Surface};
use reqwest::Method;
use serde_json::{Value, json};

use super::callers::{
    Answer,
    Credential::{self, Bearer},
    Viewer, bot, send,
};
use crate::support::Bot;

/// Callers on `/api`: without and with a wrong credential, an ingress token, and each viewer.
const API: [(Viewer, Credential); 7] = [
    (Viewer::Plain, Credential::None),
    (Viewer::Plain, Bearer("wrong")),
    (Viewer::Owner, Bearer("writes")),
    (Viewer::Plain, Bearer("look")),
    (Viewer::Member, Bearer("look")),
    (Viewer::Other, Bearer("look")),
    (Viewer::Owner, Bearer("look")),
];
/// Callers on MCP and with text commands. The runs are in channel `ci`, as `reads` and `writes`
/// are.
const TOKENS: [Credential; 8] = [
    Credential::None,
    Bearer("wrong"),
    Bearer("scopeless"),
    Bearer("dispatch"),
    Bearer("reads"),
    Bearer("writes"),
    Bearer("other"),
    Bearer("unpinned"),
];

/// A command, the input, and a letter per caller. `+` done, `-` not offered, `x` no valid
/// credential, `d` denied by the registry or the handler, `?` answered like an unknown run or
/// record.
pub struct Row {
    pub id: &'static str,
    /// `{run}` stands for a run in channel `ci` on the caller's platform.
    input: &'static str,
    pub api: &'static str,
    pub mcp: &'static str,
    pub chat: &'static str,
}

const fn row(
    id: &'static str,
    input: &'static str,
    api: &'static str,
    mcp: &'static str,
    chat: &'static str,
) -> Row {
    Row {
        id,
        input,
        api,
        mcp,
        chat,
    }
}

/// No surface but the command line.
const NONE: &str = "xx------";

pub const TABLE: &[Row] = &[
    //                                    plain          scopeless      scopeless
    //                                     member         dispatch       dispatch
    //                                      other          reads          reads
    //                                       owner          writes         writes
    //                                                       other          other
    //                                                        unpinned       unpinned
    row("help.show", "{}", "xxx++++", "xxdd++++", "xxxd++++"),
    row("status.show", "{}", "xxx++++", "xxdd++++", "xxxd++++"),
    row(
        "config.show",
        r#"{"channel":"{channel}"}"#,
        "xxx++++",
        "xxdd++++",
        "xxxd++++",
    ),
    // Every user may change the own settings. A channel's settings need a grant that is not limited
    // to a channel.
    row(
        "config.set",
        r#"{"scope":"me","effort":"low"}"#,
        "xxx++++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row(
        "config.set",
        r#"{"scope":"channel","channel":"{channel}","effort":"low"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row(
        "config.clear",
        r#"{"scope":"me"}"#,
        "xxx++++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row(
        "config.instructions",
        r#"{"scope":"me"}"#,
        "xxx++++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row("runs.list", "{}", "xxx++++", "xxdd++++", "xxxd++++"),
    row("runs.get", r#"{"id":"{run}"}"#, "xxx?+?+", "xxdd++??", NONE),
    row(
        "runs.events",
        r#"{"id":"{run}"}"#,
        "xxx?+?+",
        "xxdd++??",
        NONE,
    ),
    row(
        "runs.friction",
        r#"{"id":"{run}"}"#,
        "xxx?+?+",
        "xxdd++??",
        NONE,
    ),
    row("runs.outcomes", "{}", "xxx++++", "xxdd++++", "xxxd++++"),
    // The run has ended, which is a conflict for a caller that may stop it.
    row(
        "runs.stop",
        r#"{"id":"{run}","mode":"soft"}"#,
        "xxxdd?!",
        "xxddd!??",
        "xxxdd!??",
    ),
    row(
        "runs.restore",
        r#"{"id":"{run}"}"#,
        "xxxdd?+",
        "xxddd+??",
        "xxxdd+??",
    ),
    // The run is no review, which is a conflict for a caller that may read it.
    row(
        "review.abridge",
        r#"{"id":"{run}"}"#,
        "xxxdd?!",
        "xxddd!??",
        "xxxdd!??",
    ),
    row("memory.list", "{}", "xxx++++", "xxdd++++", "xxxd++++"),
    row(
        "memory.forget",
        r#"{"id":"mem:org:acme:1"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row("friction.report", "{}", "xxx++++", "xxdd++++", "xxxd++++"),
    row("friction.analyze", "{}", "xxx----", "xx------", NONE),
    row(
        "friction.propose",
        r#"{"repo":"acme/app"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row("repo.list", "{}", "xxx++++", "xxdd++++", "xxxd++++"),
    row(
        "repo.onboard",
        r#"{"slug":"acme/new"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row(
        "repo.offboard",
        r#"{"slug":"acme/app"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row(
        "repo.reconfigure",
        r#"{"slug":"acme/app","ref":"dev"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row(
        "repo.rebuild",
        r#"{"slug":"acme/app"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row(
        "repo.test",
        r#"{"slug":"acme/app"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row(
        "repo.build",
        r#"{"slug":"acme/app","ref":"dev"}"#,
        "xxxdd++",
        "xxddd+++",
        "xxxdd+++",
    ),
    row("schedule.list", "{}", "xxx++++", "xxddd+++", "xxxdd+++"),
];

#[test]
fn every_command_has_a_row() {
    let rows: BTreeSet<&str> = TABLE.iter().map(|row| row.id).collect();
    let surfaces = [Surface::Api, Surface::Mcp, Surface::Chat, Surface::Cli];
    let catalogue = catalogue();
    let commands = surfaces
        .iter()
        .flat_map(|surface| catalogue.on(*surface))
        .map(|definition| definition.id);
    assert_eq!(rows, commands.collect());
}

fn input(row: &Row, platform: &str, run: &str) -> Value {
    let text = row
        .input
        .replace("{run}", run)
        .replace("{channel}", &format!("{platform}:ci"));
    serde_json::from_str(&text).unwrap()
}

pub async fn api(bot: &Bot, caller: &Credential, row: &Row, run: &str) -> Answer {
    let body = input(row, "http", run);
    send(
        bot,
        caller,
        Method::POST,
        &format!("/api/{}", row.id),
        Some(&body),
    )
    .await
}

pub async fn mcp(bot: &Bot, caller: &Credential, row: &Row, run: &str) -> Answer {
    let params = json!({"name": row.id.replace('.', "_"), "arguments": input(row, "mcp", run)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    send(bot, caller, Method::POST, "/mcp", Some(&body)).await
}

/// Sends the input as a message's tail: arguments by position, options by name.
pub async fn chat(bot: &Bot, caller: &Credential, row: &Row, run: &str) -> Answer {
    let catalogue = catalogue();
    let definition = catalogue
        .on(Surface::Cli)
        .find(|definition| definition.id == row.id)
        .unwrap();
    let mut text = row.id.replace('.', " ");
    for (name, value) in input(row, "http", run).as_object().unwrap() {
        let is_option = definition.options.iter().any(|option| option.name == name);
        let option = if is_option {
            format!("--{name} ")
        } else {
            String::new()
        };
        text.push_str(&format!(" {option}{}", value.as_str().unwrap()));
    }
    send(
        bot,
        caller,
        Method::POST,
        "/ingress",
        Some(&json!({"text": text, "history": []})),
    )
    .await
}

/// Returns a response's letter.
pub fn letter(surface: Surface, answer: &Answer) -> char {
    let body = answer.json();
    let (code, is_done) = match surface {
        Surface::Api | Surface::Cli => (
            body["code"].as_str().unwrap_or_default(),
            answer.status == 200,
        ),
        Surface::Mcp => {
            let code = body["error"]["data"]["code"].as_str().unwrap_or_default();
            let code = if is_unoffered(surface, &body) {
                "not_found"
            } else {
                code
            };
            (code, body.get("result").is_some())
        }
        Surface::Chat => {
            let reply = body["reply"].as_str().unwrap_or_default();
            let code = match reply {
                _ if reply.starts_with('⛔') => "unauthorized",
                _ if reply.contains("not found") || reply.contains("no such record") => "not_found",
                _ if reply.contains("already finished") || reply.contains("is no review") => {
                    "conflict"
                }
                _ => "",
            };
            (
                code,
                !reply.is_empty() && code.is_empty() && !reply.starts_with('⚠'),
            )
        }
    };
    match (answer.status, code) {
        (401, _) | (403, "forbidden" | "") => 'x',
        _ if is_done => '+',
        (403, _) if surface == Surface::Chat => 'x',
        (_, "unauthorized") => 'd',
        (404, _) | (_, "not_found") if is_unoffered(surface, &body) => '-',
        (_, "not_found") => '?',
        (_, "conflict") => '!',
        _ => '#',
    }
}

fn is_unoffered(surface: Surface, body: &Value) -> bool {
    match surface {
        Surface::Api => body["error"]
            .as_str()
            .is_some_and(|text| text.contains("command")),
        Surface::Mcp => body["error"]["message"] == "the tool is unknown",
        Surface::Chat | Surface::Cli => false,
    }
}

#[tokio::test]
async fn callers_get_the_outcome_of_the_table() {
    let mut wrong = Vec::new();
    for row in TABLE {
        let (mut by_api, mut by_mcp, mut by_chat) = (String::new(), String::new(), String::new());
        for (viewer, caller) in &API {
            by_api.push(letter(
                Surface::Api,
                &api(&bot(*viewer).await, caller, row, "http-ci").await,
            ));
        }
        for caller in &TOKENS {
            by_mcp.push(letter(
                Surface::Mcp,
                &mcp(&bot(Viewer::Plain).await, caller, row, "mcp-ci").await,
            ));
            let is_text = catalogue().get(row.id, Surface::Chat).is_some();
            let answer = chat(&bot(Viewer::Plain).await, caller, row, "http-ci").await;
            // A message that is no command is for a model.
            let letter = letter(Surface::Chat, &answer);
            by_chat.push(if is_text || answer.status == 401 {
                letter
            } else {
                '-'
            });
        }
        let found = [by_api, by_mcp, by_chat];
        if found != [row.api, row.mcp, row.chat] {
            wrong.push(format!("{} {}: {found:?}", row.id, row.input));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Status, headers and body, for each caller to whom the table hides the run.
#[tokio::test]
async fn denied_point_read_equals_an_unknown_id() {
    let mut compared = 0;
    for row in TABLE.iter().filter(|row| row.input.contains("{run}")) {
        for ((viewer, caller), letter) in API.iter().zip(row.api.chars()) {
            if matches!(letter, '?' | 'd' | 'x') {
                let bot = bot(*viewer).await;
                let denied = api(&bot, caller, row, "http-ci").await;
                assert_eq!(
                    denied,
                    api(&bot, caller, row, "unknown").await,
                    "{} {viewer:?}",
                    row.id
                );
                compared += 1;
            }
        }
        let bot = bot(Viewer::Plain).await;
        for ((caller, by_mcp), by_chat) in TOKENS.iter().zip(row.mcp.chars()).zip(row.chat.chars())
        {
            if matches!(by_mcp, '?' | 'd' | 'x') {
                let denied = mcp(&bot, caller, row, "mcp-ci").await;
                assert_eq!(
                    denied,
                    mcp(&bot, caller, row, "unknown").await,
                    "{} {caller:?}",
                    row.id
                );
                compared += 1;
            }
            if matches!(by_chat, '?' | 'd') {
                let denied = chat(&bot, caller, row, "http-ci").await;
                assert_eq!(
                    denied,
                    chat(&bot, caller, row, "unknown").await,
                    "{} {caller:?}",
                    row.id
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");
}

#[tokio::test]
async fn command_line_may_invoke_every_command() {
    for row in TABLE {
        let bot = bot(Viewer::Plain).await;
        let Value::Object(fields) = input(row, "http", "http-ci") else {
            continue;
        };
        let invoked = bot
            .core
            .commands()
            .invoke(&Caller::cli(), row.id, &RawInput::Object(fields))
            .await;
        let denied = invoked
            .as_ref()
            .err()
            .filter(|failure| failure.code == ars_wire::ErrorCode::Unauthorized);
        assert!(denied.is_none(), "{}: {invoked:?}", row.id);
    }
}
