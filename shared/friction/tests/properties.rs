//! Analyzer properties that hold for every stream, however malformed.

use ars_friction::{
    AnalysisOptions, Analyzed, Category, Diagnosis, Interval, ReportOptions, SeqRange, Shape,
    analyze, report,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Generates times in a small run, so that they overlap, or arbitrary values.
fn time() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => (-10i64..200).prop_map(|at| json!(at)),
        2 => (0i64..400_000).prop_map(|at| json!(at)),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>()].prop_map(|at| json!(at)),
        1 => any::<u64>().prop_map(|at| json!(at)),
        1 => any::<f64>().prop_map(|at| json!(at)),
        1 => Just(json!("soon")),
        1 => Just(Value::Null),
    ]
}

fn name(names: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(names)
}

fn event() -> impl Strategy<Value = Value> {
    let kind = name(&[
        "input",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "run_note",
        "assistant",
        "answer",
        "span_start",
        "span_start",
        "span_end",
        "span_end",
        "turn",
        "mcp_tool_use",
        "context",
        "run_meta",
    ]);
    let span = (
        name(&["a", "b", "c", "d", ""]),
        name(&["a", "b", "c", "d", ""]),
        name(&[
            "model.turn",
            "tool.bash",
            "request",
            "run.agent",
            "dispatch.compose",
            "run.pr_post_step",
            "x",
        ]),
    );
    let call = (
        name(&["1", "2", "3", ""]),
        name(&["bash", "read"]),
        name(&["$ npm ci", "$ make", "read a"]),
    );
    let note = name(&[
        "wrap_up",
        "time_budget_exhausted",
        "sandbox_dead",
        "fleet_busy",
        "spans_dropped",
        "x",
    ]);
    let flags = (any::<bool>(), prop::bool::weighted(0.2));
    let times = (time(), time(), time());
    let seq = prop_oneof![4 => (0u64..60).prop_map(|seq| json!(seq)), 1 => Just(Value::Null), 1 => Just(json!(u64::MAX))];
    (kind, span, call, note, flags, times, seq).prop_map(
        |(kind, (id, parent, name), (call, tool, summary), note, (ok, infra), (at, start, ms), seq)| {
            json!({
                "type": kind, "spanId": id, "parentSpanId": parent, "name": name, "callId": call, "tool": tool,
                "summary": summary, "kind": note, "ok": ok, "infra": infra, "at": at, "startedAt": start,
                "durationMs": ms, "from": start, "to": ms, "seq": seq,
            })
        },
    )
}

fn stream() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(event(), 0..60)
}

fn options() -> impl Strategy<Value = AnalysisOptions> {
    let end =
        || prop_oneof![6 => 0i64..200, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => any::<i64>()];
    let window = prop::option::weighted(0.8, (end(), end()));
    let slow = prop_oneof![Just(50i64), Just(30_000), Just(0), any::<i64>()];
    let schema = prop_oneof![Just(None), Just(Some(0)), Just(Some(2))];
    let elided = prop::option::of((0u64..60, 0u64..60));
    (window, slow, schema, elided, any::<bool>(), any::<bool>()).prop_map(
        |(window, slow, schema, elided, finished, head_trimmed)| AnalysisOptions {
            slow_tool_ms: slow,
            slow_model_turn_ms: slow,
            finished,
            window: window.map(|(start, end)| Interval { start, end }),
            schema,
            head_trimmed,
            elided: elided.map(|(from, to)| SeqRange { from, to }),
        },
    )
}

