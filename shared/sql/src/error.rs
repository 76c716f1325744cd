//! Errors in the storage port.

/// An internal storage fault. Its text is for logs only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// SQLite or the platform rejected the statement.
    #[error("storage failed: {0}")]
    Engine(String),
    /// A row has another shape than its statement guarantees.
    #[error("unexpected row: {0}")]
    Shape(String),
}

/// Why a migration failed.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// A step failed and was rolled back.
    #[error("migration {name} failed")]
    Step {
        /// The step's name.
        name: &'static str,
        /// The error from SQLite.
        #[source]
        source: SqlError,
    },
    /// The history table could not be read or created.
    #[error("migration history unavailable")]
    History(#[from] SqlError),
}
