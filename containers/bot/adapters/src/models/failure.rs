//! Converts a vendor's error to a typed error: status, error type, message, and the requested wait.
//!
//! The vendors' errors look alike (`{"error": {"type", "code", "message"}}`) and compatible servers
//! vary them, so a single parser serves all.

use std::{
    error::Error as _,
    time::{Duration, SystemTime},
};

use ars_auth::Secret;
use ars_bot_ports::{ModelError, ModelErrorKind};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

/// Maximum characters shown from a vendor's message.
const SHOWN_CHARS: usize = 400;

/// Vendor phrases for a conversation that is too long, for errors without a type.
const TOO_LONG: [&str; 6] = [
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "context length exceeded",
    "available context size",
    "context window",
];

/// Vendor phrases for an image or a document that they cannot read.
const BAD_FILE: [&str; 5] = ["image", ".document.", "pdf", "multimodal", "media type"];

/// Converts an error response.
pub(super) fn refused(status: StatusCode, headers: &HeaderMap, body: &str) -> ModelError {
    let complaint = match serde_json::from_str::<Value>(body) {
        Ok(body) => ErrorBody::read(&body),
        Err(_) => ErrorBody::default(),
    };
    complaint.error(Some(status), retry_after(headers, SystemTime::now()))
}

/// Converts an error event within a stream.
pub(super) fn reported(body: &Value) -> ModelError {
    ErrorBody::read(body).error(None, None)
}

/// Converts a failed request or an interrupted response. The message does not contain the URL.
pub(super) fn unreachable(error: &reqwest::Error, host: &str) -> ModelError {
    let words = if error.is_timeout() && !error.is_connect() {
        "it did not answer in time"
    } else if error.is_connect() || error.is_timeout() {
        "cannot connect"
    } else {
        "the connection broke"
    };
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let deepest = if error.source().is_some() {
        format!(" ({cause})")
    } else {
        String::new()
    };
    ModelError {
        kind: ModelErrorKind::Unreachable,
        message: format!("{host}: {words}{deepest}"),
    }
}

/// Returns the error for a response that violates the protocol.
pub(super) fn protocol(message: impl Into<String>) -> ModelError {
    ModelError {
        kind: ModelErrorKind::Protocol,
        message: message.into(),
    }
}

/// Removes the key from an error's message: a server in between may echo the request.
pub(super) fn scrubbed(mut error: ModelError, key: Option<&Secret>) -> ModelError {
    if let Some(key) = key {
        error.message = error.message.replace(key.expose(), "[key]");
    }
    error
}

