//! Tests what responses mean.

use proptest::prelude::*;

use super::*;

/// 10 seconds after the epoch.
const NOW: UnixMillis = 10_000;

fn answer(status: u16, message: &str) -> Answer<'_> {
    Answer {
        status,
        limits: Limits::default(),
        location: None,
        message,
    }
}

fn limits(text: &str) -> Limits {
    let pairs: Vec<(&str, &str)> = text
        .split(' ')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    Limits::parse(|name| {
        pairs
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    })
}

fn sent(sent: u32) -> Attempts {
    Attempts {
        sent,
        ..Attempts::default()
    }
}

#[test]
fn status_and_message_decide() {
    for (status, message, expected) in [
        (201, "", Meaning::Success),
        (401, "Bad credentials", Meaning::BadCredentials),
        (
            403,
            "Resource not accessible by integration",
            Meaning::PermissionMissing,
        ),
        (
            403,
            "Repository was archived so is read-only.",
            Meaning::Archived,
        ),
        (403, "Protected branch update failed", Meaning::Protected),
        (403, "Repository access blocked", Meaning::Gone),
        (
            403,
            "You have exceeded a secondary rate limit",
            Meaning::SecondaryLimited { wait_ms: 60_000 },
        ),
        (
            403,
            "API rate limit exceeded for installation",
            Meaning::RateLimited { wait_ms: None },
        ),
        (
            429,
            "Too many requests",
            Meaning::SecondaryLimited { wait_ms: 60_000 },
        ),
        (404, "Not Found", Meaning::NotFound),
        (
            406,
            "Sorry, the diff exceeded the maximum number of lines (20000): diff ",
            Meaning::DiffTooLarge,
        ),
        (406, "Unsupported 'Accept' header", Meaning::Invalid),
        (410, "Issues are disabled for this repo", Meaning::Gone),
        (
            422,
            "Validation Failed: A pull request already exists for acme:x.",
            Meaning::AlreadyExists,
        ),
        (
            422,
            "Validation Failed: Draft pull requests are not supported in this repository.",
            Meaning::NoDrafts,
        ),
        (
            422,
            "Unprocessable Entity: Line could not be resolved",
            Meaning::AnchorRejected,
        ),
        (
            422,
            "pull_request_review_thread.line must be part of the diff",
            Meaning::AnchorRejected,
        ),
        (
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
            Meaning::OutsideInstallation,
        ),
        (422, "Validation Failed", Meaning::Invalid),
        (409, "Git Repository is empty.", Meaning::Invalid),
        (502, "", Meaning::Unavailable),
        (301, "", Meaning::Unknown),
        (418, "", Meaning::Unknown),
    ] {
        assert_eq!(
            classify(&answer(status, message), NOW),
            expected,
            "{status} {message}"
        );
    }
    let moved = Answer {
        location: Some("https://api.github.com/repositories/1"),
        ..answer(301, "Moved")
    };
    assert_eq!(
        classify(&moved, NOW),
        Meaning::Moved {
            to: "https://api.github.com/repositories/1".into()
        }
    );
}

#[test]
fn headers_unmask_a_limit() {
    for (status, headers, expected) in [
        (
            403,
            "x-ratelimit-remaining=0 x-ratelimit-reset=70",
            Meaning::RateLimited {
                wait_ms: Some(60_000),
            },
        ),
        (
            429,
            "x-ratelimit-remaining=0 x-ratelimit-reset=5",
            Meaning::RateLimited { wait_ms: Some(0) },
        ),
        (
            403,
            "x-ratelimit-remaining=0 x-ratelimit-reset=x",
            Meaning::RateLimited { wait_ms: None },
        ),
        (
            403,
            "retry-after=7 x-ratelimit-remaining=0",
            Meaning::SecondaryLimited { wait_ms: 7_000 },
        ),
        (403, "x-ratelimit-remaining=12", Meaning::PermissionMissing),
        (403, "retry-after=-1", Meaning::PermissionMissing),
    ] {
        let found = classify(
            &Answer {
                limits: limits(headers),
                ..answer(status, "Forbidden")
            },
            NOW,
        );
        assert_eq!(found, expected, "{headers}");
    }
}

#[test]
fn only_passing_faults_are_retried() {
    let limited = |wait_ms| Meaning::RateLimited { wait_ms };
    for (meaning, attempts, expected) in [
        (Meaning::BadCredentials, 1, Retry::WithFreshToken),
        (Meaning::BadCredentials, 3, Retry::WithFreshToken),
        (Meaning::BadCredentials, 4, Retry::No),
        (limited(Some(300_000)), 1, Retry::After(300_000)),
        (limited(Some(300_001)), 1, Retry::No),
        (limited(None), 1, Retry::No),
        (
            Meaning::SecondaryLimited { wait_ms: 7_000 },
            2,
            Retry::After(14_500),
        ),
        (Meaning::Unavailable, 1, Retry::After(500)),
        (Meaning::Unavailable, 3, Retry::After(2_000)),
        (Meaning::Unavailable, 4, Retry::No),
        (Meaning::NotFound, 1, Retry::No),
        (Meaning::PermissionMissing, 1, Retry::No),
        (Meaning::Moved { to: String::new() }, 1, Retry::No),
    ] {
        assert_eq!(
            retry(&meaning, sent(attempts), 0),
            expected,
            "{meaning:?} {attempts}"
        );
    }
    assert_eq!(
        retry(&Meaning::Unavailable, sent(1), 999),
        Retry::After(1_499)
    );
    let renewed = Attempts {
        has_fresh_token: true,
        ..sent(2)
    };
    assert_eq!(retry(&Meaning::BadCredentials, renewed, 0), Retry::No);
    assert_eq!(
        retry(&Meaning::Unavailable, renewed, 0),
        Retry::After(1_000)
    );
}

proptest! {
    /// A stated wait is never undercut, and no wait exceeds the bound.
    #[test]
    fn waits_are_bounded(
        seconds in 0i64..=i64::MAX, reset in 0i64..=i64::MAX, attempts in 0u32..9, jitter: u16, status in 100u16..600
    ) {
        let limits = Limits { retry_after_s: Some(seconds), remaining: Some(0), reset_s: Some(reset) };
        for limits in [limits, Limits { retry_after_s: None, ..limits }] {
            let meaning = classify(&Answer { limits, ..answer(status, "") }, NOW);
            if let Retry::After(wait) = retry(&meaning, sent(attempts), jitter) {
                prop_assert!((0..=MAX_WAIT_MS).contains(&wait));
                if let Meaning::SecondaryLimited { wait_ms } = meaning {
                    prop_assert!(wait >= wait_ms);
                }
            }
        }
    }
}
