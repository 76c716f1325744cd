//! The headers that the edge strips from requests and answers, and the trace that it starts.
//!
//! Names are compared without case, and underscores equal hyphens, as some servers read them. The runtime has already
//! joined repeated headers and rejected obsolete line folds.

use ars_wire::admin::{EDGE_SECRET_HEADER, SUBJECT_HEADER};

use crate::environment::PEER_HEADER;

/// Headers for a single connection, not the request (RFC 9110 section 7.6.1).
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The caller's trace context: the edge starts a new trace.
const TRACE: [&str; 9] = [
    "traceparent",
    "tracestate",
    "tracecontext",
    "baggage",
    "b3",
    "uber-trace-id",
    "x-amzn-trace-id",
    "x-cloud-trace-context",
    "x-ot-span-context",
];
/// Prefixes for further trace context.
const TRACE_PREFIXES: [&str; 4] = ["x-b3-", "x-datadog-", "ot-tracer-", "uberctx-"];
/// Headers that pass even if `Connection` lists them. Without a host the recipient would differ,
/// and without the client's address the bot would count failed credentials by the edge's address.
const NEVER_LISTED: [&str; 3] = ["host", "content-length", PEER_HEADER.1];

/// Random bytes for a trace: 16 for the trace id, 8 for the span id.
pub const TRACE_BYTES: usize = 24;

/// Returns the request headers that do not pass; `connection` is the value of `Connection`.
pub fn stripped<'n>(
    names: impl IntoIterator<Item = &'n str>,
    connection: Option<&str>,
) -> Vec<&'n str> {
    let listed = listed(connection);
    let is_stripped = |name: &str| {
        let name = canonical(name);
        is_kept_from_the_bot(&name) || is_of_connection(&name, &listed)
    };
    names.into_iter().filter(|name| is_stripped(name)).collect()
}

/// Returns the response headers that do not pass: those for the connection to the bot.
pub fn stripped_of_answer<'n>(
    names: impl IntoIterator<Item = &'n str>,
    connection: Option<&str>,
) -> Vec<&'n str> {
    let listed = listed(connection);
    names
        .into_iter()
        .filter(|name| is_of_connection(&canonical(name), &listed))
        .collect()
}

/// Returns a new trace's `traceparent` (W3C Trace Context, version 00, sampled).
pub fn traceparent(mut random: [u8; TRACE_BYTES]) -> String {
    // An id with zeroes only is invalid.
    random[15] |= 1;
    random[23] |= 1;
    format!(
        "00-{}-{}-01",
        hex::encode(&random[..16]),
        hex::encode(&random[16..])
    )
}

fn is_kept_from_the_bot(canonical: &str) -> bool {
    canonical == SUBJECT_HEADER
        || canonical == EDGE_SECRET_HEADER
        || TRACE.contains(&canonical)
        || TRACE_PREFIXES
            .iter()
            .any(|prefix| canonical.starts_with(prefix))
}

fn is_of_connection(canonical: &str, listed: &[String]) -> bool {
    let is_listed =
        || listed.iter().any(|name| name == canonical) && !NEVER_LISTED.contains(&canonical);
    HOP_BY_HOP.contains(&canonical) || is_listed()
}

/// Returns the names that a `Connection` header lists.
fn listed(connection: Option<&str>) -> Vec<String> {
    connection
        .unwrap_or_default()
        .split(',')
        .map(canonical)
        .collect()
}

fn canonical(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_and_trace_are_stripped_in_every_spelling() {
        for name in [
            "x-ars-restart-subject",
            "X-ARS-Restart-Subject",
            "x_ars_restart_subject",
            "X_Ars-restart_SUBJECT",
            "x-ars-edge-secret",
            "X_Ars_Edge-SECRET",
            "traceparent",
            "TraceParent",
            "tracestate",
            "baggage",
            "b3",
            "B3",
            "X-B3-TraceId",
            "x_b3_sampled",
            "x-datadog-trace-id",
            "uber-trace-id",
            "x-amzn-trace-id",
        ] {
            assert_eq!(stripped([name], None), [name], "{name}");
        }
    }

    #[test]
    fn what_belongs_to_a_connection_ends_with_it() {
        for name in HOP_BY_HOP {
            assert_eq!(stripped([name], None), [name]);
        }
        let names = [
            "x-mine",
            "x-yours",
            "authorization",
            "host",
            "content-length",
            "cf-connecting-ip",
        ];
        let listed = stripped(
            names,
            Some("close, X-Mine ,host,Content-Length,CF-Connecting-IP"),
        );
        assert_eq!(listed, ["x-mine"]);
    }

    #[test]
    fn answer_loses_connection_headers_only() {
        for name in HOP_BY_HOP {
            assert_eq!(stripped_of_answer([name], None), [name]);
        }
        let names = [
            "X_Mine",
            "set-cookie",
            "content-length",
            "www-authenticate",
            "traceparent",
            "retry-after",
        ];
        assert_eq!(
            stripped_of_answer(names, Some("x-mine, Content-Length")),
            ["X_Mine"]
        );
        assert_eq!(stripped_of_answer(names, None), Vec::<&str>::new());
    }

    #[test]
    fn everything_else_passes() {
        let names = [
            "authorization",
            "content-type",
            "content-length",
            "accept",
            "last-event-id",
            "mcp-session-id",
            "x-ars-restart",
            "x-ars-restart-subject-2",
            "b33",
            "cookie",
            "host",
            "cf-connecting-ip",
        ];
        assert_eq!(stripped(names, None), Vec::<&str>::new());
        assert_eq!(stripped(names, Some("")), Vec::<&str>::new());
    }

    #[test]
    fn new_trace_is_well_formed() {
        let mut random = [0xab; TRACE_BYTES];
        random[0] = 1;
        assert_eq!(
            traceparent(random),
            "00-01abababababababababababababab".to_owned() + "ab-abababababababab-01"
        );
        assert_eq!(
            traceparent([0; TRACE_BYTES]),
            "00-00000000000000000000000000000001-0000000000000001-01"
        );
    }
}
