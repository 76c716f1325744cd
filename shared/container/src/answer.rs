//! What the edge answers by itself, in place of the bot.

use ars_wire::admin::Failed;
use serde::Serialize;

/// An answer in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
    /// One more header; what the status asks for.
    pub header: Option<(&'static str, String)>,
}

impl Answer {
    /// A body of the contract.
    pub fn of<T: Serialize>(status: u16, body: &T) -> Self {
        match serde_json::to_string(body) {
            Ok(body) => Self { status, body, header: None },
            // Our bodies are plain data with string keys, which all have a JSON form.
            Err(_) => Self { status: 500, body: r#"{"error":"internal"}"#.to_owned(), header: None },
        }
    }

    /// A failure of an admin route.
    pub fn failed(status: u16, error: &str) -> Self {
        Self::of(status, &Failed::of(error))
    }

    /// With a header.
    pub fn with(self, name: &'static str, value: impl Into<String>) -> Self {
        Self { header: Some((name, value.into())), ..self }
    }
}
