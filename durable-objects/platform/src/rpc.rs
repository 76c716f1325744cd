//! A Worker's bindings, and calls to Durable Objects.

use js_sys::{Object, Reflect, Uint8Array, futures::JsFuture};
use wasm_bindgen::{JsCast, JsValue};
use worker::{
    Env, console_error,
    web_sys::{Request, RequestInit, Response},
};

use crate::{INTERNAL_BODY, answer, interned::interned, json, raw, read_within};

/// Milliseconds in which an object's answer to a document arrives.
const ANSWER_MS: f64 = 120_000.0;

/// Returns a variable or secret, or `None` when it is not set or no text.
pub fn text_binding(env: &Env, name: &str) -> Option<String> {
    Reflect::get(env, &interned(name)).ok()?.as_string()
}

/// Returns every variable and secret with the name.
pub fn text_bindings(env: &Env) -> Vec<(String, String)> {
    let entries = Object::entries(env.unchecked_ref());
    let pairs = entries
        .iter()
        .map(|entry| entry.unchecked_into::<js_sys::Array>());
    pairs
        .filter_map(|pair| Some((pair.get(0).as_string()?, pair.get(1).as_string()?)))
        .collect()
}

/// Returns a store object's response on a route.
///
/// A call that fails, because the object panicked or was replaced, is answered with 500.
pub async fn call_store(
    env: &Env,
    binding: &str,
    name: &str,
    path: &str,
    body: &Uint8Array,
) -> Response {
    let called = async {
        let stub = stub(env, binding, name)?;
        JsFuture::from(stub.answer(&interned(path), body)?).await
    };
    match called.await {
        Ok(reply) => answer::decode(reply),
        Err(thrown) => {
            console_error!(
                "fault: a call of {binding} failed: {}",
                raw::describe(&thrown)
            );
            json(500, INTERNAL_BODY)
        }
    }
}

/// Passes a request to an object that answers requests itself, and returns the response unchanged.
///
/// # Errors
/// The failure's text: a deployment or a platform fault replaced the object under the request.
pub async fn forward(
    env: &Env,
    binding: &str,
    name: &str,
    request: &Request,
) -> Result<Response, String> {
    let forwarded = async {
        let stub = stub(env, binding, name)?;
        JsFuture::from(stub.fetch(request)?).await
    };
    forwarded
        .await
        .map(JsCast::unchecked_into)
        .map_err(|thrown| raw::describe(&thrown))
}

/// Posts a document to an object that answers requests itself.
///
/// # Errors
/// The failure's text, also for a response that is longer than `max_bytes`.
pub async fn post_to(
    env: &Env,
    binding: &str,
    name: &str,
    path: &str,
    document: &str,
    max_bytes: usize,
) -> Result<(u16, String), String> {
    let response = forward(env, binding, name, &request_of(path, document)?).await?;
    let body = read_within(response.body(), max_bytes, ANSWER_MS).await;
    let text = body
        .and_then(|body| String::from_utf8(body).ok())
        .ok_or("the answer is too long or broke off")?;
    Ok((response.status(), text))
}

/// Returns a request with a document for an object.
///
/// # Errors
/// The platform error's text.
pub fn request_of(path: &str, document: &str) -> Result<Request, String> {
    let init = RequestInit::new();
    init.set_method("POST");
    init.set_body(&JsValue::from_str(document));
    let url = format!("http://object{path}");
    Request::new_with_str_and_init(&url, &init).map_err(|thrown| raw::describe(&thrown))
}

fn stub(env: &Env, binding: &str, name: &str) -> Result<raw::Stub, JsValue> {
    let namespace: raw::Namespace = Reflect::get(env, &interned(binding))?.unchecked_into();
    namespace.get_by_name(name)
}
