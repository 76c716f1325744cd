//! Friction in runs that the simulation records under kills, clustered and filed as issues.

use ars_friction::AnalysisOptions;
use ars_tests_simulation::{Plan, play};
use serde_json::{Value, json};

use crate::{claims::operator, processes::Installation};

/// The stream from a rehearsed run with friction from an own tool. See
/// docs/reference/friction.md#found-in-our-own-runs.
const BEFORE: &str = include_str!("../../fixtures/friction/search-before.jsonl");
/// The name that it searches for.
const SEARCHED: &str = "evenly";
/// How many port calls lie between two kills.
const KILL_STRIDE: usize = 5;
/// Longer than a lease.
const LAPSED_MS: u64 = 45_000;

/// Returns canonical runs' records, each with a kill at another call.
fn recorded() -> Vec<Value> {
    let (_, quiet) = play(&Plan::default());
    let kills = (1..=quiet.calls.len() as u64).step_by(KILL_STRIDE);
    let runs = kills.flat_map(|at| play(&Plan::kill(at, true, LAPSED_MS)).1.runs.into_values());
    // Ids are drawn from the same source in each scenario.
    let numbered = runs.filter_map(|run| run.record).enumerate();
    numbered
        .map(|(number, mut record)| {
            record["id"] = format!("r{number}").into();
            record
        })
        .collect()
}

/// Returns a rehearsed run's stream as the records for two runs that ended at a time.
///
/// It was rehearsed once: the second record is a copy with another id, because a pattern needs two
/// runs. With another searched name it is another pattern.
pub fn rehearsed(name: &str, at: &Value) -> Vec<Value> {
    let events: Vec<Value> = BEFORE
        .replace(SEARCHED, name)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|event: &Value| event["type"] != "result")
        .collect();
    let diagnosis =
        serde_json::to_value(ars_friction::analyze(&events, &AnalysisOptions::default())).unwrap();
    let count = events.len();
    let record = |id: &str| {
        json!({
            "id": id, "label": "who calls evenly", "agent": "coding", "model": "rehearsal/script",
            "channelId": "http:default", "userId": "http:ann", "threadKey": "http:default:t",
            "channelVisibility": "machine", "startedAt": at, "finishedAt": at, "status": "completed",
            "eventCount": count, "storedEventCount": count, "truncated": false, "events": events,
            "diagnosis": diagnosis,
        })
    };
    [format!("rehearsed-{name}"), format!("copy-{name}")]
        .iter()
        .map(|id| record(id))
        .collect()
}

/// Each pattern becomes a single issue. None blames a tool for the end of its process.
#[test]
fn friction_of_killed_runs_is_filed_once() {
    let installation = Installation::new();
    let mut records = recorded();
    records.extend(rehearsed(SEARCHED, &records[0]["finishedAt"].clone()));
    let count = records.len();
    assert!(count > 12, "{count}");
    installation.adopt(records);
    let process = installation.start();
    let report = process.command(operator(), "friction report");
    assert!(report.contains(&format!("{count} runs")), "{report}");
    for blamed in ["bash: effect", "write_file: "] {
        assert!(!report.contains(blamed), "{report}");
    }
    let first = process.command(operator(), "friction propose --top 10 --repo acme/app");
    let filed = installation.fake.repository("acme/app").items;
    assert_eq!(first.matches("- filed #").count(), filed.len(), "{first}");
    // A model that calls an unknown tool is part of the story.
    assert!(
        filed
            .values()
            .any(|issue| issue.title.contains("no_such_tool")),
        "{filed:#?}"
    );
    // So is the search that was rejected; the fixed form is a run in the CLI's tests.
    assert!(
        filed.values().any(|issue| issue.title.contains("evenly(")),
        "{filed:#?}"
    );
    for issue in filed.values() {
        assert_eq!(issue.labels, ["self-improvement"]);
        assert_eq!(
            issue.body.matches("<!-- ars:friction=").count(),
            1,
            "{}",
            issue.body
        );
    }
    let second = process.command(operator(), "friction propose --top 10 --repo acme/app");
    assert_eq!(
        second.matches("- already open #").count(),
        filed.len(),
        "{second}"
    );
    assert_eq!(
        installation.fake.repository("acme/app").items.len(),
        filed.len()
    );
}
