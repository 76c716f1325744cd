//! JSON responses from Workers, and how an object's response travels to the Worker by RPC.

use std::cell::OnceCell;

use js_sys::{
    Array, Object, Reflect, Uint8Array,
    futures::{JsFuture, spawn_local},
};
use wasm_bindgen::{JsCast, JsValue};
use worker::{
    console_error,
    web_sys::{ReadableStream, Response, TransformStream},
};

use crate::{Text, call::start_task, raw, stream, text::Body};

/// The body of every fault response. The cause is for the log only.
pub const INTERNAL_BODY: &str = r#"{"error":"internal"}"#;

thread_local! {
    /// The second argument for every success. A new object for each would cost as much as the body.
    static OK: OnceCell<JsValue> = const { OnceCell::new() };
}

/// Returns a response with a JSON text body.
pub fn json(status: u16, body: &str) -> Response {
    json_of(status, &JsValue::from_str(body))
}

/// Returns a response with a JSON text body and another header.
pub fn json_with(status: u16, body: &str, name: &str, value: &str) -> Response {
    let init = init(status);
    if let Ok(headers) = Reflect::get(&init, &"headers".into()) {
        // Setting a property on a plain object cannot fail.
        let _ = Reflect::set(&headers, &name.into(), &value.into());
    }
    raw::response(&JsValue::from_str(body), &init)
}

/// Returns the response to a caller's fault: a single key `error` with a short text.
pub fn refuse(status: u16, message: &str) -> Response {
    json(status, &refusal_body(message))
}

/// Logs a service fault and returns the response, which is the same for every cause.
pub fn internal(fault: &dyn std::error::Error) -> Response {
    log_fault(fault);
    json(500, INTERNAL_BODY)
}

/// Returns a refusal's `{"error": message}`.
pub(crate) fn refusal_body(message: &str) -> String {
    serde_json::json!({ "error": message }).to_string()
}

pub(crate) fn log_fault(fault: &dyn std::error::Error) {
    let mut chain = fault.to_string();
    let mut source = fault.source();
    while let Some(cause) = source {
        chain = format!("{chain}: {cause}");
        source = cause.source();
    }
    console_error!("fault: {chain}");
}

/// Encodes a success for RPC: the text, or the status, stream and length for a text in pieces.
///
/// A text passes through RPC at half a response's cost. A response would lose the stream's length.
pub(crate) fn reply(body: Text) -> JsValue {
    match body.into_body() {
        Body::Whole(text) => text,
        Body::Pieces(pieces) => in_pieces(pieces).map_or_else(|thrown| thrown, JsValue::from),
    }
}

/// Encodes an answer with another status for RPC.
pub(crate) fn reply_with(status: u16, body: &str) -> JsValue {
    Array::of2(&status.into(), &body.into()).into()
}

/// Decodes an object's answer.
pub(crate) fn decode(reply: JsValue) -> Response {
    if reply.is_string() {
        return json_of(200, &reply);
    }
    match reply.dyn_into::<Array>() {
        Ok(reply) => match reply.get(2).as_f64() {
            Some(length) => with_length(&reply.get(1).unchecked_into(), length),
            None => json_of(
                reply.get(0).as_f64().map_or(500, |status| status as u16),
                &reply.get(1),
            ),
        },
        Err(response) => response.unchecked_into(),
    }
}

/// Returns a success with a stream and a declared length.
fn with_length(readable: &ReadableStream, length: f64) -> Response {
    let sized: TransformStream = match raw::FixedLengthStream::new(length) {
        Ok(sized) => sized.unchecked_into(),
        Err(_) => return streamed(readable),
    };
    let piped = readable.pipe_to(&sized.writable());
    spawn_local(async move {
        // An error means that the reader disconnected.
        drop(JsFuture::from(piped).await);
    });
    streamed(&sized.readable())
}

/// Streams an answer in pieces: as a whole it would be in memory several times.
///
/// Each piece is detached once it is written, because buffers outside the JavaScript heap are collected late.
fn in_pieces(pieces: Vec<Uint8Array>) -> Result<Array, JsValue> {
    let length: f64 = pieces
        .iter()
        .map(|piece| f64::from(piece.byte_length()))
        .sum();
    let stream: TransformStream = raw::FixedLengthStream::new(length)?.unchecked_into();
    let writer = stream.writable().get_writer()?;
    let task = writer.clone();
    let done = start_task(async move {
        for piece in pieces {
            // The reader has disconnected.
            let Ok(()) = stream::write(&task, &piece).await else {
                return;
            };
            let buffer: raw::Transferable = piece.buffer().unchecked_into();
            drop(buffer.transfer(0));
        }
        stream::close(&task).await;
    });
    // The reader misses the rest of the declared length.
    drop(stream::after_trap(
        &done,
        &writer,
        "abort",
        &JsValue::UNDEFINED,
    )?);
    Ok(Array::of3(&200.into(), &stream.readable(), &length.into()))
}

/// Returns a success with a JSON text stream as body.
pub(crate) fn streamed(body: &JsValue) -> Response {
    raw::response(body, &ok())
}

fn json_of(status: u16, body: &JsValue) -> Response {
    raw::response(body, &if status == 200 { ok() } else { init(status) })
}

fn ok() -> JsValue {
    OK.with(|ok| ok.get_or_init(|| init(200)).clone())
}

/// Returns the second argument for `new Response`.
fn init(status: u16) -> JsValue {
    let init = Object::new();
    let headers = Object::new();
    // Setting a property on a plain object cannot fail.
    let _ = Reflect::set(&headers, &"content-type".into(), &"application/json".into());
    let _ = Reflect::set(&init, &"headers".into(), &headers);
    let _ = Reflect::set(&init, &"status".into(), &status.into());
    init.into()
}
