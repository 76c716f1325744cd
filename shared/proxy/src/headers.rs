//! Which headers of a request from outside never reach the bot, and the trace it gets instead; which of its answer never
//! reach the caller (resident supplement 13, bot supplement sections 20.2 and 24).
//!
//! A name counts in every spelling: another case, and underscores for hyphens, which some servers read as the same.
//! Repeated headers and obsolete line folds are gone before a Worker sees a request: the runtime joins or refuses them.

use ars_wire::admin::SUBJECT_HEADER;

/// What belongs to one connection, not to the request (RFC 9110 section 7.6.1).
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
/// Trace context of whoever calls: the edge starts a trace of its own.
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
/// What further names of trace context begin with.
const TRACE_PREFIXES: [&str; 4] = ["x-b3-", "x-datadog-", "ot-tracer-", "uberctx-"];
/// What a message cannot do without, whatever its `Connection` lists: dropping the host would change whom it is for.
const NEVER_LISTED: [&str; 2] = ["host", "content-length"];

/// Random bytes that a trace takes: 16 of the trace's id, 8 of the span's.
pub const TRACE_BYTES: usize = 24;

/// Those of a request's `names` that do not pass. `connection` is the `Connection` header's value.
pub fn stripped<'n>(names: impl IntoIterator<Item = &'n str>, connection: Option<&str>) -> Vec<&'n str> {
    let listed = listed(connection);
    let is_stripped = |name: &str| {
        let name = canonical(name);
        is_kept_from_the_bot(&name) || is_of_connection(&name, &listed)
    };
    names.into_iter().filter(|name| is_stripped(name)).collect()
}

/// Those of an answer's `names` that end at the edge: what belongs to the connection to the bot, which is another one.
pub fn stripped_of_answer<'n>(
    names: impl IntoIterator<Item = &'n str>,
    connection: Option<&str>,
) -> Vec<&'n str> {
    let listed = listed(connection);
    names.into_iter().filter(|name| is_of_connection(&canonical(name), &listed)).collect()
}

/// The `traceparent` of a trace that begins here (W3C Trace Context, version 00, sampled).
pub fn traceparent(mut random: [u8; TRACE_BYTES]) -> String {
    // An id of zeroes alone means none.
    random[15] |= 1;
    random[23] |= 1;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("00-{}-{}-01", hex(&random[..16]), hex(&random[16..]))
}

fn is_kept_from_the_bot(canonical: &str) -> bool {
    canonical == SUBJECT_HEADER
        || TRACE.contains(&canonical)
        || TRACE_PREFIXES.iter().any(|prefix| canonical.starts_with(prefix))
}

fn is_of_connection(canonical: &str, listed: &[String]) -> bool {
    let is_listed = || listed.iter().any(|name| name == canonical) && !NEVER_LISTED.contains(&canonical);
    HOP_BY_HOP.contains(&canonical) || is_listed()
}

/// What a `Connection` header lists.
fn listed(connection: Option<&str>) -> Vec<String> {
    connection.unwrap_or_default().split(',').map(canonical).collect()
}

fn canonical(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_and_any_trace_are_stripped_in_every_spelling() {
        for name in [
            "x-ars-restart-subject",
            "X-ARS-Restart-Subject",
            "x_ars_restart_subject",
            "X_Ars-restart_SUBJECT",
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
        let names = ["x-mine", "x-yours", "authorization", "host", "content-length"];
        let listed = stripped(names, Some("close, X-Mine ,host,Content-Length"));
        assert_eq!(listed, ["x-mine"]);
    }

    #[test]
    fn of_an_answer_ends_what_belongs_to_a_connection_and_nothing_else() {
        for name in HOP_BY_HOP {
            assert_eq!(stripped_of_answer([name], None), [name]);
        }
        let names =
            ["X_Mine", "set-cookie", "content-length", "www-authenticate", "traceparent", "retry-after"];
        assert_eq!(stripped_of_answer(names, Some("x-mine, Content-Length")), ["X_Mine"]);
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
    fn a_trace_of_ones_own_is_well_formed_whatever_the_bytes() {
        let mut random = [0xab; TRACE_BYTES];
        random[0] = 1;
        assert_eq!(
            traceparent(random),
            "00-01abababababababababababababab".to_owned() + "ab-abababababababab-01"
        );
        assert_eq!(traceparent([0; TRACE_BYTES]), "00-00000000000000000000000000000001-0000000000000001-01");
    }
}
