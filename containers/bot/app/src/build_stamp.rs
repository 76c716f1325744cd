//! What was built, stamped at compile time by whoever builds a release (bot supplement section 23, `build`).

/// The commit, or `unknown`.
pub const COMMIT: &str = match option_env!("ARS_BUILD_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};
/// ISO time of the build.
pub const BUILT_AT: Option<&str> = option_env!("ARS_BUILT_AT");
