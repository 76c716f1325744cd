//! `POST /mcp`, from the caller's side.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::Ordering;

use ars_bot_core::settings::Settings;
use ars_types::{RunId, RunStatus, Visibility};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    support::{Bot, record},
    wire::{TIMEOUT, exchange},
};

/// `good` may dispatch and read runs, `reader` only read, `none` nothing, and `pinned` has a channel.
const TOKENS: &str = r#"{
    "good": {"subject": "ann", "scopes": ["dispatch", "runs:read"]},
    "pinned": {"subject": "bot", "channel": "ci"},
    "reader": {"subject": "bo", "scopes": ["runs:read"]},
    "none": {"subject": "cy", "scopes": []}
}"#;

async fn bot() -> Bot {
    Bot::start_with(TOKENS, Settings::default()).await
}

fn request(bot: &Bot, token: &str) -> RequestBuilder {
    Client::new().post(bot.url("/mcp")).bearer_auth(token)
}

async fn read(response: Response) -> (u16, Value) {
    assert_eq!(response.headers()["content-type"], "application/json");
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn send(bot: &Bot, token: &str, body: impl Into<reqwest::Body>) -> Value {
    let (status, answer) = read(request(bot, token).body(body).send().await.unwrap()).await;
    assert_eq!(
        (status, &answer["jsonrpc"]),
        (200, &json!("2.0")),
        "{answer}"
    );
    answer
}

/// Calls a method and returns the response without the envelope.
async fn rpc(bot: &Bot, token: &str, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
    let mut answer = send(bot, token, body).await;
    assert_eq!(answer["id"], 7);
    answer
        .as_object_mut()
        .unwrap()
        .retain(|key, _| key == "result" || key == "error");
    answer
}

async fn tool(bot: &Bot, token: &str, name: &str, arguments: Value) -> Value {
    rpc(
        bot,
        token,
        "tools/call",
        json!({"name": name, "arguments": arguments}),
    )
    .await
}

fn text(answer: &Value) -> &str {
    assert_eq!(
        answer["result"]["content"].as_array().map(Vec::len),
        Some(1),
        "{answer}"
    );
    assert_eq!(answer["result"]["content"][0]["type"], "text");
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

fn failed(code: i64, name: &str) -> impl Fn(&Value) -> bool {
    move |answer| {
        answer["error"]["code"] == code && answer["error"]["data"] == json!({"code": name})
    }
}

/// Each row repairs the fault in the row before and has the next fault.
#[tokio::test]
async fn transport_checks_have_fixed_order() {
    let (bot, closed) = (bot().await, Bot::start_with("", Settings::default()).await);
    let foreign = "https://evil.example.com";
    for (bot, method, token, origin, status, code) in [
        (&closed, Method::GET, "nope", foreign, 405, -32600),
        (&closed, Method::DELETE, "nope", foreign, 405, -32600),
        (&closed, Method::OPTIONS, "nope", foreign, 405, -32600),
        (&closed, Method::POST, "nope", foreign, 503, -32001),
        (&bot, Method::GET, "good", "", 405, -32600),
        (&bot, Method::POST, "nope", foreign, 401, -32001),
        (&bot, Method::POST, "none", foreign, 403, -32001),
        (&bot, Method::POST, "none", "null", 403, -32001),
    ] {
        let request = Client::new()
            .request(method.clone(), bot.url("/mcp"))
            .bearer_auth(token);
        let request = if origin.is_empty() {
            request
        } else {
            request.header("origin", origin)
        };
        let response = request.body("x".repeat(1_000_001)).send().await.unwrap();
        if status == 405 {
            assert_eq!(response.headers()["allow"], "POST");
        }
        assert!(
            response
                .headers()
                .get("access-control-allow-origin")
                .is_none()
        );
        let (answered, body) = read(response).await;
        assert_eq!(
            (answered, &body["error"]["code"]),
            (status, &json!(code)),
            "{method} {token} {origin}"
        );
        assert_eq!(
            (&body["id"], &body["jsonrpc"]),
            (&Value::Null, &json!("2.0")),
            "{body}"
        );
        if status == 401 {
            assert_eq!(
                body["error"],
                json!({"code": -32001, "message": "unauthorized"})
            );
        }
    }
    let response = request(&bot, "none")
        .body("x".repeat(1_000_001))
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["connection"], "close");
    let (status, body) = read(response).await;
    assert_eq!(
        (status, &body["id"], &body["error"]["code"]),
        (413, &Value::Null, &json!(-32600))
    );
    assert_eq!(
        send(&bot, "none", "x".repeat(1_000_000)).await["error"]["code"],
        -32700
    );
    let own = format!("http://{}", bot.address);
    let ping = request(&bot, "none")
        .header("origin", own)
        .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(read(ping.send().await.unwrap()).await.0, 200);
}

#[tokio::test]
async fn unauthorized_upload_is_rejected_unread() {
    let bot = bot().await;
    for (headers, status) in [
        ("", "401"),
        ("authorization: Bearer nope\r\n", "401"),
        (
            "authorization: Bearer good\r\norigin: https://evil.example.com\r\n",
            "403",
        ),
    ] {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: x\r\n{headers}expect: 100-continue\r\ncontent-length: 900000\r\n\r\n"
        );
        let answer = exchange(&bot, head.as_bytes()).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn message_checks_have_fixed_order() {
    let bot = bot().await;
    for (body, id, code) in [
        ("{", json!(null), -32700),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            json!(null),
            -32600,
        ),
        (r#"{"jsonrpc":"1.0","id":1}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":true}"#, json!(null), -32600),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":7}"#,
            json!("a"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"resources/list"}"#,
            json!(null),
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":[]}"#,
            json!(0),
            -32602,
        ),
    ] {
        let answer = send(&bot, "good", body).await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{body}"
        );
    }
    let answer = send(
        &bot,
        "none",
        r#"{"jsonrpc":"2.0","id":null,"method":"ping","params":[1]}"#,
    )
    .await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": null, "result": {}}));
}

