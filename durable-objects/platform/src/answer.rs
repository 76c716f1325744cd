//! JSON answers (state-worker supplement 1.3: `application/json` on every one).

use worker::{Headers, Response, Result, console_error};

/// The body of every answer to a fault: its cause is for the log alone.
pub const INTERNAL_BODY: &str = r#"{"error":"internal"}"#;

/// An answer whose body is JSON text already. Bytes are copied as they are; a string would be transcoded.
pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Result<Response> {
    let headers = Headers::new();
    headers.set("content-type", "application/json")?;
    Ok(Response::from_bytes(body.into())?.with_status(status).with_headers(headers))
}

/// The answer to a caller's fault: a single key `error` with short text.
pub fn refuse(status: u16, message: &str) -> Result<Response> {
    json(status, serde_json::json!({ "error": message }).to_string())
}

/// Logs a fault of ours, once, and answers it with a fixed body.
pub fn internal(fault: &dyn std::error::Error) -> Result<Response> {
    let mut chain = fault.to_string();
    let mut source = fault.source();
    while let Some(cause) = source {
        chain = format!("{chain}: {cause}");
        source = cause.source();
    }
    console_error!("fault: {chain}");
    json(500, INTERNAL_BODY)
}
