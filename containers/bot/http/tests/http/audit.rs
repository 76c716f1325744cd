//! Audit lines for tools that do not exist, in both MCP revisions.

use reqwest::Client;
use serde_json::json;

use super::{
    audit_lines::Lines,
    support::{Bot, TOKENS},
};

#[tokio::test]
async fn unknown_tool_writes_one_line() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let bot = Bot::start_with(TOKENS, ars_bot_core::settings::Settings::default()).await;
    let capabilities = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (name, command, effect) in [
        ("runs_fly", "runs.fly", ""),
        ("runs.get", "runs.get", "effect=read "),
        ("friction_analyze", "friction.analyze", "effect=read "),
        ("a secret!", "malformed", ""),
    ] {
        let line = format!(
            "command={command} caller_kind=mcp caller=mcp:ann surface=mcp {effect}outcome=not_found \
             decided_by=registry"
        );
        for version in ["2025-11-25", "2026-07-28"] {
            let params = json!({"name": name, "arguments": {}, "_meta": capabilities});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let request = Client::new()
                .post(bot.url("/mcp"))
                .bearer_auth("good")
                .body(body.to_string());
            let request = request.header("mcp-protocol-version", version);
            let request = request
                .header("mcp-method", "tools/call")
                .header("mcp-name", name);
            let answer = request.send().await.unwrap().text().await.unwrap();
            assert!(
                answer.contains("the tool is unknown"),
                "{version} {name}: {answer}"
            );
            assert_eq!(lines.take(), [line.as_str()], "{version} {name}");
        }
    }
}
