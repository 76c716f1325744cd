//! Reads a request's body up to a limit, in one crossing into wasm.
//!
//! The stream is never trusted to be as long as its header said: the buffer has room for one byte more than
//! the limit, and that byte is what a refusal is made of.

use js_sys::{Object, Reflect, Uint8Array, futures::JsFuture};
use wasm_bindgen::{JsCast, JsValue};

use crate::raw::{self, Request};

/// Why a body could not be had.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It goes on beyond the limit; reading stopped there.
    #[error("the body is longer than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// The sender went away, or the stream failed.
    #[error("the body could not be read: {0}")]
    Broken(String),
}

/// Reads a body of at most `limit` bytes. A body that was read before, or is absent, is empty.
///
/// The buffer is `limit` bytes large from the start: pass the declared length, once it is known to be acceptable.
pub async fn read_body(request: &Request, limit: usize) -> Result<Vec<u8>, BodyError> {
    let Some(stream) = request.body() else { return Ok(Vec::new()) };
    let options = Object::new();
    Reflect::set(&options, &"mode".into(), &"byob".into()).map_err(|thrown| broken(&thrown))?;
    let reader = stream.get_reader(&options).map_err(|thrown| broken(&thrown))?;

    let room = u32::try_from(limit).ok().and_then(|limit| limit.checked_add(1));
    let room = room.ok_or(BodyError::TooLong { limit })?;
    let mut body = Vec::new();
    loop {
        let missing = room - body.len() as u32;
        // A well-framed body ends before the buffer is full, which settles the read as well.
        let read = reader.read_at_least(missing, &Uint8Array::new_with_length(missing));
        let read = JsFuture::from(read.map_err(|thrown| broken(&thrown))?).await;
        let chunk: raw::Chunk = read.map_err(|thrown| broken(&thrown))?.unchecked_into();
        if let Some(bytes) = chunk.value() {
            append(&mut body, &bytes);
        }
        if body.len() > limit {
            // Best effort: the refusal stands whether or not the sender hears of it.
            drop(reader.cancel());
            return Err(BodyError::TooLong { limit });
        }
        if chunk.done() {
            return Ok(body);
        }
    }
}

fn append(body: &mut Vec<u8>, bytes: &Uint8Array) {
    if body.is_empty() {
        *body = bytes.to_vec();
    } else {
        body.extend(bytes.to_vec());
    }
}

fn broken(thrown: &JsValue) -> BodyError {
    BodyError::Broken(raw::describe(thrown))
}
