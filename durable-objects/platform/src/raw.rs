//! Bindings that the `worker` crate lacks, or that are cheaper without the conversions.
//!
//! Values pass unchanged; the modules beside this module interpret them.

use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use worker::{State, web_sys};

#[wasm_bindgen]
extern "C" {
    /// A Durable Object's `ctx`.
    #[derive(Clone)]
    pub type ObjectContext;

    /// Returns the object's storage.
    #[wasm_bindgen(method, getter)]
    pub fn storage(this: &ObjectContext) -> Storage;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn container(this: &ObjectContext) -> Option<Container>;

    /// Keeps the object in memory until the promise settles.
    #[wasm_bindgen(method, js_name = waitUntil)]
    pub(crate) fn wait_until(this: &ObjectContext, promise: &Promise);

    /// A Durable Object's `ctx.storage`.
    #[derive(Clone)]
    pub type Storage;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn sql(this: &Storage) -> SqlStorage;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn kv(this: &Storage) -> KeyValueStorage;

    /// Runs the callback in a transaction: committed when it returns, rolled back when it throws.
    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    pub(crate) fn transaction_sync(
        this: &Storage,
        body: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    pub(crate) fn set_alarm(this: &Storage, at_ms: f64) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = deleteAll)]
    pub(crate) fn delete_all(this: &Storage) -> Result<Promise, JsValue>;

    /// Waits until every write is on disk.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn sync(this: &Storage) -> Result<Promise, JsValue>;

    /// `ctx.storage.kv`: `get` and `put` in their synchronous form.
    pub(crate) type KeyValueStorage;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn get(this: &KeyValueStorage, key: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn put(this: &KeyValueStorage, key: &str, value: &JsValue) -> Result<(), JsValue>;

    /// SQLite, as `ctx.storage.sql`.
    pub(crate) type SqlStorage;

    #[wasm_bindgen(method, catch, variadic)]
    pub(crate) fn exec(
        this: &SqlStorage,
        query: &JsValue,
        bindings: &Array,
    ) -> Result<Cursor, JsValue>;

    /// A statement's result rows.
    pub(crate) type Cursor;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn raw(this: &Cursor) -> Result<RawRows, JsValue>;

    /// Rows as arrays, without column names.
    pub(crate) type RawRows;

    #[wasm_bindgen(method, catch, js_name = toArray)]
    pub(crate) fn to_array(this: &RawRows) -> Result<Array, JsValue>;

    /// A Durable Object namespace in a Worker's bindings.
    pub(crate) type Namespace;

    #[wasm_bindgen(method, catch, js_name = getByName)]
    pub(crate) fn get_by_name(this: &Namespace, name: &str) -> Result<Stub, JsValue>;

    /// A Durable Object as the caller sees it.
    pub(crate) type Stub;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(this: &Stub, request: &web_sys::Request) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn answer(this: &Stub, path: &JsValue, body: &JsValue) -> Result<Promise, JsValue>;

    /// A request's headers, by names that are JavaScript strings already.
    pub(crate) type HeaderMap;

    #[wasm_bindgen(method)]
    pub(crate) fn get(this: &HeaderMap, name: &JsValue) -> Option<String>;

    /// A Durable Object's `ctx.container`.
    #[derive(Clone)]
    pub(crate) type Container;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn running(this: &Container) -> bool;

    /// The `worker` crate's options drop every field that was set.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn start(this: &Container, options: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn monitor(this: &Container) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn destroy(this: &Container) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn signal(this: &Container, number: i32) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch, js_name = getTcpPort)]
    pub(crate) fn tcp_port(this: &Container, port: u16) -> Result<Stub, JsValue>;

    /// The global scope's `fetch`.
    #[wasm_bindgen(catch, js_name = fetch)]
    pub(crate) fn fetch_global(request: &web_sys::Request) -> Result<Promise, JsValue>;

    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, after_ms: f64) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    pub(crate) fn clear_timeout(timer: &JsValue);

    #[wasm_bindgen(js_namespace = AbortSignal, js_name = timeout)]
    pub(crate) fn abort_after(after_ms: f64) -> web_sys::AbortSignal;

    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues)]
    pub(crate) fn random_values(bytes: &js_sys::Uint8Array) -> js_sys::Uint8Array;

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = importKey)]
    pub(crate) fn import_key(
        format: &str,
        data: &js_sys::Uint8Array,
        algorithm: &js_sys::Object,
        is_extractable: bool,
        usages: &Array,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = sign)]
    pub(crate) fn sign(
        algorithm: &js_sys::Object,
        key: &JsValue,
        data: &js_sys::Uint8Array,
    ) -> Result<Promise, JsValue>;

    /// `Instance.track` in `js/runtime.js`: the promise is rejected after a trap in the future for
    /// `key`.
    #[wasm_bindgen(js_name = trackTask)]
    pub(crate) fn track_task(key: &JsValue, promise: &Promise) -> Promise;

    /// A promise with a JavaScript rejection handler.
    pub(crate) type Rejectable;

    #[wasm_bindgen(method, js_name = catch)]
    pub(crate) fn catch_by(this: &Rejectable, handler: &Function) -> Promise;

    #[wasm_bindgen(js_name = Response)]
    type NewResponse;

    #[wasm_bindgen(constructor, js_class = "Response")]
    fn new(body: &JsValue, init: &JsValue) -> NewResponse;

    /// A stream with a declared length: the response keeps `Content-Length`.
    pub(crate) type FixedLengthStream;

    #[wasm_bindgen(constructor, catch)]
    pub(crate) fn new(length: f64) -> Result<FixedLengthStream, JsValue>;

    /// A stream that passes bytes through without a queue.
    pub(crate) type IdentityTransformStream;

    #[wasm_bindgen(constructor, catch)]
    pub(crate) fn new() -> Result<IdentityTransformStream, JsValue>;

    /// An `ArrayBuffer` that can be detached.
    pub(crate) type Transferable;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn transfer(this: &Transferable, length: u32) -> Result<JsValue, JsValue>;

    /// A parsed URL address.
    #[wasm_bindgen(js_name = URL)]
    pub(crate) type Url;

    #[wasm_bindgen(constructor, js_class = "URL", catch)]
    pub(crate) fn new(url: &str) -> Result<Url, JsValue>;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn origin(this: &Url) -> String;

    #[wasm_bindgen(method, getter, js_name = searchParams)]
    pub(crate) fn search_params(this: &Url) -> SearchParams;

    /// An address's parsed query.
    pub(crate) type SearchParams;

    #[wasm_bindgen(method)]
    pub(crate) fn get(this: &SearchParams, name: &str) -> Option<String>;
}

