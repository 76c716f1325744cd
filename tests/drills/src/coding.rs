//! A long coding run as the model scripts it, and the traces in the tree and in the conversation.
//!
//! The model depends only on the conversation's length, so it answers every process alike. Each
//! command appends its own line to a file, which shows repeated commands.

use ars_testkit::{Block, Reply};
use serde_json::{Value, json};

use crate::Machine;

/// Answers with calls, before the last answer.
const TURNS: usize = 12;
/// Where the commands leave their lines.
const EFFECTS: &str = "effects.log";
/// The model's result for a call with unknown effects.
const UNKNOWN: &str = "may have had its effect";
/// The model's last answer.
const DONE: &str = "The work is done.";

/// The long coding run.
pub struct Coding;

/// Traces that a run left.
pub struct Traces {
    /// Lines that commands left, in order.
    pub lines: Vec<String>,
    /// The last conversation's commands by line, and whether effects were reported as unknown.
    pub commands: Vec<(String, bool)>,
}

impl Coding {
    /// Returns the model's answer to a request.
    pub fn answer(body: &Value) -> Reply {
        match answers(body) {
            0 => Reply::tool("list_files", json!({})),
            2 => Reply::tool("read_file", json!({ "path": "README.md" })),
            3 => Reply::tool(
                "write_file",
                json!({ "path": "notes/a.txt", "content": "one\n" }),
            ),
            5 => Reply::blocks(vec![
                call("read_file", json!({ "path": "README.md" })),
                call("search", json!({ "pattern": "greets" })),
                call("bash", json!({ "command": Self::command(5) })),
                call("read_file", json!({ "path": "notes/a.txt" })),
            ]),
            8 => Reply::tool(
                "update_status",
                json!({ "checklist": "- [x] read\n- [ ] write" }),
            ),
            10 => Reply::tool("read_file", json!({ "path": "notes/a.txt" })),
            turn if turn < TURNS => Reply::tool("bash", json!({ "command": Self::command(turn) })),
            _ => Reply::text(DONE),
        }
    }

    /// Returns a turn's command, which leaves a line.
    pub fn command(turn: usize) -> String {
        format!("echo 'turn {turn}' >> {EFFECTS}")
    }

    /// Returns the lines from all commands.
    pub fn commands() -> Vec<String> {
        [1, 4, 5, 6, 7, 9, 11]
            .map(|turn| format!("turn {turn}"))
            .to_vec()
    }
}

impl Traces {
    /// Returns the traces left by this machine's run.
    pub fn read(machine: &Machine) -> Self {
        let lines = machine
            .file_of_the_tree(EFFECTS)
            .lines()
            .map(str::to_owned)
            .collect();
        let requests = machine.vendor.requests();
        let commands = requests
            .last()
            .map(|last| results_of(&last.body))
            .unwrap_or_default();
        Self { lines, commands }
    }
}

fn call(name: &str, input: Value) -> Block {
    Block::Tool {
        name: name.into(),
        input,
    }
}

/// Returns how many model answers the conversation has.
pub fn answers(body: &Value) -> usize {
    body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "assistant")
        .count()
}

/// Returns the results for the model's calls, in order: whether each is an error, and the text.
pub fn results(body: &Value) -> Vec<(bool, String)> {
    let messages = body["messages"].as_array().unwrap();
    let blocks = messages
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results
        .map(|result| (result["is_error"] == json!(true), words(&result["content"])))
        .collect()
}

fn words(content: &Value) -> String {
    let pieces = content
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|piece| piece["text"].as_str());
    content
        .as_str()
        .map_or_else(|| pieces.collect(), str::to_owned)
}

fn results_of(body: &Value) -> Vec<(String, bool)> {
    let blocks: Vec<&Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten()
        .collect();
    let is_unknown = |id: &Value| {
        let result = blocks
            .iter()
            .find(|block| block["type"] == "tool_result" && block["tool_use_id"] == *id);
        result.is_some_and(|result| result["content"].to_string().contains(UNKNOWN))
    };
    let commands = blocks.iter().filter_map(|block| {
        let line = block["input"]["command"].as_str()?.split('\'').nth(1)?;
        Some((line.to_owned(), is_unknown(&block["id"])))
    });
    commands.collect()
}