#[tokio::test]
async fn notification_gets_202_and_has_no_effect() {
    let bot = bot().await;
    bot.script(&["never"]);
    for method in ["notifications/initialized", "tools/call", "nothing"] {
        let params = json!({"name": "dispatch", "arguments": {"text": "x"}});
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        let response = request(&bot, "good").body(body).send().await.unwrap();
        assert_eq!(response.status(), 202, "{method}");
        assert_eq!(response.text().await.unwrap(), "");
    }
    assert!(bot.model.asked.lock().unwrap().is_empty() && bot.core.registry().list().is_empty());
}

#[tokio::test]
async fn initialization_negotiates_the_version() {
    let bot = bot().await;
    for (offered, version) in [
        (json!("2025-03-26"), "2025-03-26"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2025-11-25"), "2025-11-25"),
        (json!("2024-11-05"), "2025-11-25"),
        (json!(7), "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": offered, "capabilities": {}, "clientInfo": {}});
        let mut result = rpc(&bot, "none", "initialize", params).await["result"].take();
        let advice = result
            .as_object_mut()
            .unwrap()
            .remove("instructions")
            .unwrap();
        assert!(advice.as_str().unwrap().contains("`dispatch`"), "{advice}");
        assert_eq!(
            result,
            json!({"protocolVersion": version, "capabilities": {"tools": {}},
                "serverInfo": {"name": "agent-request-service", "version": "0.1.0"}})
        );
    }
}

#[tokio::test]
async fn list_begins_with_dispatch() {
    let bot = bot().await;
    let answer = rpc(&bot, "none", "tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[0], "dispatch");
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["text"]));
    for name in [
        "runs_list",
        "runs_get",
        "runs_events",
        "runs_friction",
        "runs_stop",
        "friction_report",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    // It reads files on the command line.
    assert!(!names.contains(&"friction_analyze"), "{names:?}");
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object");
    }
    let stop = &tools
        .iter()
        .find(|tool| tool["name"] == "runs_stop")
        .unwrap()["inputSchema"];
    assert_eq!(stop["additionalProperties"], false);
}

