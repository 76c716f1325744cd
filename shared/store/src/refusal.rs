//! What a store answers instead of a result: the caller's fault or ours, never one for the other.

use ars_sql::SqlError;
use ars_wire::ErrorCode;

/// A request the store will not serve as things stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// 400: a field breaks a rule. Short text that names the field, never its value.
    #[error("{0}")]
    Field(String),
    /// 409: the request is sound, the state is against it. The answer's whole body (state-worker supplement 1.3).
    #[error("conflict")]
    Conflict(String),
    /// 413: the body got in, but a part of it is larger than the store takes. Short text.
    #[error("{0}")]
    TooLarge(String),
}

impl Refusal {
    /// 400: `field` breaks `rule`, which is phrased to follow the field's name.
    pub fn field(field: impl AsRef<str>, rule: &str) -> Self {
        Self::Field(format!("{} {rule}", field.as_ref()))
    }

    /// The same refusal of something that stands at `place` in a larger body.
    #[must_use]
    pub fn within(self, place: &str) -> Self {
        match self {
            Self::Field(message) => Self::Field(format!("{place}.{message}")),
            other @ (Self::Conflict(_) | Self::TooLarge(_)) => other,
        }
    }

    /// 409 with this JSON text as its body.
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

    /// The JSON text it travels as.
    pub fn body(&self) -> String {
        match self {
            Self::Field(message) | Self::TooLarge(message) => {
                serde_json::json!({ "error": message }).to_string()
            }
            Self::Conflict(body) => body.clone(),
        }
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
