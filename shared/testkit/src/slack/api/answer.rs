//! Answers of the Web API: HTTP 200 with `ok`, whatever happened, except for rate limits.

use axum::{
    body::Body,
    http::{Response, header},
};
use serde_json::{Value, json};

/// A method's result: fields beside `ok`, or an error.
pub(in super::super) type Outcome = Result<Value, Answer>;

/// An answer before it is sent.
#[derive(Debug)]
pub(in super::super) struct Answer {
    status: u16,
    media_type: String,
    body: Vec<u8>,
    retry_after: Option<u64>,
    code: Option<String>,
}

impl Answer {
    /// Returns a successful answer with these fields.
    pub(in super::super) fn ok(mut fields: Value) -> Self {
        let mut body = json!({ "ok": true });
        let (Some(all), Some(more)) = (body.as_object_mut(), fields.as_object_mut()) else {
            unreachable!("an answer is an object");
        };
        all.append(more);
        Self::json(&body)
    }

    pub(in super::super) fn error(code: &str) -> Self {
        Self::error_with(code, json!({}))
    }

    /// Returns an error with further fields.
    pub(in super::super) fn error_with(code: &str, mut fields: Value) -> Self {
        let mut body = json!({ "ok": false, "error": code });
        let (Some(all), Some(more)) = (body.as_object_mut(), fields.as_object_mut()) else {
            unreachable!("an answer is an object");
        };
        all.append(more);
        Self {
            code: Some(code.to_owned()),
            ..Self::json(&body)
        }
    }

    /// Returns the answer to a call without a required argument.
    pub(in super::super) fn missing(name: &str) -> Self {
        let message = format!("[ERROR] missing required field: {name}");
        let metadata = json!({ "response_metadata": { "messages": [message] } });
        Self::error_with("invalid_arguments", metadata)
    }

    /// Returns the answer to a call over a rate limit.
    pub(in super::super) fn limited(seconds: u64) -> Self {
        Self {
            status: 429,
            retry_after: Some(seconds),
            ..Self::error("ratelimited")
        }
    }

    /// Returns a page of HTML.
    pub(in super::super) fn page(status: u16, html: &str) -> Self {
        let page = Self::bytes("text/html; charset=utf-8", html.as_bytes().to_vec());
        Self { status, ..page }
    }

    pub(in super::super) fn bytes(media_type: &str, body: Vec<u8>) -> Self {
        Self {
            status: 200,
            media_type: media_type.to_owned(),
            body,
            retry_after: None,
            code: None,
        }
    }

    fn json(body: &Value) -> Self {
        Self::bytes(
            "application/json; charset=utf-8",
            body.to_string().into_bytes(),
        )
    }

    /// Returns the error code.
    pub(in super::super) fn code(&self) -> Option<String> {
        self.code.clone()
    }

    /// Returns the response, with the token's scopes if the API answers.
    pub(in super::super) fn into_response(self, scopes: Option<&str>) -> Response<Body> {
        let mut response = Response::builder()
            .status(self.status)
            .header(header::CONTENT_TYPE, self.media_type);
        if let Some(scopes) = scopes {
            response = response
                .header("x-oauth-scopes", scopes)
                .header("x-slack-req-id", "fake");
        }
        if let Some(seconds) = self.retry_after {
            response = response.header(header::RETRY_AFTER, seconds);
        }
        response.body(Body::from(self.body)).expect("fixed parts")
    }
}
