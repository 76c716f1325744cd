//! Connection and event stream limits over real sockets.
#![expect(clippy::unwrap_used, reason = "a test")]

use ars_bot_core::{load_limits::LoadLimits, settings::Settings};
use ars_bot_http::{ConnectionLimits, StreamLimits};
use reqwest::{Client, Response};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{
    support::{Bot, TOKENS, by_token, live_path},
    wire::TIMEOUT,
};

fn connections(max: usize, max_per_peer: usize) -> ConnectionLimits {
    ConnectionLimits {
        max,
        max_per_peer,
        peer_header: None,
    }
}

/// Opens a connection and begins a request without ending it.
async fn half_open(bot: &Bot) -> TcpStream {
    let mut stream = TcpStream::connect(bot.address).await.unwrap();
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n")
        .await
        .unwrap();
    stream
}

/// Reads until the service closes the connection.
async fn sent(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset ends it too.
    let _ = timeout(TIMEOUT, stream.read_to_end(&mut answer))
        .await
        .unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn connection_above_the_peers_limit_is_rejected() {
    let bot = Bot::within(connections(9, 2), StreamLimits::default()).await;
    let held = (half_open(&bot).await, half_open(&bot).await);
    let rejected = sent(TcpStream::connect(bot.address).await.unwrap()).await;
    assert!(
        rejected.starts_with("HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\n"),
        "{rejected:?}"
    );
    drop(held);
}

#[tokio::test]
async fn idle_connection_gives_way_to_a_request() {
    let bot = Bot::within(connections(2, 9), StreamLimits::default()).await;
    let first = half_open(&bot).await;
    let _second = half_open(&bot).await;
    let answer = Client::new().get(bot.url("/healthz")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(sent(first).await, "");
}

async fn open(client: &Client, url: String, peer: &str) -> Response {
    client
        .get(url)
        .header("x-peer", peer)
        .bearer_auth("look")
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn streams_are_limited_per_peer_and_in_all() {
    let streams = StreamLimits {
        max: 3,
        max_per_peer: 2,
    };
    let limits = ConnectionLimits {
        peer_header: "x-peer".parse().ok(),
        ..ConnectionLimits::default()
    };
    let bot = Bot::gated_within(by_token("access:ops"), limits, streams).await;
    let run = bot.run("x", "scripted/m");
    let url = bot.url(&live_path(&run).replace('?', "/events?"));
    let client = Client::new();
    let peer = |at: usize| ["192.0.2.1", "192.0.2.2", "192.0.2.3"][at];
    let mut held = Vec::new();
    for (at, expected) in [(0, 200), (0, 200), (0, 429), (1, 200), (2, 503)] {
        let answer = open(&client, url.clone(), peer(at)).await;
        assert_eq!(answer.status(), expected);
        if expected == 200 {
            held.push(answer);
        } else {
            assert_eq!(answer.headers()["retry-after"], "5");
        }
    }
    let feed = open(&client, bot.url("/runs?stream=1"), peer(2)).await;
    assert_eq!(feed.status(), 503);
    // Only streams are limited.
    assert_eq!(open(&client, bot.url("/runs"), peer(0)).await.status(), 200);
    held.pop();
    let again = async {
        while open(&client, url.clone(), peer(2)).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, again).await.unwrap();
}

/// A peer that was admitted before is not limited by another's guesses.
#[tokio::test]
async fn wrong_bearers_are_limited_on_every_gate() {
    let peers = ConnectionLimits {
        peer_header: "x-peer".parse().ok(),
        ..ConnectionLimits::default()
    };
    let bot = Bot::within(peers, StreamLimits::default()).await;
    let client = Client::new();
    let send = async |path: &str, token: &str, peer: &str| {
        let request = client
            .post(bot.url(path))
            .header("x-peer", peer)
            .bearer_auth(token)
            .body("{");
        request.send().await.unwrap()
    };
    assert_eq!(send("/ingress", "good", "192.0.2.9").await.status(), 400);
    for (index, path) in ["/ingress", "/mcp", "/admin/crash"].into_iter().enumerate() {
        let peer = format!("192.0.2.{index}");
        for _ in 0..10 {
            let answer = send(path, "guess", &peer).await;
            assert_eq!(answer.status(), 401, "{path}");
            assert!(answer.headers().contains_key("www-authenticate"), "{path}");
        }
        for token in ["guess", "good"] {
            let answer = send(path, token, &peer).await;
            assert_eq!(answer.status(), 429, "{path} {token}");
            assert!(answer.headers().contains_key("retry-after"), "{path}");
        }
        for _ in 0..12 {
            assert_eq!(
                send(path, "guess", "192.0.2.9").await.status(),
                401,
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn reads_have_a_limit_of_their_own() {
    let load = LoadLimits {
        requests_per_minute: Some(1),
        ..LoadLimits::default()
    };
    let bot = Bot::start_with(
        TOKENS,
        Settings {
            load,
            ..Settings::default()
        },
    )
    .await;
    let client = Client::new();
    let mut answers = Vec::new();
    for _ in 0..11 {
        answers.push(
            client
                .get(bot.url("/api/runs.list"))
                .send()
                .await
                .unwrap()
                .status()
                .as_u16(),
        );
    }
    assert_eq!(answers[..10], [200; 10]);
    assert_eq!(answers[10], 429);
}
