//! Edge responses arrive although the edge does not need the request's body. The runtime resets a
//! connection with an unread body, and the client may then lose the response, so the edge drains
//! bodies.
//!
//! Not here: memory use for such bodies (`tests/edge`, `bodies.rs`), and a request that was cut off
//! on its way to the bot.

use std::fmt::Debug;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Running, edge_with_containers, edge_worker};

use crate::engine::{Behavior, Engine, TIMEOUT};

const TOKENS: &str = r#"{"good":{"subject":"ann","scopes":["deploy:write"]}}"#;
/// Maximum size of an ingress body in bytes.
const LARGE: usize = 1 << 20;
/// Repetitions, because a lost answer is not lost every time.
const TIMES: usize = 25;
/// The edge's drain timeout, less its clock's granularity.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(2_900);
/// Maximum bodies that the edge drains concurrently.
const MAX_DRAINS: usize = 32;

/// Sends a request's head with a large body.
fn begun(edge: &Running, path: &str, host: &str) -> TcpStream {
    let mut stream = TcpStream::connect(edge.client.address()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer unknown\r\nConnection: close\r\n\
         Content-Length: {LARGE}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Sends a large body and reads the answer up to the connection's end; the error describes a reset.
fn send_large(edge: &Running, path: &str, host: &str) -> Result<String, String> {
    let mut stream = begun(edge, path, host);
    let sent = stream.write_all(&vec![b'x'; LARGE]);
    let mut received = Vec::new();
    let mut piece = [0; 4096];
    let cut = |ended: &dyn Debug, received: &[u8]| {
        format!(
            "reset: {sent:?}, {ended:?}, after {:?}",
            String::from_utf8_lossy(received)
        )
    };
    // All edge responses end with a brace. The runtime would wait some seconds for the client to
    // close first.
    while !received.ends_with(b"}") {
        match stream.read(&mut piece) {
            Ok(read @ 1..) => received.extend_from_slice(&piece[..read]),
            ended => return Err(cut(&ended, &received)),
        }
    }
    let text = String::from_utf8_lossy(&received).into_owned();
    let ended = stream
        .shutdown(Shutdown::Write)
        .and_then(|()| stream.read_to_end(&mut received));
    if matches!((&sent, &ended), (Ok(()), Ok(0))) {
        Ok(text)
    } else {
        Err(cut(&ended, &received))
    }
}

/// Returns an attempt's result. A reset attempt is repeated only if it took longer than the edge's
/// drain timeout, because then this machine was too busy.
#[track_caller]
fn in_time<T>(attempt: impl Fn() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        let attempted = Instant::now();
        match attempt() {
            Ok(done) => return done,
            Err(cut) => {
                let took = attempted.elapsed();
                assert!(
                    took >= DRAIN_TIMEOUT && began.elapsed() < TIMEOUT,
                    "{cut}, within {took:?}"
                );
            }
        }
    }
}

/// Repeatedly sends a large body on new connections and a kept connection. Returns the new
/// connections' responses.
#[track_caller]
fn assert_arrives(edge: &Running, path: &str, host: &str, status: u16) -> Vec<String> {
    let body = vec![b'x'; LARGE];
    let headers = [("authorization", "Bearer unknown"), ("host", host)];
    let on_one_kept = || {
        edge.client
            .try_send("POST", path, &headers, &body)
            .map_err(|error| error.to_string())
    };
    let attempt = || {
        let kept = in_time(on_one_kept);
        assert_eq!(kept.status, status, "{kept:?}\n{}", edge.log());
        let answer = in_time(|| send_large(edge, path, host));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        answer.to_ascii_lowercase()
    };
    (0..TIMES).map(|_| attempt()).collect()
}

#[test]
fn large_body_gets_the_bot_is_down_answer() {
    let engine = Engine::start();
    engine.set(|state| state.behavior = Behavior::Exits(1));
    let edge = edge_with_containers(engine.socket(), |settings| {
        settings.secret("SERVICE_INGRESS_TOKENS", TOKENS)
    });
    for received in assert_arrives(&edge, "/runs", "localhost", 503) {
        assert!(received.contains("\r\nretry-after: "), "{received}");
    }
}

#[test]
fn large_body_gets_the_unauthorized_answer() {
    let engine = Engine::start();
    let edge = edge_with_containers(engine.socket(), |settings| {
        settings.secret("SERVICE_INGRESS_TOKENS", TOKENS)
    });
    assert_arrives(&edge, "/ingress", "localhost", 401);
}

#[test]
fn large_body_gets_the_foreign_host_rejection() {
    let edge = edge_worker("http://127.0.0.1:9", Some(TOKENS));
    assert_arrives(&edge, "/ingress", "bot.example", 403);
}

#[test]
fn large_body_gets_the_misconfiguration_answer() {
    let engine = Engine::start();
    let edge = edge_with_containers(engine.socket(), |settings| {
        settings.secret("DEV_BOT_URL", "http://127.0.0.1:9")
    });
    assert_arrives(&edge, "/ingress", "localhost", 500);
}

#[test]
fn large_body_gets_the_restart_rejection() {
    let edge = edge_worker("http://127.0.0.1:9", Some(TOKENS));
    assert_arrives(&edge, "/admin/restart", "localhost", 401);
}

/// Returns how long concurrent callers that send no body wait for an answer.
fn waits(edge: &Running, callers: usize) -> Vec<Duration> {
    let wait = || {
        let began = Instant::now();
        let mut first = [0; 12];
        begun(edge, "/ingress", "bot.example")
            .read_exact(&mut first)
            .unwrap();
        assert_eq!(&first, b"HTTP/1.1 403");
        began.elapsed()
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..callers).map(|_| scope.spawn(wait)).collect();
        callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .collect()
    })
}

#[test]
fn concurrent_drains_are_limited() {
    let edge = edge_worker("http://127.0.0.1:9", Some(TOKENS));
    for _ in 0..2 * MAX_DRAINS {
        drop(begun(&edge, "/ingress", "bot.example"));
    }
    let began = Instant::now();
    // Disconnected callers are gone once a new caller is drained again.
    while waits(&edge, 1)[0] < DRAIN_TIMEOUT {
        assert!(
            began.elapsed() < TIMEOUT,
            "no body is drained any more\n{}",
            edge.log()
        );
    }
    let waits = waits(&edge, MAX_DRAINS + 8);
    let drained = waits.iter().filter(|wait| **wait >= DRAIN_TIMEOUT).count();
    assert!(
        (MAX_DRAINS..waits.len()).contains(&drained),
        "{drained} of {waits:?}"
    );
}