/// Returns the wait that a provider requests in `retry-after-ms` or `retry-after` (seconds or a date).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let millis = text("retry-after-ms")
        .and_then(|text| text.parse::<f64>().ok())
        .map(|millis| millis / 1000.0);
    let header = text("retry-after");
    let seconds = millis.or_else(|| header.and_then(|text| text.parse().ok()));
    if let Some(seconds) = seconds {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(header?).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[derive(Debug, Default)]
struct ErrorBody {
    kind: String,
    message: String,
}

impl ErrorBody {
    /// Parses `{"error": {…}}`, `{"error": "…"}`, `{"message": …}` and `{"detail": …}`.
    fn read(body: &Value) -> Self {
        let inner = if body["error"].is_null() {
            body
        } else {
            &body["error"]
        };
        let text = |field: &str| inner[field].as_str().map(str::to_owned);
        let message = text("message")
            .or_else(|| text("detail"))
            .or_else(|| inner.as_str().map(str::to_owned));
        // A code is more specific than a type.
        let kind = text("code").or_else(|| text("type")).unwrap_or_default();
        Self {
            kind,
            message: message.unwrap_or_default(),
        }
    }

    fn error(&self, status: Option<StatusCode>, retry_after: Option<Duration>) -> ModelError {
        let kind = self.classify(status.map(|status| status.as_u16()), retry_after);
        let text: String = self
            .message
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let text: String = text.chars().take(SHOWN_CHARS).collect();
        let message = match (&kind, status) {
            // Vendors quote part of the key here.
            (ModelErrorKind::Unauthorized, _) => "the provider refused the key".to_owned(),
            (_, Some(status)) if text.is_empty() => {
                format!("the provider answered {}", status.as_u16())
            }
            (_, Some(status)) => format!("the provider answered {}: {text}", status.as_u16()),
            (_, None) => format!("the provider broke off: {text}"),
        };
        ModelError { kind, message }
    }

    fn classify(&self, status: Option<u16>, retry_after: Option<Duration>) -> ModelErrorKind {
        match (self.kind.as_str(), status) {
            ("overloaded_error", _) => ModelErrorKind::Overloaded { retry_after },
            // Waiting does not refill an account.
            ("insufficient_quota" | "billing_error", _) => ModelErrorKind::Invalid,
            ("authentication_error" | "permission_error" | "invalid_api_key", _)
            | (_, Some(401 | 403)) => ModelErrorKind::Unauthorized,
            ("request_too_large" | "context_length_exceeded" | "exceed_context_size_error", _)
            | (_, Some(413)) => ModelErrorKind::ContextTooLong,
            ("rate_limit_error" | "rate_limit_exceeded", _) | (_, Some(429)) => {
                ModelErrorKind::RateLimited { retry_after }
            }
            (_, Some(503 | 529)) => ModelErrorKind::Overloaded { retry_after },
            (_, Some(408 | 500..)) => ModelErrorKind::Failed,
            (_, Some(_)) | ("invalid_request_error" | "not_found_error", None) => {
                let text = self.message.to_lowercase();
                if TOO_LONG.iter().any(|words| text.contains(words)) {
                    ModelErrorKind::ContextTooLong
                } else if status != Some(404) && BAD_FILE.iter().any(|words| text.contains(words)) {
                    ModelErrorKind::FileRejected
                } else {
                    ModelErrorKind::Invalid
                }
            }
            (_, None) => ModelErrorKind::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;
    use serde_json::json;

    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))])
    }

    fn kind(status: u16, error: &str, message: &str) -> ModelErrorKind {
        let body = json!({"type": "error", "error": {"type": error, "message": message}});
        refused(
            StatusCode::from_u16(status).unwrap(),
            &HeaderMap::new(),
            &body.to_string(),
        )
        .kind
    }

    #[test]
    fn every_refusal_has_its_meaning() {
        use ModelErrorKind as K;
        let (busy, limited) = (
            K::Overloaded { retry_after: None },
            K::RateLimited { retry_after: None },
        );
        let cases = [
            (529, "overloaded_error", "", busy.clone()),
            (503, "", "loading model", busy),
            (429, "rate_limit_error", "", limited.clone()),
            (429, "tokens", "", limited),
            (429, "insufficient_quota", "", K::Invalid),
            (401, "authentication_error", "", K::Unauthorized),
            (403, "permission_error", "", K::Unauthorized),
            (
                401,
                "invalid_request_error",
                "Incorrect API key",
                K::Unauthorized,
            ),
            (
                400,
                "invalid_request_error",
                "prompt is too long: 9 > 8",
                K::ContextTooLong,
            ),
            (
                400,
                "invalid_request_error",
                "This model's maximum context length is 8",
                K::ContextTooLong,
            ),
            (413, "request_too_large", "", K::ContextTooLong),
            (400, "invalid_request_error", "messages: bad", K::Invalid),
            (
                400,
                "invalid_request_error",
                "The PDF specified was not valid",
                K::FileRejected,
            ),
            (404, "not_found_error", "model: x", K::Invalid),
            (404, "model_not_found", "no model gpt-image-1", K::Invalid),
            (
                400,
                "invalid_request_error",
                "unknown field, see the documentation",
                K::Invalid,
            ),
            (302, "", "", K::Invalid),
            (500, "api_error", "", K::Failed),
            (504, "timeout_error", "", K::Failed),
            (408, "", "", K::Failed),
        ];
        for (status, error, message, expected) in cases {
            assert_eq!(
                kind(status, error, message),
                expected,
                "{status} {error} {message}"
            );
        }
    }

    #[test]
    fn errors_of_compatible_servers_are_read() {
        for body in [
            r#"{"error":"model 'x' not found"}"#,
            r#"{"message":"model 'x' not found"}"#,
        ] {
            let error = refused(StatusCode::NOT_FOUND, &HeaderMap::new(), body);
            assert!(
                error.message.ends_with("404: model 'x' not found"),
                "{}",
                error.message
            );
        }
        let html = refused(StatusCode::BAD_GATEWAY, &HeaderMap::new(), "<html>");
        assert_eq!(html.message, "the provider answered 502");
    }

    #[test]
    fn a_refused_key_is_never_quoted() {
        let body = json!({"error": {"type": "invalid_request_error", "message": "Incorrect API key: sk-abc"}});
        let error = refused(
            StatusCode::UNAUTHORIZED,
            &HeaderMap::new(),
            &body.to_string(),
        );
        assert!(!error.message.contains("sk-abc"));
        let echoed = protocol("x-api-key: sk-abc");
        let key = Secret::parse(Some("sk-abc".into()));
        assert_eq!(scrubbed(echoed, key.as_ref()).message, "x-api-key: [key]");
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2026 07:28:00 GMT").unwrap();
        let wait = |name, value| retry_after(&headers(name, value), now);
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(
            wait("retry-after-ms", "250"),
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            wait("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            wait("retry-after", "Wed, 21 Oct 2026 07:00:00 GMT"),
            Some(Duration::ZERO)
        );
        for bad in ["soon", "-1", "inf", "NaN", ""] {
            assert_eq!(wait("retry-after", bad), None, "{bad}");
        }
    }

    #[test]
    fn an_error_event_is_typed_by_its_words() {
        let event = |kind: &str| {
            reported(&json!({"type": "error", "error": {"type": kind, "message": "m"}})).kind
        };
        assert_eq!(
            event("overloaded_error"),
            ModelErrorKind::Overloaded { retry_after: None }
        );
        assert_eq!(
            event("rate_limit_error"),
            ModelErrorKind::RateLimited { retry_after: None }
        );
        assert_eq!(event("api_error"), ModelErrorKind::Failed);
        assert_eq!(event("invalid_request_error"), ModelErrorKind::Invalid);
    }
}
