//! Bodies pass the edge unbuffered, in either direction, only as far as the receiver reads them.

use ars_raw_http::statuses;
use ars_tests_edge::{Recorder, TOKEN, edge_before, send};
use ars_wire::admin::RESTART_ROUTE;

/// A body without an end, as far as a test sends it.
const ENDLESS: u64 = 256 << 20;
/// Maximum bytes in socket and runtime buffers without a reader: far less than a body.
const BUFFERED: u64 = 24 << 20;
/// How much the runtime's memory may grow at most.
const GROWTH: usize = 32 << 20;
/// A body far beyond the buffers.
const LARGE: usize = 96 << 20;

#[test]
fn large_body_is_streamed() {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    let grown = edge.peak_of(|| {
        let head =
            format!("POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LARGE}\r\n\r\n");
        let mut connection = send(edge.client.address(), head);
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..LARGE >> 20 {
            connection.send(&piece).unwrap();
        }
        connection
            .read_until(&format!(r#"{{"bytes":{LARGE}}}"#))
            .unwrap();
    });
    assert!(grown < GROWTH, "grown by {grown}");
}

/// Sends a body without an end to an edge before a recorder, which it returns. Few bytes are
/// accepted, and the response has one of these statuses.
#[track_caller]
fn rejected(head: &str, expected: &[u16]) -> Recorder {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    let grown = edge.peak_of(|| {
        let head = format!("POST {head}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let mut connection = send(edge.client.address(), head);
        let accepted = connection.pour(ENDLESS).unwrap();
        assert!(accepted < BUFFERED, "{accepted} bytes were accepted");
        if !expected.is_empty() {
            let text = connection.read_until("\"error\"").unwrap();
            assert!(expected.contains(&statuses(&text)[0]), "{text}");
        }
    });
    assert!(grown < GROWTH, "grown by {grown}");
    bot
}

#[test]
fn rejection_of_the_bot_ends_an_endless_body() {
    let bot = rejected("/refuse HTTP/1.1\r\nHost: localhost", &[401]);
    assert_eq!(bot.arrivals()[0].body, 0);
}

#[test]
fn unread_body_blocks_its_sender() {
    rejected("/ignore HTTP/1.1\r\nHost: localhost", &[]);
}

#[test]
fn unauthorized_restart_buffers_no_body() {
    for authorization in ["", "\r\nAuthorization: Bearer unknown"] {
        let bot = rejected(
            &format!("{RESTART_ROUTE} HTTP/1.1\r\nHost: localhost{authorization}"),
            &[401],
        );
        assert_eq!(bot.arrivals().len(), 0, "it reached the bot");
    }
}

#[test]
fn foreign_host_buffers_no_body() {
    let bot = rejected("/take HTTP/1.1\r\nHost: bot.example", &[403]);
    assert_eq!(bot.arrivals().len(), 0, "it reached the bot");
}

#[test]
fn oversized_restart_is_rejected() {
    let head =
        format!("{RESTART_ROUTE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}");
    let bot = rejected(&head, &[400, 413]);
    assert_eq!(bot.arrivals().len(), 0, "it reached the bot");
}
