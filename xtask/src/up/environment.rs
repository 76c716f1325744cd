//! Environment variables.

/// An environment variable that is not blank.
pub fn set(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}
