//! Requests from a Worker to its objects.

use js_sys::Uint8Array;
use worker::{Method, Request, RequestInit, Result};

/// The host is never looked up: a stub decides where its requests go.
const HOST: &str = "https://object";

/// A POST with these bytes as its body.
pub fn post(path: &str, body: &[u8]) -> Result<Request> {
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(Uint8Array::from(body).into()));
    Request::new_with_init(&format!("{HOST}{path}"), &init)
}
