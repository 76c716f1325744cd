//! JSON answers (state-worker supplement 1.3: `application/json` on every one).

use std::cell::OnceCell;

use js_sys::{Object, Reflect};
use wasm_bindgen::JsValue;
use worker::console_error;

use crate::{Text, raw::Response, text::Body};

/// The body of every answer to a fault: its cause is for the log alone.
pub const INTERNAL_BODY: &str = r#"{"error":"internal"}"#;

thread_local! {
    /// What every success is made with; an object of its own for each would cost as much as its body.
    static OK: OnceCell<JsValue> = const { OnceCell::new() };
}

/// An answer whose body is JSON text already.
pub fn json(status: u16, body: &str) -> Response {
    match status {
        200 => success(&JsValue::from_str(body)),
        _ => Response::new(&JsValue::from_str(body), &init(status)),
    }
}

/// An answer whose body is JSON text already, with one more header.
pub fn json_with(status: u16, body: &str, name: &str, value: &str) -> Response {
    let init = init(status);
    if let Ok(headers) = Reflect::get(&init, &"headers".into()) {
        // As in `init`.
        let _ = Reflect::set(&headers, &name.into(), &value.into());
    }
    Response::new(&JsValue::from_str(body), &init)
}

/// A success whose body is JSON text already, wherever it is: an answer, or pieces of which `runtime.js` makes one.
pub fn text(body: Text) -> JsValue {
    match body.into_body() {
        Body::Whole(body) => success(&body).into(),
        Body::Pieces(pieces) => pieces.into(),
    }
}

fn success(body: &JsValue) -> Response {
    Response::new(body, &OK.with(|ok| ok.get_or_init(|| init(200)).clone()))
}

/// The answer to a caller's fault: a single key `error` with short text.
pub fn refuse(status: u16, message: &str) -> Response {
    json(status, &serde_json::json!({ "error": message }).to_string())
}

/// Logs a fault of ours, once, and answers it with a fixed body.
pub fn internal(fault: &dyn std::error::Error) -> Response {
    let mut chain = fault.to_string();
    let mut source = fault.source();
    while let Some(cause) = source {
        chain = format!("{chain}: {cause}");
        source = cause.source();
    }
    console_error!("fault: {chain}");
    json(500, INTERNAL_BODY)
}

/// The second argument of `new Response`.
fn init(status: u16) -> JsValue {
    let (init, headers) = (Object::new(), Object::new());
    // Setting a property of an object made here cannot fail.
    let _ = Reflect::set(&headers, &"content-type".into(), &"application/json".into());
    let _ = Reflect::set(&init, &"headers".into(), &headers);
    let _ = Reflect::set(&init, &"status".into(), &status.into());
    init.into()
}
