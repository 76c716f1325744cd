//! `POST /mcp` in revision 2026-07-28, from the caller's side.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::Ordering;

use ars_bot_core::settings::Settings;
use ars_types::RunStatus;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    support::{Bot, record},
    wire::TIMEOUT,
};

/// `pinned` may stop runs in its channel, `reader` may not dispatch. `phone` is another account of
/// the person with `good`.
const TOKENS: &str = r#"{
    "good": {"subject": "ann", "scopes": ["dispatch", "runs:read", "help:read"]},
    "phone": {"subject": "ann-phone", "scopes": ["dispatch", "runs:read"]},
    "other": {"subject": "eve", "scopes": ["dispatch", "runs:read", "runs:write"]},
    "pinned": {"subject": "bot", "channel": "ci", "scopes": ["dispatch", "runs:write"]},
    "elsewhere": {"subject": "bot", "channel": "cd", "scopes": ["dispatch", "runs:write"]},
    "reader": {"subject": "bo", "scopes": ["runs:read"]}
}"#;
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

async fn bot() -> Bot {
    let mut settings = Settings::default();
    let accounts = ["http:ann", "http:ann-phone"];
    settings.people.add(&accounts).unwrap();
    Bot::start_with(TOKENS, settings).await
}

fn plain() -> Value {
    json!({VERSION: "2026-07-28", CAPABILITIES: {}})
}

fn with_tasks() -> Value {
    json!({VERSION: "2026-07-28", CAPABILITIES: {"extensions": {"io.modelcontextprotocol/tasks": {}}}})
}

/// Sends a request with the headers that the body needs.
async fn post(bot: &Bot, token: &str, method: &str, params: &Value) -> Response {
    let mut request = Client::new()
        .post(bot.url("/mcp"))
        .bearer_auth(token)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str().or(params["taskId"].as_str()) {
        request = request.header("mcp-name", name);
    }
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    request.body(body.to_string()).send().await.unwrap()
}

async fn rpc(bot: &Bot, token: &str, method: &str, params: Value) -> (u16, Value) {
    let response = post(bot, token, method, &params).await;
    let (status, body) = (
        response.status().as_u16(),
        response.json::<Value>().await.unwrap(),
    );
    assert_eq!(
        (&body["jsonrpc"], &body["id"]),
        (&json!("2.0"), &json!(7)),
        "{body}"
    );
    if status == 200 {
        let server = &body["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(
            server,
            &json!({"name": "agent-request-service", "version": "0.1.0"}),
            "{body}"
        );
        return (status, body["result"].clone());
    }
    (status, body["error"].clone())
}

async fn tool(bot: &Bot, token: &str, meta: Value, name: &str, arguments: Value) -> (u16, Value) {
    rpc(
        bot,
        token,
        "tools/call",
        json!({"_meta": meta, "name": name, "arguments": arguments}),
    )
    .await
}

async fn task(bot: &Bot, token: &str, method: &str, id: &Value) -> (u16, Value) {
    rpc(
        bot,
        token,
        method,
        json!({"_meta": with_tasks(), "taskId": id}),
    )
    .await
}

/// Polls a task until it has ended.
async fn ended(bot: &Bot, token: &str, id: &Value) -> Value {
    let polling = async {
        loop {
            let (status, task) = task(bot, token, "tasks/get", id).await;
            assert_eq!(
                (status, &task["resultType"]),
                (200, &json!("complete")),
                "{task}"
            );
            if task["status"] != "working" {
                return task;
            }
        }
    };
    timeout(TIMEOUT, polling).await.unwrap()
}

#[tokio::test]
async fn discovery_describes_the_server() {
    let bot = bot().await;
    let (status, mut found) =
        rpc(&bot, "reader", "server/discover", json!({"_meta": plain()})).await;
    found.as_object_mut().unwrap().remove("_meta");
    assert!(found["instructions"].take().is_string(), "{found}");
    found.as_object_mut().unwrap().remove("instructions");
    let expected = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
        "capabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}, "tools": {}},
        "ttlMs": 300_000,
        "cacheScope": "private",
    });
    assert_eq!((status, found), (200, expected));
}

