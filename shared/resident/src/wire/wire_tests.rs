//! Validates requests, and the exact keys in responses.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    AttachRequest, Credential, DebugOp, DebugRequest, ExecRequest, Live, OnboardRequest, OpName,
    OpRequest, ReconfigureRequest, RegistryRow, ResidentsResponse, Route, StatusResponse,
    TraceStep, Unreachable, WriteRequest, attach_refusal, engine_view, exec_refusal, op_refusal,
    parse_body,
};
use crate::lifecycle::{Resident, StateWord};
use crate::refusal::{Refusal, Token};
use crate::registry::Record;

fn onboard() -> Value {
    json!({"resource": "repo:acme/app", "commands": {"test": "npm test", "build": "true"}, "defaultRef": "main"})
}

fn with(mut body: Value, key: &str, value: Value) -> Value {
    body[key] = value;
    body
}

fn record() -> Record {
    parse_body::<OnboardRequest>(&onboard().to_string())
        .unwrap()
        .record(5)
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn onboarding_is_validated_field_by_field() {
    for (key, bad) in [
        ("resource", json!("repo:Acme/app")),
        ("resource", json!(7)),
        ("commands", json!({"test": "x"})),
        ("commands", json!(["test", "build"])),
        ("commands", json!({"test": "", "build": "x"})),
        ("commands", json!({"test": "x", "build": "y", "Bad;": "z"})),
        ("effects", json!({"test": "maybe"})),
        ("defaultRef", json!("--upload-pack=x")),
        ("diskBudgetMb", json!(0)),
        ("diskBudgetMb", json!("7")),
        ("provisioningTimeoutMs", json!(9_999)),
        ("worktreeTtlDays", json!(366)),
        ("evictColdest", json!("yes")),
    ] {
        let refusal =
            parse_body::<OnboardRequest>(&with(onboard(), key, bad).to_string()).unwrap_err();
        assert_eq!(
            (refusal.status(), refusal.error().starts_with("invalid: ")),
            (400, true),
            "{key}"
        );
    }
    assert_eq!(record().provisioning_timeout_ms, 300_000);
}

#[test]
fn unparsable_body_lacks_its_fields() {
    for body in ["", "{", "[]", "null", "\"x\"", "{}"] {
        let refusal = parse_body::<AttachRequest>(body).unwrap_err();
        assert!(
            refusal.error().contains("resource"),
            "{body}: {}",
            refusal.error()
        );
    }
}

#[test]
fn attach_fields_are_strict() {
    let base = json!({"resource": "repo:acme/app", "threadKey": "http:default:a"});
    assert!(parse_body::<AttachRequest>(&base.to_string()).is_ok());
    for (key, bad) in [
        ("threadKey", json!("http:a b")),
        ("refHint", json!("a..b")),
        ("refHint", json!("a.lock")),
        ("readonly", json!("true")),
        ("sha", json!("abc123")),
        ("sha", json!("A".repeat(40))),
    ] {
        assert!(
            parse_body::<AttachRequest>(&with(base.clone(), key, bad).to_string()).is_err(),
            "{key}"
        );
    }
}

#[test]
fn timeout_of_another_type_counts_as_absent() {
    let base = json!({"resource": "repo:acme/app", "threadKey": "http:a", "command": "true"});
    for (value, expected) in [
        (json!("9"), 300_000),
        (json!(null), 300_000),
        (json!(1.5), 1_000),
        (json!(1e12), 1_200_000),
    ] {
        let request: ExecRequest =
            parse_body(&with(base.clone(), "timeoutMs", value).to_string()).unwrap();
        assert_eq!(request.timeout_ms, expected);
    }
    let long = with(base, "command", json!("x".repeat(64_001)));
    assert!(
        parse_body::<ExecRequest>(&long.to_string())
            .unwrap_err()
            .error()
            .contains("64000")
    );
}

#[test]
fn written_content_has_a_limit() {
    let body = |chars| {
        json!({"resource": "repo:acme/app", "threadKey": "http:a", "path": "a", "content": "é".repeat(chars)})
            .to_string()
    };
    assert!(parse_body::<WriteRequest>(&body(524_288)).is_ok());
    assert_eq!(
        parse_body::<WriteRequest>(&body(524_289))
            .unwrap_err()
            .status(),
        400
    );
}

#[test]
fn op_resolves_in_the_table_only() {
    let body = |op: &str| json!({"resource": "repo:acme/app", "op": op}).to_string();
    for bad in ["lint", "test; rm -rf /", "", "TEST"] {
        let refusal = parse_body::<OpRequest>(&body(bad)).unwrap_err();
        assert!(
            ["test", "build", "status"]
                .iter()
                .all(|name| refusal.error().contains(name)),
            "{}",
            refusal.error()
        );
    }
    let request: OpRequest = parse_body(&body("test")).unwrap();
    assert_eq!(request.op.resolve(&record()).unwrap().as_str(), "npm test");
    let effects = json!({"resource": "repo:acme/app", "effects": {"test": "mutating"}});
    let changed = parse_body::<ReconfigureRequest>(&effects.to_string())
        .unwrap()
        .apply(&record(), 6)
        .unwrap();
    assert_eq!(OpName::Test.resolve(&changed).unwrap_err().status(), 409);
}

#[test]
fn reconfiguration_changes_at_least_one_field() {
    let parse = |body: Value| parse_body::<ReconfigureRequest>(&body.to_string());
    let empty = parse(json!({"resource": "repo:acme/app"}))
        .unwrap()
        .apply(&record(), 6)
        .unwrap_err();
    assert!(empty.error().contains("worktreeTtlDays"));
    let table =
        json!({"resource": "repo:acme/app", "commands": {"test": "a", "build": "b", "lint": "c"}});
    let changed = parse(table).unwrap().apply(&record(), 6).unwrap();
    assert_eq!((changed.commands.len(), changed.updated_at), (3, 6));
}

#[test]
fn debug_rejects_the_read_token_before_the_fields() {
    for op in DebugOp::ALL {
        let body = json!({"op": op}).to_string();
        let status = DebugRequest::parse(&body, Credential::Read, "b")
            .err()
            .map(|refusal| refusal.status());
        assert_eq!(
            status,
            Some(if op.is_pure_read() { 400 } else { 403 }),
            "{op:?}"
        );
    }
    let unknown = DebugRequest::parse(r#"{"op":"lifecycle"}"#, Credential::Admin, "b").unwrap_err();
    assert!(
        unknown.error().contains("measure-disk"),
        "{}",
        unknown.error()
    );
    let purge = |prefix: &str| {
        let body = json!({"op": "purge-bindings", "resource": "repo:acme/app", "prefix": prefix})
            .to_string();
        DebugRequest::parse(&body, Credential::Admin, "b")
    };
    assert!(purge("load:").is_ok());
    for bad in ["", "load", "http:", "slack:C1", "mcp:", "cli:"] {
        assert!(purge(bad).is_err(), "{bad}");
    }
}

/// A connection without bytes is closed long before a slow attach ends.
#[test]
fn slow_routes_are_streamed() {
    let streamed: Vec<Route> = Route::ALL
        .into_iter()
        .filter(|route| route.is_streamed())
        .collect();
    let expected = [
        Route::Attach,
        Route::Op,
        Route::Exec,
        Route::Push,
        Route::CheckOut,
        Route::Checkpoint,
        Route::Restore,
    ];
    assert_eq!(streamed, expected);
}

#[test]
fn status_has_exactly_two_keys() {
    let answer = json!(StatusResponse {
        state: StateWord::Warm,
        reason: None
    });
    assert_eq!(answer, json!({"state": "warm", "reason": null}));
}

#[test]
fn refusals_in_bodies_have_their_status_and_trace() {
    let refusal = Refusal::new(Token::UserPoolExhausted, "all users are in use");
    let trace = [TraceStep {
        step: "allocate".to_owned(),
        ms: 1,
    }];
    let attach = attach_refusal(&refusal, &trace);
    assert_eq!(keys(&attach), ["error", "trace", "status"]);
    assert_eq!(attach["status"], 429);
    assert_eq!(
        keys(&op_refusal(&refusal, &trace)),
        ["error", "trace"],
        "an operation has no status in its body"
    );
    let exec = exec_refusal(&Refusal::new(Token::Evicted, "clean-idle"));
    assert_eq!(
        (&exec["needs"], &exec["exitCode"]),
        (&json!("attach"), &json!(127))
    );
    assert_eq!(exec["stderr"], exec["error"]);
}

#[test]
fn one_silent_resident_makes_the_sum_unknown() {
    let view = engine_view(&record(), &Resident::default(), &[], 2, None);
    assert_eq!(view.state, StateWord::Down);
    let live = RegistryRow {
        record: record(),
        live: Live::View(Box::new(view)),
    };
    let silent = Live::Unreachable(Unreachable {
        error: "timeout".to_owned(),
    });
    let answer = ResidentsResponse::new(
        vec![
            live.clone(),
            RegistryRow {
                record: record(),
                live: silent,
            },
        ],
        6,
        None,
    );
    assert_eq!(
        (answer.in_flight, answer.in_flight_unknown, answer.count),
        (None, 1, 2)
    );
    let json = json!(ResidentsResponse::new(vec![live], 6, None));
    assert_eq!(
        keys(&json),
        [
            "cap",
            "capDefault",
            "count",
            "inFlight",
            "inFlightUnknown",
            "residents"
        ]
    );
    let row = &json["residents"][0];
    assert_eq!(row["resource"], "repo:acme/app");
    assert_eq!(
        keys(&row["live"]),
        [
            "resource",
            "state",
            "reason",
            "updatedAt",
            "defaultRef",
            "sha",
            "lockfileHash",
            "provisionedAt",
            "lastRefreshAt",
            "lastRefreshError",
            "lastRestore",
            "idleSince",
            "snapshot",
            "lastCheckpointAt",
            "schedules",
            "step",
            "inFlight",
            "threads",
            "attachMs",
            "hasSpare",
            "disk",
        ]
    );
    let read: ResidentsResponse = serde_json::from_value(json).unwrap();
    assert_eq!(read.in_flight, Some(2));
}

proptest! {
    /// No body is a failure, and none yields a value that breaks its type's rule.
    #[test]
    fn bodies_parse_or_are_rejected(text in "\\PC{0,60}", resource in "\\PC{0,20}", key in "\\PC{0,20}") {
        let body = json!({"resource": resource, "threadKey": key, "command": text, "path": text, "refHint": text});
        for body in [text.clone(), body.to_string()] {
            if let Err(refusal) = parse_body::<ExecRequest>(&body) {
                prop_assert_eq!(refusal.status(), 400);
            }
            if let Ok(request) = parse_body::<AttachRequest>(&body) {
                let hint = request.ref_hint.map(|hint| hint.to_string()).unwrap_or_default();
                prop_assert!(!hint.starts_with('-') && !hint.contains(".."));
            }
        }
    }
}

#[test]
fn agents_start_on_allowed_states_only() {
    use StateWord::{Degraded, Down, Onboarding, Refreshing, Restoring, Warm};
    let serves = |state, reason: Option<&str>| {
        StatusResponse {
            state,
            reason: reason.map(str::to_owned),
        }
        .is_serviceable()
    };
    assert!(serves(Warm, None) && serves(Refreshing, None));
    assert!(serves(Degraded, Some("github-unreachable: 503")));
    assert!(serves(Degraded, Some("alarm-missed: no schedule")));
    for reason in [
        None,
        Some("disk-full: 1 MiB"),
        Some("alarm-missed"),
        Some("new-cause: alarm-missed: x"),
    ] {
        assert!(!serves(Degraded, reason), "{reason:?}");
    }
    assert!(
        ![Onboarding, Restoring, Down]
            .into_iter()
            .any(|state| serves(state, Some("alarm-missed: x")))
    );
}
