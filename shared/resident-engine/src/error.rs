//! Engine errors: a rejection is the caller's, a fault is ours.

use ars_resident::refusal::{Refusal, Token};
use ars_sql::{MigrationError, SqlError};

use crate::HostError;

/// A fault in the engine or its host.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The resident's storage failed.
    #[error("the storage of the resident failed")]
    Sql(#[from] SqlError),
    /// The schema could not be applied.
    #[error("the schema of the resident could not be applied")]
    Migration(#[from] MigrationError),
    /// A stored value has another shape.
    #[error("a stored value of the resident cannot be read")]
    Stored(#[from] serde_json::Error),
    /// The resident's host failed.
    #[error("the host of the resident failed")]
    Host(#[from] HostError),
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The call is rejected.
    #[error("{}", .0.error())]
    Refused(Box<Refusal>),
    /// The engine itself failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<SqlError> for Error {
    fn from(error: SqlError) -> Self {
        Self::Fault(error.into())
    }
}

impl Error {
    /// Returns the rejection that a caller receives. A fault shows no internals.
    pub fn into_refusal(self) -> Refusal {
        match self {
            Self::Refused(refusal) => *refusal,
            Self::Fault(fault) => Refusal::new(Token::Internal, &fault.to_string()),
        }
    }
}
