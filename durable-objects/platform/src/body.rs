//! Reads request and response bodies within size and time limits.

use js_sys::{Array, Promise, Reflect, Uint8Array, futures::JsFuture};
use wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::{ReadableStream, ReadableStreamDefaultReader, Request};

use crate::raw;

/// Returns the whole body, or `None` when the sender disconnected, so that no response can arrive.
pub async fn read_body(request: &Request) -> Option<Uint8Array> {
    let buffer = JsFuture::from(request.array_buffer().ok()?).await.ok()?;
    Some(Uint8Array::new(&buffer))
}

/// Returns a body; `None` when it exceeds `max_bytes`, is slower than `timeout_ms` or breaks off.
pub async fn read_within(
    body: Option<ReadableStream>,
    max_bytes: usize,
    timeout_ms: f64,
) -> Option<Vec<u8>> {
    let Some(body) = body else {
        return Some(Vec::new());
    };
    let reader = Reader::new(&body, timeout_ms);
    let mut bytes = Vec::new();
    loop {
        match reader.next().await {
            Chunk::End => return Some(bytes),
            Chunk::Bytes(chunk) => bytes.extend(chunk.to_vec()),
            Chunk::Failed => {
                // The sender learns it from the response, so a failure to cancel changes nothing.
                drop(JsFuture::from(reader.inner.cancel()));
                return None;
            }
        }
        if bytes.len() > max_bytes {
            // The caller drains or cancels the rest.
            reader.inner.release_lock();
            return None;
        }
    }
}

/// Reads and discards a body that will be rejected, up to `max_bytes` and `timeout_ms`.
///
/// A client reads no answer before it has sent everything, and the runtime resets a connection with an unread body, so
/// the rejection would be lost. A body with another reader is left to that reader.
pub async fn drain_body(request: &Request, max_bytes: usize, timeout_ms: f64) {
    let Some(body) = request.body().filter(|body| !body.locked()) else {
        return;
    };
    let reader = Reader::new(&body, timeout_ms);
    let mut left = max_bytes;
    while let Chunk::Bytes(chunk) = reader.next().await {
        match left.checked_sub(chunk.length() as usize) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// A body's pieces as they arrive.
pub struct Chunks {
    reader: ReadableStreamDefaultReader,
    silence_ms: f64,
}

impl Chunks {
    /// Returns a body's pieces. Each piece must arrive within `silence_ms`.
    pub(crate) fn new(body: &ReadableStream, silence_ms: f64) -> Self {
        Self {
            reader: body.get_reader().unchecked_into(),
            silence_ms,
        }
    }

    /// Returns the next piece, or `None` at the end.
    ///
    /// # Errors
    /// The body broke off, or no byte arrived in time.
    pub async fn next(&self) -> Result<Option<Uint8Array>, BrokenOff> {
        let (elapsed, timer) = raw::timer(self.silence_ms);
        let read = JsFuture::from(Promise::race(&Array::of2(&self.reader.read(), &elapsed))).await;
        raw::clear_timeout(&timer);
        match read {
            Ok(read) if read.is_object() => Ok(Reflect::get(&read, &"value".into())
                .unwrap_or_default()
                .dyn_into()
                .ok()),
            _ => Err(BrokenOff),
        }
    }
}

/// A body that broke off, or whose next piece did not arrive in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection broke off")]
pub struct BrokenOff;

enum Chunk {
    Bytes(Uint8Array),
    End,
    /// Broken off or too late.
    Failed,
}

/// A reader with a deadline for the whole body.
struct Reader {
    inner: ReadableStreamDefaultReader,
    deadline: Promise,
    timer: JsValue,
}

impl Reader {
    fn new(body: &ReadableStream, timeout_ms: f64) -> Self {
        let (deadline, timer) = raw::timer(timeout_ms);
        Self {
            inner: body.get_reader().unchecked_into(),
            deadline,
            timer,
        }
    }

    async fn next(&self) -> Chunk {
        let race = Promise::race(&Array::of2(&self.inner.read(), &self.deadline));
        match JsFuture::from(race).await {
            Ok(read) if read.is_object() => {
                match Reflect::get(&read, &"value".into())
                    .unwrap_or_default()
                    .dyn_into()
                {
                    Ok(bytes) => Chunk::Bytes(bytes),
                    Err(_) => Chunk::End,
                }
            }
            _ => Chunk::Failed,
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        raw::clear_timeout(&self.timer);
    }
}
