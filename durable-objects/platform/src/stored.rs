//! Short texts in an object's storage, beside the tables.

use wasm_bindgen::JsValue;

use crate::{raw, raw::describe};

/// Returns a stored text.
pub fn stored_text(storage: &raw::Storage, key: &str) -> Option<String> {
    storage.kv().get(key).ok()?.as_string()
}

/// Stores a text. The platform holds back every response until it is on disk.
///
/// # Errors
/// The platform error's text.
pub fn store_text(storage: &raw::Storage, key: &str, text: &str) -> Result<(), String> {
    storage
        .kv()
        .put(key, &JsValue::from_str(text))
        .map_err(|thrown| describe(&thrown))
}
