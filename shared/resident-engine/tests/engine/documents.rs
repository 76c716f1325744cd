//! Documents that cross objects and the daemon: each variant is read as it was written.

use ars_resident::daemon::{Answer, StepEvent};
use ars_resident_engine::{Call, RegistryCall, RegistryResponse};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::container::sha;
use crate::world::resource;

/// Reads and writes each document. `index` has an arm for each variant, so a new variant needs a
/// document here.
fn round_trip<T: DeserializeOwned + Serialize>(
    documents: &[Value],
    variants: usize,
    index: fn(&T) -> usize,
) {
    let mut seen: Vec<usize> = Vec::new();
    for document in documents {
        let text = document.to_string();
        let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        seen.push(index(&read));
    }
    assert_eq!(
        seen,
        (0..variants).collect::<Vec<_>>(),
        "one document of each variant, in order"
    );
}

fn record() -> Value {
    json!({
        "resource": resource(),
        "commands": { "build": "make", "test": "make test" },
        "effects": { "build": "mutating" },
        "defaultRef": "main",
        "diskBudgetMb": 500,
        "provisioningTimeoutMs": 300_000,
        "onboardedAt": 1,
        "updatedAt": 2,
    })
}

/// Returns a request on a thread with these fields.
fn request(fields: Value) -> Value {
    let mut body = json!({ "resource": resource(), "threadKey": "load:1" });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[test]
fn every_call_is_read_as_written() {
    let documents = [
        json!({ "call": "onboard", "record": record() }),
        json!({ "call": "offboard", "record": record(), "dryRun": true }),
        json!({ "call": "reconfigure", "record": record() }),
        json!({ "call": "rebuild", "dryRun": false }),
        json!({ "call": "info" }),
        json!({ "call": "activity" }),
        json!({ "call": "status" }),
        json!({ "call": "attach", "request": request(json!({ "refHint": "main", "readonly": true })), "staleAfterS": 5 }),
        json!({ "call": "detach", "request": request(json!({ "force": true })) }),
        json!({ "call": "op", "request": { "resource": resource(), "op": "test", "ref": "main" } }),
        json!({ "call": "exec", "request": request(json!({ "command": "ls", "timeoutMs": 60_000 })) }),
        json!({ "call": "read", "request": request(json!({ "path": "a/b" })) }),
        json!({ "call": "write", "request": request(json!({ "path": "a/b", "content": "ä\n" })) }),
        json!({ "call": "push", "request": request(json!({ "sha": sha(7), "branch": "ars/run-1/work" })) }),
        json!({ "call": "check-out", "request": request(json!({ "sha": sha(7), "from": { "pullRequest": 3 } })) }),
        json!({ "call": "checkpoint", "request": request(json!({ "run": "run-1" })) }),
        json!({ "call": "restore", "request": request(json!({ "run": "run-1" })) }),
        json!({ "call": "debug", "op": "sweep-now" }),
        json!({ "call": "force-down", "reason": null }),
        json!({ "call": "backdate", "threadKey": "load:1", "days": 3 }),
        json!({ "call": "purge", "prefix": "load:" }),
        json!({ "call": "watchdog" }),
    ];
    round_trip::<Call>(&documents, 22, |call| match call {
        Call::Onboard { .. } => 0,
        Call::Offboard { .. } => 1,
        Call::Reconfigure { .. } => 2,
        Call::Rebuild { .. } => 3,
        Call::Info => 4,
        Call::Activity => 5,
        Call::Status => 6,
        Call::Attach { .. } => 7,
        Call::Detach { .. } => 8,
        Call::Op { .. } => 9,
        Call::Exec { .. } => 10,
        Call::Read { .. } => 11,
        Call::Write { .. } => 12,
        Call::Push { .. } => 13,
        Call::CheckOut { .. } => 14,
        Call::Checkpoint { .. } => 15,
        Call::Restore { .. } => 16,
        Call::Debug { .. } => 17,
        Call::ForceDown { .. } => 18,
        Call::Backdate { .. } => 19,
        Call::Purge { .. } => 20,
        Call::Watchdog => 21,
    });
    let absent: Call = serde_json::from_value(json!({ "call": "force-down" })).unwrap();
    assert_eq!(absent, Call::ForceDown { reason: None });
    assert!(serde_json::from_value::<Call>(json!({ "call": "format-disk" })).is_err());
    assert!(serde_json::from_value::<Call>(json!({ "call": "rebuild" })).is_err());
}

#[test]
fn every_registry_document_is_read_as_written() {
    let documents = [
        json!({ "call": "insert", "record": record() }),
        json!({ "call": "swap", "evicted": resource(), "onboardedAt": 1, "record": record() }),
        json!({ "call": "get", "resource": resource() }),
        json!({ "call": "list" }),
        json!({ "call": "update", "record": record() }),
        json!({ "call": "remove", "resource": resource(), "onboardedAt": null }),
        json!({ "call": "override", "overrides": { "cap": 1, "floorS": null, "build": "b" } }),
    ];
    round_trip::<RegistryCall>(&documents, 7, |call| match call {
        RegistryCall::Insert { .. } => 0,
        RegistryCall::Swap { .. } => 1,
        RegistryCall::Get { .. } => 2,
        RegistryCall::List => 3,
        RegistryCall::Update { .. } => 4,
        RegistryCall::Remove { .. } => 5,
        RegistryCall::Override { .. } => 6,
    });
    let documents = [
        json!({ "is": "done", "removed": true }),
        json!({ "is": "record", "record": record(), "staleAfterS": 5 }),
        json!({ "is": "records", "records": [record()], "cap": 6, "overrides": null }),
        json!({ "is": "refused", "status": 409, "body": { "error": "over-cap", "a": [1, null] } }),
    ];
    round_trip::<RegistryResponse>(&documents, 4, |reply| match reply {
        RegistryResponse::Done { .. } => 0,
        RegistryResponse::Record { .. } => 1,
        RegistryResponse::Records { .. } => 2,
        RegistryResponse::Refused { .. } => 3,
    });
}

#[test]
fn every_answer_of_the_daemon_is_read_as_written() {
    let tree = json!({
        "is_readable": true, "has_tracked_changes": false, "has_untracked": true, "has_unpushed": false, "has_tip": true,
    });
    let markers = json!({ "ready": sha(7), "head": null, "built": null, "deps_key": null, "deps_installing": null });
    let disk = "0123456789abcdef0123456789abcdef";
    let command = json!({
        "is": "command", "stdout": "", "stderr": "ä", "exit_code": 1, "timed_out": false, "free_kib": 5,
        "refused": [{ "host": "h", "reason": "r" }],
    });
    let documents = [
        json!({ "is": "done" }),
        command.clone(),
        json!({ "is": "linked", "deps": "hardlink" }),
        json!({ "is": "materialised", "from": "store" }),
        json!({ "is": "tree", "check": tree }),
        json!({ "is": "credential", "file": { "is": "present", "written_at": 1, "expires_at": null } }),
        json!({ "is": "file", "content": "x", "truncated": true }),
        json!({ "is": "written", "bytes": 3 }),
        json!({ "is": "saved", "checkpoint": { "ref": "refs/ars/a/1", "sha": sha(7), "isNew": true, "withheld": ["x"] } }),
        json!({ "is": "killed", "processes": 2 }),
        json!({ "is": "inspected", "runtime": disk, "build": "b", "markers": markers, "free_kib": 5, "trees": "dirty" }),
        json!({ "is": "listing", "text": "x" }),
        json!({ "is": "archived", "backup": disk, "bytes": u64::MAX, "sha256": "00" }),
        json!({ "is": "extracted", "bytes": 1, "sha256": "00" }),
        json!({ "is": "marked", "runtime": disk }),
    ];
    round_trip::<Answer>(&documents, 15, |answer| match answer {
        Answer::Done => 0,
        Answer::Command(_) => 1,
        Answer::Linked { .. } => 2,
        Answer::Materialised { .. } => 3,
        Answer::Tree { .. } => 4,
        Answer::Credential { .. } => 5,
        Answer::File { .. } => 6,
        Answer::Written { .. } => 7,
        Answer::Saved { .. } => 8,
        Answer::Killed { .. } => 9,
        Answer::Inspected(_) => 10,
        Answer::Listing { .. } => 11,
        Answer::Archived { .. } => 12,
        Answer::Extracted { .. } => 13,
        Answer::Marked { .. } => 14,
    });
    let documents = [
        json!({ "event": "heartbeat" }),
        json!({ "event": "progress", "bytes": 5 }),
        json!({ "event": "ended", "result": { "Ok": command }, "lock_wait_ms": 0, "duration_ms": 1 }),
    ];
    round_trip::<StepEvent>(&documents, 3, |event| match event {
        StepEvent::Heartbeat => 0,
        StepEvent::Progress { .. } => 1,
        StepEvent::Ended(_) => 2,
    });
}