#[tokio::test]
async fn request_needs_metadata_of_the_revision() {
    let bot = bot().await;
    for (method, params, status, code) in [
        ("tools/list", json!({}), 400, -32602),
        (
            "tools/list",
            json!({"_meta": {VERSION: "2026-07-28"}}),
            400,
            -32602,
        ),
        (
            "tools/list",
            json!({"_meta": {CAPABILITIES: {}}}),
            400,
            -32602,
        ),
        (
            "tools/list",
            json!({"_meta": {VERSION: 7, CAPABILITIES: {}}}),
            400,
            -32602,
        ),
        (
            "tools/list",
            json!({"_meta": {VERSION: "2025-11-25", CAPABILITIES: {}}}),
            400,
            -32020,
        ),
        ("initialize", json!({"_meta": plain()}), 404, -32601),
        ("ping", json!({"_meta": plain()}), 404, -32601),
        ("tasks/list", json!({"_meta": with_tasks()}), 404, -32601),
        (
            "tools/call",
            json!({"_meta": plain(), "name": "nothing"}),
            400,
            -32602,
        ),
        (
            "tasks/get",
            json!({"_meta": plain(), "taskId": "x"}),
            400,
            -32021,
        ),
        (
            "tasks/get",
            json!({"_meta": with_tasks(), "taskId": "x"}),
            400,
            -32602,
        ),
        ("tasks/cancel", json!({"_meta": with_tasks()}), 400, -32602),
    ] {
        let (answered, error) = rpc(&bot, "good", method, params.clone()).await;
        assert_eq!(
            (answered, &error["code"]),
            (status, &json!(code)),
            "{method} {params}: {error}"
        );
    }
}

/// Without the header the revision's metadata select it.
#[tokio::test]
async fn unknown_revision_lists_the_known_ones() {
    let bot = bot().await;
    let params = json!({"_meta": {VERSION: "v999", CAPABILITIES: {}}});
    let body =
        json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": params}).to_string();
    let request = || {
        Client::new()
            .post(bot.url("/mcp"))
            .bearer_auth("good")
            .body(body.clone())
    };
    let without = request().send().await.unwrap();
    assert_eq!(without.status(), 400);
    assert_eq!(
        without.json::<Value>().await.unwrap()["error"]["code"],
        -32020
    );
    let named = request()
        .header("mcp-protocol-version", "v999")
        .header("mcp-method", "tools/list");
    let answer = named.send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("a"), &json!(-32022))
    );
    let supported = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]);
    assert_eq!(
        answer["error"]["data"],
        json!({"requested": "v999", "supported": supported})
    );
}

#[tokio::test]
async fn malformed_message_is_a_bad_request() {
    let bot = bot().await;
    let send = |body: &'static str| {
        Client::new()
            .post(bot.url("/mcp"))
            .bearer_auth("good")
            .header("mcp-protocol-version", "2026-07-28")
            .body(body)
            .send()
    };
    for (body, id, code) in [
        ("{", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        (r#"{"jsonrpc":"1.0","id":1}"#, json!(1), -32600),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
            Value::Null,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#,
            Value::Null,
            -32600,
        ),
    ] {
        let response = send(body).await.unwrap();
        assert_eq!(response.status(), 400, "{body}");
        let answer = response.json::<Value>().await.unwrap();
        // An unknown id is absent, because null is none.
        assert_eq!(
            answer.get("id"),
            Some(&id).filter(|id| !id.is_null()),
            "{body}"
        );
        assert_eq!(answer["error"]["code"], code, "{body}");
    }
    let notified = send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#)
        .await
        .unwrap();
    assert_eq!(
        (notified.status().as_u16(), notified.text().await.unwrap()),
        (202, String::new())
    );
}

#[tokio::test]
async fn tools_have_schemas_and_hints() {
    let bot = bot().await;
    let (_, listed) = rpc(&bot, "reader", "tools/list", json!({"_meta": plain()})).await;
    let older = Client::new().post(bot.url("/mcp")).bearer_auth("reader");
    let older = older
        .body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .send()
        .await
        .unwrap();
    assert_eq!(
        older.json::<Value>().await.unwrap()["result"],
        json!({"tools": listed["tools"]})
    );
    assert_eq!(
        (&listed["ttlMs"], &listed["cacheScope"]),
        (&json!(300_000), &json!("private"))
    );
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(
        (&tools[0]["name"], tools[0].get("outputSchema")),
        (&json!("dispatch"), None)
    );
    for tool in &tools[1..] {
        assert!(tool["outputSchema"].is_object(), "{tool}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
    }
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        (
            tool["annotations"]["readOnlyHint"].clone(),
            tool["annotations"]["destructiveHint"].clone(),
        )
    };
    assert_eq!(hints("runs_list"), (json!(true), Value::Null));
    assert_eq!(hints("runs_stop"), (json!(false), json!(true)));
}

