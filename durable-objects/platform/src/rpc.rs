//! A Worker's bindings, and calls to its Durable Objects.

use js_sys::{Object, Reflect, Uint8Array, futures::JsFuture};
use wasm_bindgen::{JsCast, JsValue};
use worker::{
    Env, console_error,
    web_sys::{Request, Response},
};

use crate::{INTERNAL_BODY, answer, interned::interned, json, raw};

/// Returns a variable or secret, or `None` when it is not set or no text.
pub fn text_binding(env: &Env, name: &str) -> Option<String> {
    Reflect::get(env, &interned(name)).ok()?.as_string()
}

/// Returns every variable and secret with its name.
pub fn text_bindings(env: &Env) -> Vec<(String, String)> {
    let entries = Object::entries(env.unchecked_ref());
    let pairs = entries.iter().map(|entry| entry.unchecked_into::<js_sys::Array>());
    pairs.filter_map(|pair| Some((pair.get(0).as_string()?, pair.get(1).as_string()?))).collect()
}

/// Returns the answer of a store object to one of its routes.
///
/// A call that fails, because the object panicked or was replaced, is answered with 500.
pub async fn call_store(env: &Env, binding: &str, name: &str, path: &str, body: &Uint8Array) -> Response {
    let called = async {
        let stub = stub(env, binding, name)?;
        JsFuture::from(stub.answer(&interned(path), body)?).await
    };
    match called.await {
        Ok(reply) => answer::decode(reply),
        Err(thrown) => {
            console_error!("fault: a call of {binding} failed: {}", raw::describe(&thrown));
            json(500, INTERNAL_BODY)
        }
    }
}

/// Passes a request to an object that answers requests itself, and returns its answer unchanged.
///
/// # Errors
/// The text of the failure: the object was replaced under the request, by a deployment or by a fault of the platform.
pub async fn forward(env: &Env, binding: &str, name: &str, request: &Request) -> Result<Response, String> {
    let forwarded = async {
        let stub = stub(env, binding, name)?;
        JsFuture::from(stub.fetch(request)?).await
    };
    forwarded.await.map(JsCast::unchecked_into).map_err(|thrown| raw::describe(&thrown))
}

fn stub(env: &Env, binding: &str, name: &str) -> Result<raw::Stub, JsValue> {
    let namespace: raw::Namespace = Reflect::get(env, &interned(binding))?.unchecked_into();
    namespace.get_by_name(name)
}
