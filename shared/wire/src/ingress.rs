//! HTTP ingress bodies.

use ars_types::{RunId, RunStatus};
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, error_code};

/// Accepts the method `POST` only.
pub const ROUTE: &str = "/ingress";
/// Code host webhooks, `POST` only.
pub const GITHUB_ROUTE: &str = "/ingress/github";

/// The preference in the `Prefer` header (RFC 7240) to respond when the run is created. It is no
/// part of the body, so a repeated request without it waits for the answer.
pub const RESPOND_ASYNC: &str = "respond-async";

/// 200: the collected reply, and the run's receipt if there is any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// Every reply text joined by a blank line.
    pub reply: String,
    /// The ended run, without its capability token.
    /// Absent if no run was created or another process continues it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Receipt>,
    /// The run that another process continues. It has no outcome yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Why the request was refused, or the command failed. The text is in `reply`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "error_code::known"
    )]
    pub code: Option<ErrorCode>,
}

/// A run with the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Id of the run.
    pub id: RunId,
    /// How the run ended.
    pub status: RunStatus,
}

/// 202: the run was created and continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Id of the run.
    pub run_id: RunId,
    /// `<PUBLIC_BASE_URL>/runs/<id>`, or the path alone.
    pub run_url: String,
    /// The namespaced thread key.
    pub thread_key: String,
}

/// Every other response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Short text; names the offending field, never the value.
    pub error: String,
    /// The code, where the surface has codes.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "error_code::known"
    )]
    pub code: Option<ErrorCode>,
    /// More details for humans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
