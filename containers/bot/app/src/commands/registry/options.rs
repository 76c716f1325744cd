//! Names of the options that every command has.

/// Prints JSON.
pub(super) const JSON: &str = "json";
/// Address of the service.
pub(super) const SERVER: &str = "server";
/// Directory of runs and working trees.
pub(super) const DATA_DIR: &str = "data-dir";
/// Configuration file.
pub(super) const CONFIG: &str = "config";
