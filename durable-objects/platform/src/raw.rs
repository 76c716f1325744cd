//! What the `worker` crate does not bind, or binds with a cost, declared as it is in JavaScript.
//!
//! Nothing here interprets a value; the modules beside it do.

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[wasm_bindgen]
extern "C" {
    /// `ctx.storage` of a Durable Object.
    #[derive(Clone)]
    pub type Storage;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn sql(this: &Storage) -> SqlStorage;

    /// Runs the callback in a transaction: committed when it returns, rolled back when it throws.
    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    pub(crate) fn transaction_sync(
        this: &Storage,
        body: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = getAlarm)]
    pub(crate) fn get_alarm(this: &Storage) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    pub(crate) fn set_alarm(this: &Storage, at_ms: f64) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = deleteAll)]
    pub(crate) fn delete_all(this: &Storage) -> Result<Promise, JsValue>;

    /// `ctx.storage.sql`.
    pub(crate) type SqlStorage;

    #[wasm_bindgen(method, catch, variadic)]
    pub(crate) fn exec(this: &SqlStorage, query: &str, bindings: &Array) -> Result<Cursor, JsValue>;

    /// What a statement yields.
    pub(crate) type Cursor;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn raw(this: &Cursor) -> Result<RawRows, JsValue>;

    /// Rows as arrays, without column names.
    pub(crate) type RawRows;

    #[wasm_bindgen(method, catch, js_name = toArray)]
    pub(crate) fn to_array(this: &RawRows) -> Result<Array, JsValue>;

    /// An answer.
    pub type Response;

    #[wasm_bindgen(constructor)]
    pub(crate) fn new(body: &JsValue, init: &JsValue) -> Response;
}

/// A thrown value as text for logs.
pub(crate) fn describe(thrown: &JsValue) -> String {
    let message = js_sys::Reflect::get(thrown, &JsValue::from_str("message")).ok();
    message
        .and_then(|message| message.as_string())
        .or_else(|| thrown.as_string())
        .unwrap_or_else(|| "an unnamed JavaScript error".to_owned())
}
