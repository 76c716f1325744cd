//! Issues about recurring friction on the code host.

use std::sync::Arc;

use ars_auth::Set;
use ars_bot_core::{
    Capabilities,
    commands::Caller,
    settings::{ProposalSettings, Settings},
};
use ars_types::RepoSlug;
use serde_json::{Value, json};

use super::support::{Desk, desk, desk_with, granted, none};
use crate::support::{HostFailure, MemoryHost, with_host};

/// Creates a desk with three patterns from two runs each, the first the costliest.
fn seeded(host: &Arc<MemoryHost>) -> Desk {
    let settings = |settings| Settings {
        proposals: ProposalSettings {
            repository: RepoSlug::parse("acme/app").ok(),
            ..ProposalSettings::default()
        },
        restrictions: ars_auth::Restrictions {
            repos: ["acme/closed".to_owned()].into(),
            ..Default::default()
        },
        ..settings
    };
    let desk = desk_with(Vec::new(), with_host(host), settings);
    for (run, at) in [("r1", 1_000_000), ("r2", 1_000_010)] {
        desk.runs.seed(run, at, |record| {
            let finding = |command: &str, ms: i64| {
                json!({ "category": "slow_tool", "severity": "high", "tool": "bash", "eventIndex": 1,
                    "durationMs": ms, "summary": format!("bash took 60.0s: $ {command} @ann") })
            };
            record["diagnosis"]["findings"] =
                json!([finding("cargo", 90_000), finding("npm", 80_000), finding("make", 70_000)]);
        });
    }
    desk
}

fn operator() -> Caller {
    granted(&["friction:write"], Set::All)
}

async fn propose(desk: &Desk, body: Value) -> Value {
    desk.output(&operator(), "friction.propose", body).await
}

fn numbers(entries: &Value) -> Vec<u64> {
    entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["issue"]["number"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn costliest_patterns_become_labelled_issues() {
    let host = Arc::new(MemoryHost::default());
    let desk = seeded(&host);
    let proposed = propose(&desk, json!({ "top": 2 })).await;
    assert_eq!(
        (numbers(&proposed["filed"]), &proposed["duplicates"]),
        (vec![1, 2], &json!([]))
    );
    assert_eq!(
        (&proposed["runsAnalyzed"], &proposed["dryRun"]),
        (&json!(2), &json!(false))
    );
    for text in [
        &proposed["filed"][0]["proposal"]["title"],
        &proposed["proposals"][0]["body"],
    ] {
        assert!(
            text.as_str().unwrap().ends_with("</untrusted-text>"),
            "{text}"
        );
    }
    let (repository, issue) = host.issues.lock().unwrap()[0].clone();
    assert_eq!(
        (repository.as_str(), &issue.labels[..]),
        ("acme/app", &["self-improvement".to_owned()][..])
    );
    assert!(
        issue.title.contains("cargo") && issue.body.contains("<!-- ars:friction="),
        "{issue:?}"
    );
    assert!(
        !issue.body.contains("@ann") && !issue.title.contains("@ann"),
        "no mention fires: {issue:?}"
    );
    // The issues that are open are found by their markers, and the next pattern is filed.
    let again = propose(&desk, json!({ "top": 2 })).await;
    assert_eq!(
        (numbers(&again["filed"]), numbers(&again["duplicates"])),
        (vec![3], vec![1, 2])
    );
}

#[tokio::test]
async fn dry_run_files_none() {
    let host = Arc::new(MemoryHost::default());
    let proposed = propose(&seeded(&host), json!({ "dryRun": true })).await;
    assert_eq!(
        (
            proposed["proposals"].as_array().unwrap().len(),
            &proposed["filed"]
        ),
        (3, &json!([]))
    );
    assert!(host.issues.lock().unwrap().is_empty());
}

#[tokio::test]
async fn lost_answer_files_no_second_issue() {
    let host = Arc::new(MemoryHost::default());
    host.failures
        .lock()
        .unwrap()
        .extend([HostFailure::LostAnswer, HostFailure::Rejected]);
    let proposed = propose(&seeded(&host), none()).await;
    assert_eq!(numbers(&proposed["filed"]), [1, 2]);
    let failed = proposed["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        failed[0]["error"],
        "the service has no permission for this on the code host"
    );
    assert_eq!(host.issues.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn concurrent_calls_file_each_pattern_once() {
    let host = Arc::new(MemoryHost::default());
    let desk = seeded(&host);
    tokio::join!(propose(&desk, none()), propose(&desk, none()));
    assert_eq!(host.issues.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn repository_gate_precedes_the_host() {
    let host = Arc::new(MemoryHost::default());
    *host.is_down.lock().unwrap() = true;
    let desk = seeded(&host);
    let failure = async |body: Value| desk.failure(&operator(), "friction.propose", body).await.0;
    assert_eq!(
        failure(json!({ "repo": "acme/closed" })).await,
        "unauthorized"
    );
    assert_eq!(failure(none()).await, "unavailable");
    let reader = granted(&["friction:read"], Set::All);
    assert_eq!(
        desk.failure(&reader, "friction.propose", none()).await.0,
        "unauthorized"
    );
}

#[tokio::test]
async fn command_needs_host_and_repository() {
    assert_eq!(
        desk()
            .failure(&operator(), "friction.propose", none())
            .await
            .0,
        "not_found"
    );
    let host = Arc::new(MemoryHost::default());
    let capabilities = |capabilities: Capabilities| with_host(&host)(capabilities);
    let unset = desk_with(Vec::new(), capabilities, |settings| settings);
    assert_eq!(
        unset
            .failure(&operator(), "friction.propose", none())
            .await
            .0,
        "unavailable"
    );
}
