//! Classifies what a response means.
//!
//! The host uses the same status for several meanings: 403 is a missing permission, a limit, or an
//! archived repository; 404 is an unknown item or an item that the app may not see. The check order
//! decides.

use ars_types::UnixMillis;

use super::headers::Limits;

/// Wait for a secondary limit without a header: the host requires at least a minute.
const SECONDARY_WAIT_MS: i64 = 60_000;
/// Base of the backoff for responses without a limit.
const BACKOFF_MS: i64 = 1_000;
/// Maximum wait before an attempt of a request to the host. With a longer wait the request fails,
/// and a person has to repeat it.
const MAX_WAIT_MS: i64 = 300_000;
/// Maximum attempts per request to the host.
const MAX_HOST_ATTEMPTS: u32 = 4;

/// A response, reduced to the parts that give its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The HTTP status code.
    pub status: u16,
    /// Limits that the headers state.
    pub limits: Limits,
    /// Value of the `location` header.
    pub location: Option<&'a str>,
    /// The body's `message`, with those in `errors`.
    pub message: &'a str,
}

/// What a response means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// The request succeeded.
    Success,
    /// The token is not valid (any more), so a fresh token is minted, once.
    BadCredentials,
    /// The primary limit is used up; `None` without a time.
    RateLimited {
        /// Time until the reset.
        wait_ms: Option<i64>,
    },
    /// The host slows this caller down.
    SecondaryLimited {
        /// Time that the host requires.
        wait_ms: i64,
    },
    /// The app has no permission for this action.
    PermissionMissing,
    /// The repository is read-only.
    Archived,
    /// The branch is protected.
    Protected,
    /// The repository has another name. The request is sent there after that repository's gate was
    /// checked again.
    Moved {
        /// The address to send the request to.
        to: String,
    },
    /// There is no such item, or the app may not see it. The two are not distinguished for a requester.
    NotFound,
    /// The item is gone, or the feature is off.
    Gone,
    /// A pull request for the branch exists.
    AlreadyExists,
    /// The repository has no draft pull requests.
    NoDrafts,
    /// The diff has more files or lines than the host shows in a single response. It lists the
    /// files instead.
    DiffTooLarge,
    /// A comment's line is not in the diff.
    AnchorRejected,
    /// The repository does not belong to the installation: the response to a mint.
    OutsideInstallation,
    /// The request is invalid.
    Invalid,
    /// The host failed to answer.
    Unavailable,
    /// A status that the service does not know.
    Unknown,
}

/// Whether a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The request is not sent again.
    No,
    /// After this time. A request with effects is preceded by a search for that effect.
    After(i64),
    /// At once, with a fresh token.
    WithFreshToken,
}

/// How often a request was attempted so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attempts {
    /// Those that were sent.
    pub sent: u32,
    /// An attempt was answered with 401, and the next had a fresh token.
    pub has_fresh_token: bool,
}

/// Classifies a response by status and message.
pub fn classify(answer: &Answer<'_>, now: UnixMillis) -> Meaning {
    let message = answer.message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match answer.status {
        200..=299 => Meaning::Success,
        301 | 302 | 307 | 308 => match answer.location {
            Some(to) => Meaning::Moved { to: to.to_owned() },
            None => Meaning::Unknown,
        },
        401 => Meaning::BadCredentials,
        403 | 429 => forbidden(answer, now, &has),
        404 => Meaning::NotFound,
        406 if has(&["diff exceeded the maximum"]) => Meaning::DiffTooLarge,
        410 | 451 => Meaning::Gone,
        422 if has(&["already exists"]) => Meaning::AlreadyExists,
        422 if has(&["draft pull requests are not supported"]) => Meaning::NoDrafts,
        422 if has(&[
            "pull_request_review_thread",
            "must be part of the diff",
            "could not be resolved",
            "diff hunk",
        ]) =>
        {
            Meaning::AnchorRejected
        }
        422 if has(&[
            "not accessible to the parent installation",
            "does not exist or is not accessible",
        ]) =>
        {
            Meaning::OutsideInstallation
        }
        422 if has(&["protected branch", "repository rule violations"]) => Meaning::Protected,
        400 | 405 | 406 | 409 | 413 | 415 | 422 => Meaning::Invalid,
        500..=599 | 408 => Meaning::Unavailable,
        _ => Meaning::Unknown,
    }
}

fn forbidden(answer: &Answer<'_>, now: UnixMillis, has: &impl Fn(&[&str]) -> bool) -> Meaning {
    if has(&["secondary rate limit", "abuse detection"]) || answer.limits.retry_after_s.is_some() {
        return secondary(answer);
    }
    if answer.limits.remaining == Some(0) || has(&["rate limit exceeded"]) {
        return Meaning::RateLimited {
            wait_ms: answer.limits.until_reset_ms(now),
        };
    }
    if answer.status == 429 {
        return secondary(answer);
    }
    if has(&["archived"]) {
        return Meaning::Archived;
    }
    if has(&["protected branch"]) {
        return Meaning::Protected;
    }
    if has(&["repository access blocked"]) {
        return Meaning::Gone;
    }
    Meaning::PermissionMissing
}

pub(super) fn secondary(answer: &Answer<'_>) -> Meaning {
    Meaning::SecondaryLimited {
        wait_ms: answer.limits.retry_after_ms().unwrap_or(SECONDARY_WAIT_MS),
    }
}

/// Decides whether a request is sent again. `jitter` is below 1,000.
pub fn retry(meaning: &Meaning, attempts: Attempts, jitter: u16) -> Retry {
    if attempts.sent >= MAX_HOST_ATTEMPTS {
        return Retry::No;
    }
    let doubled = |base: i64| base.saturating_mul(1 << attempts.sent.saturating_sub(1).min(16));
    // Half to one and a half times the wait, so that several callers spread.
    let spread = |wait: i64| wait / 2 + wait * i64::from(jitter.min(999)) / 1_000;
    let wait = match meaning {
        Meaning::BadCredentials if !attempts.has_fresh_token => return Retry::WithFreshToken,
        Meaning::RateLimited {
            wait_ms: Some(wait),
        } => *wait,
        // The stated time is the least that is allowed, so the spread is added.
        Meaning::SecondaryLimited { wait_ms } => {
            doubled(*wait_ms).saturating_add(spread(BACKOFF_MS))
        }
        Meaning::Unavailable => spread(doubled(BACKOFF_MS)),
        _ => return Retry::No,
    };
    if wait > MAX_WAIT_MS {
        Retry::No
    } else {
        Retry::After(wait)
    }
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
