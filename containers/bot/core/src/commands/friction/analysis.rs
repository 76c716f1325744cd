//! Diagnoses a saved event stream.

use ars_events::{sse::Capture, unwrap_untrusted};
use ars_friction::{AnalysisOptions, Diagnosis, Interval, SeqRange, analyze};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};
use serde_json::Value;

use super::{super::fence, text};

/// The advice when a source has no events.
const HINT: &str = "give JSON lines of run events, or the raw stream: curl -N '…/runs/<id>/events?t=…' | ars friction analyze";

/// The diagnosis of a stream and its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Source of the events: a path, or `-`.
    pub source: String,
    /// Events read.
    pub events: usize,
    /// Lines or frames that are not events.
    pub skipped: usize,
    /// The diagnosis of the run. Summaries of findings are fenced.
    #[serde(serialize_with = "fenced", deserialize_with = "unfenced")]
    #[schemars(with = "Value")]
    pub diagnosis: Diagnosis,
    /// The advice when there are no events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Options of an analysis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// Milliseconds from which a tool is slow.
    pub slow_ms: Option<i64>,
    /// The run goes on, so an open call is not a failure.
    pub in_progress: bool,
}

impl Analysis {
    /// Diagnoses a stream.
    pub fn new(source: String, capture: &Capture, options: &StreamOptions) -> Self {
        let defaults = AnalysisOptions::default();
        let options = AnalysisOptions {
            slow_tool_ms: options.slow_ms.unwrap_or(defaults.slow_tool_ms),
            finished: !options.in_progress,
            window: if options.in_progress {
                None
            } else {
                window(capture)
            },
            elided: capture.elided.map(|(from, to)| SeqRange { from, to }),
            ..defaults
        };
        let events = capture.events.len();
        Self {
            source,
            events,
            skipped: capture.skipped,
            diagnosis: analyze(&capture.events, &options),
            hint: (events == 0).then(|| HINT.to_owned()),
        }
    }

    /// Returns the diagnosis for people, with a newline at its end.
    pub fn text(&self) -> String {
        text::render(self)
    }
}

fn fenced<S: Serializer>(diagnosis: &Diagnosis, serializer: S) -> Result<S::Ok, S::Error> {
    let diagnosis = serde_json::to_value(diagnosis).map_err(S::Error::custom)?;
    fence::diagnosis(diagnosis).serialize(serializer)
}

fn unfenced<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Diagnosis, D::Error> {
    let mut diagnosis = Diagnosis::deserialize(deserializer)?;
    for finding in &mut diagnosis.findings {
        if let Some(summary) = unwrap_untrusted(&finding.summary) {
            finding.summary = summary.to_owned();
        }
    }
    Ok(diagnosis)
}

/// Returns the time from the start of the root span to the finish, if the capture has both.
fn window(capture: &Capture) -> Option<Interval> {
    let is_root = |event: &&Value| event["type"] == "span_start" && event["parentSpanId"].is_null();
    let start = capture.events.iter().find(is_root)?["at"].as_i64()?;
    capture
        .finished_at
        .filter(|end| *end >= start)
        .map(|end| Interval { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run's stream as `curl` saves it.
    const STREAM: &str = include_str!("fixtures/run.sse");
    /// The same run's events as JSON lines.
    const LINES: &str = include_str!("fixtures/run.jsonl");

    fn args() -> StreamOptions {
        StreamOptions::default()
    }

    fn analysis(text: &str, options: &StreamOptions) -> Analysis {
        Analysis::new("run".into(), &Capture::read(text.as_bytes()), options)
    }

    #[test]
    fn report_names_time_and_findings() {
        insta::assert_snapshot!("stream_text", analysis(STREAM, &args()).text());
        insta::assert_snapshot!("lines_text", analysis(LINES, &args()).text());
    }

    #[test]
    fn line_ends_make_no_difference() {
        for end in ["\r\n", "\r"] {
            assert_eq!(
                analysis(&STREAM.replace('\n', end), &args()),
                analysis(STREAM, &args()),
                "{end:?}"
            );
            assert_eq!(
                analysis(&LINES.replace('\n', end), &args()),
                analysis(LINES, &args()),
                "{end:?}"
            );
        }
    }

    #[test]
    fn both_formats_give_the_same_findings() {
        let (stream, lines) = (analysis(STREAM, &args()), analysis(LINES, &args()));
        assert_eq!(stream.diagnosis.findings, lines.diagnosis.findings);
        // Only the stream has the finish time, so only its time can be broken down.
        assert!(stream.diagnosis.shape.is_some() && lines.diagnosis.shape.is_none());
    }

    #[test]
    fn slow_threshold_is_configurable() {
        let slow = |ms| {
            analysis(
                LINES,
                &StreamOptions {
                    slow_ms: Some(ms),
                    ..args()
                },
            )
            .diagnosis
            .by_category
            .slow_tool
            .count
        };
        assert_eq!((slow(0), slow(2_000), slow(60_000)), (2, 1, 0));
    }

    #[test]
    fn open_call_fails_only_in_ended_runs() {
        let cut = LINES
            .lines()
            .take_while(|line| !line.contains("tool_result"))
            .collect::<Vec<_>>()
            .join("\n");
        let findings = |in_progress| {
            analysis(
                &cut,
                &StreamOptions {
                    in_progress,
                    ..args()
                },
            )
            .diagnosis
            .by_category
        };
        assert_eq!(findings(false).infra_failure.count, 1);
        assert_eq!(findings(true).infra_failure.count, 0);
    }

    #[test]
    fn control_sequences_are_removed() {
        let hostile = LINES.replace("cargo test", "\\u001b[2Jgo\\nverdict: fine");
        let text = analysis(
            &hostile,
            &StreamOptions {
                slow_ms: Some(0),
                ..args()
            },
        )
        .text();
        assert!(
            !text.contains('\u{1b}') && !text.lines().any(|line| line.starts_with("verdict")),
            "{text}"
        );
    }
}
