//! One object's alarm: the platform keeps at most one, and wakes the object for it, retrying a handler that fails.
//!
//! Times are absolute milliseconds; the `worker` crate would take a bare integer for an offset from now.

use js_sys::Date;
use wasm_bindgen::JsValue;
use worker::{Result, ScheduledTime, State, Storage};

/// The alarm of one object.
pub struct Alarm {
    storage: Storage,
}

impl Alarm {
    /// The alarm of the object whose state this is.
    pub fn new(state: &State) -> Self {
        Self { storage: state.storage() }
    }

    /// When it will ring; `None` when it is not set or is ringing now.
    pub async fn due(&self) -> Result<Option<i64>> {
        self.storage.get_alarm().await
    }

    /// Sets it, replacing what was set.
    pub async fn set(&self, at_ms: i64) -> Result<()> {
        let at = Date::new(&JsValue::from_f64(at_ms as f64));
        self.storage.set_alarm(ScheduledTime::new(at)).await
    }
}
