//! Malformed and hostile requests that try to pass a field to the bot which only the edge may set.
//!
//! `CANARY` is the smuggled value, which must never arrive as a field. All request a route that the
//! bot serves only to the edge and to callers that the edge has authenticated.

use ars_wire::admin::AUTHORIZE_ROUTE;

/// An attempt: name and bytes.
pub struct Attempt {
    /// The attempt's name.
    pub name: String,
    /// The raw request bytes.
    pub bytes: Vec<u8>,
}

/// Fields the bot must never get from outside, in every spelling that some server takes for the same.
const NAMES: [&str; 22] = [
    "x-ars-edge-secret",
    "X_Ars_Edge-Secret",
    "x-ars-restart-subject",
    "X-ARS-RESTART-SUBJECT",
    "X-Ars-Restart-Subject",
    "x_ars_restart_subject",
    "X_ARS-Restart_subject",
    "traceparent",
    "TraceParent",
    "TRACEPARENT",
    "tracestate",
    "TraceState",
    "baggage",
    "b3",
    "B3",
    "x-b3-traceid",
    "X_B3_TraceId",
    "X-B3-Sampled",
    "x-datadog-trace-id",
    "uber-trace-id",
    "X-Amzn-Trace-Id",
    "x_cloud_trace_context",
];

/// Spellings for a field with the canary as value; `NAME` is the field's name.
const LINES: [(&str, &str); 16] = [
    ("plain", "NAME: CANARY\r\n"),
    ("without a blank", "NAME:CANARY\r\n"),
    ("twice", "NAME: CANARY\r\nNAME: CANARY\r\n"),
    ("a blank before the colon", "NAME : CANARY\r\n"),
    ("a tab before the colon", "NAME\t: CANARY\r\n"),
    ("a blank before the name", " NAME: CANARY\r\n"),
    ("a fold before the value", "NAME:\r\n CANARY\r\n"),
    (
        "folded into another field",
        "X-Other: a\r\n NAME: CANARY\r\n",
    ),
    ("folded by a tab", "X-Other: a\r\n\tNAME: CANARY\r\n"),
    ("after a bare line feed", "X-Other: a\nNAME: CANARY\r\n"),
    (
        "after a bare carriage return",
        "X-Other: a\rNAME: CANARY\r\n",
    ),
    ("after a zero byte", "X-Other: a\0NAME: CANARY\r\n"),
    ("with a zero byte in its name", "NAME\0: CANARY\r\n"),
    (
        "listed in Connection",
        "Connection: NAME\r\nNAME: CANARY\r\n",
    ),
    (
        "listed in Connection after another",
        "Connection: x-other, NAME\r\nX-Other: a\r\nNAME: CANARY\r\n",
    ),
    ("after an empty name", ": a\r\nNAME: CANARY\r\n"),
];

/// Whole requests; `NAME` is a field to smuggle, `ASK` a request line without the version.
const REQUESTS: [(&str, &str); 16] = [
    (
        "absolute form",
        "POST http://other.exampleTARGET HTTP/1.1\r\nHost: localhost\r\nNAME: CANARY\r\n\r\n",
    ),
    ("old HTTP", "ASK HTTP/1.0\r\nNAME: CANARY\r\n\r\n"),
    (
        "in the target",
        "ASK?\rNAME:CANARY HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    (
        "in the target, encoded",
        "ASK?%0d%0aNAME:CANARY HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    (
        "in the host",
        "ASK HTTP/1.1\r\nHost: localhost\rNAME: CANARY\r\n\r\n",
    ),
    (
        "in the method",
        "POST\tNAME:CANARY TARGET HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    (
        "bare line feeds",
        "ASK HTTP/1.1\nHost: localhost\nNAME: CANARY\n\n",
    ),
    (
        "in a trailer",
        "ASK HTTP/1.1\r\nHost: localhost\r\nTrailer: NAME\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\nx\r\n0\r\nNAME: CANARY\r\n\r\n",
    ),
    (
        "in a chunk's extension",
        "ASK HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
         1;NAME: CANARY\r\nx\r\n0\r\n\r\n",
    ),
    (
        "length and chunks",
        "ASK HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\
         0\r\n\r\nASK HTTP/1.1\r\nHost: localhost\r\nNAME: CANARY\r\n\r\n",
    ),
    (
        "chunks and length",
        "ASK HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 60\r\n\r\n\
         0\r\n\r\nASK HTTP/1.1\r\nHost: localhost\r\nNAME: CANARY\r\n\r\n",
    ),
    (
        "two lengths",
        "ASK HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 56\r\n\r\n\
         ASK HTTP/1.1\r\nHost: localhost\r\nNAME: CANARY\r\n\r\n",
    ),
    (
        "a signed length",
        "ASK HTTP/1.1\r\nHost: localhost\r\nContent-Length: +0\r\n\r\n\
         ASK HTTP/1.1\r\nHost: localhost\r\nNAME: CANARY\r\n\r\n",
    ),
    (
        "chunks under a disguise",
        "ASK HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding:\x0bchunked\r\n\r\n\
         0\r\n\r\nASK HTTP/1.1\r\nHost: localhost\r\nNAME: CANARY\r\n\r\n",
    ),
    (
        "chunks and something else",
        "ASK HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n\
         0\r\n\r\nASK HTTP/1.1\r\nHost: localhost\r\nNAME: CANARY\r\n\r\n",
    ),
    (
        "an upgrade",
        "GET TARGET HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, NAME\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nNAME: CANARY\r\n\r\n",
    ),
];

/// Every attempt to smuggle this value.
pub fn attempts(value: &str) -> Vec<Attempt> {
    let lines = NAMES.iter().flat_map(|field| {
        LINES.iter().map(move |(way, line)| {
            attempt(
                way,
                field,
                value,
                &format!("ASK HTTP/1.1\r\nHost: localhost\r\n{line}\r\n"),
            )
        })
    });
    let requests = [NAMES[0], NAMES[3], NAMES[5]]
        .into_iter()
        .flat_map(|field| {
            REQUESTS
                .iter()
                .map(move |(way, request)| attempt(way, field, value, request))
        });
    lines.chain(requests).collect()
}

fn attempt(way: &str, field: &str, value: &str, request: &str) -> Attempt {
    let text = request
        .replace("ASK", &format!("POST {AUTHORIZE_ROUTE}"))
        .replace("TARGET", AUTHORIZE_ROUTE);
    let text = text.replace("NAME", field).replace("CANARY", value);
    Attempt {
        name: format!("{field}, {way}"),
        bytes: text.into_bytes(),
    }
}
