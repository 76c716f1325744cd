//! The state Worker: run history behind one bearer (document 2 sections 4.3, 5, 7; state-worker supplement 1).
//!
//! Thin: the gate decides what is let in, the router passes it on, the objects keep it.
//! Not here: storage (`ars-do-run-store`), validation (`ars-runs`).
#![forbid(unsafe_code)]

mod gate;
mod objects;
mod router;

use worker::{Context, Env, Request, Response, Result, event};

/// Once per isolate: a panic is told in the log with its place.
#[event(start)]
fn start() {
    console_error_panic_hook::set_once();
}

/// Every request.
#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> Result<Response> {
    router::handle(request, &env).await
}
