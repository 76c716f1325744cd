//! Why a call of the Web API failed.

use std::time::Duration;

/// A failed call. Contains no text that the platform or a person wrote, except error codes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The platform refuses the call.
    #[error("Slack answered {}", self.code().unwrap_or("with an error"))]
    Refused {
        /// The platform's error code, such as `channel_not_found`.
        code: String,
        /// The scope that the token lacks.
        needed: Option<String>,
    },
    /// The platform limits the method's rate.
    #[error("Slack limits this call for {} s", .0.as_secs())]
    Limited(Duration),
    /// Too many calls of the method wait already.
    #[error("too many calls of this method wait")]
    Crowded,
    /// No request was sent.
    #[error("Slack is not reachable")]
    Unreachable,
    /// The request was sent, and whether it had an effect is not known.
    #[error("Slack did not answer, or failed with status {0:?}")]
    Unclear(Option<u16>),
    /// The answer has another form than documented.
    #[error("the answer of Slack cannot be read")]
    Unreadable,
}

impl ApiError {
    /// Returns the platform's error code.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Returns whether the token is no longer valid, so that no call can succeed.
    pub fn is_revoked(&self) -> bool {
        const REVOKED: [&str; 6] = [
            "account_inactive",
            "invalid_auth",
            "not_authed",
            "token_expired",
            "token_revoked",
            "team_access_not_granted",
        ];
        self.code().is_some_and(|code| REVOKED.contains(&code))
    }

    /// Returns whether the workspace or the token has no such method, so that no later call of it
    /// can succeed.
    pub fn is_unsupported(&self) -> bool {
        const UNSUPPORTED: [&str; 6] = [
            "access_denied",
            "method_deprecated",
            "missing_scope",
            "no_permission",
            "not_allowed_token_type",
            "unknown_method",
        ];
        self.code().is_some_and(|code| UNSUPPORTED.contains(&code))
    }
}
