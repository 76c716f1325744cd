//! JavaScript strings that are made once: names, paths and SQL statements.
//!
//! Decoding a new string costs time, and the platform's statement cache then hashes it. Not here:
//! caller texts.

use std::{cell::RefCell, collections::BTreeMap};

use wasm_bindgen::JsValue;

/// Maximum number of kept strings. Statements vary with callers' filters, so further ones are made
/// at each use.
const STRINGS_MAX: usize = 512;

thread_local! {
    static STRINGS: RefCell<BTreeMap<Box<str>, JsValue>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the JavaScript string for a text that the program chose.
pub(crate) fn interned(text: &str) -> JsValue {
    STRINGS.with_borrow_mut(|strings| {
        if let Some(known) = strings.get(text) {
            return known.clone();
        }
        let made = JsValue::from_str(text);
        if strings.len() < STRINGS_MAX {
            strings.insert(text.into(), made.clone());
        }
        made
    })
}
