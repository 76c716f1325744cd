//! The bot's answers pass edge, object and container unchanged, byte for byte and field for field.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use ars_raw_http::Message;
use ars_testkit::Reply;
use ars_tests_edge::{TOKEN, VIEWER, World, send};
use ars_wire::admin::{AUTHORIZE_ROUTE, CRASH_ROUTE};
use serde_json::{Value, json};

/// A request's method, path, fields and body, and the expected status.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [u8], u16);

/// Maximum size of an ingress or MCP request body in bytes.
const BODY_CAP: usize = 1_000_000;
/// The model's only words.
const DONE: &str = "The work is done.";
/// Text with one to four bytes per character, so that a byte too many or too few shows.
const PATTERN: &str = "aä€𝄞 ";

#[test]
fn answers_pass_the_edge_unchanged() {
    let prompt = Arc::<Mutex<String>>::default();
    let writer = Arc::clone(&prompt);
    let (world, took) = World::start(move |asked: &Value| {
        *writer.lock().unwrap() = asked["messages"].to_string();
        Reply::text(DONE)
    });
    println!(
        "edge started to bot healthy: {} ms; image {} bytes",
        took.as_millis(),
        world.image.bytes
    );
    let direct = world.direct().address();
    alike(&world, direct);
    health_is_alike(&world, direct);
    the_largest_request_arrives(&world, direct, &prompt);
}

/// Pages, files, refusals of every kind: the same status, fields and bytes as from the bot itself.
fn alike(world: &World, direct: SocketAddr) {
    let bearer = format!("Bearer {}", TOKEN);
    let known: [(&str, &str); 1] = [("Authorization", &bearer)];
    let viewing = format!("Bearer {VIEWER}");
    let viewer: [(&str, &str); 1] = [("Authorization", &viewing)];
    let large_and_wrong = padded(r#"","async":7}"#, BODY_CAP);
    let too_large = padded(r#""}"#, BODY_CAP + 1);
    let cases: [Case<'_>; 21] = [
        ("GET", "/runs", &viewer, b"", 200),
        ("GET", "/runs/docs", &viewer, b"", 200),
        ("HEAD", "/runs/docs", &viewer, b"", 200),
        ("GET", "/runs/assets/transcript.js", &viewer, b"", 200),
        ("GET", "/runs/assets/style.css", &viewer, b"", 200),
        ("GET", "/runs/assets/favicon.svg", &viewer, b"", 200),
        ("GET", "/runs/assets/nothing", &viewer, b"", 404),
        ("GET", "/runs/unknown", &viewer, b"", 404),
        ("GET", "/runs", &[], b"", 403),
        ("PUT", "/runs", &viewer, b"{}", 405),
        ("GET", "/ingress", &[], b"", 405),
        ("POST", "/ingress", &[], b"{}", 401),
        (
            "POST",
            "/ingress",
            &[("Authorization", "Bearer unknown")],
            b"{}",
            401,
        ),
        ("POST", "/ingress", &known, b"{", 400),
        ("POST", "/ingress", &known, b"[]", 400),
        ("POST", "/ingress", &known, &large_and_wrong, 400),
        ("POST", "/ingress", &known, &too_large, 413),
        ("POST", "/mcp", &known, &large_and_wrong, 200),
        ("GET", CRASH_ROUTE, &known, b"", 405),
        ("POST", AUTHORIZE_ROUTE, &[], b"", 401),
        ("POST", AUTHORIZE_ROUTE, &known, b"", 200),
    ];
    for (method, path, headers, body, status) in cases {
        let [through, expected] = [world.address(), direct].map(|address| {
            let answer = asked(address, method, path, headers, body);
            Message {
                body: without_the_moment(&answer.body),
                ..answer
            }
        });
        assert_eq!(expected.status, status, "{method} {path}");
        assert!(
            expected.field("content-length").is_some(),
            "{method} {path}: {:?}",
            expected.fields
        );
        assert_eq!(through.fields, expected.fields, "{method} {path}");
        assert!(
            through == expected,
            "{method} {path} with {} bytes: another answer",
            body.len()
        );
    }
}

/// The process's figures change from moment to moment, and with them the length.
fn health_is_alike(world: &World, direct: SocketAddr) {
    let lasting = |address| {
        let mut health = asked(address, "GET", "/healthz", &[], b"");
        let mut body: Value = serde_json::from_slice(&health.body).unwrap();
        assert!(body["process"].take().is_object(), "{body}");
        // A reclaim loop pass counts while it runs.
        assert!(body["inFlight"].take().is_number(), "{body}");
        health.fields.retain(|(name, _)| name != "content-length");
        (health.status, health.fields, body)
    };
    let expected = lasting(direct);
    assert_eq!(expected.0, 200);
    assert_eq!(lasting(world.address()), expected);
}

/// The largest request reaches the model in full, and both answers have the same fields.
fn the_largest_request_arrives(world: &World, direct: SocketAddr, prompt: &Mutex<String>) {
    let framed = |text: &str, thread: &str| json!({ "text": text, "thread": thread }).to_string();
    let frame = framed("", "edge").len();
    let text = PATTERN.repeat((BODY_CAP - frame) / PATTERN.len());
    let text = format!("{text}{}", ".".repeat(BODY_CAP - frame - text.len()));
    let bearer = format!("Bearer {}", TOKEN);
    // Two threads, because a follow-up has a lower limit.
    let ask = |address, thread| {
        let body = framed(&text, thread);
        assert_eq!(body.len(), BODY_CAP);
        prompt.lock().unwrap().clear();
        let answer = asked(
            address,
            "POST",
            "/ingress",
            &[("Authorization", &bearer)],
            body.as_bytes(),
        );
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            (answer.status, &body["reply"]),
            (200, &json!(DONE)),
            "{body}"
        );
        // Escaped as in the model's request, which contains more.
        let written = json!(text.trim_end()).to_string();
        assert!(
            prompt.lock().unwrap().contains(written.trim_matches('"')),
            "the model was asked something else"
        );
        let keys: Vec<String> = body.as_object().unwrap().keys().cloned().collect();
        let fields: Vec<_> = answer
            .fields
            .into_iter()
            .filter(|(name, _)| name != "content-length")
            .collect();
        (fields, keys)
    };
    assert_eq!(ask(world.address(), "edge"), ask(direct, "home"));
}

/// A page without the time at which it was made.
fn without_the_moment(body: &[u8]) -> Vec<u8> {
    let attribute = b"data-now=\"";
    let Some(at) = body
        .windows(attribute.len())
        .position(|found| found == attribute)
    else {
        return body.to_vec();
    };
    let (before, rest) = body.split_at(at + attribute.len());
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    [before, &rest[digits..]].concat()
}

fn padded(end: &str, bytes: usize) -> Vec<u8> {
    let begin = r#"{"text":""#;
    format!(
        "{begin}{}{end}",
        "x".repeat(bytes - begin.len() - end.len())
    )
    .into_bytes()
}

fn asked(
    address: SocketAddr,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: &[u8],
) -> Message {
    let fields: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: bot\r\nConnection: close\r\nContent-Length: {}\r\n{fields}\r\n",
        body.len()
    );
    send(address, [head.as_bytes(), body].concat())
        .answer(method)
        .unwrap()
}
