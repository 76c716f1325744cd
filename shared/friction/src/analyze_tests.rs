//! Tests of the analyzer: each row of state-worker supplement section 8.2.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn call(at: i64, tool: &str, summary: &str, id: &str) -> Value {
    json!({"type": "tool_call", "tool": tool, "summary": summary, "callId": id, "at": at})
}

fn result(at: i64, tool: &str, ok: bool, id: &str) -> Value {
    json!({"type": "tool_result", "tool": tool, "ok": ok, "summary": "", "callId": id, "at": at})
}

fn diagnose(events: &[Value]) -> Diagnosis {
    analyze(events, &Options::default())
}

fn found(events: &[Value]) -> Vec<(Category, Severity, usize)> {
    diagnose(events).findings.into_iter().map(|f| (f.category, f.severity, f.event_index)).collect()
}

#[test]
fn a_smooth_run_has_no_friction() {
    let diagnosis = diagnose(&[
        json!({"type": "input", "at": 0}),
        call(1, "bash", "$ ls", "a"),
        result(2, "bash", true, "a"),
    ]);
    assert_eq!(diagnosis.verdict, "no friction detected");
    assert_eq!((diagnosis.event_count, diagnosis.tool_calls, diagnosis.run_ms), (3, 1, Some(2)));
    assert_eq!(diagnosis.by_category, Totals::default());
}

#[test]
fn slow_tools_are_medium_and_high_at_twice_the_threshold() {
    for (ms, expected) in [(29_999, None), (30_000, Some(Severity::Medium)), (60_000, Some(Severity::High))] {
        let events = [call(0, "bash", "$ make", "a"), result(ms, "bash", true, "a")];
        assert_eq!(
            found(&events),
            expected.map(|severity| (Category::SlowTool, severity, 0)).into_iter().collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_failed_tool_is_high_when_it_was_also_slow_and_its_reissue_is_a_retry() {
    let events = [
        call(0, "bash", "$ make", "a"),
        result(5, "bash", false, "a"),
        call(6, "bash", "$ make", "b"),
        result(40_000, "bash", false, "b"),
    ];
    assert_eq!(
        found(&events),
        [
            (Category::FailedTool, Severity::Medium, 0),
            (Category::Retry, Severity::Low, 2),
            (Category::FailedTool, Severity::High, 2),
        ]
    );
}

#[test]
fn infrastructure_comes_before_install_and_install_before_failure() {
    let mut broken = result(1, "bash", false, "a");
    broken["infra"] = json!(true);
    assert_eq!(found(&[call(0, "bash", "$ npm ci", "a"), broken])[0].0, Category::InfraFailure);
    let failed = [call(0, "bash", "$ npm ci", "a"), result(1, "bash", false, "a")];
    assert_eq!(found(&failed), [(Category::SetupInstall, Severity::High, 0)]);
    let slow = [call(0, "bash", "$ npm ci", "a"), result(30_000, "bash", true, "a")];
    assert_eq!(found(&slow), [(Category::SetupInstall, Severity::Medium, 0)]);
}

#[test]
fn a_slow_model_turn_is_anchored_at_the_event_it_produced() {
    let turn = json!({"type": "span_end", "name": "model.turn", "startedAt": 0, "durationMs": 120_000, "at": 120_000});
    let events = [
        json!({"type": "input", "at": 0}),
        turn,
        call(120_001, "bash", "$ ls", "a"),
        result(120_002, "bash", true, "a"),
    ];
    assert_eq!(found(&events), [(Category::SlowModelTurn, Severity::High, 2)]);
    assert_eq!(diagnose(&events).model_time_ms, Some(120_000));
}

#[test]
fn notes_become_findings_and_a_wrap_up_lasts_to_the_end() {
    let events = [
        json!({"type": "run_note", "kind": "wrap_up", "summary": "", "at": 10}),
        json!({"type": "run_note", "kind": "time_budget_exhausted", "summary": "", "at": 20}),
        json!({"type": "run_note", "kind": "fleet_busy", "summary": "", "at": 25}),
        json!({"type": "answer", "text": "x", "at": 30}),
    ];
    let diagnosis = diagnose(&events);
    assert_eq!(diagnosis.findings[0].duration_ms, Some(20));
    assert_eq!(diagnosis.by_category.budget_hit.count, 1);
    assert_eq!(diagnosis.findings[2].severity, Severity::Medium);
}

#[test]
fn a_call_without_a_result_is_a_failure_only_when_the_stream_is_complete() {
    let events = [call(0, "bash", "$ ls", "a")];
    assert_eq!(found(&events), [(Category::InfraFailure, Severity::High, 0)]);
    let running = Options { finished: false, ..Options::default() };
    assert!(analyze(&events, &running).findings.is_empty());
}

#[test]
fn calls_without_ids_pair_in_order_per_tool() {
    let mut events = vec![
        call(0, "bash", "$ a", ""),
        call(0, "bash", "$ b", ""),
        result(1, "bash", false, ""),
        result(2, "bash", true, ""),
    ];
    for event in &mut events {
        event.as_object_mut().unwrap().remove("callId");
    }
    assert_eq!(found(&events), [(Category::FailedTool, Severity::Medium, 0)]);
}

#[test]
fn untimed_streams_classify_without_durations() {
    let mut events = vec![call(0, "bash", "$ a", "a"), result(99_000, "bash", false, "a")];
    for event in &mut events {
        event.as_object_mut().unwrap().remove("at");
    }
    let diagnosis = diagnose(&events);
    assert_eq!((diagnosis.has_timings, diagnosis.run_ms, diagnosis.tool_time_ms), (false, None, None));
    assert_eq!(diagnosis.verdict, "failed tools (1)");
}

#[test]
fn the_verdict_names_the_category_with_most_time_and_its_share() {
    let events = [
        call(0, "bash", "$ make", "a"),
        result(60_000, "bash", true, "a"),
        call(60_000, "bash", "$ ls", "b"),
        result(120_000, "bash", true, "b"),
    ];
    assert_eq!(diagnose(&events).verdict, "slow tools (2): 2m 00s, 100% of tool time");
}

proptest! {
    /// Any JSON is diagnosed without failing, and equal events give an equal diagnosis.
    #[test]
    fn any_stream_is_diagnosed_the_same_way_twice(
        kinds in proptest::collection::vec((0usize..6, 0i64..200_000, any::<bool>()), 0..40),
    ) {
        let events: Vec<Value> = kinds.into_iter().map(|(kind, at, flag)| match kind {
            0 => call(at, "bash", "$ make", "a"),
            1 => result(at, "bash", flag, "a"),
            2 => json!({"type": "run_note", "kind": "wrap_up", "at": at}),
            3 => json!({"type": "later_kind", "at": at}),
            4 => json!([at]),
            _ => json!({"type": "span_end", "name": "model.turn", "startedAt": at, "durationMs": at}),
        }).collect();
        let diagnosis = diagnose(&events);
        prop_assert_eq!(&diagnosis, &diagnose(&events));
        let counted: u64 = Category::ALL.iter().map(|category| diagnosis.by_category.of(*category).count).sum();
        prop_assert_eq!(counted, diagnosis.findings.len() as u64);
    }
}
