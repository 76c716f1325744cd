//! An object's named alarms over the single alarm that the platform keeps.
//!
//! The platform wakes the object for it and repeats a handler that fails. Times are absolute milliseconds.

use std::error::Error;

use ars_sql::SqlError;
use ars_store::alarms::{Alarms, PlatformAlarm};
use js_sys::futures::JsFuture;
use worker::console_error;

use crate::{DoSql, answer::log_fault, clock::now, raw};

struct Platform(raw::Storage);

impl PlatformAlarm for Platform {
    /// The platform holds back later answers until the write is on disk, even with an unawaited promise.
    fn set(&self, at_ms: i64) -> Result<(), SqlError> {
        match self.0.set_alarm(at_ms as f64) {
            Ok(_) => Ok(()),
            Err(thrown) => Err(SqlError::Engine(raw::describe(&thrown))),
        }
    }
}

/// Returns the named alarms for the object that owns the storage.
///
/// # Errors
/// The database failed.
pub fn named_alarms(storage: raw::Storage) -> Result<Alarms<DoSql, impl PlatformAlarm>, SqlError> {
    Alarms::open(DoSql::new(storage.clone()), Platform(storage))
}

/// Sets the only alarm on an object without named alarms. Replaces an earlier alarm.
///
/// # Errors
/// The platform error's text.
pub async fn set_alarm(storage: &raw::Storage, at_ms: i64) -> Result<(), String> {
    let set = async {
        JsFuture::from(storage.set_alarm(at_ms as f64)?)
            .await
            .map(drop)
    };
    set.await.map_err(|thrown| raw::describe(&thrown))
}

/// Runs the handler for every due alarm on the object. A failed alarm is logged and fires again.
///
/// # Errors
/// The database or the platform failed. The platform then repeats the alarm.
pub fn fire_alarms<E: Error>(
    storage: raw::Storage,
    handler: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), SqlError> {
    for (name, error) in named_alarms(storage)?.fire(now(), handler)? {
        console_error!("fault: the handler of the alarm {name} failed");
        log_fault(&error);
    }
    Ok(())
}
