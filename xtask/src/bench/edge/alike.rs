//! Before anything is measured: the server behind either Worker answers as it does when asked directly, and both Workers
//! do the same to the headers of requests and answers, or they would not be compared at the same work.

use anyhow::{Context, Result, ensure};

use super::rows;
use super::side::Side;
use super::upstream::FIELDS_ROUTE;
use crate::bench::load::Connection;

/// A request with fields of every sort that ends at the edge, in several spellings, and some that pass.
const FIELDS: &str = "Connection: keep-alive, X-Mine, Host\r\nX-Mine: 1\r\nX_Mine: 2\r\nKeep-Alive: 5\r\n\
    Proxy-Authorization: p\r\nProxy_Connection: p\r\nTE: trailers\r\nTrailer: x-late\r\nUpgrade: h2c\r\n\
    X-ARS-Restart-Subject: ann\r\nx_ars_restart_subject: ann\r\nTraceState: a=b\r\nbaggage: a=b\r\nb3: 0\r\n\
    X_B3_TraceId: 1\r\nx-datadog-trace-id: 1\r\nuber-trace-id: 1\r\nX-Amzn-Trace-Id: 1\r\n\
    X-Yours: 3\r\nAuthorization: Bearer b\r\nLast-Event-ID: 7\r\nCookie: a=1\r\n";
/// Fields that show that the request came through at all.
const PASSING: [&str; 4] = ["x-yours: 3", "authorization: Bearer b", "last-event-id: 7", "cookie: a=1"];

/// Compares all three.
pub fn check(sides: &[Side; 3]) -> Result<()> {
    for row in &rows::ALL {
        let request = (row.ask)().bytes();
        let ask = |side: &Side| Connection::open(side.measured().address)?.ask(&request);
        let [direct, ours, theirs] = [ask(&sides[0])?, ask(&sides[1])?, ask(&sides[2])?];
        ensure!(direct.status == 200, "{}: answered {}", row.name, direct.status);
        ensure!(direct == ours, "{}: {} does not answer as asked directly", row.name, sides[1].name);
        ensure!(direct == theirs, "{}: {} does not answer as asked directly", row.name, sides[2].name);
    }
    same_fields(&sides[1], &sides[2])?;
    same_refusal(&sides[1], &sides[2])
}

/// What the server got, and what its answer's fields became.
fn same_fields(ours: &Side, theirs: &Side) -> Result<()> {
    let request = format!("GET {FIELDS_ROUTE} HTTP/1.1\r\nHost: localhost\r\n{FIELDS}\r\n");
    let ask = |side: &Side| {
        let (head, answer) = Connection::open(side.measured().address)?.ask_whole(request.as_bytes())?;
        anyhow::Ok((sorted(&head), sorted(&String::from_utf8(answer.body).context("fields")?)))
    };
    let [(our_answer, our_request), (their_answer, their_request)] = [ask(ours)?, ask(theirs)?];
    for field in PASSING {
        ensure!(
            our_request.iter().any(|line| line == field),
            "a field did not come through: {our_request:?}"
        );
    }
    ensure!(our_request == their_request, "the server got {our_request:?} and {their_request:?}");
    ensure!(our_answer == their_answer, "its answer became {our_answer:?} and {their_answer:?}");
    Ok(())
}

/// A request by the name of another machine.
fn same_refusal(ours: &Side, theirs: &Side) -> Result<()> {
    let request = b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n";
    for side in [ours, theirs] {
        let status = Connection::open(side.measured().address)?.ask(request)?.status;
        ensure!(status == 403, "{} answered a name of another machine with {status}", side.name);
    }
    Ok(())
}

/// The lines in one order, names in one case.
fn sorted(lines: &str) -> Vec<String> {
    let line = |line: &str| match line.split_once(':') {
        Some((name, value)) => format!("{}:{value}", name.to_ascii_lowercase()),
        None => line.to_owned(),
    };
    let mut lines: Vec<_> = lines.lines().filter(|line| !line.is_empty()).map(line).collect();
    lines.sort_unstable();
    lines
}
