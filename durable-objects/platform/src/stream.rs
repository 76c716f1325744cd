//! Streams the response of a long operation: headers, then heartbeats, then a JSON document.
//!
//! A heartbeat is a line break: whitespace before a JSON document changes nothing for the parser,
//! and an idle connection is cut after some minutes. The platform reports a client that
//! disconnected at the next heartbeat, and the operation decides whether it ends then. After a
//! panic in it the document is [`INTERNAL_BODY`].
//!
//! Not here: the operation. Errors after the first byte are part of the document, because the
//! status is sent by then.

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
};

use js_sys::{
    Promise, Uint8Array,
    futures::{JsFuture, spawn_local},
};
use wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::{Response, TransformStream, WritableStreamDefaultWriter};

use crate::{INTERNAL_BODY, answer, call::start_task, raw};

/// Milliseconds between two heartbeats.
pub const HEARTBEAT_MS: f64 = 15_000.0;

/// Ready once a streamed response's client has disconnected.
pub struct ClientLeft(JsFuture<JsValue>);

impl Future for ClientLeft {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(drop)
    }
}

/// Answers with an operation's JSON document, and returns before it has ended. The operation
/// receives a future that is ready once the client has disconnected.
///
/// # Errors
/// The platform has no stream for the response.
pub fn streamed_answer<F: Future<Output = String> + 'static>(
    context: &raw::ObjectContext,
    heartbeat_ms: f64,
    operation: impl FnOnce(ClientLeft) -> F,
) -> Result<Response, JsValue> {
    let stream: TransformStream = raw::IdentityTransformStream::new()?.unchecked_into();
    let writer = stream.writable().get_writer()?;
    let operation = operation(ClientLeft(JsFuture::from(writer.closed())));
    let task = writer.clone();
    let done = start_task(async move {
        let document = with_heartbeats(&task, heartbeat_ms, operation).await;
        if write(&task, &bytes(&document)).await.is_ok() {
            close(&task).await;
        }
    });
    drop(after_trap(&done, &writer, "write", &bytes(INTERNAL_BODY))?);
    context.wait_until(&after_trap(&done, &writer, "close", &JsValue::UNDEFINED)?);
    Ok(answer::streamed(&stream.readable()))
}

/// Calls a writer's method after a trap in the task. It is JavaScript, because after some traps
/// this instance's code does not run.
pub(crate) fn after_trap(
    task: &Promise,
    writer: &WritableStreamDefaultWriter,
    method: &str,
    argument: &JsValue,
) -> Result<Promise, JsValue> {
    Ok(task
        .unchecked_ref::<raw::Rejectable>()
        .catch_by(&raw::bound(writer, method, argument)?))
}

async fn with_heartbeats(
    writer: &WritableStreamDefaultWriter,
    every_ms: f64,
    operation: impl Future<Output = String>,
) -> String {
    let mut operation = pin!(operation);
    let is_writing = Rc::new(Cell::new(false));
    loop {
        let (elapsed, timer) = raw::timer(every_ms);
        let done = first(operation.as_mut(), elapsed).await;
        raw::clear_timeout(&timer);
        if let Some(document) = done {
            return document;
        }
        // Not awaited: a reader that has stalled does not stop the operation.
        if !is_writing.replace(true) {
            let (writer, is_writing) = (writer.clone(), Rc::clone(&is_writing));
            spawn_local(async move {
                is_writing.set(write(&writer, &bytes("\n")).await.is_err());
            });
        }
    }
}

/// Returns the future's value, or `None` when the promise settles first.
async fn first<T>(mut future: Pin<&mut impl Future<Output = T>>, promise: Promise) -> Option<T> {
    let promise = RefCell::new(JsFuture::from(promise));
    poll_fn(|context| {
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(Some(value));
        }
        Pin::new(&mut *promise.borrow_mut())
            .poll(context)
            .map(|_| None)
    })
    .await
}

fn bytes(text: &str) -> Uint8Array {
    Uint8Array::from(text.as_bytes())
}

pub(crate) async fn write(
    writer: &WritableStreamDefaultWriter,
    bytes: &Uint8Array,
) -> Result<(), JsValue> {
    JsFuture::from(writer.write_with_chunk(bytes))
        .await
        .map(drop)
}

pub(crate) async fn close(writer: &WritableStreamDefaultWriter) {
    // A reader that has disconnected needs no end.
    drop(JsFuture::from(writer.close()).await);
}
