//! The fake's vendor-specific part.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::{checks, render};
use crate::vendors::server::{Message, Vendor};

/// Marks the vendor as a type.
#[derive(Debug)]
pub struct Anthropic;

impl Vendor for Anthropic {
    const ROUTE: &'static str = "/v1/messages";

    fn check(headers: &HeaderMap, body: &Value, issued: &[Value]) -> Vec<String> {
        checks::check(headers, body, issued)
    }

    fn whole(body: &Value, reply: &Message<'_>) -> (Value, Vec<Value>) {
        let whole = render::whole(body, reply);
        let issued = whole["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|block| checks::is_thinking(block));
        let issued = issued.cloned().collect();
        (whole, issued)
    }

    fn events(body: &Value, reply: &Message<'_>) -> Vec<String> {
        render::events(body, reply)
    }

    fn failure(kind: &str, message: &str) -> Value {
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"})
    }

    fn failure_event(kind: &str, message: &str) -> String {
        render::event(&Self::failure(kind, message))
    }
}