#[tokio::test]
async fn command_returns_structured_content() {
    let bot = bot().await;
    let (status, called) = tool(&bot, "good", plain(), "runs_list", json!({})).await;
    assert_eq!((status, &called["resultType"]), (200, &json!("complete")));
    let (head, json) = called["content"][0]["text"]
        .as_str()
        .unwrap()
        .split_once('\n')
        .unwrap();
    assert_eq!(head, "runs.list: ok");
    assert_eq!(called["structuredContent"].to_string(), json);
    assert_eq!(called.get("isError"), Some(&json!(false)));
}

/// The older revisions' codes are reserved in this revision.
#[tokio::test]
async fn failure_of_a_tool_is_a_result() {
    let bot = bot().await;
    for (token, name, arguments, code) in [
        ("reader", "dispatch", json!({"text": "x"}), "unauthorized"),
        ("good", "dispatch", json!({"text": " "}), "invalid_input"),
        ("good", "runs_get", json!({"id": "unknown"}), "not_found"),
        ("good", "runs_get", json!({}), "invalid_input"),
        ("good", "runs_stop", json!({}), "unauthorized"),
    ] {
        let (status, called) = tool(&bot, token, with_tasks(), name, arguments).await;
        assert_eq!(
            (status, &called["isError"]),
            (200, &json!(true)),
            "{name}: {called}"
        );
        let body: Value =
            serde_json::from_str(called["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(body["code"], code, "{name}: {body}");
        assert!(
            body["error"].is_string() && called.get("structuredContent").is_none(),
            "{called}"
        );
    }
}

#[tokio::test]
async fn dispatch_without_tasks_waits_for_the_reply() {
    let bot = bot().await;
    bot.script(&["forty-two"]);
    let (_, called) = tool(&bot, "good", plain(), "dispatch", json!({"text": "what?"})).await;
    assert_eq!(
        (&called["content"][0]["text"], &called["isError"]),
        (&json!("forty-two"), &json!(false))
    );
    let (_, called) = tool(
        &bot,
        "good",
        plain(),
        "dispatch",
        json!({"text": "no line left"}),
    )
    .await;
    assert_eq!(
        (&called["resultType"], &called["isError"]),
        (&json!("complete"), &json!(true)),
        "{called}"
    );
    let (_, rejected) = tool(
        &bot,
        "good",
        plain(),
        "dispatch",
        json!({"text": "agent:nobody hello"}),
    )
    .await;
    assert_eq!(rejected["isError"], json!(true), "{rejected}");
}

#[tokio::test]
async fn client_without_tasks_is_notified() {
    let bot = bot().await;
    bot.script(&["done"]);
    let post = |meta: Value, arguments: Value| {
        let params = json!({"name": "dispatch", "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
        Client::new()
            .post(bot.url("/mcp"))
            .bearer_auth("good")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "dispatch")
            .body(body.to_string())
            .send()
    };
    let with = |mut meta: Value| {
        meta["progressToken"] = json!("p");
        meta
    };
    let text = post(with(plain()), json!({"text": "hi"}))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let messages: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let [progress, answer] = &messages[..] else {
        panic!("{text}")
    };
    assert_eq!(progress["params"]["progressToken"], "p");
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
    for (meta, arguments, key) in [
        (with(with_tasks()), json!({"text": "x"}), "taskId"),
        (with(plain()), json!({}), "isError"),
    ] {
        let answer = post(meta, arguments)
            .await
            .unwrap()
            .json::<Value>()
            .await
            .unwrap();
        assert!(answer["result"].get(key).is_some(), "{answer}");
    }
}

#[tokio::test]
async fn dispatch_is_a_task_until_its_end() {
    let bot = bot().await;
    bot.model.gated.store(true, Ordering::Relaxed);
    bot.script(&["forty-two"]);
    let (_, created) = tool(
        &bot,
        "good",
        with_tasks(),
        "dispatch",
        json!({"text": "what?"}),
    )
    .await;
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working")),
        "{created}"
    );
    assert_eq!(
        (&created["ttlMs"], &created["pollIntervalMs"]),
        (&Value::Null, &json!(2000))
    );
    let id = &created["taskId"];
    let (_, working) = task(&bot, "good", "tasks/get", id).await;
    assert_eq!(
        (&working["resultType"], &working["status"]),
        (&json!("complete"), &json!("working"))
    );
    assert!(
        working["statusMessage"]
            .as_str()
            .unwrap()
            .contains("events"),
        "{working}"
    );
    for token in ["phone", "other", "pinned", "reader"] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let (status, error) = task(&bot, token, method, id).await;
            let expected = json!({"code": -32602, "message": "the task is unknown"});
            assert_eq!((status, error), (400, expected), "{token} {method}");
        }
    }
    bot.model.gate.notify_one();
    let completed = ended(&bot, "good", id).await;
    assert_eq!(completed["status"], "completed");
    assert_eq!(completed["createdAt"], created["createdAt"]);
    assert_eq!(
        completed["result"]["content"],
        json!([{"type": "text", "text": "forty-two"}])
    );
    assert_eq!(completed["result"]["isError"], false);
    for method in ["tasks/cancel", "tasks/update"] {
        let (status, acknowledged) = task(&bot, "good", method, id).await;
        assert_eq!(
            (status, &acknowledged["resultType"]),
            (200, &json!("complete"))
        );
        assert_eq!(acknowledged.as_object().unwrap().len(), 2, "{acknowledged}");
    }
}

