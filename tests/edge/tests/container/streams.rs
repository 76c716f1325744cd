//! A run's events through edge, object and container: each at once, the silence between them kept open, and the same
//! bytes as from the bot itself.

use std::net::SocketAddr;

use ars_testkit::Reply;
use ars_tests_edge::{Message, VIEWER, Wire, World};
use serde_json::{Value, json};

/// A comment of an idle stream; one comes every 20 seconds.
const KEEPALIVE: &str = ": keep-alive";
/// The last frame of a stream.
const END: &str = "event: end\n";

#[test]
fn a_run_is_followed_through_the_edge_live_silent_and_to_its_end_as_from_the_bot_itself() {
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
    // Nothing of the run is to come any more until it is stopped: what is heard now came at once.
    let mut through = follow(world.address(), &events, &viewer);
    let mut beside = follow(direct, &events, &viewer);
    let begun = [through.hear("\"run_meta\"").text, beside.hear("\"run_meta\"").text];
    let [head, expected] = [0, 1].map(|side: usize| Message::head(begun[side].as_bytes()));
    assert_eq!((head.status, head.field("content-type")), (200, Some("text/event-stream; charset=utf-8")));
    assert_eq!(head, expected);
    let silent = [through.hear(KEEPALIVE).text, beside.hear(KEEPALIVE).text];
    let again = through.hear(KEEPALIVE).text;
    assert!(!again.contains("data:"), "{again}");

    let stop = format!("/runs/{run}/stop?t={token}&mode=hard");
    let stopped = world.client.send("POST", &stop, &known, b"");
    assert_eq!(stopped.status, 200, "{:?}", stopped.body);
    let ended = [through.hear(END).text, beside.hear(END).text];
    let at_the_edge = frames(&[&begun[0], &silent[0], &again, &ended[0]].map(String::as_str).concat());
    assert_eq!(at_the_edge, frames(&[&begun[1], &silent[1], &ended[1]].map(String::as_str).concat()));
    assert!(at_the_edge.iter().any(|line| line.contains("stop_requested")), "{at_the_edge:?}");

    let page = format!("/runs/{run}/friction?t={token}");
    let [edge, bot] = [&world.client, &world.direct()].map(|asked| asked.send("GET", &page, &known, b""));
    assert_eq!((edge.status, &edge.body), (200, &bot.body));
}

/// The run's own token, from its link in the index.
fn token_of(world: &World, run: &str, known: &[(&str, &str)]) -> String {
    let index = world.client.send("GET", "/runs", known, b"");
    assert_eq!(index.status, 200, "{:?}", index.body);
    let text = index.body.as_str().unwrap();
    let link = text.split(&format!("/runs/{run}?t=")).nth(1).unwrap();
    link.chars().take_while(char::is_ascii_alphanumeric).collect()
}

fn follow(address: SocketAddr, path: &str, viewer: &str) -> Wire {
    let mut wire = Wire::to(address);
    wire.send(format!("GET {path} HTTP/1.1\r\nHost: bot\r\nAuthorization: {viewer}\r\n\r\n").as_bytes());
    wire
}

/// What a stream told: its frames, without how they were cut into chunks and when it was silent.
fn frames(heard: &str) -> Vec<String> {
    let (_, mut chunks) = heard.split_once("\r\n\r\n").unwrap();
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        let chunk = rest.get(..size).unwrap_or(rest);
        body.push_str(chunk);
        chunks = rest.get(size + 2..).unwrap_or_default();
    }
    let is_told = |line: &&str| ["data:", "id:", "event:"].iter().any(|field| line.starts_with(field));
    let (told, _) = body.split_once(END).unwrap();
    told.lines().filter(is_told).map(str::to_owned).collect()
}
