//! Store client failures: class and message.

use ars_bot_ports::{StoreError, StoreErrorKind};
use serde_json::Value;

/// Maximum characters logged from a rejection's text.
const MAX_REASON_CHARS: usize = 200;

pub(super) fn permanent(message: impl Into<String>) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Permanent,
        message: message.into(),
    }
}

/// Returns the error that the store would answer with 413.
pub(super) fn over_limit(bytes: usize) -> StoreError {
    let message = format!("a body of {bytes} bytes is over the store's limit");
    StoreError {
        kind: StoreErrorKind::Refused,
        message,
    }
}

pub(super) fn transient(message: impl Into<String>) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Transient,
        message: message.into(),
    }
}

pub(super) fn malformed(what: impl std::fmt::Display) -> StoreError {
    permanent(format!("malformed answer: {what}"))
}

/// Returns the class for a status that is neither a result nor a conflict.
pub(super) const fn kind_of(status: u16) -> StoreErrorKind {
    match status {
        400 | 413 => StoreErrorKind::Refused,
        404 => StoreErrorKind::RouteMissing,
        408 | 429 | 500..=599 => StoreErrorKind::Transient,
        _ => StoreErrorKind::Permanent,
    }
}

/// Converts a response that is neither result nor conflict; `error` names a field, never a value.
pub(super) fn refused(status: u16, text: &str) -> StoreError {
    let kind = kind_of(status);
    let body = serde_json::from_str::<Value>(text).unwrap_or_default();
    let reason = body["error"].as_str().unwrap_or("no reason given");
    let reason: String = reason
        .chars()
        .filter(|char| !char.is_control())
        .take(MAX_REASON_CHARS)
        .collect();
    StoreError {
        kind,
        message: format!("{status}: {reason}"),
    }
}

/// Formats an error and all causes on a single line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