#[tokio::test]
async fn dispatch_replies_from_its_own_thread() {
    let bot = bot().await;
    bot.script(&["forty-two", "sixty"]);
    let answer = tool(
        &bot,
        "good",
        "dispatch",
        json!({"text": " what? ", "thread": "t1", "channel": "ops"}),
    )
    .await;
    assert_eq!(
        answer,
        json!({"result": {"content": [{"type": "text", "text": "forty-two"}]}})
    );
    let answer = tool(
        &bot,
        "pinned",
        "dispatch",
        json!({"text": "x", "channel": "ops"}),
    )
    .await;
    assert_eq!(text(&answer), "sixty");
    let mut runs: Vec<_> = bot
        .core
        .registry()
        .list()
        .iter()
        .map(|run| {
            assert_eq!(run.facts.visibility, Visibility::Machine);
            (
                run.facts.user_id.clone(),
                run.facts.channel_id.clone(),
                run.facts.thread_key.to_string(),
            )
        })
        .collect();
    runs.sort();
    let expected = [
        ("mcp:ann", "mcp:ops", "mcp:ops:t1"),
        ("mcp:bot", "mcp:ci", "mcp:ci:default"),
    ];
    assert_eq!(
        runs,
        expected.map(|(user, channel, thread)| (user.into(), channel.into(), thread.into()))
    );
}

