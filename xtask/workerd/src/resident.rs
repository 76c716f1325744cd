//! The resident Worker on this machine, with an engine's containers.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{Built, Engine, NpmTools, Settings, commit};

/// The variable that names the build of the container image here.
const RESIDENT_IMAGE: &str = "RESIDENT_IMAGE";
/// The variable with the code host's base address.
const CODE_HOST_URL: &str = "CODE_HOST_URL";
/// The app's variables: id, installation, private key.
const APP: [&str; 3] = [
    "GITHUB_APP_ID",
    "GITHUB_APP_INSTALLATION_ID",
    "GITHUB_APP_PRIVATE_KEY",
];
/// The bearers' variables: for administrators, operators, readers.
pub const RESIDENT_TOKENS: [&str; 3] = [
    "RESIDENT_ADMIN_TOKEN",
    "RESIDENT_OPERATOR_TOKEN",
    "RESIDENT_READ_TOKEN",
];

/// What differs between resident Workers on this machine. No `Debug`: it holds secrets.
pub struct ResidentSetup<'a> {
    /// The Worker's name, which is part of its containers' names.
    pub name: String,
    /// The directory for its objects and archives.
    pub data_dir: PathBuf,
    /// The engine, with the resident image.
    pub engine: Engine,
    /// The code host's base address, for the Worker and its containers.
    pub code_host: &'a str,
    /// The app on the code host: id, installation, private key.
    pub app: [&'a str; 3],
    /// The administrators', operators' and readers' bearers.
    pub tokens: [&'a str; 3],
}

/// Returns settings for the resident Worker with this checkout's image. It asks the code host for
/// tokens, so it may open connections.
///
/// # Errors
/// The settings cannot be read, or the checkout has no commit.
pub fn resident_settings(
    npm: &NpmTools,
    built: &Built,
    setup: ResidentSetup<'_>,
) -> Result<Settings> {
    let build = commit().context("an image of residents needs the commit of its checkout")?;
    let mut settings = Settings::new(npm, built, setup.data_dir)?
        .secret(RESIDENT_IMAGE, &build)
        .secret(CODE_HOST_URL, setup.code_host);
    for (name, value) in APP
        .into_iter()
        .zip(setup.app)
        .chain(RESIDENT_TOKENS.into_iter().zip(setup.tokens))
    {
        settings = settings.secret(name, value);
    }
    settings.wrangler.name = setup.name;
    settings.workerd.clone_from(&npm.container_workerd);
    settings.engine = Some(setup.engine);
    settings.outbound = true;
    Ok(settings)
}
