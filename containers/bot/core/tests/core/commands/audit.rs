//! An audit line for each invocation.

use serde_json::json;

use super::support::{browser, desk, none, operator, slack, token};
use crate::support::Lines;

#[tokio::test]
async fn each_invocation_writes_one_line() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let desk = desk();
    desk.invoke(&operator(), "status.show", none())
        .await
        .unwrap();
    desk.invoke(
        &slack(),
        "runs.stop",
        json!({"id": "canary", "mode": "soft"}),
    )
    .await
    .unwrap_err();
    desk.invoke(&operator(), "runs.stop", json!({"id": "canary"}))
        .await
        .unwrap_err();
    desk.invoke(&operator(), "runs.get", json!({"id": "canary"}))
        .await
        .unwrap_err();
    desk.runs.seed("r1", 1_000_000, |_| ());
    desk.invoke(&browser(), "runs.get", json!({"id": "r1"}))
        .await
        .unwrap_err();
    desk.invoke(&token(&["dispatch"], None), "canary secret!", none())
        .await
        .unwrap_err();
    desk.says(&slack(), "config help").await.unwrap().unwrap();
    let expected = [
        "command=status.show caller_kind=access caller=access:ops surface=api effect=read outcome=ok",
        "command=runs.stop caller_kind=chat caller=slack:U1 surface=chat effect=destructive outcome=unauthorized \
         decided_by=registry reason=missing-grant",
        "command=runs.stop caller_kind=access caller=access:ops surface=api effect=destructive \
         outcome=invalid_input decided_by=registry",
        "command=runs.get caller_kind=access caller=access:ops surface=api effect=read outcome=not_found \
         decided_by=handler",
        "command=runs.get caller_kind=access caller=access:ann surface=api effect=read outcome=not_found \
         decided_by=handler reason=not-member",
        "command=malformed caller_kind=mcp caller=mcp:ann surface=mcp outcome=not_found decided_by=registry",
        "command=help.show caller_kind=chat caller=slack:U1 surface=chat effect=read outcome=ok",
    ];
    assert_eq!(lines.take(), expected);
}
