//! An access proxy's public keys.

use async_trait::async_trait;

use super::WebError;

/// Where the keys come from.
#[async_trait]
pub trait Certificates: Send + Sync {
    /// Fetches the proxy's current JSON Web Key Set.
    async fn fetch(&self) -> Result<String, WebError>;
}
