//! Moves archives between a container's server and the platform's object storage.
//!
//! Bytes never enter Rust. Not here: archive names, and when they move
//! (`durable-objects/resident`).

use futures::future::join;
use js_sys::futures::JsFuture;
use wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::TransformStream;
use worker::{Bucket, Data, ResponseBody};

use crate::body::Chunks;
use crate::container::{Container, Incoming, Outgoing};
use crate::{raw, raw::describe, stream};

/// Milliseconds without an archive byte after which the transfer fails.
const SILENCE_MS: f64 = 120_000.0;
/// Maximum keys per deletion, the platform's limit.
const DELETE_MAX: usize = 1_000;

/// Stores a response body under a key. `progress` receives the bytes so far.
///
/// # Errors
/// The failure's text. Nothing is stored then.
pub async fn put_object(
    bucket: &Bucket,
    key: &str,
    source: &Incoming,
    progress: &dyn Fn(u64),
) -> Result<(), String> {
    let (Some(length), Some(chunks)) = (source.length(), source.chunks()) else {
        return Err("the archive has no declared length".to_owned());
    };
    let stream = sized(length)?;
    let put = bucket
        .put(key, Data::ReadableStream(stream.readable()))
        .execute();
    let (_, stored) = join(pass_on(chunks, &stream, progress), put).await;
    stored.map(drop).map_err(|error| error.to_string())
}

/// Sends an object to a container's server. Returns `None` if there is no such object. `progress`
/// receives the bytes so far.
///
/// # Errors
/// The failure's text.
pub async fn send_object(
    bucket: &Bucket,
    key: &str,
    container: &Container,
    (path, bearer): (&str, &str),
    progress: &dyn Fn(u64),
) -> Result<Option<Incoming>, String> {
    let Some(object) = bucket
        .get(key)
        .execute()
        .await
        .map_err(|error| error.to_string())?
    else {
        return Ok(None);
    };
    let body = object.body().ok_or("the object has no body")?;
    let ResponseBody::Stream(body) = body.response_body().map_err(|error| error.to_string())?
    else {
        return Err("the object has no stream".to_owned());
    };
    let stream = sized(object.size() as f64)?;
    let readable = stream.readable();
    let sent = container.send("PUT", path, bearer, Outgoing::Stream(&readable));
    let (_, answer) = join(
        pass_on(Chunks::new(&body, SILENCE_MS), &stream, progress),
        sent,
    )
    .await;
    answer.map(Some)
}

/// Deletes keys. A missing key counts as deleted.
///
/// # Errors
/// The failure's text. Some keys may be deleted.
pub async fn delete_objects(bucket: &Bucket, keys: &[String]) -> Result<(), String> {
    for some in keys.chunks(DELETE_MAX) {
        let some = some.iter().map(String::as_str).collect();
        bucket
            .delete_multiple(some)
            .await
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Returns the keys that begin with a prefix.
///
/// # Errors
/// The failure's text.
pub async fn object_keys(bucket: &Bucket, prefix: &str) -> Result<Vec<String>, String> {
    let mut keys = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut list = bucket.list().prefix(prefix);
        if let Some(cursor) = cursor.take() {
            list = list.cursor(cursor);
        }
        let page = list.execute().await.map_err(|error| error.to_string())?;
        keys.extend(page.objects().iter().map(worker::Object::key));
        match page.cursor().filter(|_| page.truncated()) {
            Some(next) => cursor = Some(next),
            None => return Ok(keys),
        }
    }
}

fn sized(length: f64) -> Result<TransformStream, String> {
    raw::FixedLengthStream::new(length)
        .map(JsCast::unchecked_into)
        .map_err(|thrown| describe(&thrown))
}

/// Passes pieces on and counts them. The stream's reader gets an error if the source breaks off.
async fn pass_on(chunks: Chunks, stream: &TransformStream, progress: &dyn Fn(u64)) {
    let Ok(writer) = stream.writable().get_writer() else {
        return;
    };
    let mut bytes = 0;
    loop {
        match chunks.next().await {
            Ok(Some(piece)) => {
                bytes += u64::from(piece.byte_length());
                // The reader disconnected, and its own error tells why.
                let Ok(()) = stream::write(&writer, &piece).await else {
                    return;
                };
                progress(bytes);
            }
            Ok(None) => return stream::close(&writer).await,
            Err(broken) => {
                let reason = JsValue::from(broken.to_string());
                return drop(JsFuture::from(writer.abort_with_reason(&reason)).await);
            }
        }
    }
}