impl From<State> for ObjectContext {
    fn from(state: State) -> Self {
        state._inner().unchecked_into()
    }
}

/// Returns a response with a body in any form that JavaScript takes.
pub(crate) fn response(body: &JsValue, init: &JsValue) -> web_sys::Response {
    NewResponse::new(body, init).unchecked_into()
}

/// Returns a promise that resolves after a delay, and the timer's handle.
pub(crate) fn timer(after_ms: f64) -> (Promise, JsValue) {
    let mut handle = JsValue::UNDEFINED;
    let promise = Promise::new(&mut |resolve, _| handle = set_timeout(&resolve, after_ms));
    (promise, handle)
}

/// Returns a JavaScript function that calls a method. It needs none of this instance's code.
pub(crate) fn bound(this: &JsValue, method: &str, argument: &JsValue) -> Result<Function, JsValue> {
    let method: Function = Reflect::get(this, &method.into())?.unchecked_into();
    Ok(JsValue::from(method.bind1(this, argument)).unchecked_into())
}

/// Ends the object soon. The platform constructs a new object for the next call.
///
/// The call does not return, and with this instance's code on the stack it would leave the queue of
/// futures unusable.
pub(crate) fn abort_soon(context: &ObjectContext, reason: &str) -> Result<(), JsValue> {
    set_timeout(&bound(context, "abort", &reason.into())?, 0.0);
    Ok(())
}

/// Returns a thrown value's text for logs.
pub fn describe(thrown: &JsValue) -> String {
    let message = Reflect::get(thrown, &JsValue::from_str("message")).ok();
    message
        .and_then(|message| message.as_string())
        .or_else(|| thrown.as_string())
        .unwrap_or_else(|| "an unnamed JavaScript error".to_owned())
}
