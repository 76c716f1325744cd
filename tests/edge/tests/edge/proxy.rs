//! Requests and answers pass unchanged, except connection fields and those that only the edge may set.

use std::io::Read as _;
use std::sync::mpsc;

use ars_raw_http::{Call, READ_TIMEOUT, Upstream};
use ars_tests_edge::send;
use ars_tests_workerd::{edge_worker, raw_answer};
use ars_wire::admin::RESTART_ROUTE;
use ars_workerd::{Settings, TICK_ROUTE};
use serde_json::json;

fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(*byte))
    })
}

#[test]
fn request_passes_unchanged() {
    let bot = Upstream::start(|mut call: Call<'_>| {
        let mut body = Vec::new();
        call.body.read_to_end(&mut body)?;
        let (method, target) = (call.head.method(), call.head.target());
        let seen = json!({ "method": method, "target": target, "bytes": body.len(), "sum": checksum(&body) });
        call.reply
            .whole(203, "application/x-mirror", seen.to_string().as_bytes())
    });
    let edge = edge_worker(&bot.unwrap().url(), None);
    let big: Vec<u8> = (0..3_000_000_u32)
        .map(|index| (index % 251) as u8)
        .collect();
    for (method, path, body) in [
        ("POST", "/ingress", big.as_slice()),
        ("PUT", "/a%2Fb/%ff?x=1&x=2&y=%20", &big),
        ("POST", "//other.example/x", &big),
        ("DELETE", "/runs/r1?t=", &big),
        ("GET", "/", &[]),
    ] {
        let answer = edge
            .client
            .send(method, path, &[("content-type", "application/json")], body);
        assert_eq!(
            (answer.status, answer.content_type.as_str()),
            (203, "application/x-mirror"),
            "{answer:?}"
        );
        let sent =
            json!({ "method": method, "target": path, "bytes": body.len(), "sum": checksum(body) });
        assert_eq!(answer.body, sent, "{}", edge.log());
    }
}

#[test]
fn foreign_host_never_reaches_a_developer_bot() {
    let (report, seen) = mpsc::channel();
    let bot = Upstream::start(move |call: Call<'_>| {
        report
            .send((
                call.head.target().to_owned(),
                call.head.field("host").map(str::to_owned),
            ))
            .unwrap();
        call.reply.whole(200, "text/plain", b"every run there is")
    });
    let bot = bot.unwrap();
    let edge = edge_worker(
        &bot.url(),
        Some(r#"{"good":{"subject":"ann","scopes":["deploy:write"]}}"#),
    );
    let port = edge.client.address().port();
    let ask = |host: &str, path: &str| {
        let fields = "Authorization: Bearer good\r\nContent-Length: 0\r\n";
        let request = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
        raw_answer(edge.client.address(), request.as_bytes())
    };
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "localhost.evil.example",
        "0.0.0.0",
        "edge",
    ] {
        for path in ["/runs", "/healthz", RESTART_ROUTE] {
            let answer = ask(host, path);
            assert_eq!(
                (answer.status, &answer.body["error"]),
                (403, &json!("forbidden")),
                "{host} {path}: {answer:?}"
            );
        }
    }
    // In absolute form the target would name the host; the runtime rejects that form.
    assert_eq!(ask("evil.example", "http://localhost/runs").status, 500);
    assert!(seen.try_recv().is_err(), "a request reached the bot");
    for host in [
        "localhost",
        "LOCALHOST",
        "127.0.0.1",
        &format!("localhost:{port}"),
        "[::1]:80",
    ] {
        assert_eq!(ask(host, "/runs").status, 200, "{host}");
        // The bot receives its own name instead of the caller's, so it could not check it.
        let name = bot.url().trim_start_matches("http://").to_owned();
        assert_eq!(
            seen.recv_timeout(READ_TIMEOUT).unwrap(),
            ("/runs".to_owned(), Some(name)),
            "{host}"
        );
    }
}

#[test]
fn tick_reaches_a_developer_bot() {
    let (report, seen) = mpsc::channel();
    let bot = Upstream::start(move |call: Call<'_>| {
        report.send(call.head.target().to_owned()).unwrap();
        call.reply.whole(200, "text/plain", b"")
    });
    let mut edge = edge_worker(&bot.unwrap().url(), None);
    edge.deploy(|settings| Settings {
        ticks: true,
        ..settings
    });
    assert_eq!(edge.client.get(TICK_ROUTE).body["outcome"], json!("ok"));
    assert_eq!(
        seen.recv_timeout(READ_TIMEOUT).unwrap(),
        "/healthz",
        "{}",
        edge.log()
    );
}

#[test]
fn redirects_and_failures_pass_unchanged() {
    let bot = Upstream::start(|call: Call<'_>| {
        let status = call
            .head
            .target()
            .trim_start_matches('/')
            .parse()
            .unwrap_or(200);
        // A followed redirect would lead to another answer.
        call.reply
            .whole(status, "text/plain\r\nLocation: /418", b"of the bot")
    });
    let edge = edge_worker(&bot.unwrap().url(), None);
    for status in [200, 302, 400, 401, 404, 409, 413, 500, 503] {
        let request = format!("GET /{status} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = raw_answer(edge.client.address(), request.as_bytes());
        assert_eq!((answer.status, answer.body), (status, json!("of the bot")));
    }
}

#[test]
fn only_hop_by_hop_headers_are_removed() {
    let head = "text/plain\r\nConnection: x-listed\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n\
                Proxy-Connection: a\r\nTE: trailers\r\nTrailer: x-late\r\nUpgrade: h2c\r\nX-Listed: 1\r\n\
                Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nWWW-Authenticate: Bearer\r\nRetry-After: 7\r\nX-Bots: 1";
    let bot = Upstream::start(move |call: Call<'_>| call.reply.whole(200, head, b"of the bot"));
    let edge = edge_worker(&bot.unwrap().url(), None);
    let mut connection = send(
        edge.client.address(),
        "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    let head = connection
        .read_until("of the bot")
        .unwrap()
        .to_ascii_lowercase();
    for name in [
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
        "x-listed",
    ] {
        assert!(!head.contains(&format!("\r\n{name}:")), "{name}: {head}");
    }
    assert!(!head.contains("x-listed"), "{head}");
    for line in [
        "set-cookie: a=1",
        "set-cookie: b=2",
        "www-authenticate: bearer",
        "retry-after: 7",
        "x-bots: 1",
        "content-length: 10",
    ] {
        assert_eq!(
            head.matches(&format!("\r\n{line}\r\n")).count(),
            1,
            "{line}: {head}"
        );
    }
}

/// The request may have been executed.
/// The runtime does not report whether a native bot broke off or never ran.
#[test]
fn bot_disconnect_is_reported_as_possibly_accepted() {
    let breaks = Upstream::start(|_: Call<'_>| Err(std::io::Error::other("on purpose"))).unwrap();
    for bot in [breaks.url(), "http://127.0.0.1:9".to_owned()] {
        let answer =
            edge_worker(&bot, None)
                .client
                .post("/ingress", "good", &json!({ "text": "hello" }));
        assert_eq!(
            (answer.status, &answer.body["error"]),
            (502, &json!("the connection to the bot was lost")),
            "{answer:?}"
        );
    }
}
