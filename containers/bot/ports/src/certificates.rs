//! The public keys of an access proxy.

use async_trait::async_trait;

use super::WebError;

/// The source of the keys.
#[async_trait]
pub trait Certificates: Send + Sync {
    /// Fetches the proxy's current JSON Web Key Set.
    async fn fetch(&self) -> Result<String, WebError>;
}
