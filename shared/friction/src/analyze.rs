//! The analyzer's passes: read, join spans, pair calls, find turns and losses, classify, sum up.

use serde_json::Value;

use crate::{
    calls::{self, Call},
    claims,
    diagnosis::{Diagnosis, Shape},
    findings::findings,
    intervals::Interval,
    losses::{self, Losses},
    options::AnalysisOptions,
    reading::{self, Event, EventKind},
    shape::shape,
    spans::{self, Span},
    totals::{sum, totals},
    turns::{self, Turn},
    verdict::verdict,
};

/// First record schema with spans.
const SCHEMA_WITH_SPANS: u32 = 2;

/// Diagnoses a run's event stream.
pub fn analyze(events: &[Value], options: &AnalysisOptions) -> Diagnosis {
    let options = &AnalysisOptions {
        window: options.window.map(Interval::sane),
        ..*options
    };
    let events: Vec<_> = events.iter().map(reading::read).collect();
    let stream = Stream::read(&events, options);
    let clock = options.window.or_else(|| clock(&events));
    let findings = findings(
        &events,
        &stream.calls,
        &stream.turns,
        clock.map(|clock| clock.end),
        options,
    );
    let tool_times = stream
        .calls
        .iter()
        .filter_map(|call| call.outcome?.interval)
        .map(Interval::ms);
    let turn_times = stream.turns.iter().map(|turn| turn.interval.ms());
    let mut diagnosis = Diagnosis {
        event_count: events.iter().filter(|event| event.counts()).count() as u64,
        tool_calls: stream.calls.iter().filter(|call| call.called).count() as u64,
        has_timings: stream.has_timings(&events),
        run_ms: clock.map(Interval::ms),
        tool_time_ms: total(tool_times),
        model_time_ms: total(turn_times),
        by_category: totals(&findings),
        findings,
        verdict: String::new(),
        truncated_input: stream.losses.any,
        shape: options
            .window
            .filter(|_| options.finished)
            .map(|window| stream.shape(&events, window)),
    };
    diagnosis.verdict = verdict(&diagnosis);
    diagnosis
}

/// Returns the interval from the first to the last content event stamp.
fn clock(events: &[Event<'_>]) -> Option<Interval> {
    let stamps = || {
        events
            .iter()
            .filter(|event| event.moves_clock())
            .filter_map(|event| event.at)
    };
    Interval::between(stamps().min(), stamps().max())
}

/// Returns the sum, or `None` without summands.
fn total(numbers: impl Iterator<Item = i64>) -> Option<i64> {
    let mut numbers = numbers.peekable();
    numbers.peek().is_some().then(|| sum(numbers))
}

/// Results from the passes over the events.
struct Stream<'a> {
    legacy: bool,
    spans: Vec<Span<'a>>,
    calls: Vec<Call<'a>>,
    turns: Vec<Turn>,
    losses: Losses,
}

impl<'a> Stream<'a> {
    fn read(events: &[Event<'a>], options: &AnalysisOptions) -> Self {
        let spans = spans::read(events);
        let legacy = options
            .schema
            .map_or(spans.is_empty(), |schema| schema < SCHEMA_WITH_SPANS);
        let turns = if legacy {
            turns::legacy(events)
        } else {
            turns::recorded(events, &spans)
        };
        Self {
            legacy,
            calls: calls::pair(events, &spans),
            turns,
            losses: losses::read(events, options),
            spans,
        }
    }

    fn has_timings(&self, events: &[Event<'_>]) -> bool {
        !self.turns.is_empty()
            || events
                .iter()
                .any(|event| event.moves_clock() && event.at.is_some())
    }

    fn shape(&self, events: &[Event<'_>], window: Interval) -> Shape {
        let claims = if self.legacy {
            claims::legacy(events, &self.calls, &self.turns, &self.losses, window)
        } else {
            let command_run = events
                .iter()
                .any(|event| event.kind == EventKind::Meta { command_run: true });
            claims::recorded(&self.spans, command_run, &self.losses, window)
        };
        shape(window, claims, &self.losses)
    }
}

#[cfg(test)]
#[path = "analyze_tests.rs"]
mod tests;
