//! An object's faults.

use ars_sql::{MigrationError, SqlError};

/// A service fault. The text is for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the store cannot be opened")]
    Open(#[from] MigrationError),
    #[error("the store failed")]
    Storage(#[from] SqlError),
}
