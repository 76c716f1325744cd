//! The platform's clock. By the platform's design it stands still between awaits.

/// Returns milliseconds since the Unix epoch.
pub fn now() -> i64 {
    js_sys::Date::now() as i64
}
