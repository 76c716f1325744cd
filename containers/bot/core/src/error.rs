//! The errors of the core.

use ars_bot_ports::StoreError;
use ars_settings::Fault;

/// The reason for a failed load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store did not answer in time.
    #[error("the store did not return the overrides in time")]
    Late,
    /// The store failed.
    #[error("the overrides cannot be loaded")]
    Store(#[source] StoreError),
    /// The document is not a valid overrides document.
    #[error("the overrides cannot be read")]
    Malformed(#[source] Fault),
}

/// The reason for a rejected change.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The change is invalid.
    #[error("the change is refused")]
    Refused(#[source] Fault),
    /// The store rejected the change, or its document is invalid.
    #[error("the overrides are unavailable")]
    Unavailable(#[source] LoadError),
    /// Other writers' changes came first, more than once.
    #[error("others are changing the overrides")]
    Conflict,
}
