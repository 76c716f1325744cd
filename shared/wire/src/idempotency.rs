//! Request idempotency keys, as a claim carries them (docs/reference/ledger.md#idempotency-keys).

use ars_types::RunId;
use serde::{Deserialize, Serialize};

/// The request header with the key (IETF draft "The Idempotency-Key HTTP Header Field").
pub const HEADER: &str = "idempotency-key";
/// The longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_MAX: usize = 255;
/// How long an idempotency key is kept after its run is claimed, in milliseconds.
pub const IDEMPOTENCY_MAX_AGE_MS: i64 = 24 * 60 * 60 * 1000;

/// Returns whether a text is an idempotency key: 1 to 255 visible ASCII characters.
pub fn is_idempotency_key(text: &str) -> bool {
    (1..=IDEMPOTENCY_KEY_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A request's idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IdempotencyKey {
    /// The caller. Different callers' keys are independent.
    pub subject: String,
    /// The key, see [`is_idempotency_key`].
    pub key: String,
    /// SHA-256 over the request, 64 lower-case hexadecimal digits.
    pub fingerprint: String,
}

/// Request fields for `/runs/first-use`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FirstUseRequest<'a> {
    /// The caller that sent it.
    pub subject: &'a str,
    /// The idempotency key itself.
    pub key: &'a str,
}

/// Response from `/runs/first-use`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstUseResponse {
    /// The first request with the key; null without any, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub first: Option<FirstUse>,
}

/// The first request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FirstUse {
    /// The run that it started.
    pub run_id: RunId,
    /// Fingerprint of the request.
    pub fingerprint: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_visible_ascii_within_its_bounds() {
        for text in ["a", "~!\"", &"x".repeat(IDEMPOTENCY_KEY_MAX)] {
            assert!(is_idempotency_key(text), "{text}");
        }
        for text in [
            "",
            " ",
            "a b",
            "a\t",
            "\u{7f}",
            "é",
            &"x".repeat(IDEMPOTENCY_KEY_MAX + 1),
        ] {
            assert!(!is_idempotency_key(text), "{text}");
        }
    }
}
