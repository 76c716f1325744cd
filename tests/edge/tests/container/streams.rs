//! A run's events through edge, object and container: each at once, and the same bytes as from the bot.
//! The connection stays open while it is silent.

use std::net::SocketAddr;

use ars_raw_http::{Connection, Message};
use ars_testkit::Reply;
use ars_tests_edge::{VIEWER, World, send};
use serde_json::{Value, json};

/// A comment in an idle stream, sent every 20 seconds.
const KEEPALIVE: &str = ": keep-alive";
/// A stream's last frame.
const END: &str = "event: end\n";

#[test]
fn stream_passes_live_and_through_silences() {
    let (world, _) = World::start(|_: &Value| Reply::silent());
    let asked = world.ask(&json!({ "text": "do the work", "async": true }));
    assert_eq!(asked.status, 202, "{:?}", asked.body);
    let run = asked.body["runId"].as_str().unwrap();
    let viewer = format!("Bearer {VIEWER}");
    let known = [("authorization", viewer.as_str())];
    let token = token_of(&world, run, &known);

    let stranger = world.client.send("GET", "/runs", &[], b"");
    assert_eq!(stranger.status, 403);
    let events = format!("/runs/{run}/events?t={token}");
    let direct = world.direct().address();
    // The run emits no further event until it is stopped, so these were not delayed.
    let mut through = follow(world.address(), &events, &viewer);
    let mut beside = follow(direct, &events, &viewer);
    let begun = [
        through.read_until("\"run_meta\"").unwrap(),
        beside.read_until("\"run_meta\"").unwrap(),
    ];
    let [head, expected] = [0, 1].map(|side: usize| Message::head(begun[side].as_bytes()).unwrap());
    assert_eq!(
        (head.status, head.field("content-type")),
        (200, Some("text/event-stream; charset=utf-8"))
    );
    assert_eq!(head, expected);
    let silent = [
        through.read_until(KEEPALIVE).unwrap(),
        beside.read_until(KEEPALIVE).unwrap(),
    ];
    let again = through.read_until(KEEPALIVE).unwrap();
    assert!(!again.contains("data:"), "{again}");

    let stop = format!("/runs/{run}/stop?t={token}&mode=hard");
    let stopped = world.client.send("POST", &stop, &known, b"");
    assert_eq!(stopped.status, 200, "{:?}", stopped.body);
    let ended = [
        through.read_until(END).unwrap(),
        beside.read_until(END).unwrap(),
    ];
    let at_the_edge = frames(
        &[&begun[0], &silent[0], &again, &ended[0]]
            .map(String::as_str)
            .concat(),
    );
    assert_eq!(
        at_the_edge,
        frames(
            &[&begun[1], &silent[1], &ended[1]]
                .map(String::as_str)
                .concat()
        )
    );
    assert!(
        at_the_edge
            .iter()
            .any(|line| line.contains("stop_requested")),
        "{at_the_edge:?}"
    );

    let page = format!("/runs/{run}/friction?t={token}");
    let [edge, bot] =
        [&world.client, &world.direct()].map(|asked| asked.send("GET", &page, &known, b""));
    assert_eq!((edge.status, &edge.body), (200, &bot.body));
}

/// Returns the run's own token, from its link in the index.
fn token_of(world: &World, run: &str, known: &[(&str, &str)]) -> String {
    let index = world.client.send("GET", "/runs", known, b"");
    assert_eq!(index.status, 200, "{:?}", index.body);
    let text = index.body.as_str().unwrap();
    let link = text.split(&format!("/runs/{run}?t=")).nth(1).unwrap();
    link.chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect()
}

fn follow(address: SocketAddr, path: &str, viewer: &str) -> Connection {
    send(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: bot\r\nAuthorization: {viewer}\r\n\r\n"),
    )
}

/// Returns a stream's frames without chunks and comments.
fn frames(text: &str) -> Vec<String> {
    let (_, mut chunks) = text.split_once("\r\n\r\n").unwrap();
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        let chunk = rest.get(..size).unwrap_or(rest);
        body.push_str(chunk);
        chunks = rest.get(size + 2..).unwrap_or_default();
    }
    let is_field = |line: &&str| {
        ["data:", "id:", "event:"]
            .iter()
            .any(|field| line.starts_with(field))
    };
    let (frames, _) = body.split_once(END).unwrap();
    frames.lines().filter(is_field).map(str::to_owned).collect()
}
