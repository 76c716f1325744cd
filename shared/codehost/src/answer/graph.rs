//! Classifies responses from the GraphQL API, which reports most errors with status 200.

use ars_types::UnixMillis;

use super::classify::{Answer, Meaning, classify, secondary};

/// The first error in a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphError<'a> {
    /// The error's `type` field.
    pub kind: Option<&'a str>,
    /// The error's `message` field.
    pub message: &'a str,
    /// The operation is a mutation and the body has data beside the error, so a part may have happened.
    pub has_written: bool,
}

/// Classifies a response from the GraphQL API.
///
/// A limit on a mutation that may have happened in part is [`Meaning::Unavailable`], so the request
/// is sent again only if that is harmless. Any other request waits until the limit ends.
pub fn classify_graph(
    answer: &Answer<'_>,
    error: Option<&GraphError<'_>>,
    now: UnixMillis,
) -> Meaning {
    let (
        200..=299,
        Some(GraphError {
            kind,
            message,
            has_written,
        }),
    ) = (answer.status, error)
    else {
        return classify(answer, now);
    };
    let message = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let is_primary = *kind == Some("RATE_LIMITED") || has(&["rate limit exceeded"]);
    let meaning = if has(&["secondary rate limit", "abuse detection"])
        || (is_primary && answer.limits.retry_after_s.is_some())
    {
        secondary(answer)
    } else if is_primary {
        Meaning::RateLimited {
            wait_ms: answer.limits.until_reset_ms(now),
        }
    } else {
        return match kind {
            Some("NOT_FOUND") => Meaning::NotFound,
            Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => Meaning::PermissionMissing,
            Some("SERVICE_UNAVAILABLE" | "INTERNAL") => Meaning::Unavailable,
            // Without a type: the operation took too long, or the host failed.
            None if has(&["something went wrong while executing", "timed out"]) => {
                Meaning::Unavailable
            }
            _ => Meaning::Invalid,
        };
    };
    if *has_written {
        Meaning::Unavailable
    } else {
        meaning
    }
}

#[cfg(test)]
mod tests {
    use super::{super::headers::Limits, *};

    /// 10 seconds after the epoch.
    const NOW: UnixMillis = 10_000;

    fn meaning(
        headers: &[(&str, &str)],
        kind: Option<&str>,
        message: &str,
        has_written: bool,
    ) -> Meaning {
        let limits = Limits::parse(|name| {
            headers
                .iter()
                .find(|pair| pair.0 == name)
                .map(|pair| pair.1)
        });
        let answer = Answer {
            status: 200,
            limits,
            location: None,
            message: "",
        };
        classify_graph(
            &answer,
            Some(&GraphError {
                kind,
                message,
                has_written,
            }),
            NOW,
        )
    }

    #[test]
    fn error_in_a_success_has_its_meaning() {
        let limited = |wait_ms| Meaning::RateLimited { wait_ms };
        let slowed = |wait_ms| Meaning::SecondaryLimited { wait_ms };
        let reset = ("x-ratelimit-reset", "70");
        let secondary = "You have exceeded a secondary rate limit";
        for (headers, kind, message, expected) in [
            (
                &[reset][..],
                Some("RATE_LIMITED"),
                "API rate limit exceeded",
                limited(Some(60_000)),
            ),
            (&[], Some("RATE_LIMITED"), "", limited(None)),
            (
                &[reset],
                None,
                "API rate limit exceeded for installation",
                limited(Some(60_000)),
            ),
            (
                &[("retry-after", "7")],
                Some("RATE_LIMITED"),
                "",
                slowed(7_000),
            ),
            (&[("retry-after", "7")], None, secondary, slowed(7_000)),
            (&[], Some("FORBIDDEN"), secondary, slowed(60_000)),
            (
                &[],
                Some("NOT_FOUND"),
                "Could not resolve to a node",
                Meaning::NotFound,
            ),
            (
                &[],
                Some("FORBIDDEN"),
                "Resource not accessible by integration",
                Meaning::PermissionMissing,
            ),
            (&[], Some("SERVICE_UNAVAILABLE"), "", Meaning::Unavailable),
            (
                &[],
                None,
                "Something went wrong while executing your query.",
                Meaning::Unavailable,
            ),
            (
                &[],
                Some("undefinedField"),
                "Field 'x' doesn't exist",
                Meaning::Invalid,
            ),
        ] {
            assert_eq!(
                meaning(headers, kind, message, false),
                expected,
                "{kind:?} {message}"
            );
        }
    }

    #[test]
    fn limit_behind_a_write_has_an_unknown_effect() {
        assert_eq!(
            meaning(&[], Some("RATE_LIMITED"), "", true),
            Meaning::Unavailable
        );
        assert_eq!(meaning(&[], Some("NOT_FOUND"), "", true), Meaning::NotFound);
    }

    #[test]
    fn answer_without_an_error_keeps_its_status() {
        let answer = |status| Answer {
            status,
            limits: Limits::default(),
            location: None,
            message: "",
        };
        let error = GraphError {
            kind: Some("NOT_FOUND"),
            message: "",
            has_written: false,
        };
        assert_eq!(classify_graph(&answer(200), None, NOW), Meaning::Success);
        assert_eq!(
            classify_graph(&answer(403), Some(&error), NOW),
            Meaning::PermissionMissing
        );
    }
}
