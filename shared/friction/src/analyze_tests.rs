//! Tests the analyzer, one test per row in docs/reference/friction.md#categories.

use serde_json::json;

use super::*;
use crate::{Category, SeqRange, Severity, Totals, work};

fn call(at: i64, tool: &str, summary: &str, id: &str) -> Value {
    json!({"type": "tool_call", "tool": tool, "summary": summary, "callId": id, "at": at})
}

fn result(at: i64, tool: &str, ok: bool, id: &str) -> Value {
    json!({"type": "tool_result", "tool": tool, "ok": ok, "summary": "", "callId": id, "at": at})
}

fn diagnose(events: &[Value]) -> Diagnosis {
    analyze(events, &AnalysisOptions::default())
}

fn found(events: &[Value]) -> Vec<(Category, Severity, usize)> {
    diagnose(events)
        .findings
        .into_iter()
        .map(|f| (f.category, f.severity, f.event_index))
        .collect()
}

#[test]
fn a_smooth_run_has_no_friction() {
    let diagnosis = diagnose(&[
        json!({"type": "input", "at": 0}),
        call(1, "bash", "$ ls", "a"),
        result(2, "bash", true, "a"),
    ]);
    assert_eq!(diagnosis.verdict, "no friction detected");
    assert_eq!(
        (
            diagnosis.event_count,
            diagnosis.tool_calls,
            diagnosis.run_ms
        ),
        (3, 1, Some(2))
    );
    assert_eq!(diagnosis.by_category, Totals::default());
}

