//! A response's meaning: a document, a rejection, no capacity, or a failure.

use ars_bot_ports::ResidentsError;
use ars_events::clean;
use ars_resident::refusal::Refusal;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::transport::ResidentResponse;

/// The reason in a response without free capacity.
const FLEET_BUSY: &str = "fleet-busy";
/// Maximum error text in characters.
const ERROR_MAX_CHARS: usize = 400;

/// Parses a response. A rejection on a streamed route has status 200, with the text in the body.
pub(super) fn parse<T: DeserializeOwned>(response: &ResidentResponse) -> Result<T, ResidentsError> {
    let ResidentResponse { status, text } = response;
    let is_success = (200..300).contains(status);
    let Ok(body) = serde_json::from_str::<Value>(text.trim_start()) else {
        return Err(ResidentsError::Failed(format!(
            "status {status} with a body that is no JSON"
        )));
    };
    if body.get("error").is_some_and(Value::is_string) || !is_success {
        return Err(rejected(*status, &body));
    }
    serde_json::from_value(body).map_err(|error| {
        ResidentsError::Failed(format!(
            "an answer of another form: {}",
            shown(&error.to_string())
        ))
    })
}

fn rejected(status: u16, body: &Value) -> ResidentsError {
    let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
    let error = text("error");
    if text("reason") == FLEET_BUSY || error.starts_with(FLEET_BUSY) {
        return ResidentsError::Busy;
    }
    match Refusal::of_body(body) {
        Some(refusal) => refusal.into(),
        // An error is never empty: an empty text would hide the failure.
        None if error.is_empty() => ResidentsError::Failed(format!("status {status}")),
        None => ResidentsError::Failed(format!("status {status}: {}", shown(error))),
    }
}

fn shown(text: &str) -> String {
    clean(text, ERROR_MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use ars_resident::{refusal::Token, wire::ExecResponse};
    use serde_json::json;

    use super::*;

    fn answer(status: u16, text: impl Into<String>) -> Result<ExecResponse, ResidentsError> {
        parse(&ResidentResponse {
            status,
            text: text.into(),
        })
    }

    #[test]
    fn heartbeats_precede_the_document() {
        let body = json!({"stdout": "a", "stderr": "", "exitCode": 3, "truncated": false});
        assert_eq!(answer(200, format!("\n\n{body}")).unwrap().exit_code, 3);
    }

    #[test]
    fn rejection_is_recognized_at_any_status() {
        let body = json!({"error": "evicted: gone", "stdout": "", "exitCode": 127}).to_string();
        for status in [200, 409] {
            let Err(ResidentsError::Refused(refusal)) = answer(status, body.clone()) else {
                panic!()
            };
            assert_eq!(
                (refusal.token(), refusal.token().needs()),
                (Token::Evicted, Some("attach"))
            );
        }
    }

    #[test]
    fn full_fleet_is_no_failure() {
        for body in [
            json!({"error": "no container", "reason": "fleet-busy"}),
            json!({"error": "fleet-busy"}),
        ] {
            for status in [200, 503] {
                assert_eq!(answer(status, body.to_string()), Err(ResidentsError::Busy));
            }
        }
    }

    #[test]
    fn unknown_answer_is_a_failure_with_a_text() {
        for (status, body) in [
            (502, "<html>"),
            (500, r#"{"error":""}"#),
            (
                200,
                r#"{"error":"","stdout":"","stderr":"","exitCode":127,"truncated":false}"#,
            ),
            (200, r#"{"stdout":1}"#),
            (500, "{}"),
        ] {
            let Err(ResidentsError::Failed(text)) = answer(status, body) else {
                panic!("{body}")
            };
            assert!(!text.is_empty());
        }
    }
}
