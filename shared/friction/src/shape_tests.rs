//! Tests a run's shape through the analyzer.

use serde_json::{Value, json};

use crate::{AnalysisOptions, Interval, SeqRange, Shape, analyze};

fn start(id: &str, parent: &str, name: &str, at: i64) -> Value {
    json!({"type": "span_start", "spanId": id, "parentSpanId": parent, "name": name, "at": at})
}

fn span(id: &str, parent: &str, name: &str, from: i64, to: i64) -> Value {
    json!({"type": "span_end", "spanId": id, "parentSpanId": parent, "name": name,
        "startedAt": from, "durationMs": to - from, "at": to})
}

fn numbered(mut event: Value, seq: u64) -> Value {
    event["seq"] = json!(seq);
    event
}

/// Returns the shape for a run from 0 to 100; asserts that it covers the window.
fn shape_with(events: &[Value], options: AnalysisOptions) -> Shape {
    let options = AnalysisOptions {
        window: Some(Interval { start: 0, end: 100 }),
        ..options
    };
    let shape = analyze(events, &options).shape.unwrap();
    let Shape {
        window_ms,
        getting_ready_ms,
        thinking_ms,
        tools_ms,
        finishing_up_ms,
        ..
    } = shape;
    let missing = shape.overhead_ms + shape.not_recorded_ms + shape.not_loaded_ms;
    assert_eq!(
        getting_ready_ms + thinking_ms + tools_ms + finishing_up_ms + missing,
        window_ms
    );
    assert_eq!(window_ms, 100);
    shape
}

fn shape(events: &[Value]) -> Shape {
    shape_with(
        events,
        AnalysisOptions {
            schema: Some(2),
            ..AnalysisOptions::default()
        },
    )
}

#[test]
fn ordinary_run_is_broken_down() {
    let shape = shape(&[
        start("request", "", "request", 0),
        span("d", "request", "dispatch.compose", 0, 10),
        start("agent", "request", "run.agent", 12),
        span("m", "agent", "model.turn", 12, 40),
        span("t", "agent", "tool.bash", 40, 70),
        span("agent", "request", "run.agent", 12, 72),
        span("o", "request", "run.observe_workspace", 75, 85),
        span("p", "request", "post.reply", 90, 100),
    ]);
    let expected = Shape {
        window_ms: 100,
        getting_ready_ms: 10,
        thinking_ms: 28,
        tools_ms: 30,
        finishing_up_ms: 10,
        overhead_ms: 22,
        ..Shape::default()
    };
    assert_eq!(shape, expected);
}

#[test]
fn the_deepest_counted_span_claims() {
    let shape = shape(&[
        span("t", "", "tool.task", 0, 100),
        span("inner", "t", "run.agent", 10, 90),
        span("m", "inner", "model.turn", 20, 60),
    ]);
    assert_eq!((shape.tools_ms, shape.thinking_ms), (60, 40));
}

#[test]
fn ties_go_to_earlier_start_then_id() {
    let earlier = shape(&[
        span("z", "", "model.turn", 0, 60),
        span("a", "", "tool.x", 20, 100),
    ]);
    assert_eq!((earlier.thinking_ms, earlier.tools_ms), (60, 40));
    let lesser = shape(&[
        span("b", "", "model.turn", 0, 60),
        span("a", "", "tool.x", 0, 50),
    ]);
    assert_eq!((lesser.thinking_ms, lesser.tools_ms), (10, 50));
}

#[test]
fn spans_claim_only_inside_the_window() {
    let shape = shape(&[
        span("a", "", "tool.x", -50, 20),
        span("b", "", "model.turn", 90, 500),
    ]);
    assert_eq!(
        (shape.tools_ms, shape.thinking_ms, shape.overhead_ms),
        (20, 10, 70)
    );
}

