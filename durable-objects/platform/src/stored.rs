//! Short texts in an object's storage, beside its tables.

use wasm_bindgen::JsValue;

use crate::{raw, raw::describe};

/// Returns a stored text.
pub fn stored_text(storage: &raw::Storage, key: &str) -> Option<String> {
    storage.kv().get(key).ok()?.as_string()
}

/// Stores a text. The platform holds back every answer until it is on disk.
///
/// # Errors
/// The text of the platform's error.
pub fn store_text(storage: &raw::Storage, key: &str, text: &str) -> Result<(), String> {
    storage
        .kv()
        .put(key, &JsValue::from_str(text))
        .map_err(|thrown| describe(&thrown))
}
