//! The edge Worker: the only route to the bot.
//!
//! Thin: it checks the bearers, and every other request and every minute's tick go to the only
//! object, which owns the bot's container. Not here: the object's decisions
//! (`durable-objects/bot`), storage (`workers/state`, another deployment), recovery after a panic
//! (`durable-objects/platform/js/runtime.js`).
#![forbid(unsafe_code)]

mod object;

use ars_do_bot::{BINDING, NAME, connection_lost, rejected};
use ars_platform::{cancel_body, forward, recoverable, run_task, thrown_text};
use worker::{
    Context, Env, Result, ScheduleContext, ScheduledEvent, console_error, console_warn, event,
    web_sys,
};

/// The tick's request. An edge in front of a developer's bot accepts this host.
const TICK_URL: &str = "http://localhost/healthz";

/// Rejects callers without a valid bearer, where it is needed, and passes other requests on.
/// Request and response stay the platform's own, because a converted response loses the body's
/// encoding.
#[event(fetch)]
async fn main(request: web_sys::Request, env: Env, _: Context) -> Result<web_sys::Response> {
    let forwarded = async {
        if let Some(answer) = rejected(&request, &env).await {
            return answer;
        }
        forward(&env, BINDING, NAME, &request)
            .await
            .unwrap_or_else(|cause| {
                console_error!("fault: the object did not answer: {cause}");
                connection_lost(&cause)
            })
    };
    Ok(recoverable(&request, forwarded).await)
}

/// Keeps the container awake, and starts an ended container.
#[event(scheduled)]
async fn tick(_: ScheduledEvent, env: Env, _: ScheduleContext) {
    if let Err(cause) = run_task(request_health(env)).await {
        console_error!("fault: the tick failed: {cause}");
    }
}

async fn request_health(env: Env) {
    let answered = async {
        let request =
            web_sys::Request::new_with_str(TICK_URL).map_err(|thrown| thrown_text(&thrown))?;
        forward(&env, BINDING, NAME, &request).await
    };
    match answered.await {
        Err(cause) => console_error!("fault: the tick failed: {cause}"),
        Ok(response) => {
            if !response.ok() {
                console_warn!("the bot answered the tick with {}", response.status());
            }
            cancel_body(&response);
        }
    }
}
