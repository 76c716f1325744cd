//! The surfaces with an ingress token, and the bytes that answer a rejected request.
//!
//! The bot and the edge answer the same requests, so both render them here. Not here: the checks
//! (`gate`), and rejections of a body or by the dashboard.

use ars_wire::{
    admin, ingress,
    mcp::{self, RpcError},
};
use serde_json::Value;

use crate::Rejection;

/// The challenge from a surface with an ingress token.
const CHALLENGE: &str = r#"Bearer realm="ars""#;

/// A surface behind an ingress token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The route `POST /ingress`.
    Ingress,
    /// The route `POST /mcp`.
    Mcp,
    /// The routes for administration.
    Admin,
}

/// The response to a rejected request. Its media type is `application/json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The HTTP status code.
    pub status: u16,
    /// The body as JSON text.
    pub body: String,
    /// A header that the status requires.
    pub header: Option<(&'static str, &'static str)>,
}

impl Surface {
    /// Returns the surface behind a path, in the only spelling that the bot's router accepts.
    pub fn of_path(path: &str) -> Option<Self> {
        match path {
            ingress::ROUTE => Some(Self::Ingress),
            mcp::ROUTE => Some(Self::Mcp),
            admin::CRASH_ROUTE | admin::AUTHORIZE_ROUTE | admin::RESTART_ROUTE => Some(Self::Admin),
            _ => None,
        }
    }

    /// Returns the answer to a rejected request.
    pub fn rejected(self, rejection: Rejection) -> Rejected {
        let code = rejection.code();
        let body = match self {
            Self::Ingress => serde_json::to_string(&ingress_body(rejection)),
            Self::Mcp => {
                let error = RpcError::of_protocol(code, rejection.to_string());
                serde_json::to_string(&mcp::Response::new(Value::Null, Err(error)))
            }
            Self::Admin => serde_json::to_string(&admin::Failed::new(admin_text(rejection))),
        };
        Rejected {
            status: code.http_status(),
            // Plain data with string keys has a JSON form.
            body: body.unwrap_or_else(|_| r#"{"error":"internal error"}"#.to_owned()),
            header: match rejection {
                Rejection::Method => Some(("allow", "POST")),
                Rejection::Unauthenticated => Some(("www-authenticate", CHALLENGE)),
                _ => None,
            },
        }
    }
}

fn ingress_body(rejection: Rejection) -> ingress::ErrorBody {
    let (error, code, detail) = match rejection {
        Rejection::Method => ("POST only".to_owned(), None, None),
        Rejection::Disabled => (
            "disabled".to_owned(),
            None,
            Some("set SERVICE_INGRESS_TOKENS to enable this endpoint"),
        ),
        Rejection::Forbidden => (rejection.to_string(), Some(rejection.code()), None),
        // The other bodies have no code: their status is enough, and the contract fixes their bytes.
        other => (other.to_string(), None, None),
    };
    ingress::ErrorBody {
        error,
        code,
        detail: detail.map(str::to_owned),
    }
}

fn admin_text(rejection: Rejection) -> String {
    match rejection {
        Rejection::Method => "POST only".to_owned(),
        Rejection::Forbidden => format!("{} is missing", admin::ACTION),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_surface_has_its_bytes() {
        let detail = r#""detail":"set SERVICE_INGRESS_TOKENS to enable this endpoint""#;
        let rpc = |code: i32, text: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{text}"}}}}"#)
        };
        let failed = |text: &str| format!(r#"{{"ok":false,"error":"{text}"}}"#);
        for (surface, rejection, status, body) in [
            (
                Surface::Ingress,
                Rejection::Method,
                405,
                r#"{"error":"POST only"}"#.to_owned(),
            ),
            (
                Surface::Ingress,
                Rejection::Disabled,
                503,
                format!(r#"{{"error":"disabled",{detail}}}"#),
            ),
            (
                Surface::Ingress,
                Rejection::Unauthenticated,
                401,
                r#"{"error":"unauthorized"}"#.to_owned(),
            ),
            (
                Surface::Ingress,
                Rejection::Forbidden,
                403,
                r#"{"error":"forbidden","code":"unauthorized"}"#.to_owned(),
            ),
            (
                Surface::Mcp,
                Rejection::Method,
                405,
                rpc(-32600, "method not allowed"),
            ),
            (
                Surface::Mcp,
                Rejection::Disabled,
                503,
                rpc(-32001, "disabled"),
            ),
            (
                Surface::Mcp,
                Rejection::Unauthenticated,
                401,
                rpc(-32001, "unauthorized"),
            ),
            (Surface::Admin, Rejection::Method, 405, failed("POST only")),
            (Surface::Admin, Rejection::Disabled, 503, failed("disabled")),
            (
                Surface::Admin,
                Rejection::Unauthenticated,
                401,
                failed("unauthorized"),
            ),
            (
                Surface::Admin,
                Rejection::Forbidden,
                403,
                failed("deploy:write is missing"),
            ),
        ] {
            let header = match status {
                401 => Some(("www-authenticate", CHALLENGE)),
                405 => Some(("allow", "POST")),
                _ => None,
            };
            assert_eq!(
                surface.rejected(rejection),
                Rejected {
                    status,
                    body,
                    header
                }
            );
        }
    }

    #[test]
    fn only_exact_paths_belong_to_a_surface() {
        for (path, surface) in [
            ("/ingress", Some(Surface::Ingress)),
            ("/mcp", Some(Surface::Mcp)),
            ("/admin/crash", Some(Surface::Admin)),
            ("/admin/restart", Some(Surface::Admin)),
            ("/admin/restart/authorize", Some(Surface::Admin)),
            ("/ingress/", None),
            ("//ingress", None),
            ("/%69ngress", None),
            ("/Mcp", None),
            ("/admin", None),
            ("/healthz", None),
        ] {
            assert_eq!(Surface::of_path(path), surface, "{path}");
        }
    }
}
