//! Settings of local residents.

use std::{path::PathBuf, sync::Arc};

use ars_resident::names::Resource;
use ars_sandboxd::Confine;

/// Returns the origin of a repository, a path or URL for git, or `None` for an unknown one.
pub type Origins = Arc<dyn Fn(&Resource) -> Option<String> + Send + Sync>;

/// Returns the confinement of the commands of a repository.
pub type Confinements = Arc<dyn Fn(&Resource) -> Arc<dyn Confine> + Send + Sync>;

/// Settings of local residents.
#[derive(Clone)]
pub struct Settings {
    /// Folder of all residents. It is created and private to this user.
    pub folder: PathBuf,
    /// Confinements of commands.
    pub confine: Confinements,
    /// Environment of commands. `PATH` is among it.
    pub environment: Vec<(String, String)>,
    /// Origins of repositories.
    pub origins: Origins,
    /// Build stamp.
    pub build: String,
}
