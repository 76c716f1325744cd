//! Audit lines of tools that do not exist, in both revisions of MCP.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::{Arc, Mutex};

use reqwest::Client;
use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::support::{Bot, TOKENS};

/// Collects the commands of audit lines with their outcomes.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let value = format!("{value:?}");
        if ["command", "outcome", "message"].contains(&field.name()) {
            self.0.push_str(&format!("{} ", value.trim_matches('"')));
        }
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        if let Some(line) = fields.0.trim().strip_prefix("command invoked ") {
            self.0.lock().unwrap().push(line.to_owned());
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn unknown_tool_writes_one_line() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let bot = Bot::start_with(TOKENS, ars_bot_core::settings::Settings::default()).await;
    let capabilities = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (name, line) in [
        ("runs_fly", "runs.fly not_found"),
        ("runs.get", "runs.get not_found"),
        ("friction_analyze", "friction.analyze not_found"),
        ("a secret!", "malformed not_found"),
    ] {
        for version in ["2025-11-25", "2026-07-28"] {
            let params = json!({"name": name, "arguments": {}, "_meta": capabilities});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let request = Client::new().post(bot.url("/mcp")).bearer_auth("good").body(body.to_string());
            let request = request.header("mcp-protocol-version", version);
            let request = request.header("mcp-method", "tools/call").header("mcp-name", name);
            let answer = request.send().await.unwrap().text().await.unwrap();
            assert!(answer.contains("the tool is unknown"), "{version} {name}: {answer}");
            assert_eq!(std::mem::take(&mut *lines.0.lock().unwrap()), [line], "{version} {name}");
        }
    }
}