#[test]
fn slow_tool_severity_rises_at_twice_the_threshold() {
    for (ms, expected) in [
        (29_999, None),
        (30_000, Some(Severity::Medium)),
        (60_000, Some(Severity::High)),
    ] {
        let events = [
            call(0, "bash", "$ make", "a"),
            result(ms, "bash", true, "a"),
        ];
        assert_eq!(
            found(&events),
            expected
                .map(|severity| (Category::SlowTool, severity, 0))
                .into_iter()
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn slow_failure_is_high_and_its_reissue_a_retry() {
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
fn rerun_after_an_edit_is_no_retry() {
    let edit = |ok: bool| {
        [
            call(6, "edit_file", "edit_file a.py", "e"),
            result(7, "edit_file", ok, "e"),
        ]
    };
    let rerun = |edit: &[Value], infra: bool| {
        let mut first = result(5, "bash", false, "a");
        first["infra"] = json!(infra);
        let test = |at, id| call(at, "bash", "$ make test", id);
        let events = [
            &[test(0, "a"), first],
            edit,
            &[test(8, "b"), result(9, "bash", true, "b")],
        ]
        .concat();
        diagnose(&events).by_category.retry.count
    };
    assert_eq!(rerun(&edit(true), false), 0);
    assert_eq!(rerun(&edit(false), false), 1, "nothing was edited");
    assert_eq!(rerun(&edit(true), true), 1, "no edit mends the sandbox");
    let again = [edit(false), edit(true)].concat();
    assert_eq!(
        diagnose(&again).by_category.retry.count,
        1,
        "the edit itself failed"
    );
}

#[test]
fn edit_beside_a_failing_call_comes_after_it() {
    let test = |at, id| call(at, "bash", "$ make test", id);
    let edit = [
        call(1, "edit_file", "edit_file a.py", "e"),
        result(2, "edit_file", true, "e"),
    ];
    let rerun = [test(8, "b"), result(9, "bash", true, "b")];
    let failed = result(5, "bash", false, "a");
    let beside = [
        &[test(0, "a")],
        &edit[..],
        std::slice::from_ref(&failed),
        &rerun,
    ]
    .concat();
    assert_eq!(diagnose(&beside).by_category.retry.count, 0);
    let before = [&edit[..], &[test(3, "a"), failed], &rerun].concat();
    assert_eq!(diagnose(&before).by_category.retry.count, 1);
}

/// Neither the outage nor the service's answer for the ended process is the tool's.
/// A call that ran again has a span.
#[test]
fn interrupted_call_is_no_failure() {
    let span = |kind: &str, at: i64| json!({"type": kind, "spanId": "s", "name": "tool.read_file", "at": at});
    let mut measured = result(46_000, "read_file", true, "c");
    measured["spanId"] = json!("s");
    let events = [
        call(0, "bash", "$ make", "a"),
        result(31_000, "bash", true, "a"),
        call(31_001, "bash", "$ make", "b"),
        call(31_001, "read_file", "read_file a", "c"),
        json!({"type": "run_note", "kind": "resumed", "summary": "", "at": 45_000}),
        span("span_start", 45_001),
        measured,
        span("span_end", 46_000),
        result(76_500, "bash", false, "b"),
        json!({"type": "span_start", "spanId": "m", "name": "model.turn", "at": 76_500}),
        call(76_501, "bash", "$ make", "d"),
        result(76_502, "bash", false, "d"),
    ];
    let slow = (Category::SlowTool, Severity::Medium, 0);
    assert_eq!(
        found(&events),
        [slow, (Category::FailedTool, Severity::Medium, 10)]
    );
}

#[test]
fn infrastructure_precedes_install_precedes_failure() {
    let mut broken = result(1, "bash", false, "a");
    broken["infra"] = json!(true);
    assert_eq!(
        found(&[call(0, "bash", "$ npm ci", "a"), broken])[0].0,
        Category::InfraFailure
    );
    let failed = [
        call(0, "bash", "$ npm ci", "a"),
        result(1, "bash", false, "a"),
    ];
    assert_eq!(
        found(&failed),
        [(Category::SetupInstall, Severity::High, 0)]
    );
    let slow = [
        call(0, "bash", "$ npm ci", "a"),
        result(30_000, "bash", true, "a"),
    ];
    assert_eq!(
        found(&slow),
        [(Category::SetupInstall, Severity::Medium, 0)]
    );
}

#[test]
fn slow_turn_is_anchored_at_its_product() {
    let turn = json!({"type": "span_end", "name": "model.turn", "startedAt": 0, "durationMs": 120_000, "at": 120_000});
    let events = [
        json!({"type": "input", "at": 0}),
        turn,
        call(120_001, "bash", "$ ls", "a"),
        result(120_002, "bash", true, "a"),
    ];
    assert_eq!(
        found(&events),
        [(Category::SlowModelTurn, Severity::High, 2)]
    );
    assert_eq!(diagnose(&events).model_time_ms, Some(120_000));
}

#[test]
fn notes_become_findings() {
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
fn missing_result_fails_only_a_finished_stream() {
    let events = [call(0, "bash", "$ ls", "a")];
    assert_eq!(
        found(&events),
        [(Category::InfraFailure, Severity::High, 0)]
    );
    assert_eq!(
        diagnose(&events).findings[0].summary,
        "bash never answered: $ ls"
    );
    let running = AnalysisOptions {
        finished: false,
        ..AnalysisOptions::default()
    };
    assert!(analyze(&events, &running).findings.is_empty());
}

#[test]
fn nameless_calls_pair_in_order_per_tool() {
    let mut events = vec![
        call(0, "bash", "$ a", ""),
        call(0, "bash", "$ b", ""),
        result(1, "bash", false, ""),
        result(2, "bash", true, ""),
    ];
    for event in &mut events {
        event.as_object_mut().unwrap().remove("callId");
    }
    assert_eq!(
        found(&events),
        [(Category::FailedTool, Severity::Medium, 0)]
    );
}

#[test]
fn untimed_streams_classify_without_durations() {
    let mut events = vec![
        call(0, "bash", "$ a", "a"),
        result(99_000, "bash", false, "a"),
    ];
    for event in &mut events {
        event.as_object_mut().unwrap().remove("at");
    }
    let diagnosis = diagnose(&events);
    assert_eq!(
        (
            diagnosis.has_timings,
            diagnosis.run_ms,
            diagnosis.tool_time_ms
        ),
        (false, None, None)
    );
    assert_eq!(diagnosis.verdict, "failed tools (1)");
}

#[test]
fn verdict_names_the_costliest_category() {
    let events = [
        call(0, "bash", "$ make", "a"),
        result(60_000, "bash", true, "a"),
        call(60_000, "bash", "$ ls", "b"),
        result(120_000, "bash", true, "b"),
    ];
    assert_eq!(
        diagnose(&events).verdict,
        "slow tools (2): 2m 00s, 100% of tool time"
    );
}

#[test]
fn retry_lasts_as_long_as_its_call() {
    let events = [
        call(0, "bash", "$ make", "a"),
        result(5, "bash", false, "a"),
        call(10, "bash", "$ make", "b"),
        result(17, "bash", true, "b"),
    ];
    let diagnosis = diagnose(&events);
    assert_eq!(diagnosis.by_category.retry.duration_ms, 7);
    assert_eq!(
        diagnosis.findings[1].interval,
        Some(Interval { start: 10, end: 17 })
    );
}

#[test]
fn untimed_calls_are_never_slow() {
    let mut events = vec![
        call(0, "bash", "$ npm ci", "a"),
        result(0, "bash", true, "a"),
    ];
    for event in &mut events {
        event.as_object_mut().unwrap().remove("at");
    }
    let all = AnalysisOptions {
        slow_tool_ms: 0,
        slow_model_turn_ms: 0,
        ..AnalysisOptions::default()
    };
    let severities: Vec<_> = analyze(&events, &all)
        .findings
        .iter()
        .map(|finding| finding.severity)
        .collect();
    assert_eq!(severities, [Severity::Low]);
}

#[test]
fn side_events_change_neither_count_nor_clock() {
    let mut events = vec![json!({"type": "input", "at": 10})];
    for kind in [
        "assistant",
        "run_meta",
        "skill_use",
        "review_artifact",
        "pr_description",
        "pr_opened",
    ] {
        events.push(json!({"type": kind, "at": 15}));
    }
    for kind in ["context", "span_start", "span_end", "turn", "mcp_tool_use"] {
        events.push(json!({"type": kind, "at": 99}));
    }
    events.push(json!({"type": "answer", "at": 20}));
    events.push(json!({"type": "of_a_later_age", "at": 99}));
    let diagnosis = diagnose(&events);
    assert_eq!((diagnosis.event_count, diagnosis.run_ms), (3, Some(10)));
}

#[test]
fn window_defines_run_time_and_wrap_up() {
    let events = [
        json!({"type": "run_note", "kind": "wrap_up", "at": 10}),
        json!({"type": "answer", "at": 30}),
    ];
    let window = Some(Interval { start: 0, end: 50 });
    let diagnosis = analyze(
        &events,
        &AnalysisOptions {
            window,
            ..AnalysisOptions::default()
        },
    );
    assert_eq!(
        (diagnosis.run_ms, diagnosis.by_category.wrap_up.duration_ms),
        (Some(50), 40)
    );
    assert_eq!(diagnosis.verdict, "wrapping up (1): 40ms, 80% of the run");
    assert!(diagnosis.shape.is_some());
    let running = AnalysisOptions {
        window,
        finished: false,
        ..AnalysisOptions::default()
    };
    assert_eq!(analyze(&events, &running).shape, None);
}

#[test]
fn legacy_turns_come_from_events_or_gaps() {
    let events = [
        json!({"type": "input", "at": 0}),
        json!({"type": "turn", "startedAt": 0, "durationMs": 70_000, "at": 70_000}),
        call(80_000, "bash", "$ ls", "a"),
        result(80_001, "bash", true, "a"),
    ];
    assert_eq!(
        found(&events),
        [(Category::SlowModelTurn, Severity::Medium, 2)]
    );
    assert_eq!(diagnose(&events).model_time_ms, Some(70_000));
    let gaps = [
        json!({"type": "input", "at": 0}),
        json!({"type": "assistant", "at": 60_000}),
        call(60_001, "bash", "$ ls", "a"),
        result(60_002, "bash", true, "a"),
        json!({"type": "answer", "at": 60_005}),
    ];
    assert_eq!(
        found(&gaps),
        [(Category::SlowModelTurn, Severity::Medium, 1)]
    );
    assert_eq!(diagnose(&gaps).model_time_ms, Some(60_003));
    let recorded = AnalysisOptions {
        schema: Some(2),
        ..AnalysisOptions::default()
    };
    assert_eq!(analyze(&gaps, &recorded).model_time_ms, None);
}

#[test]
fn incomplete_stream_is_marked_truncated() {
    let seqs = |seqs: &[u64]| -> Vec<_> {
        seqs.iter()
            .map(|seq| json!({"type": "input", "seq": seq}))
            .collect()
    };
    assert!(!diagnose(&seqs(&[1, 2, 3])).truncated_input);
    assert!(diagnose(&seqs(&[1, 3])).truncated_input);
    assert!(diagnose(&seqs(&[2, 3])).truncated_input);
    assert!(diagnose(&[json!({"type": "run_note", "kind": "spans_dropped"})]).truncated_input);
    let elided = Some(SeqRange { from: 1, to: 1 });
    assert!(
        analyze(
            &[],
            &AnalysisOptions {
                elided,
                ..AnalysisOptions::default()
            }
        )
        .truncated_input
    );
    assert!(
        analyze(
            &[],
            &AnalysisOptions {
                head_trimmed: true,
                ..AnalysisOptions::default()
            }
        )
        .truncated_input
    );
    let text = serde_json::to_string(&diagnose(&[])).unwrap();
    assert!(
        !text.contains("truncatedInput") && !text.contains("shape"),
        "{text}"
    );
}

#[test]
fn infrastructure_failure_counts_for_retries() {
    let mut broken = result(1, "bash", true, "a");
    broken["infra"] = json!(true);
    let again = [
        call(0, "bash", "$ ls", "a"),
        broken,
        call(2, "bash", "$ ls", "b"),
        result(3, "bash", true, "b"),
    ];
    assert_eq!(
        found(&again),
        [
            (Category::InfraFailure, Severity::High, 0),
            (Category::Retry, Severity::Low, 2)
        ]
    );
    let orphaned = [
        result(1, "bash", false, "lost"),
        call(2, "bash", "", "b"),
        result(3, "bash", true, "b"),
    ];
    assert_eq!(
        found(&orphaned),
        [(Category::FailedTool, Severity::Medium, 0)]
    );
    assert_eq!(diagnose(&orphaned).tool_calls, 1);
}

#[test]
fn overlapping_times_count_once_per_run() {
    let wrap_up = |at: i64| json!({"type": "run_note", "kind": "wrap_up", "at": at});
    let run = [
        wrap_up(0),
        wrap_up(40),
        json!({"type": "answer", "at": 100}),
    ];
    assert_eq!(diagnose(&run).by_category.wrap_up.duration_ms, 100);
    let tools = [
        call(0, "bash", "$ npm ci", "a"),
        call(0, "bash", "$ npm ci", "b"),
        result(30, "bash", true, "a"),
        result(50, "bash", true, "b"),
    ];
    assert_eq!(diagnose(&tools).by_category.setup_install.duration_ms, 80);
    assert_eq!(
        diagnose(&tools).verdict,
        "set-up and installs (2): 80ms, 100% of tool time"
    );
}

#[test]
fn verdict_falls_back_to_count_then_order() {
    let note = |kind: &str| json!({"type": "run_note", "kind": kind});
    let (wrap_up, dead, time) = (
        note("wrap_up"),
        note("sandbox_dead"),
        note("time_budget_exhausted"),
    );
    assert_eq!(
        diagnose(&[dead.clone(), wrap_up.clone()]).verdict,
        "wrapping up (1)"
    );
    assert_eq!(
        diagnose(&[dead, wrap_up, time.clone(), time]).verdict,
        "budgets used up (2)"
    );
}

#[test]
fn invalid_times_are_ignored() {
    let hostile = [
        call(i64::MIN, "bash", "$ ls", "a"),
        result(i64::MAX, "bash", true, "a"),
    ];
    assert!(!diagnose(&hostile).has_timings);
    let turn = json!({"type": "span_end", "name": "model.turn", "startedAt": 50, "durationMs": -9});
    assert_eq!(diagnose(&[turn]).model_time_ms, Some(0));
}

/// Returns a run with `size` events that provoke passes to look back. Calls without answers or
/// answered out of order, deep and circular spans, overlapping times, gaps.
fn hostile(size: i64) -> Vec<Value> {
    let mut events = Vec::new();
    for i in 0..size {
        events.push(call(
            i,
            "bash",
            &format!("$ make {}", i % 7),
            &format!("c{i}"),
        ));
        events.push(json!({"type": "tool_call", "tool": "bash", "summary": "$ npm ci", "at": i}));
        events.push(json!({"type": "span_start", "spanId": format!("s{i}"), "parentSpanId": format!("s{}", (i + 1) % size),
            "name": "tool.bash", "at": size - i, "seq": 3 * i}));
        events.push(
            json!({"type": "span_end", "spanId": format!("t{i}"), "parentSpanId": format!("t{}", i - 1),
            "name": "model.turn", "startedAt": i, "durationMs": size - i, "at": i}),
        );
    }
    for i in (0..size).rev() {
        events.push(result(2 * size, "bash", i % 2 == 0, &format!("c{i}")));
        events.push(json!({"type": "tool_result", "tool": "bash", "ok": false, "at": 3 * size}));
        events.push(json!({"type": "run_note", "kind": "wrap_up", "at": i}));
    }
    events
}

#[test]
fn steps_are_linear_in_events() {
    let steps = |size| {
        let events = hostile(size);
        let options = AnalysisOptions {
            window: Some(Interval {
                start: 0,
                end: 3 * size,
            }),
            ..AnalysisOptions::default()
        };
        work::steps_of(|| drop(analyze(&events, &options)))
    };
    let (once, twice) = (steps(400), steps(800));
    assert!(once > 400 * 5, "the steps are counted: {once}");
    assert!(twice <= 2 * once + 100, "{once} steps became {twice}");
}
