//! An object's alarm: the platform keeps at most one, wakes the object for it and repeats a handler that fails.
//!
//! Times are absolute milliseconds.

use ars_sql::SqlError;
use ars_store::alarms::{Alarms, PlatformAlarm};
use js_sys::{Promise, futures::JsFuture};
use wasm_bindgen::JsValue;

use crate::{DoSql, raw};

/// The alarm of one object.
pub struct Alarm {
    storage: raw::Storage,
}

impl Alarm {
    /// Returns the alarm of the object that owns the storage.
    pub fn new(storage: raw::Storage) -> Self {
        Self { storage }
    }

    /// Sets it, replacing its earlier time. The platform holds back a later answer until the write is on disk, whether
    /// or not the promise is awaited.
    ///
    /// # Errors
    /// The platform rejected it.
    pub fn set(&self, at_ms: i64) -> Result<Promise, JsValue> {
        self.storage.set_alarm(at_ms as f64)
    }

    /// Sets it unless it is set.
    ///
    /// # Errors
    /// The platform rejected it.
    pub async fn set_if_unset(&self, at_ms: i64) -> Result<(), JsValue> {
        let due = JsFuture::from(self.storage.get_alarm()?).await?;
        if due.is_null() || due.is_undefined() {
            JsFuture::from(self.set(at_ms)?).await?;
        }
        Ok(())
    }
}

impl PlatformAlarm for Alarm {
    fn set(&self, at_ms: i64) -> Result<(), SqlError> {
        match Self::set(self, at_ms) {
            Ok(_) => Ok(()),
            Err(thrown) => Err(SqlError::Engine(raw::describe(&thrown))),
        }
    }
}

/// Returns the named alarms of the object that owns the storage.
///
/// # Errors
/// The database failed.
pub fn named_alarms(storage: raw::Storage) -> Result<Alarms<DoSql, Alarm>, SqlError> {
    Alarms::open(DoSql::new(storage.clone()), Alarm::new(storage))
}
