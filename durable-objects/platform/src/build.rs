//! The build of a Worker.

/// The commit that the Worker, and with it the image of its container, was built from.
pub const BUILD: &str = match option_env!("ARS_BUILD_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};
