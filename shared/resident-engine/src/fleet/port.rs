//! The port behind the routes: the registry, the objects, and the code host's proof.

use ars_resident::names::Resource;
use ars_resident::wire::Build;
use ars_types::UnixMillis;

use crate::{Call, Fault, RegistryCall, RegistryResponse, Reply};

/// Whether the code host grants access to a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// A token for the repository was minted.
    Proven,
    /// No code host credentials are configured.
    Unconfigured,
    /// The installation does not contain the repository.
    Absent(String),
    /// The code host did not answer, or the app's key is not usable.
    Unknown(String),
}

/// The registry and the objects.
#[expect(
    async_fn_in_trait,
    reason = "a request runs on one thread, also in a Worker"
)]
pub trait Fleet {
    /// Returns the present time.
    fn now(&self) -> UnixMillis;

    /// Returns the running build.
    fn build(&self) -> Build;

    /// Sends a call to the registry.
    async fn registry(&self, call: RegistryCall) -> Result<RegistryResponse, Fault>;

    /// Sends a call to a resource's object.
    async fn resident(&self, resource: &Resource, call: Call) -> Result<Reply, Fault>;

    /// Proves that the code host installation contains the repository.
    async fn membership(&self, resource: &Resource) -> Membership;
}
