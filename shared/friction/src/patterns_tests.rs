//! Tests the patterns: fields, order and bounds.

use serde_json::{Value, json};

use super::*;
use crate::work;

fn finding(category: &str, summary: &str, ms: i64) -> Value {
    json!({"category": category, "severity": "medium", "summary": summary, "eventIndex": 0, "tool": "bash", "durationMs": ms})
}

fn diagnosis(findings: &[Value]) -> Value {
    json!({ "findings": findings })
}

fn run<'a>(run_id: &'a str, finished_at: i64, diagnosis: &'a Value) -> Analyzed<'a> {
    Analyzed {
        run_id,
        label: Some("a label"),
        agent: Some("coding"),
        finished_at,
        diagnosis,
    }
}

fn keys(report: &Report) -> Vec<&str> {
    report
        .patterns
        .iter()
        .map(|pattern| pattern.key.as_str())
        .collect()
}

#[test]
fn similar_findings_form_one_pattern() {
    let one = diagnosis(&[
        finding("failed_tool", "bash failed: $ make test-1", 10),
        finding("failed_tool", "bash failed: $ make test-2", 30),
    ]);
    let two = diagnosis(&[finding(
        "failed_tool",
        "bash failed after a long time: $ make test-3",
        5,
    )]);
    let report = report(
        &[run("b", 2, &two), run("a", 1, &one)],
        &ReportOptions::default(),
    );
    let expected = json!({
        "runsAnalyzed": 2,
        "patterns": [{
            "key": "failed_tool:bash: make test-#",
            "kind": "failed_tool",
            "signature": "bash: make test-#",
            "runIds": ["a", "b"],
            "occurrences": 3,
            "durationMs": 45,
            "severity": "medium",
            "examples": [
                {"runId": "b", "label": "a label", "finishedAt": 2, "durationMs": 5, "severity": "medium",
                    "summary": "bash failed after a long time: $ make test-3"},
                {"runId": "a", "label": "a label", "finishedAt": 1, "durationMs": 30, "severity": "medium",
                    "summary": "bash failed: $ make test-2"},
            ],
        }],
    });
    assert_eq!(serde_json::to_value(report).unwrap(), expected);
}

#[test]
fn single_run_forms_no_pattern() {
    let twice = diagnosis(&[finding("retry", "x", 1), finding("retry", "x", 1)]);
    assert_eq!(
        report(&[run("a", 1, &twice)], &ReportOptions::default()).patterns,
        []
    );
    let alone = ReportOptions {
        min_runs: 1,
        ..ReportOptions::default()
    };
    assert_eq!(
        report(&[run("a", 1, &twice)], &alone).patterns[0].occurrences,
        2
    );
}

#[test]
fn patterns_are_ordered_by_cost() {
    let mut severe = finding("infra_failure", "bash broke", 0);
    severe["severity"] = json!("high");
    let both = diagnosis(&[
        finding("retry", "bash d", 0),
        finding("retry", "bash b", 0),
        finding("retry", "bash c", 0),
        finding("retry", "bash c", 0),
        severe,
        finding("slow_tool", "bash a", 9),
    ]);
    let report = report(
        &[run("a", 1, &both), run("b", 2, &both)],
        &ReportOptions::default(),
    );
    assert_eq!(
        keys(&report),
        [
            "slow_tool:bash: a",
            "infra_failure:bash: broke",
            "retry:bash: c",
            "retry:bash: b",
            "retry:bash: d"
        ]
    );
}

#[test]
fn report_is_bounded_to_the_newest() {
    let findings: Vec<_> = (0..60)
        .map(|letter| finding("retry", &"x".repeat(letter + 1), letter as i64))
        .collect();
    let many = diagnosis(&findings);
    let ids: Vec<_> = (0..520).map(|id| format!("r{id:03}")).collect();
    let runs: Vec<_> = ids
        .iter()
        .zip(0..)
        .map(|(id, at)| run(id, at, &many))
        .collect();
    let report = report(&runs, &ReportOptions::default());
    assert_eq!(report.patterns.len(), 50);
    let pattern = &report.patterns[0];
    assert_eq!(
        (pattern.run_ids.len(), pattern.run_ids[0].as_str()),
        (500, "r020")
    );
    let examples: Vec<_> = pattern
        .examples
        .iter()
        .map(|example| example.run_id.as_str())
        .collect();
    assert_eq!(examples, ["r519", "r518", "r517", "r516", "r515"]);
}

#[test]
fn repeated_run_counts_once() {
    let (first, last) = (
        diagnosis(&[finding("retry", "old", 1)]),
        diagnosis(&[finding("retry", "new", 1)]),
    );
    let alone = ReportOptions {
        min_runs: 1,
        ..ReportOptions::default()
    };
    let report = report(&[run("a", 9, &last), run("a", 1, &first)], &alone);
    assert_eq!(
        (report.runs_analyzed, keys(&report)),
        (1, vec!["retry:bash: new"])
    );
}

#[test]
fn unexplained_long_runs_form_a_pattern() {
    let long = |explained: i64| json!({"runMs": 3_600_000, "findings": [finding("retry", "x", explained)]});
    let (a, b, c) = (long(0), long(1_799_999), long(1_800_000));
    let report = report(
        &[run("a", 1, &a), run("b", 2, &b), run("c", 3, &c)],
        &ReportOptions::default(),
    );
    let pattern = report
        .patterns
        .iter()
        .find(|pattern| pattern.kind == Kind::LongRun)
        .unwrap();
    assert_eq!(
        (pattern.key.as_str(), pattern.severity),
        ("long_run:coding", Severity::High)
    );
    assert_eq!(pattern.run_ids, ["a", "b"]);
    assert_eq!(pattern.examples[0].summary, "the run took 60m 00s");
}

#[test]
fn malformed_diagnoses_are_skipped() {
    let garbage = json!({"truncatedInput": true, "runMs": "long", "findings": [
        null, 1, {}, {"category": "of a later age", "summary": "x"}, {"category": "retry"},
        {"category": "retry", "summary": "x", "severity": 9, "durationMs": -5, "tool": 3},
    ]});
    let not_even = json!([1]);
    let report = report(
        &[
            run("a", i64::MIN, &garbage),
            run("b", i64::MAX, &garbage),
            run("c", 0, &not_even),
        ],
        &ReportOptions::default(),
    );
    assert_eq!((report.runs_analyzed, report.truncated_runs), (3, Some(2)));
    assert_eq!(keys(&report), ["retry:x"]);
    assert_eq!(
        (report.patterns[0].severity, report.patterns[0].duration_ms),
        (Severity::Low, 0)
    );
}

#[test]
fn report_visits_each_finding_once() {
    let same = diagnosis(&vec![finding("retry", "x", 1); 40]);
    let different = diagnosis(
        &(0..40)
            .map(|i| finding("retry", &"y".repeat(i + 1), 1))
            .collect::<Vec<_>>(),
    );
    for diagnosis in [same, different] {
        let runs: Vec<_> = (0..30)
            .map(|at| {
                run(
                    "abcdefghijklmnopqrstuvwxyzABCD".get(at..=at).unwrap(),
                    at as i64,
                    &diagnosis,
                )
            })
            .collect();
        let steps = work::steps_of(|| drop(report(&runs, &ReportOptions::default())));
        assert_eq!(steps, 30 * 40);
    }
}
