//! Verdicts as a model submits them.

use ars_agent::{Role, ToolContent};
use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{RunFacilities, review::VerdictSlot, tests::bare};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

async fn submit(slot: Option<&VerdictSlot>, input: Value) -> ToolOutput {
    let cancel = CancellationToken::new();
    let run = RunFacilities {
        verdict: slot,
        ..RunFacilities::bare("review")
    };
    SubmitVerdict
        .run(
            ToolContext {
                run,
                ..bare(&cancel)
            },
            &input,
        )
        .await
}

#[tokio::test]
async fn the_last_verdict_wins() {
    let slot = VerdictSlot::default();
    let first = json!({"verdict": "approve", "summary": "fine", "head": COMMIT});
    assert_eq!(submit(Some(&slot), first).await, ToolOutput::text("Taken."));
    let second = json!({"verdict": "request_changes", "summary": " it leaks\n", "head": "ABCDEF1"});
    assert_eq!(
        submit(Some(&slot), second).await,
        ToolOutput::text("Taken.")
    );
    let verdict = slot.current().unwrap();
    assert_eq!(
        verdict,
        Verdict {
            decision: Decision::RequestChanges,
            summary: "it leaks".into(),
            head: Some("abcdef1".into()),
        }
    );
}

#[tokio::test]
async fn malformed_head_is_dropped() {
    for head in [
        json!("abcdef"),
        json!(format!("{COMMIT}0")),
        json!("main"),
        json!("--help1"),
        json!(7),
    ] {
        let slot = VerdictSlot::default();
        let output = submit(
            Some(&slot),
            json!({"verdict": "approve", "summary": "s", "head": head}),
        )
        .await;
        assert!(output.ok, "{output:?}");
        assert_ne!(output, ToolOutput::text("Taken."), "the model is told");
        let verdict = slot.current().unwrap();
        assert_eq!((verdict.decision, verdict.head), (Decision::Approve, None));
    }
}

#[tokio::test]
async fn invalid_verdict_keeps_the_earlier_one() {
    let slot = VerdictSlot::default();
    submit(Some(&slot), json!({"verdict": "approve", "summary": "s"})).await;
    let before = slot.current();
    for (input, field) in [
        (json!({"verdict": "yes", "summary": "s"}), "verdict"),
        (json!({"summary": "s"}), "verdict"),
        (
            json!({"verdict": "request_changes", "summary": " "}),
            "summary",
        ),
        (json!({"verdict": "request_changes"}), "summary"),
        (
            json!({"verdict": "request_changes", "summary": "s", "merge": true}),
            "merge",
        ),
    ] {
        let output = submit(Some(&slot), input).await;
        let [ToolContent::Text { text }] = &output.content[..] else {
            panic!("not one text")
        };
        assert!(!output.ok && text.contains(&format!("`{field}`")), "{text}");
        assert!(!text.contains("yes"), "the value is not said back: {text}");
        assert_eq!(slot.current(), before);
    }
}

#[tokio::test]
async fn verdict_outside_a_review_is_rejected() {
    let output = submit(None, json!({"verdict": "approve", "summary": "s"})).await;
    assert!(!output.ok);
}

#[test]
fn last_accepted_verdict_is_found() {
    let call = |id: &str, name: &str, verdict: &str| Part::ToolCall {
        call_id: id.into(),
        name: name.into(),
        input: json!({"verdict": verdict, "summary": id}),
        extra: Map::new(),
    };
    let result = |id: &str, ok| Part::ToolResult {
        call_id: id.into(),
        ok,
        content: Vec::new(),
    };
    let asks = |parts| Turn {
        role: Role::Assistant,
        parts,
    };
    let answers = |parts| Turn {
        role: Role::User,
        parts,
    };
    let turns = [
        asks(vec![call("a", NAME, "approve")]),
        answers(vec![result("a", true)]),
        asks(vec![
            call("b", NAME, "request_changes"),
            call("c", "bash", "approve"),
        ]),
        answers(vec![result("b", true), result("c", true)]),
        asks(vec![call("d", NAME, "perhaps")]),
        answers(vec![result("d", false)]),
        asks(vec![call("e", NAME, "approve")]),
    ];
    assert_eq!(verdict_in(&turns).unwrap().0.summary, "b");
    assert_eq!(verdict_in(&turns[..2]).unwrap().0.summary, "a");
    assert_eq!(verdict_in(&turns[..1]), None);
}
