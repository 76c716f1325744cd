//! How a message reads back as blocks, streams included.
//!
//! Not here: converting Markdown, which reads back unchanged.

use serde_json::{Map, Value, json};

use super::state::FakeMessage;

impl FakeMessage {
    /// Returns the visible blocks: a stream's, then those that were posted.
    pub fn shown_blocks(&self) -> Vec<Value> {
        let mut blocks = match self.chunks.is_empty() {
            true => Vec::new(),
            false => streamed(self),
        };
        blocks.extend(self.blocks.iter().cloned());
        blocks
    }
}

/// Returns a stream's blocks: a plan or task cards, the text, and blocks from chunks.
///
/// Slack stores a task that an ended stream left open as an error.
fn streamed(message: &FakeMessage) -> Vec<Value> {
    let (mut tasks, mut title) = (Map::new(), &Value::Null);
    let mut blocks = Vec::new();
    for chunk in &message.chunks {
        match chunk["type"].as_str() {
            Some("task_update") => {
                let is_open = matches!(chunk["status"].as_str(), Some("pending" | "in_progress"));
                let mut task = json!({
                    "task_id": chunk["id"], "title": chunk["title"], "status": chunk["status"],
                });
                if is_open && !message.is_streaming {
                    task["status"] = "error".into();
                }
                tasks.insert(chunk["id"].as_str().unwrap_or_default().to_owned(), task);
            }
            Some("plan_update") => title = &chunk["title"],
            Some("blocks") => {
                blocks.extend(chunk["blocks"].as_array().into_iter().flatten().cloned());
            }
            _ => {}
        }
    }
    let tasks = tasks.into_iter().map(|(_, task)| task);
    let mut shown: Vec<Value> = match message.is_plan {
        true => vec![json!({
            "type": "plan", "block_id": "plan", "title": title, "tasks": tasks.collect::<Vec<_>>(),
        })],
        false => tasks
            .enumerate()
            .map(|(index, mut task)| {
                task["type"] = "task_card".into();
                task["block_id"] = format!("task{index}").into();
                task
            })
            .collect(),
    };
    if !message.text.is_empty() {
        shown.push(json!({ "type": "markdown", "block_id": "text", "text": message.text }));
    }
    shown.extend(blocks);
    shown
}
