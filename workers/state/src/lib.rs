//! The state Worker: memory, friction, schedules, runs and configuration behind a single bearer.
//!
//! Thin: the gate admits a request, and the router calls the object that keeps the store. Not here:
//! storage (`durable-objects/`), validation (`shared/`), recovery after a panic
//! (`durable-objects/platform/js/runtime.js`).
#![forbid(unsafe_code)]

mod objects;
mod router;

use ars_platform::recoverable;
use worker::{Context, Env, Result, event, web_sys};

/// Answers a request. Request and response stay the platform's own: converting them costs more than
/// the rest.
#[event(fetch)]
async fn main(request: web_sys::Request, env: Env, _: Context) -> Result<web_sys::Response> {
    Ok(recoverable(&request, router::answer(&request, &env)).await)
}
