//! From the gate to the objects, as two steps between which `entry.js` awaits: the head of a request is admitted, and
//! its body names a store.

use ars_auth::Secret;
use ars_platform::{Response, json, path_of, refuse};
use ars_store::{
    gate::{Admitted, Head, Rejection, admit as gate},
    key_of,
};
use ars_wire::{health::StateHealth, state::Route};
use js_sys::{Array, Object, Reflect};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::objects::binding;

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

/// Decides by a request's head: a route's number, or the answer.
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
        Err(rejection) => reject(rejection).into(),
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

fn refuse_length(route: Route) -> Response {
    reject(Rejection::TooLarge { max_body_bytes: route.fence() })
}

fn reject(rejection: Rejection) -> Response {
    refuse(rejection.code().http_status(), &rejection.to_string())
}

fn health() -> Response {
    match serde_json::to_string(&StateHealth::up()) {
        Ok(body) => json(200, &body),
        Err(error) => ars_platform::internal(&error),
    }
}
