//! Bodies pass the edge without being kept there, in either direction, and only as far as somebody reads them.

use ars_tests_edge::{Edge, HALF_AN_HOUR, Message, Recorder, Wire};
use ars_wire::admin::RESTART_ROUTE;

/// A body that never ends, as far as a test goes.
const ENDLESS: u64 = 256 << 20;
/// Most that lies on the way when nobody reads: buffers of sockets and of the runtime, far less than a body.
const ON_THE_WAY: u64 = 24 << 20;
/// Most by which the runtime may grow meanwhile.
const GROWTH: usize = 32 << 20;
/// A comment comes every 20 seconds.
const COMMENTS_A_MINUTE: usize = 3;
/// A body far beyond what may lie on the way.
const LARGE: usize = 96 << 20;

#[test]
fn a_large_body_passes_whole_and_is_not_kept() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    let grown = edge.peak_of(|| {
        let mut wire = Wire::to(edge.address());
        wire.send(
            format!("POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LARGE}\r\n\r\n").as_bytes(),
        );
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..LARGE >> 20 {
            wire.send(&piece);
        }
        wire.hear(&format!(r#"{{"bytes":{LARGE}}}"#));
    });
    assert!(grown < GROWTH, "grown by {grown}");
}

#[test]
fn a_caller_whom_the_bot_refuses_is_answered_while_its_body_never_ends() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    let grown = edge.peak_of(|| {
        let mut wire = Wire::to(edge.address());
        wire.send(b"POST /refuse HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
        let taken = wire.pour(ENDLESS);
        assert!(taken < ON_THE_WAY, "{taken} bytes of a refused caller were taken");
        assert_eq!(wire.hear("unauthorized").statuses(), [401]);
    });
    assert!(grown < GROWTH, "grown by {grown}");
    assert_eq!(bot.arrivals()[0].body, 0);
}

#[test]
fn a_body_that_nobody_reads_holds_up_its_sender() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    let grown = edge.peak_of(|| {
        let mut wire = Wire::to(edge.address());
        wire.send(b"POST /ignore HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
        let taken = wire.pour(ENDLESS);
        assert!(taken < ON_THE_WAY, "{taken} bytes that nobody reads were taken");
    });
    assert!(grown < GROWTH, "grown by {grown}");
}

#[test]
fn a_restart_is_refused_to_strangers_before_any_of_their_body_is_kept() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    for authorization in ["", "Authorization: Bearer nobody\r\n"] {
        let grown = edge.peak_of(|| {
            let mut wire = Wire::to(edge.address());
            let head = format!(
                "POST {RESTART_ROUTE} HTTP/1.1\r\nHost: localhost\r\n{authorization}Transfer-Encoding: chunked\r\n\r\n"
            );
            wire.send(head.as_bytes());
            let taken = wire.pour(ENDLESS);
            assert!(taken < ON_THE_WAY, "{taken} bytes of a stranger were taken");
            assert_eq!(wire.hear("\"error\"").statuses(), [401]);
        });
        assert!(grown < GROWTH, "grown by {grown}");
    }
    assert_eq!(bot.arrivals().len(), 0, "a stranger's restart reached the bot");
}

#[test]
fn a_foreign_name_is_refused_before_any_of_the_body_is_kept() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    let grown = edge.peak_of(|| {
        let mut wire = Wire::to(edge.address());
        wire.send(b"POST /take HTTP/1.1\r\nHost: bot.example\r\nTransfer-Encoding: chunked\r\n\r\n");
        let taken = wire.pour(ENDLESS);
        assert!(taken < ON_THE_WAY, "{taken} bytes of a stranger were taken");
        assert_eq!(wire.hear("\"error\"").statuses(), [403]);
    });
    assert!(grown < GROWTH, "grown by {grown}");
    assert_eq!(bot.arrivals().len(), 0, "it reached the bot");
}

#[test]
fn a_restart_with_a_body_beyond_its_measure_is_refused_without_taking_it_in() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    let grown = edge.peak_of(|| {
        let mut wire = Wire::to(edge.address());
        let head = format!(
            "POST {RESTART_ROUTE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
            Edge::TOKEN
        );
        wire.send(head.as_bytes());
        let taken = wire.pour(ENDLESS);
        assert!(taken < ON_THE_WAY, "{taken} bytes were taken");
        let statuses = wire.hear("\"error\"").statuses();
        assert!([400, 413].contains(&statuses[0]), "{statuses:?}");
    });
    assert!(grown < GROWTH, "grown by {grown}");
    assert_eq!(bot.arrivals().len(), 0, "it reached the bot");
}

#[test]
fn a_stream_is_open_after_half_an_hour_of_comments_alone_at_a_thousandth_of_the_time() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    let mut wire = Wire::to(edge.address());
    wire.send(b"GET /idle HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let (mut heard, mut ticks) = (String::new(), 0);
    while !heard.ends_with("\r\n0\r\n\r\n") {
        heard += &wire.hear("\n").text;
        // As the tick of each minute does, which comes with every third comment.
        while ticks < heard.matches("here").count() / COMMENTS_A_MINUTE {
            let mut tick = Wire::to(edge.address());
            tick.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
            // Its end is not waited for: the runtime keeps a connection open for seconds.
            assert_eq!(tick.hear("\r\n\r\n").statuses(), [200]);
            ticks += 1;
        }
    }
    let told = format!("{}event: end\n\n", ": still here\n\n".repeat(HALF_AN_HOUR));
    assert_eq!(String::from_utf8_lossy(&Message::parse(heard.as_bytes()).body), told);
    // A comment that came in two chunks is not seen meanwhile.
    assert!(ticks > HALF_AN_HOUR / COMMENTS_A_MINUTE / 2, "{ticks}");
    assert_eq!(bot.arrivals().len(), 1, "it was asked for again");
}

#[test]
fn a_caller_that_hangs_up_on_a_stream_is_gone_for_the_bot_too() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    let mut wire = Wire::to(edge.address());
    wire.send(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    wire.hear("still here");
    drop(wire);
    bot.until("the bot notices that its reader left", |arrival| arrival.target == "/stream" && arrival.broke);
}

#[test]
fn a_caller_that_hangs_up_before_an_answer_is_gone_for_the_bot_too() {
    let bot = Recorder::start();
    let edge = Edge::before(&bot.url());
    let mut wire = Wire::to(edge.address());
    wire.send(b"POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345");
    bot.until("the first half arrives", |arrival| arrival.target == "/take" && arrival.body == 5);
    drop(wire);
    bot.until("the bot notices that its caller left", |arrival| arrival.target == "/take" && arrival.broke);
}
