//! Tests the log lines.

use ars_events::Redactor;
use serde_json::{Value, json};

use super::support::{RUN, TRACE, TestSpan, Written, options, written};
use crate::{Level, SpanLog, TelemetryOptions, spans::Spans};

#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct Outer(#[source] std::fmt::Error);

#[test]
fn event_is_one_line() {
    let written = written(Redactor::default(), &options(), |_| {
        tracing::warn!(target: "ars::x", run = "r1", wait_ms = 5, ok = true, share = 0.5, at = ?Some(1), "not\nwritten");
    });
    assert_eq!(written.text().lines().count(), 1);
    let mut line = written.lines().remove(0);
    let timestamp = line["timestamp"].take();
    assert!(
        timestamp
            .as_str()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .is_ok(),
        "{timestamp}"
    );
    let want = json!({
        "timestamp": null, "level": "WARN", "message": "not\nwritten", "run": "r1", "wait_ms": 5, "ok": true,
        "share": 0.5, "at": "Some(1)", "target": "ars::x"
    });
    assert_eq!(line, want);
}

#[test]
fn error_includes_its_sources() {
    let written = written(Redactor::default(), &options(), |_| {
        let error = Outer(std::fmt::Error);
        tracing::error!(error = &error as &dyn std::error::Error, "failed");
    });
    let source = std::fmt::Error.to_string();
    assert_eq!(written.lines()[0]["error"], format!("outer: {source}"));
}

#[test]
fn fixed_fields_cannot_be_overwritten() {
    let written = written(Redactor::default(), &options(), |_| {
        tracing::info!(level = "ERROR", "x");
    });
    let line = &written.lines()[0];
    assert_eq!(
        (&line["level"], &line["level_"]),
        (&json!("INFO"), &json!("ERROR"))
    );
}

#[test]
fn line_lists_enclosing_spans() {
    let written = written(Redactor::default(), &options(), |_| {
        let outer = tracing::info_span!("outer", run = "r1", step = tracing::field::Empty);
        outer.record("step", 3);
        outer.in_scope(|| tracing::info_span!("inner").in_scope(|| tracing::info!("x")));
    });
    let spans = &written.lines()[0]["spans"];
    assert_eq!(
        *spans,
        json!([{ "name": "inner" }, { "name": "outer", "run": "r1", "step": 3 }])
    );
}

#[test]
fn long_field_is_cut() {
    let written = written(Redactor::default(), &options(), |_| {
        tracing::info!(body = "é".repeat(9_000), "x");
    });
    assert_eq!(
        written.lines()[0]["body"].as_str().unwrap().chars().count(),
        4_000
    );
}

#[test]
fn error_level_logs_errors_only() {
    let quiet = TelemetryOptions::lines(Level::Errors, None, "1");
    let everything = |spans: &Spans<Written>| {
        tracing::error!("broke");
        tracing::warn!("odd");
        tracing::error!(target: "genai", "body");
        TestSpan::new("s1", None, "request").end(spans);
    };
    let messages = |options: &TelemetryOptions| -> Vec<Value> {
        let lines = written(Redactor::default(), options, everything).lines();
        lines
            .into_iter()
            .map(|mut line| line["message"].take())
            .collect()
    };
    assert_eq!(messages(&quiet), ["broke"]);
    let filtered = TelemetryOptions {
        filter: Some("warn".into()),
        ..quiet.clone()
    };
    assert_eq!(messages(&filtered), ["broke", "odd"]);
    let unreadable = TelemetryOptions {
        filter: Some("=/=".into()),
        ..quiet
    };
    assert_eq!(messages(&unreadable), ["broke"]);
}

fn end_three_spans(spans: &Spans<Written>) {
    let slow = TestSpan {
        ms: 1_000,
        ..TestSpan::new("s2", Some("s1"), "model.turn")
    };
    let quick = TestSpan {
        ms: 999,
        ..TestSpan::new("s3", Some("s1"), "tool.bash")
    };
    slow.end(spans);
    quick.end(spans);
    TestSpan::new("s1", None, "request").end(spans);
}

fn logged(spans: SpanLog) -> Vec<Value> {
    let options = TelemetryOptions { spans, ..options() };
    let lines = written(Redactor::default(), &options, end_three_spans).lines();
    lines
        .into_iter()
        .map(|mut line| line["spanId"].take())
        .collect()
}

#[test]
fn root_or_slow_spans_are_logged() {
    assert_eq!(logged(SpanLog::Roots), ["s1"]);
    assert_eq!(logged(SpanLog::Slow), ["s2"]);
}

#[test]
fn span_line_has_every_field() {
    let options = TelemetryOptions {
        spans: SpanLog::Slow,
        ..options()
    };
    let written = written(Redactor::default(), &options, |spans| {
        let attrs = json!({ "model": "m", "usage": { "inputTokens": 7 } })
            .as_object()
            .cloned()
            .unwrap();
        let error = Some("overloaded".to_owned());
        TestSpan {
            ms: 2_500,
            error,
            attrs,
            ..TestSpan::new("s2", Some("s1"), "model.turn")
        }
        .end(spans);
    });
    let mut line = written.lines().remove(0);
    line["timestamp"].take();
    let want = json!({
        "timestamp": null, "level": "INFO", "span": "model.turn", "run": RUN, "traceId": TRACE, "spanId": "s2",
        "parentSpanId": "s1", "startedAt": 1_700_000_000_000_i64, "ms": 2_500, "status": "error",
        "error": "overloaded", "attrs": { "model": "m", "usage": { "inputTokens": 7 } }, "target": "ars::span"
    });
    assert_eq!(line, want);
}
