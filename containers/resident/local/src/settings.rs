//! Local resident settings.

use std::{path::PathBuf, sync::Arc};

use ars_resident::names::Resource;
use ars_resident_engine::{HostError, Minted, TokenUse};
use ars_sandboxd::Confine;
use futures::future::BoxFuture;

/// Returns a repository's origin, a path or URL for git, or `None` if it is unknown.
pub type Origins = Arc<dyn Fn(&Resource) -> Option<String> + Send + Sync>;

/// Returns how a repository's commands are confined.
pub type Confinements = Arc<dyn Fn(&Resource) -> Arc<dyn Confine> + Send + Sync>;

/// Mints a code host token for a repository. `true` permits a cached token.
pub type Tokens = Arc<
    dyn Fn(&Resource, TokenUse, bool) -> BoxFuture<'static, Result<Option<Minted>, HostError>>
        + Send
        + Sync,
>;

/// Settings for local residents.
#[derive(Clone)]
pub struct Settings {
    /// Folder for all residents. It is created and private to this user.
    pub folder: PathBuf,
    /// Confines a repository's commands.
    pub confine: Confinements,
    /// Command environment, including `PATH`.
    pub environment: Vec<(String, String)>,
    /// More environment for the service's own git, such as a proxy address. Commands never have it.
    pub of_service: Vec<(String, String)>,
    /// Looks up repository origins.
    pub origins: Origins,
    /// Mints code host tokens. Without it, git works anonymously.
    pub tokens: Option<Tokens>,
    /// Build stamp of this program.
    pub build: String,
}
