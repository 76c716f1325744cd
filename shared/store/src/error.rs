//! Store failures: the caller's fault or internal, never confused.

use ars_sql::SqlError;
use ars_wire::ErrorCode;

/// A request that the store rejects in its current state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// 400: a field breaks a rule. A short text that names the field, never the value.
    #[error("{0}")]
    Field(String),
    /// 409: the request is valid but conflicts with the stored state. Holds the whole answer body.
    #[error("conflict")]
    Conflict(String),
    /// 413: a part in the body is larger than the store accepts. Short text.
    #[error("{0}")]
    TooLarge(String),
}

impl Refusal {
    /// Returns a 400: `field` breaks `rule`, which is phrased to follow the field's name.
    pub fn field(field: impl AsRef<str>, rule: &str) -> Self {
        Self::Field(format!("{} {rule}", field.as_ref()))
    }

    /// Returns the same refusal for a value at `place` in a larger body.
    #[must_use]
    pub fn within(self, place: &str) -> Self {
        match self {
            Self::Field(message) => Self::Field(format!("{place}.{message}")),
            other @ (Self::Conflict(_) | Self::TooLarge(_)) => other,
        }
    }

    /// Returns a 409 with this JSON text as the body.
    pub fn conflict(body: impl Into<String>) -> Self {
        Self::Conflict(body.into())
    }

    /// Returns the error code.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Field(_) => ErrorCode::InvalidInput,
            Self::Conflict(_) => ErrorCode::Conflict,
            Self::TooLarge(_) => ErrorCode::PayloadTooLarge,
        }
    }

    /// Returns the HTTP status.
    pub const fn status(&self) -> u16 {
        self.code().http_status()
    }

    /// Returns the JSON body.
    pub fn body(&self) -> String {
        match self {
            Self::Field(message) | Self::TooLarge(message) => {
                serde_json::json!({ "error": message }).to_string()
            }
            Self::Conflict(body) => body.clone(),
        }
    }
}

/// Why a store operation failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreFailure {
    /// The caller is at fault.
    #[error("refused: {0}")]
    Refusal(#[from] Refusal),
    /// An internal fault. For logs only: the caller receives a fixed text.
    #[error("storage fault")]
    Fault(#[from] SqlError),
}
