//! One object's alarm: the platform keeps at most one, and wakes the object for it, retrying a handler that fails.
//!
//! Times are absolute milliseconds.

use js_sys::{Promise, futures::JsFuture};
use wasm_bindgen::JsValue;

use crate::raw::Storage;

/// The alarm of one object.
pub struct Alarm {
    storage: Storage,
}

impl Alarm {
    /// The alarm of the object whose storage this is.
    pub fn new(storage: Storage) -> Self {
        Self { storage }
    }

    /// Sets it, replacing what was set. It is kept like any other write: an answer that follows is not given before
    /// it is on disk, whether the promise was awaited or not.
    pub fn set(&self, at_ms: i64) -> Result<Promise, JsValue> {
        self.storage.set_alarm(at_ms as f64)
    }

    /// Sets it unless it is set.
    pub async fn set_if_unset(&self, at_ms: i64) -> Result<(), JsValue> {
        let due = JsFuture::from(self.storage.get_alarm()?).await?;
        if due.is_null() || due.is_undefined() {
            JsFuture::from(self.set(at_ms)?).await?;
        }
        Ok(())
    }
}
