//! The process environment: the one place that reads it (bot supplement section 27).

use std::{ffi::OsString, path::PathBuf};

/// Names used in more than one place.
pub mod name {
    /// The ingress token map.
    pub const INGRESS_TOKENS: &str = "SERVICE_INGRESS_TOKENS";
    /// Base of run links.
    pub const PUBLIC_BASE_URL: &str = "PUBLIC_BASE_URL";
    /// Bearer of the state Worker, unless the configuration names another variable.
    pub const MEMORY_TOKEN: &str = "MEMORY_TOKEN";
    /// Folder of skills.
    pub const SKILLS_DIR: &str = "SERVICE_SKILLS_DIR";
    /// Key of the web search.
    pub const BRAVE_SEARCH_API_KEY: &str = "BRAVE_SEARCH_API_KEY";
    /// Where the web search is, when that is not Brave's own address.
    pub const BRAVE_SEARCH_BASE_URL: &str = "BRAVE_SEARCH_BASE_URL";
    /// The stamped file that tells what was built.
    pub const BUILD_STAMP: &str = "ARS_BUILD_STAMP";
    /// Default port.
    pub const PORT: &str = "PORT";
}

/// A variable, when it is set, not blank and text.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// A variable as the operating system has it.
pub fn raw(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// `ars` in the user's data directory, as desktops lay it out; none without a home.
pub fn user_data_dir() -> Option<PathBuf> {
    // A relative path there is to be ignored, says the XDG base directory specification.
    let absolute = |name: &str| raw(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("ars"))
}
