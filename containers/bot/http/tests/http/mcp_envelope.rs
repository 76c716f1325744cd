//! Any body to `POST /mcp` gets a single well-formed JSON-RPC response, or 202 and nothing.

use ars_bot_core::settings::Settings;
use proptest::{prelude::*, sample::select, test_runner::TestRunner};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{cases::property, support::Bot};

/// Messages, unless `PROPTEST_CASES` is set.
const CASES: u32 = 512;
/// May call every tool but `dispatch`.
const TOKENS: &str = r#"{"good": {"subject": "ann", "scopes": ["runs:read", "help:read"]}}"#;
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const METHODS: [&str; 9] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "tasks/get",
    "tasks/cancel",
    "notifications/initialized",
    "",
];

/// A request: the body, and the headers for revision and method.
#[derive(Debug, Clone)]
struct Sent {
    body: Vec<u8>,
    version: Option<&'static str>,
    method: &'static str,
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        select(
            &[
                "2.0",
                "2026-07-28",
                "2025-11-25",
                "runs_list",
                "help_show",
                "dispatch"
            ][..]
        )
        .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn params() -> impl Strategy<Value = Value> {
    let meta = (scalar(), value())
        .prop_map(|(version, rest)| json!({VERSION: version, CAPABILITIES: rest}));
    let sound = Just(
        json!({VERSION: "2026-07-28", CAPABILITIES: {"extensions": {"io.modelcontextprotocol/tasks": {}}}}),
    );
    let parts = (
        prop_oneof![meta, sound, value()],
        scalar(),
        value(),
        scalar(),
    );
    prop_oneof![
        3 => parts.prop_map(|(meta, name, arguments, task)| {
            json!({"_meta": meta, "name": name, "arguments": arguments, "taskId": task})
        }),
        1 => value(),
    ]
}

/// A message in which each field is sound more often than not.
fn message() -> impl Strategy<Value = (Value, &'static str)> {
    let version = prop_oneof![4 => Just(json!("2.0")), 1 => scalar()];
    let id = prop_oneof![2 => Just(json!(7)), 2 => scalar(), 1 => value()];
    let fields = (
        version,
        prop::option::weighted(0.9, id),
        select(&METHODS[..]),
        prop::option::weighted(0.9, params()),
    );
    fields.prop_map(|(version, id, method, params)| {
        let mut message = json!({"jsonrpc": version, "method": method});
        if let Some(id) = id {
            message["id"] = id;
        }
        if let Some(params) = params {
            message["params"] = params;
        }
        (message, method)
    })
}

fn sent() -> impl Strategy<Value = Sent> {
    let version = select(&[None, Some("2026-07-28"), Some("2025-11-25"), Some("v999")][..]);
    let body = prop_oneof![
        6 => message().prop_map(|(message, method)| (message.to_string().into_bytes(), method)),
        1 => value().prop_map(|value| (value.to_string().into_bytes(), "ping")),
        1 => (message(), any::<prop::sample::Index>()).prop_map(|((message, method), end)| {
            let text = message.to_string().into_bytes();
            (text[..end.index(text.len())].to_vec(), method)
        }),
        1 => prop::collection::vec(any::<u8>(), 0..64).prop_map(|bytes| (bytes, "ping")),
    ];
    (body, version).prop_map(|((body, method), version)| Sent {
        body,
        version,
        method,
    })
}

/// Returns whether a body is a JSON-RPC response with a result or an error.
fn is_response(body: &Value) -> bool {
    let keys: Vec<&str> = body
        .as_object()
        .map(|body| body.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let id_is_sound = matches!(
        body.get("id"),
        None | Some(Value::Null | Value::String(_) | Value::Number(_))
    );
    let error = body.get("error");
    let error_is_sound =
        error.is_none_or(|error| error["code"].is_i64() && error["message"].is_string());
    body["jsonrpc"] == "2.0"
        && id_is_sound
        && error_is_sound
        && (error.is_some() != body.get("result").is_some_and(Value::is_object))
        && keys
            .iter()
            .all(|key| ["jsonrpc", "id", "result", "error"].contains(key))
}

#[test]
fn every_body_has_one_answer() {
    let runtime = Runtime::new().unwrap();
    let bot = runtime.block_on(Bot::start_with(TOKENS, Settings::default()));
    let client = Client::new();
    let mut runner = TestRunner::new(property(CASES));
    let result = runner.run(&sent(), |sent| {
        let mut request = client
            .post(bot.url("/mcp"))
            .bearer_auth("good")
            .header("mcp-method", sent.method);
        if let Some(version) = sent.version {
            request = request.header("mcp-protocol-version", version);
        }
        let (status, body) = runtime.block_on(async {
            let response = request.body(sent.body.clone()).send().await.unwrap();
            (response.status().as_u16(), response.bytes().await.unwrap())
        });
        if status == 202 {
            prop_assert!(body.is_empty());
            return Ok(());
        }
        prop_assert!([200, 400, 404].contains(&status), "{status}: {body:?}");
        let body: Value = serde_json::from_slice(&body).unwrap();
        prop_assert!(is_response(&body), "{status}: {body}");
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(
        bot.core.registry().list().is_empty(),
        "no message started a run"
    );
}
