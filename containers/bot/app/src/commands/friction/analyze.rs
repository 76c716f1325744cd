//! `ars friction analyze [source]`: diagnoses a saved stream without a service or a configuration.

use std::{io::Read, process::ExitCode};

use anyhow::Context as _;
use ars_events::sse::Capture;
use ars_friction::{Diagnosis, Interval, Options, SeqRange};
use serde::Serialize;
use serde_json::Value;

use super::render::render;
use crate::{args::Analyze, commands::Failure, terminal};

/// Standard input, as a source.
const STDIN: &str = "-";
/// Largest source in bytes. A run's stream is far smaller, so a larger file is the wrong one.
const SOURCE_MAX: u64 = 256 << 20;
/// The advice when a source has no events.
const HINT: &str = "give JSON lines of run events, or the raw stream: curl -N '…/runs/<id>/events?t=…' | ars friction analyze";

/// The result of the command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Analysis {
    /// Source of the events: a path, or `-`.
    pub(super) source: String,
    /// Events read.
    pub(super) events: usize,
    /// Lines or frames that are not events.
    pub(super) skipped: usize,
    /// The diagnosis of the run.
    pub(super) diagnosis: Diagnosis,
    /// The advice when there are no events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<&'static str>,
}

/// Reads, diagnoses, prints. Without events the exit code is 1.
pub(super) async fn run(args: Analyze) -> Result<ExitCode, Failure> {
    let source = args.source.clone().unwrap_or_else(|| STDIN.to_owned());
    let from = source.clone();
    let bytes = tokio::task::spawn_blocking(move || read(&from)).await??;
    let analysis = analyze(source, &Capture::read(&bytes), &args);
    if args.json {
        terminal::print(&format!("{}\n", serde_json::to_string(&analysis)?))?;
    } else if analysis.hint.is_none() {
        terminal::print(&render(&analysis))?;
    } else {
        let Analysis { skipped, .. } = analysis;
        return Err(Failure::Failed(format!("no events; lines skipped: {skipped}. Hint: {HINT}")));
    }
    Ok(if analysis.events == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn read(source: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if source == STDIN {
        std::io::stdin().lock().take(SOURCE_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(source).and_then(|file| file.take(SOURCE_MAX + 1).read_to_end(&mut bytes))
    };
    let read = read.with_context(|| format!("the source {source} cannot be read"));
    if read.map_err(Failure::Unavailable)? as u64 > SOURCE_MAX {
        return Err(Failure::InvalidInput(format!(
            "source must be a run's events, at most {} MiB",
            SOURCE_MAX >> 20
        )));
    }
    Ok(bytes)
}

fn analyze(source: String, capture: &Capture, args: &Analyze) -> Analysis {
    let defaults = Options::default();
    let options = Options {
        slow_tool_ms: args.slow_ms.unwrap_or(defaults.slow_tool_ms),
        finished: !args.in_progress,
        window: if args.in_progress { None } else { window(capture) },
        elided: capture.elided.map(|(from, to)| SeqRange { from, to }),
        ..defaults
    };
    let events = capture.events.len();
    Analysis {
        source,
        events,
        skipped: capture.skipped,
        diagnosis: ars_friction::analyze(&capture.events, &options),
        hint: (events == 0).then_some(HINT),
    }
}

/// Returns the time from the start of the root span to the finish, if the capture has both.
fn window(capture: &Capture) -> Option<Interval> {
    let is_root = |event: &&Value| event["type"] == "span_start" && event["parentSpanId"].is_null();
    let start = capture.events.iter().find(is_root)?["at"].as_i64()?;
    capture.finished_at.filter(|end| *end >= start).map(|end| Interval { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run's stream as `curl` saves it.
    const STREAM: &str = include_str!("fixtures/run.sse");
    /// The same run's events as JSON lines.
    const LINES: &str = include_str!("fixtures/run.jsonl");

    fn args() -> Analyze {
        Analyze { source: None, slow_ms: None, in_progress: false, json: false }
    }

    fn of(text: &str, args: &Analyze) -> Analysis {
        analyze("run".into(), &Capture::read(text.as_bytes()), args)
    }

    #[test]
    fn report_names_time_and_findings() {
        insta::assert_snapshot!("stream_text", render(&of(STREAM, &args())));
        insta::assert_snapshot!("lines_text", render(&of(LINES, &args())));
    }

    #[test]
    fn line_ends_make_no_difference() {
        for end in ["\r\n", "\r"] {
            assert_eq!(of(&STREAM.replace('\n', end), &args()), of(STREAM, &args()), "{end:?}");
            assert_eq!(of(&LINES.replace('\n', end), &args()), of(LINES, &args()), "{end:?}");
        }
    }

    #[test]
    fn both_formats_give_the_same_findings() {
        let (stream, lines) = (of(STREAM, &args()), of(LINES, &args()));
        assert_eq!(stream.diagnosis.findings, lines.diagnosis.findings);
        // Only the stream has the time of the finish, so only its time can be broken down.
        assert!(stream.diagnosis.shape.is_some() && lines.diagnosis.shape.is_none());
    }

    #[test]
    fn slow_threshold_is_configurable() {
        let slow =
            |ms| of(LINES, &Analyze { slow_ms: Some(ms), ..args() }).diagnosis.by_category.slow_tool.count;
        assert_eq!((slow(0), slow(2_000), slow(60_000)), (2, 1, 0));
    }

    #[test]
    fn open_call_fails_only_in_ended_runs() {
        let cut =
            LINES.lines().take_while(|line| !line.contains("tool_result")).collect::<Vec<_>>().join("\n");
        let findings = |in_progress| of(&cut, &Analyze { in_progress, ..args() }).diagnosis.by_category;
        assert_eq!(findings(false).infra_failure.count, 1);
        assert_eq!(findings(true).infra_failure.count, 0);
    }

    #[test]
    fn control_sequences_are_removed() {
        let hostile = LINES.replace("cargo test", "\\u001b[2Jgo\\nverdict: fine");
        let text = render(&of(&hostile, &Analyze { slow_ms: Some(0), ..args() }));
        assert!(!text.contains('\u{1b}') && !text.lines().any(|line| line.starts_with("verdict")), "{text}");
    }
}
