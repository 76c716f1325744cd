//! Streams: frames pass at once, silence keeps them open, and a disconnect reaches the other side.

use std::io::Read as _;
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use ars_raw_http::{Call, Message, READ_TIMEOUT, Upstream, statuses};
use ars_tests_edge::{HALF_AN_HOUR, Recorder, edge_before, send};
use socket2::SockRef;

/// The bot sends a comment every 20 seconds.
const COMMENTS_A_MINUTE: usize = 3;

#[test]
fn frames_pass_immediately() {
    let (frames, next) = mpsc::channel::<&'static str>();
    let next = Mutex::new(next);
    let bot = Upstream::start(move |call: Call<'_>| {
        let mut chunks = call.reply.chunks(200, "text/event-stream")?;
        let next = next.lock().unwrap();
        while let Ok(frame) = next.recv_timeout(READ_TIMEOUT) {
            chunks.send(frame.as_bytes())?;
        }
        chunks.end()
    });
    let edge = edge_before(&bot.unwrap().url());
    let mut reader = send(
        edge.client.address(),
        "GET /runs/r1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    for frame in ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"] {
        frames.send(frame).unwrap();
        reader.read_until(frame).unwrap();
    }
    drop(frames);
    reader.read_until("0\r\n").unwrap();
}

/// Half an hour of comments at a thousandth of the time, with a cron request for each minute.
#[test]
fn idle_stream_stays_open() {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    let mut reader = send(
        edge.client.address(),
        "GET /idle HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    let mut received = String::new();
    let mut ticks = 0;
    while !received.ends_with("\r\n0\r\n\r\n") {
        received += &reader.read_until("\n").unwrap();
        while ticks < received.matches("here").count() / COMMENTS_A_MINUTE {
            let mut tick = send(
                edge.client.address(),
                "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            );
            assert_eq!(statuses(&tick.read_until("\r\n\r\n").unwrap()), [200]);
            ticks += 1;
        }
    }
    let expected = format!("{}event: end\n\n", ": still here\n\n".repeat(HALF_AN_HOUR));
    let body = Message::parse(received.as_bytes()).unwrap().body;
    assert_eq!(String::from_utf8_lossy(&body), expected);
    // A comment that came in two chunks is not counted at once.
    assert!(ticks > HALF_AN_HOUR / COMMENTS_A_MINUTE / 2, "{ticks}");
    assert_eq!(bot.arrivals().len(), 1, "the stream was requested again");
}

#[test]
fn client_disconnect_ends_the_bots_stream() {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    let mut reader = send(
        edge.client.address(),
        "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    reader.read_until("still here").unwrap();
    drop(reader);
    bot.until("the disconnect", |arrival| {
        arrival.target == "/stream" && arrival.broke
    });
}

#[test]
fn disconnect_in_a_body_reaches_the_bot() {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    let head = "POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345";
    let caller = send(edge.client.address(), head);
    bot.until("the first half", |arrival| {
        arrival.target == "/take" && arrival.body == 5
    });
    drop(caller);
    bot.until("the disconnect", |arrival| {
        arrival.target == "/take" && arrival.broke
    });
}

#[test]
fn client_disconnect_ends_the_bots_request() {
    let (report, events) = mpsc::channel();
    let bot = Upstream::start(move |call: Call<'_>| {
        report.send("asked").unwrap();
        // It does not answer, so the next event is the connection's end.
        call.connection.take(1).read_to_end(&mut Vec::new())?;
        report.send("gone").unwrap();
        Ok(())
    });
    let edge = edge_before(&bot.unwrap().url());
    let caller = send(
        edge.client.address(),
        "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    assert_eq!(events.recv_timeout(READ_TIMEOUT).unwrap(), "asked");
    // A reset: before it writes, workerd takes a plain close for the end of the requests.
    SockRef::from(caller.stream())
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(caller);
    assert_eq!(events.recv_timeout(READ_TIMEOUT).unwrap(), "gone");
}
