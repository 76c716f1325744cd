//! What the installation has beside models, workspaces and stores (bot supplement sections 25 and 27): read from the
//! environment and made ready before anything is served.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, anyhow};
use ars_auth::Secret;
use ars_bot_adapters::{
    skills,
    web::{BraveSearch, PublicWeb},
};
use ars_bot_core::ports::{Skills, Web};

use crate::{
    commands::Failure,
    environment::{self, name},
};

/// The public web, with the search when there is a key for it.
pub fn web(search_key: Option<&Secret>) -> Result<Arc<dyn Web>, Failure> {
    let search = search_key.map(|key| BraveSearch::new(key, None)).transpose();
    let web = search.and_then(PublicWeb::new).context("the web tools").map_err(Failure::Unavailable)?;
    Ok(Arc::new(web))
}

/// The skills of the folder that the environment names; none without one.
pub fn skills() -> Result<Option<Arc<dyn Skills>>, Failure> {
    let Some(folder) = environment::variable(name::SKILLS_DIR) else { return Ok(None) };
    match skills::load(Path::new(&folder)) {
        Ok(skills) => Ok(Some(Arc::new(skills))),
        Err(error) => Err(Failure::Unavailable(anyhow!(error).context(name::SKILLS_DIR))),
    }
}
