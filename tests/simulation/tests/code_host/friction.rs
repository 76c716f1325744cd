//! The friction of runs that the simulation records under kills, clustered and filed as issues.

use ars_auth::{Actor, Grants, Set};
use ars_tests_simulation::{Plan, play};
use serde_json::Value;

use crate::processes::Installation;

/// Every how many calls of a port a process is killed.
const KILL_STRIDE: usize = 5;
/// Longer than a lease.
const LAPSED_MS: u64 = 45_000;

/// Records of canonical runs, each with a kill at another call.
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

/// Each pattern becomes one issue. None blames a tool for the end of its process.
#[test]
fn friction_of_killed_runs_is_filed_once() {
    let installation = Installation::new();
    let records = recorded();
    let count = records.len();
    assert!(count > 10, "{count}");
    installation.adopt(records);
    let process = installation.start();
    let actions = ["friction:read", "friction:write"].map(str::to_owned);
    let operator = || {
        let grants =
            Grants { actions: Set::Only(actions.clone().into()), channels: Set::All, ..Grants::default() };
        Actor::new("http:operator", grants)
    };
    let report = process.command(operator(), "friction report");
    assert!(report.contains(&format!("{count} runs")), "{report}");
    for blamed in ["bash: effect", "write_file: "] {
        assert!(!report.contains(blamed), "{report}");
    }
    let first = process.command(operator(), "friction propose --top 10 --repo acme/app");
    let filed = installation.fake.repository("acme/app").items;
    assert_eq!(first.matches("- filed #").count(), filed.len(), "{first}");
    // A model that calls an unknown tool is part of the story.
    assert!(filed.values().any(|issue| issue.title.contains("no_such_tool")), "{filed:#?}");
    for issue in filed.values() {
        assert_eq!(issue.labels, ["self-improvement"]);
        assert_eq!(issue.body.matches("<!-- ars:friction=").count(), 1, "{}", issue.body);
    }
    let second = process.command(operator(), "friction propose --top 10 --repo acme/app");
    assert_eq!(second.matches("- already open #").count(), filed.len(), "{second}");
    assert_eq!(installation.fake.repository("acme/app").items.len(), filed.len());
}
