//! Proxying: requests and answers pass unchanged, except for headers that callers must not set.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Running, edge_worker, raw_answer};
use ars_upstream::{Call, Upstream};
use ars_wire::admin::{AUTHORIZE_ROUTE, CRASH_ROUTE, RESTART_ROUTE};
use ars_workerd::{Settings, TICK_ROUTE};
use serde_json::{Value, json};
use socket2::SockRef;

/// Timeout for an expected event.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Starts a bot that echoes the request.
fn mirror() -> Upstream {
    Upstream::start(|mut call: Call<'_>| {
        let mut body = Vec::new();
        call.body.read_to_end(&mut body)?;
        let mut fields = BTreeMap::<String, Vec<String>>::new();
        for (name, value) in call.head.fields() {
            fields.entry(name.to_ascii_lowercase()).or_default().push(value.to_owned());
        }
        let seen = json!({
            "method": call.head.method(),
            "target": call.head.target(),
            "fields": fields,
            "bytes": body.len(),
            "sum": body.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte))),
        });
        call.reply.whole(203, "application/x-mirror", seen.to_string().as_bytes())
    })
    .unwrap()
}

fn ask(edge: &Running, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Value {
    let answer = edge.client.send(method, path, headers, body);
    assert_eq!(
        (answer.status, answer.content_type.as_str()),
        (203, "application/x-mirror"),
        "{answer:?}\n{}",
        edge.log()
    );
    answer.body
}

#[test]
fn request_passes_unchanged() {
    let bot = mirror();
    let edge = edge_worker(&bot.url(), None);
    let big: Vec<u8> = (0..3_000_000_u32).map(|index| (index % 251) as u8).collect();
    let sum = big.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    for (method, path) in [
        ("POST", "/ingress"),
        ("PUT", "/a%2Fb/%ff?x=1&x=2&y=%20"),
        ("POST", "//other.example/x"),
        ("DELETE", "/runs/r1?t="),
    ] {
        let seen = ask(&edge, method, path, &[("content-type", "application/json")], &big);
        assert_eq!((&seen["method"], &seen["target"]), (&json!(method), &json!(path)));
        assert_eq!((&seen["bytes"], &seen["sum"]), (&json!(big.len()), &json!(sum)), "{path}");
    }
    assert_eq!(ask(&edge, "GET", "/", &[], b"")["bytes"], json!(0));
}

#[test]
fn edge_replaces_subject_and_trace_headers() {
    let bot = mirror();
    let edge = edge_worker(&bot.url(), None);
    let mine = "00-11111111111111111111111111111111-2222222222222222-01";
    let sent = [
        ("X-ARS-Restart-Subject", "ann"),
        ("x_ars_restart_subject", "ann"),
        ("traceparent", mine),
        ("TraceState", "a=b"),
        ("baggage", "a=b"),
        ("b3", "0"),
        ("X-B3-TraceId", "1"),
        ("x-mine", "1"),
        ("connection", "x-mine"),
        ("authorization", "Bearer t"),
        ("last-event-id", "7"),
        ("accept", "text/event-stream"),
    ];
    let seen = ask(&edge, "GET", "/runs/r1/events", &sent, b"");
    let fields = seen["fields"].as_object().unwrap();
    for gone in
        ["x-ars-restart-subject", "x_ars_restart_subject", "tracestate", "baggage", "b3", "x-b3-traceid"]
    {
        assert!(!fields.contains_key(gone), "{gone}: {seen}");
    }
    for (name, value) in
        [("authorization", "Bearer t"), ("last-event-id", "7"), ("accept", "text/event-stream")]
    {
        assert_eq!(fields[name], json!([value]), "{name}");
    }
    let trace = fields["traceparent"][0].as_str().unwrap();
    assert!(trace.len() == mine.len() && trace != mine && fields["traceparent"][1].is_null(), "{trace}");
    let again = ask(&edge, "GET", "/", &[], b"");
    assert_ne!(again["fields"]["traceparent"][0].as_str().unwrap(), trace, "each request has its own");
}

#[test]
fn foreign_host_never_reaches_a_developer_bot() {
    let (sender, received) = mpsc::channel();
    let bot = Upstream::start(move |call: Call<'_>| {
        let seen = (call.head.target().to_owned(), call.head.field("host").map(str::to_owned));
        sender.send(seen).unwrap();
        call.reply.whole(200, "text/plain", b"every run there is")
    });
    let bot = bot.unwrap();
    let edge = edge_worker(&bot.url(), Some(r#"{"good":{"subject":"ann","scopes":["deploy:write"]}}"#));
    let port = edge.client.address().port();
    let request = |host: &str, path: &str| {
        let fields = "Authorization: Bearer good\r\nContent-Length: 0\r\n";
        let request = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
        raw_answer(edge.client.address(), request.as_bytes())
    };
    for host in ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example", "0.0.0.0", "edge"]
    {
        for path in ["/runs", "/healthz", RESTART_ROUTE] {
            let answer = request(host, path);
            let refusal = (answer.status, &answer.body["error"]);
            assert_eq!(refusal, (403, &json!("forbidden")), "{host} {path}: {answer:?}");
        }
    }
    // A target in absolute form would contain the host. The runtime rejects that form.
    assert_eq!(request("evil.example", "http://localhost/runs").status, 500);
    assert!(received.try_recv().is_err(), "the bot received it");
    for host in ["localhost", "LOCALHOST", "127.0.0.1", &format!("localhost:{port}"), "[::1]:80"] {
        assert_eq!(request(host, "/runs").status, 200, "{host}");
        let seen = received.recv_timeout(TIMEOUT).unwrap();
        // The edge replaces the caller's host name, so the bot could not reject it.
        let name = bot.url().trim_start_matches("http://").to_owned();
        assert_eq!(seen, ("/runs".to_owned(), Some(name)), "{host}");
    }
}

#[test]
fn tick_reaches_a_developer_bot() {
    let (sender, received) = mpsc::channel();
    let bot = Upstream::start(move |call: Call<'_>| {
        sender.send(call.head.target().to_owned()).unwrap();
        call.reply.whole(200, "text/plain", b"")
    });
    let mut edge = edge_worker(&bot.unwrap().url(), None);
    edge.deploy(|settings| Settings { ticks: true, ..settings });
    assert_eq!(edge.client.get(TICK_ROUTE).body["outcome"], json!("ok"));
    assert_eq!(received.recv_timeout(TIMEOUT).unwrap(), "/healthz", "{}", edge.log());
}

#[test]
fn redirects_and_failures_pass_unchanged() {
    let bot = Upstream::start(|call: Call<'_>| {
        let status = call.head.target().trim_start_matches('/').parse().unwrap_or(200);
        // A client that followed the redirect would get another answer.
        call.reply.whole(status, "text/plain\r\nLocation: /418", b"of the bot")
    })
    .unwrap();
    let edge = edge_worker(&bot.url(), None);
    for status in [200, 302, 400, 401, 404, 409, 413, 500, 503] {
        let request = format!("GET /{status} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = raw_answer(edge.client.address(), request.as_bytes());
        assert_eq!((answer.status, answer.body), (status, json!("of the bot")));
    }
}

#[test]
fn only_hop_by_hop_headers_are_removed() {
    let ours = "Connection: x-listed\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nProxy-Connection: a\r\n\
                TE: trailers\r\nTrailer: x-late\r\nUpgrade: h2c\r\nX-Listed: 1\r\n\
                Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nWWW-Authenticate: Bearer\r\nRetry-After: 7\r\nX-Bots: 1";
    let head = format!("text/plain\r\n{ours}");
    let bot = Upstream::start(move |call: Call<'_>| call.reply.whole(200, &head, b"of the bot"));
    let edge = edge_worker(&bot.unwrap().url(), None);
    let mut reader = open(&edge, "/x");
    let mut fields = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        fields.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let values = |wanted: &str| -> Vec<&str> {
        fields.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.as_str()).collect()
    };
    for gone in
        ["keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "upgrade", "x-listed"]
    {
        assert_eq!(values(gone), Vec::<&str>::new(), "{gone}: {fields:?}");
    }
    assert!(!values("connection").contains(&"x-listed"), "{fields:?}");
    assert_eq!(values("set-cookie"), ["a=1", "b=2"]);
    assert_eq!((values("www-authenticate"), values("retry-after")), (vec!["Bearer"], vec!["7"]));
    assert_eq!((values("x-bots"), values("content-length")), (vec!["1"], vec!["10"]));
}

#[test]
fn rejection_does_not_wait_for_the_body() {
    // Like the real bot, it rejects an unknown caller before it reads the body.
    let bot = Upstream::start(|call: Call<'_>| call.reply.whole(401, "text/plain", b"unauthorized")).unwrap();
    let edge = edge_worker(&bot.url(), Some(r#"{"good":{"subject":"ann"}}"#));
    for path in ["/ingress", "/mcp", CRASH_ROUTE, AUTHORIZE_ROUTE, RESTART_ROUTE] {
        for framing in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
            for bearer in ["", "Authorization: Bearer nobody\r\n"] {
                let mut stream = connect(&edge);
                let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{bearer}{framing}\r\n\r\n");
                stream.write_all(head.as_bytes()).unwrap();
                let mut status = String::new();
                // The connection stays open for a body that is never sent.
                BufReader::new(&stream).read_line(&mut status).unwrap();
                assert!(status.starts_with("HTTP/1.1 401 "), "{path} {framing} {bearer}: {status}");
            }
        }
    }
}

/// Starts an edge before a bot that sends a frame per message on the returned channel, and reports its disconnect.
fn streaming() -> (Running, mpsc::Sender<&'static str>, Receiver<()>) {
    let (frames, next) = mpsc::channel::<&'static str>();
    let (sender, disconnected) = mpsc::channel();
    let next = Mutex::new(next);
    let bot = Upstream::start(move |call: Call<'_>| {
        let mut chunks = call.reply.chunks(200, "text/event-stream")?;
        let next = next.lock().unwrap();
        while let Ok(frame) = next.recv_timeout(TIMEOUT) {
            if let Err(error) = chunks.send(frame.as_bytes()) {
                sender.send(()).unwrap();
                return Err(error);
            }
        }
        chunks.end()
    });
    (edge_worker(&bot.unwrap().url(), None), frames, disconnected)
}

fn connect(edge: &Running) -> TcpStream {
    let stream = TcpStream::connect(edge.client.address()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

fn open(edge: &Running, path: &str) -> BufReader<TcpStream> {
    let mut stream = connect(edge);
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
    BufReader::new(stream)
}

fn read_until(reader: &mut impl BufRead, wanted: &str) {
    let mut line = String::new();
    while !line.contains(wanted) {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "ended before {wanted}");
    }
}

#[test]
fn frames_pass_immediately() {
    let (edge, frames, _disconnected) = streaming();
    let mut reader = open(&edge, "/runs/r1/events");
    for frame in ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"] {
        frames.send(frame).unwrap();
        read_until(&mut reader, frame.trim());
    }
    drop(frames);
    read_until(&mut reader, "0\r\n");
}

#[test]
fn client_disconnect_ends_the_bots_stream() {
    let (edge, frames, disconnected) = streaming();
    let mut reader = open(&edge, "/runs/r1/events");
    frames.send("data: 1\n\n").unwrap();
    read_until(&mut reader, "data: 1");
    drop(reader);
    // The bot notices the disconnect by writing. The number of writes depends on the kernel.
    let until = Instant::now() + TIMEOUT;
    while disconnected.recv_timeout(Duration::from_millis(20)).is_err() {
        assert!(Instant::now() < until, "the bot still streams without a reader");
        frames.send(": still there\n\n").unwrap();
    }
}

#[test]
fn client_disconnect_ends_the_bots_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        read_until(&mut stream, "traceparent");
        sender.send("received").unwrap();
        // The bot sends no answer, so the end of the connection is the next event.
        stream.read_to_end(&mut Vec::new()).unwrap();
        sender.send("disconnected").unwrap();
    });
    let edge = edge_worker(&url, None);
    let reader = open(&edge, "/slow");
    assert_eq!(received.recv_timeout(TIMEOUT).unwrap(), "received");
    // A reset, because workerd without a proxy treats a plain close as the end of the request only.
    SockRef::from(reader.get_ref()).set_linger(Some(Duration::ZERO)).unwrap();
    drop(reader);
    assert_eq!(received.recv_timeout(TIMEOUT).unwrap(), "disconnected");
}

#[test]
fn bot_disconnect_is_reported_as_possibly_accepted() {
    let breaks = Upstream::start(|_: Call<'_>| Err(std::io::Error::other("on purpose"))).unwrap();
    // For a native bot the runtime does not distinguish a broken connection from a refused one.
    for bot in [breaks.url(), "http://127.0.0.1:9".to_owned()] {
        breaks_off(&edge_worker(&bot, None));
    }
}

fn breaks_off(edge: &Running) {
    let answer = edge.client.post("/ingress", "good", &json!({ "text": "hello" }));
    assert_eq!(
        (answer.status, &answer.body["error"]),
        (502, &json!("the connection to the bot was lost")),
        "{answer:?}"
    );
}
