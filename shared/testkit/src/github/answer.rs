//! Responses from the fake.

use axum::http::StatusCode;
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    pub(super) media_type: &'static str,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        Self {
            media_type: "application/json; charset=utf-8",
            ..Self::text(status, body)
        }
    }

    pub(super) fn ok(body: &Value) -> Self {
        Self::json(200, body)
    }

    pub(super) fn text(status: u16, body: Vec<u8>) -> Self {
        let status = StatusCode::from_u16(status).unwrap();
        Self {
            status,
            headers: Vec::new(),
            body,
            media_type: "text/plain; charset=utf-8",
        }
    }

    pub(super) fn error(status: u16, message: &str) -> Self {
        let link = "https://docs.github.com/rest";
        Self::json(
            status,
            &json!({ "message": message, "documentation_url": link, "status": status.to_string() }),
        )
    }

    pub(super) fn not_found() -> Self {
        Self::error(404, "Not Found")
    }

    pub(super) fn invalid(message: &str) -> Self {
        let errors = json!([{ "resource": "Item", "code": "custom", "message": message }]);
        Self::json(
            422,
            &json!({ "message": "Validation Failed", "errors": errors, "status": "422" }),
        )
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
