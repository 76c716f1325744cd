//! Through edge, object and container comes what the bot says, byte for byte.

use ars_testkit::Reply;
use ars_tests_edge::{Edge, Wire, World};
use ars_wire::admin::CRASH_ROUTE;
use serde_json::json;

/// Method, path, fields and body of a request.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [u8]);

/// Largest body the ingress takes (document 1 section 8), the same as that of an MCP request.
const BODY_CAP: usize = 1_000_000;
/// A body that never ends, as far as a test goes.
const ENDLESS: u64 = 256 << 20;
/// Most that lies on the way when nobody reads.
const ON_THE_WAY: u64 = 24 << 20;

#[test]
fn what_the_bot_answers_in_its_container_comes_through_the_edge_unchanged() {
    let (world, took) = World::start(|_| Reply::text("The work is done."));
    println!("edge started to bot healthy: {} ms; image {} bytes", took.as_millis(), world.image.bytes);
    let direct = world.direct();
    let bearer = format!("Bearer {}", Edge::TOKEN);
    let known: [(&str, &str); 1] = [("authorization", &bearer)];
    let padded = |end: &str, bytes: usize| {
        let begin = r#"{"text":""#;
        format!("{begin}{}{end}", "x".repeat(bytes - begin.len() - end.len())).into_bytes()
    };
    let large_and_wrong = padded(r#"","async":7}"#, BODY_CAP);
    let too_large = padded(r#""}"#, BODY_CAP + 1);
    let cases: [Case<'_>; 9] = [
        ("GET", "/ingress", &[], b""),
        ("POST", "/ingress", &[], b"{}"),
        ("POST", "/ingress", &[("authorization", "Bearer nobody")], b"{}"),
        ("POST", "/ingress", &known, b"{"),
        ("POST", "/ingress", &known, b"[]"),
        ("POST", "/ingress", &known, &large_and_wrong),
        ("POST", "/ingress", &known, &too_large),
        ("GET", "/mcp", &known, b""),
        ("GET", CRASH_ROUTE, &known, b""),
    ];
    for (method, path, headers, body) in cases {
        let through = world.client.send(method, path, headers, body);
        let expected = direct.send(method, path, headers, body);
        assert!(expected.status >= 400, "{method} {path}: {expected:?}");
        assert_eq!(through, expected, "{method} {path} with {} bytes", body.len());
    }

    let answer = world.ask(&json!({ "text": "x".repeat(BODY_CAP - 100) }));
    assert_eq!(
        (answer.status, &answer.body["reply"]),
        (200, &json!("The work is done.")),
        "{:?}",
        answer.body
    );

    let mut stranger = Wire::to(world.address());
    stranger.send(b"POST /ingress HTTP/1.1\r\nHost: edge\r\nTransfer-Encoding: chunked\r\n\r\n");
    let taken = stranger.pour(ENDLESS);
    assert!(taken < ON_THE_WAY, "{taken} bytes of a stranger were taken");
    assert_eq!(stranger.hear("\"error\"").statuses(), [401]);
}