#[tokio::test]
async fn dispatch_checks_scope_before_arguments() {
    let bot = bot().await;
    for arguments in [json!({}), json!({"text": "x"}), json!(7)] {
        for token in ["reader", "none"] {
            let answer = tool(&bot, token, "dispatch", arguments.clone()).await;
            assert!(failed(-32001, "unauthorized")(&answer), "{answer}");
        }
    }
    for arguments in [
        json!({}),
        json!([]),
        json!(null),
        json!({"text": 7}),
        json!({"text": " \n"}),
        json!({"text": "x", "channel": 7}),
        json!({"text": "x", "channel": "a:b"}),
        json!({"text": "x", "thread": null}),
        json!({"text": "x", "thread": "x".repeat(129)}),
    ] {
        let answer = tool(&bot, "good", "dispatch", arguments.clone()).await;
        assert!(
            failed(-32602, "invalid_input")(&answer),
            "{arguments}: {answer}"
        );
    }
    for name in [
        "nothing",
        "dispatch ",
        "runs.list",
        "runs_",
        "friction_analyze",
        "",
    ] {
        let answer = tool(&bot, "none", name, json!({})).await;
        assert!(failed(-32602, "invalid_input")(&answer), "{name}: {answer}");
    }
    assert!(bot.model.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn failures_of_dispatch_have_codes() {
    let bot = bot().await;
    let answer = tool(
        &bot,
        "good",
        "dispatch",
        json!({"text": "model:panic/now hello"}),
    )
    .await;
    assert_eq!(
        answer["error"],
        json!({"code": -32603, "message": "internal error", "data": {"code": "internal"}})
    );
    // A run that fails is a reply, as on the ingress.
    let answer = tool(&bot, "good", "dispatch", json!({"text": "x"})).await;
    assert!(!text(&answer).is_empty());
    assert!(bot.core.drain(TIMEOUT).await);
    let answer = tool(&bot, "good", "dispatch", json!({"text": "x"})).await;
    assert!(failed(-32004, "unavailable")(&answer), "{answer}");
    let answer = tool(&bot, "reader", "dispatch", json!({"text": "x"})).await;
    assert!(failed(-32001, "unauthorized")(&answer), "{answer}");
}

#[tokio::test]
async fn command_needs_its_own_scope_only() {
    let bot = bot().await;
    let id = RunId::parse("r1").unwrap();
    let mut stored = record(id.as_str(), 1_760_000_000_000, &[]);
    stored.channel_id = "mcp:default".into();
    stored.user_id = "mcp:bo".into();
    bot.store.insert(stored);
    let answer = tool(&bot, "reader", "runs_list", json!({"status": "all"})).await;
    let (head, json) = text(&answer).split_once('\n').unwrap();
    assert_eq!((head, json.contains('\n')), ("runs.list: ok", false));
    assert_eq!(answer["result"]["structuredContent"].to_string(), json);
    assert!(json.contains(r#""id":"r1""#), "{json}");
    for (token, name, arguments, code, code_name) in [
        ("none", "runs_list", json!({}), -32001, "unauthorized"),
        (
            "pinned",
            "runs_list",
            json!({"canary": 1}),
            -32001,
            "unauthorized",
        ),
        ("reader", "runs_stop", json!({}), -32001, "unauthorized"),
        (
            "reader",
            "runs_list",
            json!({"canary": 1}),
            -32602,
            "invalid_input",
        ),
        ("reader", "runs_get", json!([]), -32602, "invalid_input"),
        (
            "reader",
            "runs_get",
            json!({"id": "unknown"}),
            -32002,
            "not_found",
        ),
    ] {
        let answer = tool(&bot, token, name, arguments.clone()).await;
        assert!(
            failed(code, code_name)(&answer),
            "{token} {name} {arguments}: {answer}"
        );
    }
}

#[tokio::test]
async fn disconnect_does_not_stop_the_run() {
    let bot = bot().await;
    bot.model.gated.store(true, Ordering::Relaxed);
    bot.script(&["unread"]);
    let params = json!({"name": "dispatch", "arguments": {"text": "x"}});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let sending = tokio::spawn(request(&bot, "good").body(body).send());
    timeout(TIMEOUT, bot.model.called.notified()).await.unwrap();
    sending.abort();
    bot.model.gate.notify_one();
    assert!(bot.core.drain(TIMEOUT).await);
    let records = bot.store.records.lock().unwrap();
    assert_eq!(
        records
            .values()
            .map(|record| record.status)
            .collect::<Vec<_>>(),
        [RunStatus::Completed]
    );
}

/// The header names what the handshake negotiated.
#[tokio::test]
async fn unknown_protocol_version_is_a_bad_request() {
    let bot = bot().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (version, status) in [("2025-06-18", 200), ("2024-11-05", 400), ("v999", 400)] {
        let named = request(&bot, "none")
            .header("mcp-protocol-version", version)
            .body(body);
        let (answered, answer) = read(named.send().await.unwrap()).await;
        assert_eq!(answered, status, "{version}: {answer}");
        if status == 400 {
            assert_eq!(answer["error"]["code"], -32600, "{answer}");
            assert!(
                answer["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("2025-11-25"),
                "{answer}"
            );
        }
    }
}

/// A client gives up on a request without a byte, and a run takes longer.
#[tokio::test]
async fn dispatch_with_a_progress_token_is_notified() {
    let bot = bot().await;
    bot.script(&["done"]);
    let params =
        json!({"name": "dispatch", "arguments": {"text": "hi"}, "_meta": {"progressToken": 7}});
    let body =
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}).to_string();
    let accept = "application/json, text/event-stream";
    let response = request(&bot, "good")
        .header("accept", accept)
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(
        response.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    let text = timeout(TIMEOUT, response.text()).await.unwrap().unwrap();
    let messages: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let [progress, answer] = &messages[..] else {
        panic!("{text}")
    };
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(
        (
            &progress["params"]["progressToken"],
            &progress["params"]["progress"]
        ),
        (&json!(7), &json!(1))
    );
    assert!(
        progress["params"]["message"]
            .as_str()
            .unwrap()
            .contains("/runs/"),
        "{progress}"
    );
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!(3), &json!("done"))
    );
}
