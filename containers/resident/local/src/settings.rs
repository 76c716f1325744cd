//! Settings of local residents.

use std::{path::PathBuf, sync::Arc};

use ars_resident::names::Resource;
use ars_resident_engine::{HostError, Minted, TokenUse};
use ars_sandboxd::Confine;
use futures::future::BoxFuture;

/// Returns the origin of a repository, a path or URL for git, or `None` for an unknown one.
pub type Origins = Arc<dyn Fn(&Resource) -> Option<String> + Send + Sync>;

/// Returns the confinement of the commands of a repository.
pub type Confinements = Arc<dyn Fn(&Resource) -> Arc<dyn Confine> + Send + Sync>;

/// Mints a token of the code host for a repository. `true` permits a cached one.
pub type Tokens = Arc<
    dyn Fn(&Resource, TokenUse, bool) -> BoxFuture<'static, Result<Option<Minted>, HostError>>
        + Send
        + Sync,
>;

/// Settings of local residents.
#[derive(Clone)]
pub struct Settings {
    /// Folder of all residents. It is created and private to this user.
    pub folder: PathBuf,
    /// Confinements of commands.
    pub confine: Confinements,
    /// Environment of commands. `PATH` is among it.
    pub environment: Vec<(String, String)>,
    /// More environment of the service's own git, such as the address of a proxy. Commands never have it.
    pub of_service: Vec<(String, String)>,
    /// Origins of repositories.
    pub origins: Origins,
    /// Tokens of the code host. Without them, git works anonymously.
    pub tokens: Option<Tokens>,
    /// Build stamp.
    pub build: String,
}
