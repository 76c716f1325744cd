//! From the gate to the objects.

use std::{pin::pin, time::Duration};

use ars_auth::Secret;
use ars_platform::{BodyError, ask, internal, json, read_body, refuse};
use ars_store::key_of;
use ars_wire::{
    health::StateHealth,
    state::{Route, fence},
};
use futures::future::select;
use worker::{Delay, Env, Request, Response, Result};

use crate::{
    gate::{Admitted, Head, Refusal, admit},
    objects::binding,
};

/// The secret every route but health asks for.
const SECRET: &str = "MEMORY_TOKEN";
/// Longest refused body that is taken in, so that its sender hears of the refusal: twice the largest fence. Only
/// callers with the bearer get this far.
const LINGER: usize = 2 * fence::RECORD;
/// Longest wait for it.
const LINGER_TIME: Duration = Duration::from_secs(1);
/// What this Worker serves, in the order of state-worker supplement section 1.6.
const FEATURES: [&str; 1] = ["runs"];

/// Answers one request.
pub async fn handle(request: Request, env: &Env) -> Result<Response> {
    let headers = request.headers();
    let (authorization, content_length) = (headers.get("authorization")?, headers.get("content-length")?);
    let head = Head {
        // As sent: the `worker` crate takes a method it does not know for GET.
        method: &request.inner().method(),
        path: &request.path(),
        authorization: authorization.as_deref(),
        content_length: content_length.as_deref(),
    };
    let secret = Secret::parse(env.secret(SECRET).ok().map(|secret| secret.to_string()));
    match admit(&head, secret.as_ref()) {
        Ok(Admitted::Health) => health(),
        Ok(Admitted::Call { route, length }) => call(&request, env, route, length).await,
        Err(refusal) => {
            if let Refusal::TooLarge { .. } = refusal {
                let_finish(&request, content_length.as_deref()).await;
            }
            refuse(refusal.status(), &refusal.message())
        }
    }
}

/// Takes in a body that is only somewhat too long before it is refused. A sender reads no answer until it has sent
/// everything, and the runtime cuts a connection whose body nobody reads: the 413 would be lost.
async fn let_finish(request: &Request, declared: Option<&str>) {
    let declared = declared.and_then(|length| length.trim().parse::<usize>().ok());
    if let Some(length) = declared.filter(|length| *length <= LINGER) {
        // Best effort: the refusal stands whatever became of the body.
        let (read, waited) = (pin!(read_body(request, length)), pin!(Delay::from(LINGER_TIME)));
        drop(select(read, waited).await);
    }
}

fn health() -> Result<Response> {
    let features = FEATURES.map(str::to_owned).to_vec();
    json(200, serde_json::to_vec(&StateHealth { ok: true, features })?)
}

async fn call(request: &Request, env: &Env, route: Route, length: usize) -> Result<Response> {
    let body = match read_body(request, length).await {
        Ok(body) => body,
        Err(BodyError::TooLong { limit }) => {
            return refuse(413, &format!("the body goes on after its {limit} bytes"));
        }
        Err(BodyError::Broken(_)) => return refuse(400, "body could not be read"),
    };
    let Ok(text) = std::str::from_utf8(&body) else { return refuse(400, "body must be UTF-8") };
    // A body without a usable key is refused here: there is no object to ask.
    let key = match key_of(text, route.key()) {
        Ok(key) => key,
        Err(refusal) => return json(refusal.status(), refusal.body()),
    };
    match ask(env, binding(route), key.as_str(), route.path(), &body).await {
        Ok(answer) => Ok(answer),
        Err(error) => internal(&error),
    }
}
