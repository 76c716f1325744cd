//! From the gate to the objects, as three steps between which `entry.js` awaits: the head of a request is admitted, its
//! body names a store, and a body that is too long is heard out before it is refused.

use std::{pin::pin, time::Duration};

use ars_auth::Secret;
use ars_platform::{Request, Response, json, path_of, read_body, refuse};
use ars_store::{
    gate::{Admitted, Denial, Head, admit as gate},
    key_of,
};
use ars_wire::{
    health::StateHealth,
    state::{Route, fence},
};
use futures::future::select;
use js_sys::{Array, Object, Reflect};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::Delay;

use crate::objects::binding;

/// Longest refused body that is taken in, so that its sender hears of the refusal: twice the largest fence. Only
/// callers with the bearer get this far.
const LINGER: usize = 2 * fence::RECORD;
/// Longest wait for it.
const LINGER_TIME: Duration = Duration::from_secs(1);

/// Every route's `{ binding, url }`, in the order of the numbers that [`admit`] gives.
#[wasm_bindgen]
pub fn routes() -> Array {
    Route::all()
        .map(|route| {
            let entry = Object::new();
            // Setting a property of an object made here cannot fail. The host is never looked up.
            let _ = Reflect::set(&entry, &"binding".into(), &binding(route).into());
            let _ = Reflect::set(&entry, &"url".into(), &format!("https://object{}", route.path()).into());
            entry
        })
        .collect()
}

/// Decides by a request's head: a route's number, or the answer; `undefined` for a body that is too long.
#[wasm_bindgen]
#[expect(clippy::needless_pass_by_value, reason = "what wasm-bindgen makes of a text that may be missing")]
pub fn admit(
    method: &str,
    url: &str,
    authorization: Option<String>,
    content_length: Option<String>,
    secret: Option<String>,
) -> JsValue {
    let head = Head {
        method,
        path: path_of(url),
        authorization: authorization.as_deref(),
        content_length: content_length.as_deref(),
    };
    match gate(&head, Secret::parse(secret).as_ref()) {
        Ok(Admitted::Health) => health().into(),
        Ok(Admitted::Call { route, .. }) => {
            Route::all().position(|known| known == route).map_or(JsValue::UNDEFINED, JsValue::from)
        }
        Err(Denial::TooLarge { .. }) => JsValue::UNDEFINED,
        Err(denial) => refuse(denial.status(), &denial.message()).into(),
    }
}

/// Names the object that keeps what an admitted request asks for: a string, or the refusal.
#[wasm_bindgen]
pub fn store_name(route: usize, body: &[u8]) -> JsValue {
    let Some(route) = Route::all().nth(route) else { return refuse(404, "not found").into() };
    // The runtime ends a body where its head said it would; this is for a head that did not come over the wire.
    if body.len() > route.fence() {
        return refuse_length(route).into();
    }
    let Ok(text) = std::str::from_utf8(body) else { return refuse(400, "body must be UTF-8").into() };
    // A body without a usable key is refused here: there is no object to ask.
    match key_of(text, route.key()) {
        Ok(key) => JsValue::from_str(key.as_str()),
        Err(refusal) => json(refusal.status(), &refusal.body()).into(),
    }
}

/// Refuses a body that ended before its declared length.
#[wasm_bindgen]
pub fn refuse_cut_off() -> Response {
    refuse(400, "body must be as long as its Content-Length says")
}

/// Takes in a body that is only somewhat too long before it is refused. A sender reads no answer until it has sent
/// everything, and the runtime cuts a connection whose body nobody reads: the 413 would be lost.
#[wasm_bindgen(wasm_bindgen_futures = ::worker::wasm_bindgen_futures, js_sys = ::worker::js_sys)]
pub async fn refuse_too_large(request: Request, declared: Option<String>) -> JsValue {
    let declared = declared.and_then(|length| length.trim().parse::<usize>().ok());
    if let Some(length) = declared.filter(|length| *length <= LINGER) {
        // Best effort: the refusal stands whatever became of the body.
        let (read, waited) = (pin!(read_body(&request, length)), pin!(Delay::from(LINGER_TIME)));
        drop(select(read, waited).await);
    }
    match Route::of(path_of(&request.url())) {
        Some(route) => refuse_length(route).into(),
        None => refuse(404, "not found").into(),
    }
}

fn refuse_length(route: Route) -> Response {
    let denial = Denial::TooLarge { fence: route.fence() };
    refuse(denial.status(), &denial.message())
}

fn health() -> Response {
    match serde_json::to_string(&StateHealth::up()) {
        Ok(body) => json(200, &body),
        Err(error) => ars_platform::internal(&error),
    }
}
