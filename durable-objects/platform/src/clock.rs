//! The platform's clock. By the platform's design it stands still between awaits.

use js_sys::futures::JsFuture;

use crate::raw;

/// Returns milliseconds since the Unix epoch.
pub fn now() -> i64 {
    js_sys::Date::now() as i64
}

/// Waits this many milliseconds.
pub async fn sleep(ms: f64) {
    let (elapsed, _) = raw::timer(ms);
    // A timer's promise is never rejected.
    drop(JsFuture::from(elapsed).await);
}
