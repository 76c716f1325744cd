//! What the edge answers by itself arrives, although nobody reads what the caller sends: the runtime cuts a connection
//! with an unread body, and a sender that is cut off may miss the answer (document 1 section 7, resident supplement 13).
//!
//! Not here: that nothing of such a body is kept (`tests/edge`, `bodies.rs`), and a request that broke off on its way to
//! the bot, whose body the runtime keeps.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use ars_tests_workerd::{Running, edge_with_containers, edge_worker};

use crate::engine::{Engine, Manner, PATIENCE};

const TOKENS: &str = r#"{"good":{"subject":"ann","scopes":["deploy:write"]}}"#;
/// As large as a body of the ingress may be.
const LARGE: usize = 1 << 20;
/// An answer that is lost is not lost every time.
const TIMES: usize = 25;

/// Sends a large body and hears the answer; then nothing but the connection's end may come.
fn said(edge: &Running, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(edge.client.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer nobody\r\nConnection: close\r\n\
         Content-Length: {LARGE}\r\n\r\n"
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&vec![b'x'; LARGE]));
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    // All of the edge's own end so. The runtime would wait for seconds for the caller to end first.
    while !heard.ends_with(b"}") {
        match stream.read(&mut piece) {
            Ok(read @ 1..) => heard.extend_from_slice(&piece[..read]),
            ended => panic!("cut off: {sent:?}, {ended:?}, after {:?}", String::from_utf8_lossy(&heard)),
        }
    }
    let text = String::from_utf8_lossy(&heard).into_owned();
    let ended = stream.shutdown(Shutdown::Write).and_then(|()| stream.read_to_end(&mut heard));
    assert!(matches!((&sent, &ended), (Ok(()), Ok(0))), "cut off: {sent:?}, {ended:?}, after {text:?}");
    text
}

/// Sends a large body time and again, on connections of their own and on one that is kept; what came on the former.
#[track_caller]
fn arrives(edge: &Running, path: &str, host: &str, status: u16) -> Vec<String> {
    let body = vec![b'x'; LARGE];
    let headers = [("authorization", "Bearer nobody"), ("host", host)];
    let asked = || {
        let kept = edge.client.send("POST", path, &headers, &body);
        assert_eq!(kept.status, status, "{kept:?}\n{}", edge.log());
        let said = said(edge, path, host);
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
