//! The resident Worker on this machine, with containers of an engine.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{Built, Engine, NpmTools, Settings, commit};

/// The variable that names the build of the image of containers here.
const RESIDENT_IMAGE: &str = "RESIDENT_IMAGE";

/// Settings of the resident Worker with the engine and the image of this checkout.
/// It asks the code host for tokens, so it may open connections.
///
/// # Errors
/// The settings cannot be read, or the checkout has no commit.
pub fn resident_settings(
    npm: &NpmTools,
    built: &Built,
    data_dir: impl Into<PathBuf>,
    engine: Engine,
) -> Result<Settings> {
    let build = commit().context("an image of residents needs the commit of its checkout")?;
    let mut settings = Settings::new(npm, built, data_dir)?.secret(RESIDENT_IMAGE, &build);
    settings.workerd.clone_from(&npm.container_workerd);
    settings.engine = Some(engine);
    settings.outbound = true;
    Ok(settings)
}
