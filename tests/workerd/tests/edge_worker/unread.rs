//! What the edge answers by itself arrives, although nobody reads what the caller sends: the runtime cuts a connection
//! with an unread body, and a sender that is cut off may miss the answer (document 1 section 7, resident supplement 13).
//!
//! Not here: that nothing of such a body is kept (`tests/edge`, `bodies.rs`), and a request that broke off on its way to
//! the bot, whose body the runtime keeps.

use std::fmt::Debug;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Running, edge_with_containers, edge_worker};

use crate::engine::{Engine, Manner, PATIENCE};

const TOKENS: &str = r#"{"good":{"subject":"ann","scopes":["deploy:write"]}}"#;
/// As large as a body of the ingress may be.
const LARGE: usize = 1 << 20;
/// An answer that is lost is not lost every time.
const TIMES: usize = 25;
/// For how long the edge hears a body out, but for what its clock is coarser by.
const HEARD: Duration = Duration::from_millis(2_900);
/// How many bodies it hears out at once.
const MOST_HEARD: usize = 32;

/// Begins a request with a large body, which is still to be sent.
fn begun(edge: &Running, path: &str, host: &str) -> TcpStream {
    let mut stream = TcpStream::connect(edge.client.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer nobody\r\nConnection: close\r\n\
         Content-Length: {LARGE}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Sends a large body and hears the answer; then nothing but the connection's end may come. Else how it was cut off.
fn said(edge: &Running, path: &str, host: &str) -> Result<String, String> {
    let mut stream = begun(edge, path, host);
    let sent = stream.write_all(&vec![b'x'; LARGE]);
    let mut heard = Vec::new();
    let mut piece = [0; 4096];
    let cut = |ended: &dyn Debug, heard: &[u8]| {
        format!("cut off: {sent:?}, {ended:?}, after {:?}", String::from_utf8_lossy(heard))
    };
    // All of the edge's own end so. The runtime would wait for seconds for the caller to end first.
    while !heard.ends_with(b"}") {
        match stream.read(&mut piece) {
            Ok(read @ 1..) => heard.extend_from_slice(&piece[..read]),
            ended => return Err(cut(&ended, &heard)),
        }
    }
    let text = String::from_utf8_lossy(&heard).into_owned();
    let ended = stream.shutdown(Shutdown::Write).and_then(|()| stream.read_to_end(&mut heard));
    if matches!((&sent, &ended), (Ok(()), Ok(0))) { Ok(text) } else { Err(cut(&ended, &heard)) }
}

/// What comes of an attempt. One that was cut off is made again only when it took longer than the edge hears a body out:
/// then this machine was too busy, and nothing was promised.
#[track_caller]
fn in_time<T>(attempt: impl Fn() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        let attempted = Instant::now();
        match attempt() {
            Ok(done) => return done,
            Err(cut) => {
                let took = attempted.elapsed();
                assert!(took >= HEARD && began.elapsed() < PATIENCE, "{cut}, within {took:?}");
            }
        }
    }
}

/// Sends a large body time and again, on connections of their own and on one that is kept; what came on the former.
#[track_caller]
fn arrives(edge: &Running, path: &str, host: &str, status: u16) -> Vec<String> {
    let body = vec![b'x'; LARGE];
    let headers = [("authorization", "Bearer nobody"), ("host", host)];
    let on_one_kept =
        || edge.client.try_send("POST", path, &headers, &body).map_err(|error| error.to_string());
    let asked = || {
        let kept = in_time(on_one_kept);
        assert_eq!(kept.status, status, "{kept:?}\n{}", edge.log());
        let said = in_time(|| said(edge, path, host));
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
        said.to_ascii_lowercase()
    };
    (0..TIMES).map(|_| asked()).collect()
}

#[test]
fn a_bot_that_is_not_up_is_told_to_whoever_sends_much() {
    let engine = Engine::start();
    engine.set(|state| state.manner = Manner::Fails(1));
    let edge =
        edge_with_containers(engine.socket(), |settings| settings.secret("SERVICE_INGRESS_TOKENS", TOKENS));
    for heard in arrives(&edge, "/ingress", "localhost", 503) {
        assert!(heard.contains("\r\nretry-after: "), "{heard}");
    }
}

#[test]
fn a_foreign_name_is_refused_to_whoever_sends_much() {
    let edge = edge_worker("http://127.0.0.1:9", Some(TOKENS));
    arrives(&edge, "/ingress", "bot.example", 403);
}

#[test]
fn an_edge_that_passes_nothing_on_says_so_to_whoever_sends_much() {
    let engine = Engine::start();
    let edge = edge_with_containers(engine.socket(), |settings| {
        settings.secret("DEV_BOT_URL", "http://127.0.0.1:9")
    });
    arrives(&edge, "/ingress", "localhost", 500);
}

#[test]
fn a_restart_is_refused_to_whoever_sends_much() {
    let edge = edge_worker("http://127.0.0.1:9", Some(TOKENS));
    arrives(&edge, "/admin/restart", "localhost", 401);
}

/// How long so many callers at once, who send nothing of their bodies, wait for an answer.
fn waits(edge: &Running, callers: usize) -> Vec<Duration> {
    let wait = || {
        let began = Instant::now();
        let mut first = [0; 12];
        begun(edge, "/ingress", "bot.example").read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 403");
        began.elapsed()
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..callers).map(|_| scope.spawn(wait)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    })
}

#[test]
fn only_so_many_bodies_are_heard_out_at_once_and_one_that_broke_off_no_longer_counts() {
    let edge = edge_worker("http://127.0.0.1:9", Some(TOKENS));
    for _ in 0..2 * MOST_HEARD {
        drop(begun(&edge, "/ingress", "bot.example"));
    }
    let began = Instant::now();
    // Those that broke off are gone once one is heard out again.
    while waits(&edge, 1)[0] < HEARD {
        assert!(began.elapsed() < PATIENCE, "nobody is heard out any more\n{}", edge.log());
    }
    let waits = waits(&edge, MOST_HEARD + 8);
    let heard_out = waits.iter().filter(|wait| **wait >= HEARD).count();
    assert!((MOST_HEARD..waits.len()).contains(&heard_out), "{heard_out} of {waits:?}");
}