/// A run whose process died may end without an answer.
#[tokio::test]
async fn failed_task_without_answer_names_its_page() {
    let bot = bot().await;
    let mut silent = record("silent", 1_760_000_000_000, &[]);
    (silent.status, silent.user_id) = (RunStatus::Failed, "mcp:ann".into());
    bot.store.insert(silent);
    let failed = ended(&bot, "good", &json!("silent")).await;
    let result = &failed["result"];
    assert_eq!(
        (&failed["status"], &result["isError"]),
        (&json!("completed"), &json!(true)),
        "{failed}"
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("without an answer") && text.contains("/runs/silent"),
        "{text}"
    );
}

/// Owning a run is not sufficient to stop it.
#[tokio::test]
async fn cancelling_needs_the_permission_to_stop() {
    let bot = bot().await;
    bot.model.gated.store(true, Ordering::Relaxed);
    bot.script(&["one", "two"]);
    let dispatch = |token| {
        let (bot, arguments) = (
            &bot,
            json!({"text": "x", "channel": "ops", "thread": token}),
        );
        async move {
            tool(bot, token, with_tasks(), "dispatch", arguments)
                .await
                .1["taskId"]
                .clone()
        }
    };
    let (good, pinned) = (dispatch("good").await, dispatch("pinned").await);
    let (status, error) = task(&bot, "good", "tasks/cancel", &good).await;
    assert_eq!(
        (status, &error["data"]["code"]),
        (400, &json!("unauthorized")),
        "{error}"
    );
    let (status, _) = task(&bot, "elsewhere", "tasks/cancel", &pinned).await;
    assert_eq!(status, 400);
    let (status, acknowledged) = task(&bot, "pinned", "tasks/cancel", &pinned).await;
    assert_eq!(
        (status, &acknowledged["resultType"]),
        (200, &json!("complete")),
        "{acknowledged}"
    );
    bot.model.gated.store(false, Ordering::Relaxed);
    bot.model.gate.notify_one();
    bot.model.gate.notify_one();
    let cancelled = ended(&bot, "pinned", &pinned).await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    assert!(cancelled.get("result").is_none(), "{cancelled}");
}

/// A run that the process no longer has is read from the history.
#[tokio::test]
async fn task_outlives_its_process() {
    let bot = bot().await;
    bot.script(&["kept"]);
    let (_, created) = tool(&bot, "good", with_tasks(), "dispatch", json!({"text": "x"})).await;
    let completed = ended(&bot, "good", &created["taskId"]).await;
    assert!(bot.core.drain(TIMEOUT).await);
    let next = Bot::start_with(TOKENS, Settings::default()).await;
    *next.store.records.lock().unwrap() = bot.store.records.lock().unwrap().clone();
    let (_, found) = task(&next, "good", "tasks/get", &created["taskId"]).await;
    assert_eq!(
        (&found["status"], &found["result"]),
        (&completed["status"], &completed["result"])
    );
    assert_eq!(found["result"]["content"][0]["text"], "kept");
}
