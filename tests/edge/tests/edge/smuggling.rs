//! Fields that only the edge may set never reach the bot from outside, in any spelling.

use ars_raw_http::statuses;
use ars_tests_edge::{Arrival, Recorder, attempts, edge_before, send};

/// The value that is smuggled.
const CANARY: &str = "canary-5b1d0c";

/// Fields that only the edge may set, in a single spelling.
const KEPT: [&str; 11] = [
    "x-ars-restart-subject",
    "x-ars-edge-secret",
    "tracestate",
    "baggage",
    "b3",
    "x-b3-traceid",
    "x-b3-sampled",
    "x-datadog-trace-id",
    "uber-trace-id",
    "x-amzn-trace-id",
    "x-cloud-trace-context",
];
/// Fields that belong to a connection.
const HOP_BY_HOP: [&str; 6] = [
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];
/// Bytes in a head that no server has to accept.
const HUGE: usize = 4 << 20;

#[test]
fn reserved_fields_never_reach_the_bot() {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    let mut wrong = Vec::new();
    let mut arrived = 0;
    for attempt in attempts(CANARY) {
        let before = bot.arrivals().len();
        let answers = statuses(
            &send(edge.client.address(), &attempt.bytes)
                .read_to_close()
                .unwrap(),
        );
        let arrivals = bot.arrivals().split_off(before);
        arrived += arrivals.len();
        let mut problems: Vec<_> = arrivals.iter().filter_map(problem).collect();
        if arrivals.len() > answers.len() {
            problems.push(format!(
                "{} arrived, {} were answered",
                arrivals.len(),
                answers.len()
            ));
        }
        if !problems.is_empty() {
            wrong.push(format!("{}: {}", attempt.name, problems.join(", ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} attempts:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        arrived > attempts(CANARY).len() / 2,
        "only {arrived} arrived, so little was shown"
    );
}

#[test]
fn fields_of_the_callers_connection_end_at_the_edge() {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    let connection = send(
        edge.client.address(),
        b"GET /x?q=%20a HTTP/1.1\r\nHost: localhost\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nX_Mine: 2\r\n\
          Proxy-Authorization: p\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\n\
          X-Yours: 3\r\nAuthorization: Bearer b\r\nLast-Event-ID: 7\r\n\r\n",
    );
    assert_eq!(statuses(&connection.read_to_close().unwrap()), [200]);
    let arrivals = bot.arrivals();
    let [arrival] = arrivals.as_slice() else {
        panic!("{arrivals:?}")
    };
    assert_eq!(arrival.target, "/x?q=%20a");
    let fields = fields(arrival);
    let value = |name: &str| {
        fields
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(
        (
            value("x-yours"),
            value("authorization"),
            value("last-event-id")
        ),
        (Some("3"), Some("Bearer b"), Some("7"))
    );
    assert_eq!(value("x-mine"), None, "{}", arrival.text());
    for name in HOP_BY_HOP {
        assert_eq!(value(name), None, "{}", arrival.text());
    }
}

#[test]
fn each_request_has_its_own_trace() {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    for _ in 0..2 {
        let request = b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let answer = send(edge.client.address(), request)
            .read_to_close()
            .unwrap();
        assert_eq!(statuses(&answer), [200]);
    }
    let traces: Vec<_> = bot.arrivals().iter().map(trace).collect();
    assert!(
        traces[0].is_some() && traces[1].is_some() && traces[0] != traces[1],
        "{traces:?}"
    );
}

#[test]
fn oversized_head_is_rejected() {
    let bot = Recorder::start();
    let edge = edge_before(&bot.url());
    let huge = format!(
        "GET /huge HTTP/1.1\r\nHost: localhost\r\nX-Huge: {}\r\n\r\n",
        "x".repeat(HUGE)
    );
    let rejected = statuses(&send(edge.client.address(), huge).read_to_close().unwrap());
    assert!(
        rejected.iter().all(|status| (400..500).contains(status)),
        "{rejected:?}"
    );
    assert_eq!(bot.arrivals().len(), 0);
    let next = send(
        edge.client.address(),
        b"GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    assert_eq!(statuses(&next.read_to_close().unwrap()), [200]);
}

/// Returns an arrived request's fault.
fn problem(arrival: &Arrival) -> Option<String> {
    let kept = |name: &str| KEPT.contains(&name);
    // The canary as another field's value, or in the target, is harmless.
    let smuggled = |(name, value): &(String, String)| {
        kept(name) || (value.contains(CANARY) && name != "x-other")
    };
    if let Some((name, _)) = fields(arrival).iter().find(|field| smuggled(field)) {
        return Some(format!("{name} arrived"));
    }
    if arrival.trailers.iter().any(|line| line.contains(CANARY)) {
        return Some("a trailer arrived".into());
    }
    trace(arrival)
        .is_none()
        .then(|| "not exactly one trace of the edge's own arrived".into())
}

/// Returns the fields as a lenient server would read them.
/// It accepts any line end. Names are without blanks, in lower case and with hyphens for underscores.
fn fields(arrival: &Arrival) -> Vec<(String, String)> {
    let text = arrival.text();
    let lines = text
        .split(['\r', '\n', '\0'])
        .skip(1)
        .filter(|line| !line.trim().is_empty());
    let field = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (
            name.trim().to_ascii_lowercase().replace('_', "-"),
            value.trim().to_owned(),
        )
    };
    lines.map(field).collect()
}

/// Returns the trace context if there is exactly one and it is well formed.
fn trace(arrival: &Arrival) -> Option<String> {
    let fields = fields(arrival);
    let mut found = fields
        .iter()
        .filter(|(name, _)| name == "traceparent")
        .map(|(_, value)| value);
    let (value, None) = (found.next()?, found.next()) else {
        return None;
    };
    let parts: Vec<_> = value.split('-').collect();
    let is_hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    matches!(parts.as_slice(), ["00", trace, span, "01"] if is_hex(trace, 32) && is_hex(span, 16))
        .then(|| value.clone())
}
