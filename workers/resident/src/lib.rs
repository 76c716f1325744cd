//! The resident Worker: repository residents behind three bearers, and their watchdog.
//!
//! Thin: the routes check a request, and the objects in `durable-objects/resident` do the work. Not
//! here: the checks (`ars_resident_engine::fleet`), recovery after a panic
//! (`durable-objects/platform/js/runtime.js`).
#![forbid(unsafe_code)]

mod fleet;
mod objects;
mod router;

use ars_platform::{recoverable, run_task};
use ars_resident_engine::fleet::watchdog;
use worker::{
    Context, Env, Result, ScheduleContext, ScheduledEvent, console_error, event, web_sys,
};

use crate::fleet::WorkerFleet;

/// Answers a request. Request and response stay the platform's own: converting them costs more than
/// the rest.
#[event(fetch)]
async fn main(request: web_sys::Request, env: Env, _: Context) -> Result<web_sys::Response> {
    Ok(recoverable(&request, router::answer(&request, &env)).await)
}

/// Performs a watchdog pass.
#[event(scheduled)]
async fn tick(_: ScheduledEvent, env: Env, _: ScheduleContext) {
    let pass = async move {
        if let Err(error) = watchdog(&WorkerFleet::new(&env)).await {
            console_error!("fault: the watchdog failed: {error}");
        }
    };
    if let Err(trap) = run_task(pass).await {
        console_error!("fault: the watchdog broke off: {trap}");
    }
}
