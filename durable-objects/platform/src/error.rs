//! The faults of an object.

use ars_sql::{MigrationError, SqlError};

/// A fault of the service. The text is for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the store cannot be opened")]
    Open(#[from] MigrationError),
    #[error("the store failed")]
    Storage(#[from] SqlError),
}
