//! Webhooks: event bodies, and their signature.

use aws_lc_rs::hmac;
use serde_json::{Value, json};

use super::render::user;

/// A delivery with the signature.
#[derive(Debug, Clone)]
pub struct Delivered {
    /// Headers, signature included.
    pub headers: Vec<(&'static str, String)>,
    /// Body as signed bytes.
    pub body: Vec<u8>,
}

/// Signs an event.
///
/// The host has another comment or check in each delivery, so the delivery decides about their ids.
pub fn sign(secret: &str, event: &str, delivery: &str, body: &Value) -> Delivered {
    let mut body = body.clone();
    for part in ["/comment", "/check_run"] {
        if let Some(part) = body.pointer_mut(part).and_then(Value::as_object_mut) {
            part.insert("id".to_owned(), number_of(delivery).into());
        }
    }
    let body = body.to_string().into_bytes();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag: String = hmac::sign(&key, &body)
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        ("x-github-event", event.to_owned()),
        ("x-github-delivery", delivery.to_owned()),
        ("x-hub-signature-256", format!("sha256={tag}")),
    ];
    Delivered { headers, body }
}

/// Returns the id of the comment or check that a delivery is about.
fn number_of(delivery: &str) -> u64 {
    delivery.bytes().fold(1, |id, byte| {
        (id * 131 + u64::from(byte)) % 1_000_000_007 + 1
    })
}

/// Builds the event for a comment (`issue_comment`).
pub fn commented(repository: &str, number: u64, login: &str, text: &str) -> Value {
    json!({
        "action": "created", "repository": { "full_name": repository }, "sender": user(login),
        "issue": { "number": number },
        "comment": { "id": 77, "body": text, "user": user(login) },
    })
}

/// Builds the event for a requested review (`pull_request`).
pub fn review_requested(repository: &str, number: u64, login: &str, head: &str) -> Value {
    json!({
        "action": "review_requested", "repository": { "full_name": repository }, "sender": user(login),
        "requested_reviewer": user("ars[bot]"), "pull_request": { "number": number, "head": { "sha": head } },
    })
}

/// Builds the event for a failed check (`check_run`).
pub fn checked(repository: &str, number: u64, branch: &str, head: &str) -> Value {
    let pull = json!({ "number": number, "head": { "ref": branch, "sha": head } });
    json!({
        "action": "completed", "repository": { "full_name": repository }, "sender": user("ci[bot]"),
        "check_run": { "name": "test", "conclusion": "failure", "head_sha": head, "pull_requests": [pull] },
    })
}
