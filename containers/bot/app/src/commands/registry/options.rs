//! Names for the options that every command has.

/// Prints the output as JSON.
pub(super) const JSON: &str = "json";
/// Address for the service.
pub(super) const SERVER: &str = "server";
/// Directory for runs and working trees.
pub(super) const DATA_DIR: &str = "data-dir";
/// Path to the configuration file.
pub(super) const CONFIG: &str = "config";
