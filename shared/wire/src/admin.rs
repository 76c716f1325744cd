//! Admin bodies, paths and the header between the edge and the bot.
//!
//! Not here: authorization (`ars_auth`) and the edge's restart (`ars_container`).

use ars_types::Generation;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};
use serde::{Deserialize, Serialize};

/// `POST`: the bot ends at once, like in a crash.
pub const CRASH_ROUTE: &str = "/admin/crash";
/// `POST`: the bot decides whether a subject may restart it. Internal: only the edge calls it.
pub const AUTHORIZE_ROUTE: &str = "/admin/restart/authorize";
/// `POST`: served by the edge, never by the bot.
pub const RESTART_ROUTE: &str = "/admin/restart";

/// Header with the subject that the edge has authenticated ([`subject_header`]).
/// The edge strips it from every request from outside.
pub const SUBJECT_HEADER: &str = "x-ars-restart-subject";

/// Header with the secret that the edge gave to the container. It proves that the edge names the
/// subject. The edge strips it from every outside request.
pub const EDGE_SECRET_HEADER: &str = "x-ars-edge-secret";
/// The container variable that holds this secret.
pub const EDGE_SECRET: &str = "EDGE_SECRET";

/// Returns a subject as the header's value, percent-encoded, because headers cannot contain every text.
pub fn subject_header(subject: &str) -> String {
    utf8_percent_encode(subject, NON_ALPHANUMERIC).to_string()
}

/// Returns the subject in a header value, or `None` if it is empty or malformed.
pub fn subject_of(value: &[u8]) -> Option<String> {
    let subject = percent_decode(value).decode_utf8().ok()?.into_owned();
    (!subject.is_empty()).then_some(subject)
}

/// The permission that each of these routes needs.
pub const ACTION: &str = "deploy:write";

/// Response 202 to a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crashing {
    /// Always true in this response.
    pub ok: bool,
    /// The process's generation; null while the run ledger is off.
    pub generation: Option<Generation>,
    /// The process that ends.
    pub pid: u32,
}

/// Response 200 to an authorization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorized {
    /// Always true in this response.
    pub ok: bool,
    /// The subject that is authorized.
    pub subject: String,
}

/// Every failure on an admin route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Always false in this response.
    pub ok: bool,
    /// The error, without the sent values.
    pub error: String,
}

/// A restart's body; an empty body is the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestartRequest {
    /// Restart even if runs are in flight or the bot's load is unknown.
    #[serde(default)]
    pub force: bool,
}

/// 202: the bot shuts down and is started again afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restarting {
    /// Always true in this response.
    pub ok: bool,
    /// Always true in this response.
    pub stopping: bool,
    /// Whether the request set `force`.
    pub forced: bool,
    /// Runs in flight; null if unknown.
    pub in_flight: Option<u64>,
    /// When the bot that shuts down was started; null if unknown. A later start marks the restart
    /// as complete.
    pub previous_started_at: Option<String>,
}

/// 200: the bot was not running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRunning {
    /// Always true in this response.
    pub ok: bool,
    /// Always false in this response.
    pub stopping: bool,
    /// The consequence, for humans.
    pub note: String,
}

/// 409: the restart needs `force`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartRefused {
    /// Always false in this response.
    pub ok: bool,
    /// Always true in this response.
    pub refused: bool,
    /// Every reason for the refusal.
    pub problems: Vec<String>,
}

impl Authorized {
    /// Returns the answer for an authorized subject.
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            ok: true,
            subject: subject.into(),
        }
    }
}

impl Failed {
    /// Returns the body for an error text.
    pub fn new(error: impl Into<String>) -> Self {
        Self {
            ok: false,
            error: error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_bodies_are_those_of_the_specification() {
        let crashing = Crashing {
            ok: true,
            generation: None,
            pid: 7,
        };
        assert_eq!(
            serde_json::to_value(crashing).unwrap(),
            json!({ "ok": true, "generation": null, "pid": 7 })
        );
        let restarting = Restarting {
            ok: true,
            stopping: true,
            forced: false,
            in_flight: Some(0),
            previous_started_at: Some("t".into()),
        };
        let expected = json!({ "ok": true, "stopping": true, "forced": false, "inFlight": 0, "previousStartedAt": "t" });
        assert_eq!(serde_json::to_value(restarting).unwrap(), expected);
        assert_eq!(
            serde_json::to_value(Failed::new("no")).unwrap(),
            json!({ "ok": false, "error": "no" })
        );
        assert_eq!(
            serde_json::to_value(Authorized::new("ann")).unwrap(),
            json!({ "ok": true, "subject": "ann" })
        );
    }

    #[test]
    fn any_subject_crosses_in_a_header() {
        for subject in ["ann", "ünï ✓", "a\r\nx: y", "100%", "a,b"] {
            let value = subject_header(subject);
            assert!(
                value
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && byte != b','),
                "{value}"
            );
            assert_eq!(subject_of(value.as_bytes()).as_deref(), Some(subject));
        }
        assert_eq!((subject_of(b""), subject_of(b"%ff")), (None, None));
    }

    #[test]
    fn a_restart_body_holds_force_and_nothing_else() {
        let read = |text: &str| {
            serde_json::from_str::<RestartRequest>(text)
                .ok()
                .map(|body| body.force)
        };
        assert_eq!(read("{}"), Some(false));
        assert_eq!(read(r#"{"force":true}"#), Some(true));
        for text in [
            "null",
            r#"{"force":1}"#,
            r#"{"force":null}"#,
            r#"{"forced":true}"#,
            "true",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
