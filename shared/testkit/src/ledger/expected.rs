//! A request's expected response, and how to compare it with the actual response.

use serde_json::{Value, json};

/// The answers that the contract allows for a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// This status and body.
    Answer(u16, Value),
    /// 400 with a text that names any of these fields.
    Malformed(Vec<&'static str>),
}

/// Field that lists runs, in a flush in the request's order.
/// Other answers order them by start only, so runs that started together may come in any order.
const RUNS: &str = "runs";
/// The only field that depends on the server's clock.
const LEASE: &str = "leaseUntil";

impl Expected {
    /// Returns 200 with this body.
    pub fn ok(body: Value) -> Self {
        Self::Answer(200, body)
    }

    /// Returns 409 with this reason.
    pub fn refused(reason: &str) -> Self {
        Self::Answer(409, json!({ "ok": false, "reason": reason }))
    }

    /// Compares an answer. The error contains both bodies. Leases may differ by `slack_ms`.
    pub fn check(&self, status: u16, body: &Value, slack_ms: i64) -> Result<(), String> {
        let right = match self {
            Self::Answer(wanted, answer) => {
                status == *wanted
                    && starts(answer) == starts(body)
                    && same(&sorted(answer), &sorted(body), slack_ms)
            }
            Self::Malformed(fields) => {
                let text = body["error"].as_str().unwrap_or_default();
                status == 400 && fields.iter().any(|field| text.contains(field))
            }
        };
        if right {
            Ok(())
        } else {
            Err(format!("wanted {self:?}\n   got {status} {body}"))
        }
    }
}

/// Returns when the listed live runs started.
fn starts(body: &Value) -> Vec<Option<f64>> {
    let runs = body[RUNS].as_array().into_iter().flatten();
    runs.filter(|run| run.get("row").is_none())
        .map(|run| run["startedAt"].as_f64())
        .collect()
}

/// Returns the body with the runs in a canonical order, unless their order is fixed.
fn sorted(body: &Value) -> Value {
    let mut body = body.clone();
    let is_fixed = |runs: &[Value]| runs.iter().any(|run| run.get("ok").is_some());
    if let Some(runs) = body
        .get_mut(RUNS)
        .and_then(Value::as_array_mut)
        .filter(|runs| !is_fixed(runs))
    {
        runs.sort_by_key(|run| {
            run.get("row").unwrap_or(run)["runId"]
                .as_str()
                .map(str::to_owned)
        });
    }
    body
}

fn same(wanted: &Value, got: &Value, slack_ms: i64) -> bool {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            let field = |(key, wanted): (&String, &Value)| {
                got.get(key).is_some_and(|got| {
                    same(wanted, got, slack_ms) || (key == LEASE && is_near(wanted, got, slack_ms))
                })
            };
            wanted.len() == got.len() && wanted.iter().all(field)
        }
        (Value::Array(wanted), Value::Array(got)) => {
            wanted.len() == got.len()
                && wanted
                    .iter()
                    .zip(got)
                    .all(|(wanted, got)| same(wanted, got, slack_ms))
        }
        // 5 and 5.0 are the same number to every client.
        (Value::Number(wanted), Value::Number(got)) => wanted.as_f64() == got.as_f64(),
        _ => wanted == got,
    }
}

fn is_near(wanted: &Value, got: &Value, slack_ms: i64) -> bool {
    match (wanted.as_i64(), got.as_i64()) {
        (Some(wanted), Some(got)) => wanted.abs_diff(got) <= slack_ms.unsigned_abs(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(of: &[(&str, i64)]) -> Value {
        json!({ "runs": of.iter().map(|(run, start)| json!({ "runId": run, "startedAt": start })).collect::<Vec<_>>() })
    }

    #[test]
    fn only_simultaneous_runs_may_be_reordered() {
        let wanted = Expected::ok(runs(&[("a", 1), ("b", 1), ("c", 2)]));
        assert!(
            wanted
                .check(200, &runs(&[("b", 1), ("a", 1), ("c", 2)]), 0)
                .is_ok()
        );
        assert!(
            wanted
                .check(200, &runs(&[("c", 2), ("a", 1), ("b", 1)]), 0)
                .is_err()
        );
        assert!(wanted.check(200, &runs(&[("a", 1), ("b", 1)]), 0).is_err());
    }

    #[test]
    fn flushed_runs_keep_the_requests_order() {
        let flushed = |runs: [&str; 2]| json!({ "runs": runs.map(|run| json!({ "runId": run, "ok": true })) });
        let wanted = Expected::ok(flushed(["b", "a"]));
        assert!(wanted.check(200, &flushed(["b", "a"]), 0).is_ok());
        assert!(wanted.check(200, &flushed(["a", "b"]), 0).is_err());
    }

    #[test]
    fn only_leases_may_differ_within_slack() {
        let wanted = Expected::ok(json!({ "row": { "leaseUntil": 1000, "startedAt": 1000 } }));
        assert!(
            wanted
                .check(
                    200,
                    &json!({ "row": { "leaseUntil": 1005, "startedAt": 1000.0 } }),
                    5
                )
                .is_ok()
        );
        assert!(
            wanted
                .check(
                    200,
                    &json!({ "row": { "leaseUntil": 1006, "startedAt": 1000 } }),
                    5
                )
                .is_err()
        );
        assert!(
            wanted
                .check(
                    200,
                    &json!({ "row": { "leaseUntil": 1000, "startedAt": 1001 } }),
                    5
                )
                .is_err()
        );
        assert!(
            wanted
                .check(
                    409,
                    &json!({ "row": { "leaseUntil": 1000, "startedAt": 1000 } }),
                    5
                )
                .is_err()
        );
        assert!(
            wanted
                .check(
                    200,
                    &json!({ "row": { "leaseUntil": 1000, "startedAt": 1000, "x": 1 } }),
                    5
                )
                .is_err()
        );
    }

    #[test]
    fn a_refusal_names_one_of_the_fields() {
        let wanted = Expected::Malformed(vec!["gen", "leaseMs"]);
        assert!(
            wanted
                .check(400, &json!({ "error": "run.leaseMs must be smaller" }), 0)
                .is_ok()
        );
        assert!(
            wanted
                .check(400, &json!({ "error": "body must be an object" }), 0)
                .is_err()
        );
        assert!(wanted.check(409, &json!({ "error": "gen" }), 0).is_err());
    }
}
