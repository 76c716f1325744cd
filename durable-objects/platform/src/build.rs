//! The Worker's build.

/// The commit that the Worker, and with it the container image, was built from.
pub const BUILD: &str = match option_env!("ARS_BUILD_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};
