//! Bytes on the interface, and how it fits the lifecycle.

use super::{
    Answer, CommandEnd, FailureKind, GitCredential, Job, SecretText, StepEnd, StepEvent,
    StepFailure, StepInput, StepRequest,
};
use crate::lifecycle::{FailureClass, Step, classify};
use crate::names::StrictThreadKey;
use crate::plan::kill;
use crate::pool::PoolUser;

#[test]
fn request_has_these_bytes() {
    let credential = GitCredential {
        origin: "https://host".into(),
        username: "x-access-token".into(),
        password: SecretText::new("s3cret"),
    };
    let request = StepRequest {
        job: Job::Cycle { attempt: 3 },
        step: kill(PoolUser::parse("worker2").unwrap()),
        input: StepInput::Credential(credential),
        lock_wait_ms: None,
    };
    let json = serde_json::to_string(&request).unwrap();
    let expected = concat!(
        r#"{"job":{"cycle":{"attempt":3}},"step":{"name":"kill","user":{"unprivileged":{"pool":"worker2"}},"#,
        r#""operation":{"do":"kill-user","user":"worker2"},"timeout_ms":2000,"needs_lock":false},"#,
        r#""input":{"is":"credential","origin":"https://host","username":"x-access-token","password":"s3cret"},"#,
        r#""lock_wait_ms":null}"#
    );
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_str::<StepRequest>(&json).unwrap(), request);
    assert!(!format!("{request:?}").contains("s3cret"));
}

#[test]
fn input_is_optional_and_unknown_operations_are_refused() {
    let step = serde_json::to_value(kill(PoolUser::parse("worker2").unwrap())).unwrap();
    let mut request = serde_json::json!({ "job": { "request": { "id": 1 } }, "step": step });
    let parsed: StepRequest = serde_json::from_value(request.clone()).unwrap();
    assert_eq!((parsed.input, parsed.lock_wait_ms), (StepInput::None, None));
    request["step"]["operation"]["do"] = "format-disk".into();
    assert!(serde_json::from_value::<StepRequest>(request).is_err());
}

/// A failure's class does not change on the way from the daemon to the lifecycle.
#[test]
fn failures_keep_their_class() {
    let end = |result| {
        let line = StepEvent::Ended(StepEnd {
            result,
            lock_wait_ms: 0,
            duration_ms: 1,
        });
        let line = serde_json::to_string(&line).unwrap();
        match serde_json::from_str(&line).unwrap() {
            StepEvent::Ended(end) => end.for_cycle(),
            other => panic!("{other:?}"),
        }
    };
    let command = |exit_code, timed_out| CommandEnd {
        stdout: String::new(),
        stderr: "x".into(),
        exit_code,
        timed_out,
        free_kib: None,
        refused: Vec::new(),
    };
    assert_eq!(
        end(Ok(Answer::Command(command(0, false)))),
        Ok(Answer::Command(command(0, false)))
    );
    for (result, class) in [
        (
            Ok(Answer::Command(command(1, false))),
            FailureClass::StepFailed,
        ),
        (
            Ok(Answer::Command(command(143, false))),
            FailureClass::Interrupted,
        ),
        (
            Ok(Answer::Command(command(124, true))),
            FailureClass::StepFailed,
        ),
        (
            Err(StepFailure {
                free_kib: Some(1),
                ..StepFailure::new(FailureKind::Internal, "")
            }),
            FailureClass::DiskFull,
        ),
        (
            Err(StepFailure::new(
                FailureKind::NoSpace,
                "No space left on device (os error 28)",
            )),
            FailureClass::DiskFull,
        ),
    ] {
        assert_eq!(classify(Step::Build, &end(result).unwrap_err()), class);
    }
}

#[test]
fn disk_request_names_strict_keys() {
    assert!(serde_json::from_str::<super::DiskRequest>(r#"{"threads":["../x"]}"#).is_err());
    let key = StrictThreadKey::parse("load:1").unwrap();
    let request = super::DiskRequest { threads: vec![key] };
    assert_eq!(
        serde_json::to_string(&request).unwrap(),
        r#"{"threads":["load:1"]}"#
    );
}
