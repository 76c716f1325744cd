//! Responses from the edge in place of the bot.

use ars_auth::Rejected;
use ars_wire::admin::Failed;
use serde::Serialize;

/// A response with a JSON body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The response body as text.
    pub body: String,
    /// A header beside the content type, such as `retry-after`.
    pub header: Option<(&'static str, String)>,
}

impl Answer {
    /// Returns an answer with a serialized body.
    pub fn json<T: Serialize>(status: u16, body: &T) -> Self {
        match serde_json::to_string(body) {
            Ok(body) => Self {
                status,
                body,
                header: None,
            },
            // Not reached, because plain data with string keys always has a JSON form.
            Err(_) => Self {
                status: 500,
                body: r#"{"error":"internal"}"#.to_owned(),
                header: None,
            },
        }
    }

    /// Returns a failure from an admin route.
    pub fn failed(status: u16, error: &str) -> Self {
        Self::json(status, &Failed::new(error))
    }

    /// Returns the answer with this header in place of any other.
    pub fn with_header(self, name: &'static str, value: impl Into<String>) -> Self {
        Self {
            header: Some((name, value.into())),
            ..self
        }
    }
}

impl From<Rejected> for Answer {
    fn from(rejected: Rejected) -> Self {
        let header = rejected
            .header
            .map(|(name, value)| (name, value.to_owned()));
        Self {
            status: rejected.status,
            body: rejected.body,
            header,
        }
    }
}
