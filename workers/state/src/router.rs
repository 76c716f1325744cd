//! Takes a request from the gate to the objects.
//!
//! The head is admitted, the body names a store, and the store's object answers.

use ars_auth::gate::RotatingSecret;
use ars_platform::{
    call_store, drain_body, header_of, internal, json, path_of, read_body, refuse, text_binding,
};
use ars_store::{
    gate::{Admitted, Head, Rejection, admit},
    key_of,
};
use ars_wire::{health::StateHealth, state::Route};
use worker::{
    Env,
    web_sys::{Request, Response},
};

use crate::objects::binding;

/// The secret that every route but the health probe requires.
const SECRET: &str = "MEMORY_TOKEN";
/// The secret that it replaces, until every sender has the new secret.
const PREVIOUS_SECRET: &str = "MEMORY_TOKEN_PREVIOUS";
/// Maximum bytes drained from a rejected body: twice the largest body limit. The sender presented
/// the bearer.
const DRAIN_BYTES: usize = 4 * 1024 * 1024;
/// Timeout for a drain in milliseconds.
const DRAIN_MS: f64 = 1_000.0;

/// Answers an incoming request.
pub async fn answer(request: &Request, env: &Env) -> Response {
    let route = match gate(request, env) {
        Ok(Admitted::Call { route, .. }) => route,
        Ok(Admitted::Health) => return health(),
        Err(rejection) => {
            if let Rejection::TooLarge { .. } = rejection {
                drain_body(request, DRAIN_BYTES, DRAIN_MS).await;
            }
            return reject(rejection);
        }
    };
    let Some(body) = read_body(request).await else {
        return refuse(400, "the body's length must equal its Content-Length");
    };
    match store_name(route, &body.to_vec()) {
        Ok(name) => call_store(env, binding(route), &name, route.path(), &body).await,
        Err(refusal) => refusal,
    }
}

fn gate(request: &Request, env: &Env) -> Result<Admitted, Rejection> {
    let headers = request.headers();
    let authorization = header_of(&headers, "authorization");
    let content_length = header_of(&headers, "content-length");
    let (method, url) = (request.method(), request.url());
    let head = Head {
        method: &method,
        path: path_of(&url),
        authorization: authorization.as_deref(),
        content_length: content_length.as_deref(),
    };
    admit(
        &head,
        &RotatingSecret::parse(
            text_binding(env, SECRET),
            text_binding(env, PREVIOUS_SECRET),
        ),
    )
}

/// Returns the name of the object that keeps an admitted request's store.
fn store_name(route: Route, body: &[u8]) -> Result<String, Response> {
    // The runtime ends a body at its declared length. This is for a request that did not come over HTTP.
    if body.len() > route.max_body_bytes() {
        return Err(reject(Rejection::TooLarge {
            max_body_bytes: route.max_body_bytes(),
        }));
    }
    let text = std::str::from_utf8(body).map_err(|_| refuse(400, "body must be UTF-8"))?;
    // Without a usable key there is no object to call.
    match key_of(text, route.key()) {
        Ok(key) => Ok(key.as_str().to_owned()),
        Err(refusal) => Err(json(refusal.status(), &refusal.body())),
    }
}

fn reject(rejection: Rejection) -> Response {
    refuse(rejection.code().http_status(), &rejection.to_string())
}

fn health() -> Response {
    match serde_json::to_string(&StateHealth::up()) {
        Ok(body) => json(200, &body),
        Err(error) => internal(&error),
    }
}
