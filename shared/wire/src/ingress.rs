//! HTTP ingress bodies (document 1 sections 2.3, 2.4 and 7.1).

use ars_types::{RunId, RunStatus};
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, error_code};

/// `POST` only.
pub const ROUTE: &str = "/ingress";

/// 200: the collected reply, and the receipt of the run if the core created one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Every reply text joined by one blank line.
    pub reply: String,
    /// Names the run; never carries its view token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Receipt>,
}

/// Names a run and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The run.
    pub id: RunId,
    /// How it ended.
    pub status: RunStatus,
}

/// 202: the run was created and goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// The run.
    pub run_id: RunId,
    /// `<PUBLIC_BASE_URL>/runs/<id>`, or the path alone.
    pub run_url: String,
    /// The namespaced thread key.
    pub thread_key: String,
}

/// Every other answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Short text; names the offending field, never its value.
    pub error: String,
    /// The code, where the surface has one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "error_code::known")]
    pub code: Option<ErrorCode>,
    /// More for humans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
