//! A model server process for `cargo xtask bench`.
//!
//! `instant_model TURNS OUTPUT_BYTES PAUSE_MS END` answers each request with TURNS `bash` calls,
//! with a command that prints `OUTPUT_BYTES` (0: `true`), and waits `PAUSE_MS` before each event in
//! an answer. Then it ends the run (`answer`) or blocks (`hold`). It prints the base URL, and then
//! for each model call a line with the request's mark, which is the text after the last `#` in the
//! user messages, until it is killed. When a tool turn's last event is sent, it prints the mark
//! again, followed by `answered`. Calls without tools and calls for a summary are not turns: they
//! get a word as answer and no line.
#![expect(clippy::expect_used, reason = "a failure of a test tool ends it")]

use std::{
    collections::HashMap,
    io::Write as _,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ars_testkit::{FakeAnthropic, Reply, Tokens};
use serde_json::{Value, json};

/// Approximate bytes per token. A bot that receives a lower count than it sends never compacts.
const BYTES_PER_TOKEN: u64 = 4;
/// Text that only a summary request contains (`shared/agent/src/run_loop/fit.rs`).
const SUMMARY_NOTE: &str = "this conversation is about to outgrow your window";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let turns = number(0).expect("the number of tool turns");
    let command = match number(1).expect("the bytes of an output") {
        0 => "true".to_owned(),
        bytes => format!("head -c {bytes} /dev/zero | tr '\\0' x"),
    };
    let pause = Duration::from_millis(number(2).expect("the pause in milliseconds"));
    let holds = arguments.get(3).map(String::as_str) == Some("hold");

    let served = Mutex::new(HashMap::<String, u64>::new());
    let model = FakeAnthropic::answering_uncaptured(move |body| {
        let tokens = Tokens {
            input: bytes(&body["messages"]) / BYTES_PER_TOKEN,
            ..Tokens::default()
        };
        let has_tools = body["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty());
        if !has_tools || wants_summary(body) {
            return Reply::text("done").tokens(tokens);
        }
        let mark = mark(body);
        // A closed pipe means that the benchmark is ending this process.
        let _ = writeln!(std::io::stdout(), "{mark}");
        let answered = format!("{mark} answered");
        let mut served = served.lock().unwrap_or_else(PoisonError::into_inner);
        let count = served.entry(mark).or_default();
        *count += 1;
        match *count {
            count if count <= turns => {
                let reply =
                    paced(Reply::tool("bash", json!({ "command": command })), pause).tokens(tokens);
                reply.when_sent(move || {
                    let _ = writeln!(std::io::stdout(), "{answered}");
                })
            }
            _ if holds => Reply::silent(),
            _ => paced(Reply::text("done"), pause).tokens(tokens),
        }
    })
    .await;
    println!("{}", model.url());
    std::future::pending::<()>().await;
}

fn paced(reply: Reply, pause: Duration) -> Reply {
    if pause.is_zero() {
        reply
    } else {
        reply.every(pause)
    }
}

/// Returns the text after the last `#` in the user messages.
fn mark(body: &Value) -> String {
    let messages = body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let texts = messages
        .iter()
        .rev()
        .filter(|message| message["role"] == "user")
        .flat_map(texts);
    let found = texts
        .filter_map(|text| text.rsplit_once('#'))
        .map(|(_, rest)| {
            rest.chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect::<String>()
        });
    found
        .into_iter()
        .find(|mark| !mark.is_empty())
        .unwrap_or_else(|| "-".to_owned())
}

fn texts(message: &Value) -> Vec<&str> {
    match &message["content"] {
        Value::String(text) => vec![text],
        content => {
            let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
            blocks
                .iter()
                .filter_map(|block| block["text"].as_str())
                .collect()
        }
    }
}

/// Returns whether the request asks for a conversation summary.
fn wants_summary(body: &Value) -> bool {
    let last = body["messages"]
        .as_array()
        .and_then(|messages| messages.last());
    last.is_some_and(|last| texts(last).iter().any(|text| text.contains(SUMMARY_NOTE)))
}

/// Returns the total bytes in all texts.
fn bytes(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(bytes).sum(),
        Value::Object(fields) => fields.values().map(bytes).sum(),
        _ => 0,
    }
}
