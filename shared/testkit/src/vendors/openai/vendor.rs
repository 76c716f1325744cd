//! The fake's vendor-specific part.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::{checks, render};
use crate::vendors::server::{Message, Vendor};

/// Marks the vendor as a type.
#[derive(Debug)]
pub struct OpenAi;

impl Vendor for OpenAi {
    const ROUTE: &'static str = "/v1/chat/completions";

    fn check(headers: &HeaderMap, body: &Value, _issued: &[Value]) -> Vec<String> {
        checks::check(headers, body)
    }

    fn whole(body: &Value, reply: &Message<'_>) -> (Value, Vec<Value>) {
        (render::whole(body, reply), Vec::new())
    }

    fn events(body: &Value, reply: &Message<'_>) -> Vec<String> {
        render::events(body, reply)
    }

    fn failure(kind: &str, message: &str) -> Value {
        json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
    }

    fn failure_event(kind: &str, message: &str) -> String {
        render::event(&Self::failure(kind, message))
    }
}
