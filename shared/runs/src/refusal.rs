//! What a store answers instead of a result: the caller's fault or ours, never one for the other.

use ars_sql::SqlError;

/// A request the store will not serve, however often it is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The HTTP status it travels with.
    pub status: u16,
    /// Short text that names the field, never its value.
    pub message: String,
}

impl Refusal {
    /// 400: `field` breaks `rule`, which is phrased to follow the field's name.
    pub(crate) fn field(field: impl AsRef<str>, rule: &str) -> Self {
        Self { status: 400, message: format!("{} {rule}", field.as_ref()) }
    }
}

/// Why a store operation has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreFailure {
    /// The caller's fault.
    #[error("refused: {0}")]
    Refusal(#[from] Refusal),
    /// Ours. For logs only: the caller gets a fixed text.
    #[error("storage fault")]
    Fault(#[from] SqlError),
}