#[test]
fn unclaimed_lost_time_is_not_recorded() {
    let shape = shape(&[
        numbered(json!({"type": "input", "at": 10}), 1),
        numbered(json!({"type": "answer", "at": 60}), 9),
        numbered(span("m", "", "model.turn", 20, 30), 10),
    ]);
    assert_eq!(
        (shape.thinking_ms, shape.not_recorded_ms, shape.overhead_ms),
        (10, 40, 50)
    );
}

#[test]
fn elided_time_is_not_loaded() {
    let events = [
        numbered(json!({"type": "input", "at": 10}), 1),
        numbered(json!({"type": "answer", "at": 60}), 9),
    ];
    let elided = Some(SeqRange { from: 2, to: 8 });
    let shape = shape_with(
        &events,
        AnalysisOptions {
            elided,
            schema: Some(2),
            ..AnalysisOptions::default()
        },
    );
    assert_eq!(
        (
            shape.not_loaded_ms,
            shape.not_recorded_ms,
            shape.overhead_ms
        ),
        (50, 0, 50)
    );
}

#[test]
fn open_span_ends_at_the_next_loss() {
    let open = numbered(start("t", "", "tool.bash", 10), 1);
    assert_eq!(shape(std::slice::from_ref(&open)).tools_ms, 90);
    let later_event = numbered(json!({"type": "assistant", "at": 30}), 2);
    let later = numbered(json!({"type": "answer", "at": 60}), 9);
    let cut = shape(&[open, later_event, later]);
    assert_eq!(
        (cut.tools_ms, cut.not_recorded_ms, cut.overhead_ms),
        (20, 30, 50)
    );
}

#[test]
fn command_spans_count_as_tools_in_command_runs() {
    let command = span("c", "", "run.command.repo", 0, 40);
    let own = [
        json!({"type": "run_meta", "agent": "command"}),
        command.clone(),
    ];
    assert_eq!(
        (shape(&own).tools_ms, shape(&own).getting_ready_ms),
        (40, 0)
    );
    let other = [json!({"type": "run_meta", "agent": "coding"}), command];
    assert_eq!(
        (shape(&other).tools_ms, shape(&other).getting_ready_ms),
        (0, 40)
    );
}

#[test]
fn background_reading_diff_claims_nothing() {
    let shape = shape(&[
        span("r", "", "run.reading_diff", 0, 80),
        span("m", "", "model.turn", 10, 30),
        span("j", "", "run.reading_diff.join", 60, 80),
    ]);
    assert_eq!(
        (shape.thinking_ms, shape.finishing_up_ms, shape.overhead_ms),
        (20, 20, 60)
    );
}

#[test]
fn legacy_stream_is_broken_down() {
    let call = |at| json!({"type": "tool_call", "tool": "bash", "summary": "$ ls", "at": at});
    let result = |at| json!({"type": "tool_result", "tool": "bash", "ok": true, "at": at});
    let gaps = [
        json!({"type": "input", "at": 10}),
        call(30),
        result(45),
        json!({"type": "mcp_tool_use", "server": "x", "tool": "y", "durationMs": 5, "at": 95}),
        json!({"type": "answer", "at": 60}),
    ];
    let broken_down = shape_with(
        &gaps,
        AnalysisOptions {
            schema: Some(0),
            ..AnalysisOptions::default()
        },
    );
    assert_eq!(
        (
            broken_down.thinking_ms,
            broken_down.tools_ms,
            broken_down.overhead_ms
        ),
        (35, 20, 45)
    );
    let unanswered = shape_with(&gaps[..2], AnalysisOptions::default());
    assert_eq!((unanswered.thinking_ms, unanswered.tools_ms), (20, 70));
    let events = [
        json!({"type": "turn", "startedAt": 5, "durationMs": 10}),
        json!({"type": "input", "at": 50}),
        call(90),
    ];
    assert_eq!(
        shape_with(&events, AnalysisOptions::default()).thinking_ms,
        10
    );
}
