//! The platform's clock. It stands still between awaits, by design of the platform.

/// Milliseconds since the Unix epoch.
pub fn now() -> i64 {
    js_sys::Date::now() as i64
}
