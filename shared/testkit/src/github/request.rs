//! A request, and the list page that it asks for.

use axum::http::{HeaderMap, Method};
use serde_json::Value;

use super::state::{FakeRepository, HostState};

/// A request, with the path below the API.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: bytes::Bytes,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Returns a query parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        form(&self.query)
            .into_iter()
            .find(|pair| pair.0 == name)
            .map(|pair| pair.1)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// Decodes a query string.
fn form(query: &str) -> Vec<(String, String)> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(a, b)| (decoded(a), decoded(b)))
        .collect()
}

/// Decodes percent-encoded text.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let digits = std::str::from_utf8(&digits).unwrap_or("00");
                bytes.push(u8::from_str_radix(digits, 16).unwrap_or(0));
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the page that a request asks for.
pub(super) fn page(all: &[Value], request: &Request) -> Value {
    let number = |name: &str, default: usize| {
        request
            .parameter(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let size = number("per_page", 30).min(100);
    let page = number("page", 1).max(1);
    all.iter()
        .skip((page - 1) * size)
        .take(size)
        .cloned()
        .collect()
}

/// Returns a repository to change.
pub(super) fn repository_mut<'a>(state: &'a mut HostState, name: &str) -> &'a mut FakeRepository {
    state
        .repositories
        .get_mut(name)
        .expect("the repository was found before")
}