fn terms(shape: &Shape) -> [i64; 7] {
    [
        shape.getting_ready_ms,
        shape.thinking_ms,
        shape.tools_ms,
        shape.finishing_up_ms,
        shape.overhead_ms,
        shape.not_recorded_ms,
        shape.not_loaded_ms,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_terms_sum_to_the_window(events in stream(), options in options()) {
        let diagnosis = analyze(&events, &options);
        prop_assert_eq!(diagnosis.shape.is_some(), options.finished && options.window.is_some());
        if let Some(shape) = diagnosis.shape {
            prop_assert_eq!(terms(&shape).iter().sum::<i64>(), shape.window_ms);
            prop_assert_eq!(Some(shape.window_ms), diagnosis.run_ms);
            prop_assert!(terms(&shape).iter().all(|term| *term >= 0));
        }
    }

    #[test]
    fn diagnosis_is_deterministic_and_storable(events in stream(), options in options()) {
        let diagnosis = analyze(&events, &options);
        prop_assert_eq!(&diagnosis, &analyze(&events.clone(), &options));
        let text = serde_json::to_string(&diagnosis).unwrap();
        prop_assert_eq!(serde_json::from_str::<Diagnosis>(&text).unwrap(), diagnosis);
    }

    #[test]
    fn findings_are_counted_once_and_ordered(events in stream(), options in options()) {
        let diagnosis = analyze(&events, &options);
        let counted: u64 = Category::ALL.iter().map(|category| diagnosis.by_category.for_category(*category).count).sum();
        prop_assert_eq!(counted, diagnosis.findings.len() as u64);
        prop_assert!(diagnosis.findings.is_sorted_by_key(|finding| finding.event_index));
        prop_assert!(diagnosis.findings.iter().all(|finding| finding.event_index < events.len()));
        prop_assert!(diagnosis.findings.iter().all(|finding| finding.duration_ms.is_none_or(|ms| ms >= 0)));
        // A call has a single category, and may be a retry as well.
        let mut of_calls: Vec<_> = diagnosis.findings.iter()
            .filter(|finding| finding.tool.is_some() && finding.category != Category::Retry)
            .map(|finding| finding.event_index)
            .collect();
        of_calls.dedup();
        prop_assert_eq!(of_calls.len(), diagnosis.findings.iter()
            .filter(|finding| finding.tool.is_some() && finding.category != Category::Retry).count());
        prop_assert_eq!(diagnosis.findings.is_empty(), diagnosis.verdict == "no friction detected");
    }

    #[test]
    fn unknown_kinds_only_change_the_count(
        events in stream(),
        options in options(),
        strangers in prop::collection::vec((any::<prop::sample::Index>(), time(), any::<bool>()), 1..6),
    ) {
        let mut mixed: Vec<(Option<usize>, Value)> = events.iter().cloned().enumerate().map(|(i, e)| (Some(i), e)).collect();
        for (place, at, object) in &strangers {
            let stranger = if *object { json!({"type": "of_a_later_age", "at": at, "durationMs": at}) } else { json!([at]) };
            mixed.insert(place.index(mixed.len() + 1), (None, stranger));
        }
        let (places, mixed): (Vec<_>, Vec<_>) = mixed.into_iter().unzip();
        let expected = analyze(&events, &options);
        let mut diagnosis = analyze(&mixed, &options);
        prop_assert_eq!(diagnosis.event_count, expected.event_count + strangers.len() as u64);
        diagnosis.event_count = expected.event_count;
        for finding in &mut diagnosis.findings {
            finding.event_index = places[finding.event_index].unwrap();
        }
        prop_assert_eq!(diagnosis, expected);
    }

    #[test]
    fn untimed_streams_have_no_durations(mut events in stream(), options in options()) {
        for event in &mut events {
            for field in ["at", "startedAt", "durationMs", "from", "to"] {
                event.as_object_mut().unwrap().remove(field);
            }
        }
        let diagnosis = analyze(&events, &options);
        prop_assert!(!diagnosis.has_timings);
        prop_assert!(diagnosis.findings.iter().all(|finding| finding.duration_ms.is_none()));
        let slow = [Category::SlowTool, Category::SlowModelTurn];
        prop_assert!(diagnosis.findings.iter().all(|finding| !slow.contains(&finding.category)));
    }

    #[test]
    fn report_ignores_the_order_of_runs(
        streams in prop::collection::vec(stream(), 1..6),
        seed in any::<prop::sample::Index>(),
    ) {
        let diagnoses: Vec<_> = streams.iter()
            .map(|events| serde_json::to_value(analyze(events, &AnalysisOptions::default())).unwrap())
            .collect();
        let ids: Vec<_> = (0..diagnoses.len()).map(|id| format!("r{id}")).collect();
        let mut runs: Vec<_> = ids.iter().zip(&diagnoses).map(|(id, diagnosis)| Analyzed {
            run_id: id, label: None, agent: Some("coding"), finished_at: (id.len() % 2) as i64, diagnosis,
        }).collect();
        let options = ReportOptions { min_runs: 1, ..ReportOptions::default() };
        let whole = report(&runs, &options);
        let middle = seed.index(runs.len());
        runs.rotate_left(middle);
        prop_assert_eq!(&whole, &report(&runs, &options));
        // Below the bound every finding is in a pattern.
        let found: usize = streams.iter().map(|events| analyze(events, &AnalysisOptions::default()).findings.len()).sum();
        let friction = whole.patterns.iter().filter(|pattern| pattern.kind.as_str() != "long_run");
        let clustered: u64 = friction.map(|pattern| pattern.occurrences).sum();
        prop_assert!(whole.patterns.len() == 50 || clustered == found as u64);
    }
}
