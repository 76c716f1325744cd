//! A run's diagnosis for people.

use ars_friction::{Diagnosis, Severity, Shape};
use ars_types::RunStatus;
use serde_json::Value;

use crate::{dashboard::shell::status_text, time::duration};

/// Most findings on the page. `ars friction analyze` prints the rest.
const MAX_FINDINGS: usize = 200;

/// The verdict on a run that failed without friction.
const FAILED: &str = "the run failed";
/// Verdict on a run that ended with the process, without friction.
const INTERRUPTED: &str = "the run was interrupted";

/// The diagnosis as shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DiagnosisView {
    pub(super) verdict: String,
    /// The text in place of findings.
    pub(super) without_findings: &'static str,
    pub(super) is_preliminary: bool,
    pub(super) is_incomplete: bool,
    pub(super) shares: Vec<Share>,
    pub(super) findings: Vec<FindingView>,
    /// How many more findings there are.
    pub(super) more: usize,
}

/// A part of the run's time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    pub(super) time: String,
    /// The bar's position and width, in thousandths of the run's time.
    pub(super) start: i64,
    pub(super) width: i64,
}

/// A finding as shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FindingView {
    pub(super) severity: &'static str,
    pub(super) category: String,
    pub(super) summary: String,
    pub(super) time: Option<String>,
}

impl DiagnosisView {
    /// Returns a diagnosis's view. A diagnosis from another version shows only the verdict.
    pub(crate) fn from_diagnosis(diagnosis: Value, outcome: Option<RunStatus>) -> Self {
        let is_preliminary = outcome.is_none();
        let verdict = diagnosis["verdict"].as_str().unwrap_or_default().to_owned();
        let Ok(diagnosis) = serde_json::from_value::<Diagnosis>(diagnosis) else {
            return Self {
                verdict,
                is_preliminary,
                ..Self::default()
            };
        };
        // The diagnosis tells what cost time. It knows no outcome.
        let (verdict, without_findings) = match (diagnosis.findings.is_empty(), outcome) {
            (true, Some(RunStatus::Failed)) => (
                FAILED.to_owned(),
                "Nothing slowed it before. Its last step or its answer says why it failed.",
            ),
            (true, Some(RunStatus::Interrupted)) => (
                INTERRUPTED.to_owned(),
                "Nothing slowed it before. Its process ended, and no other continued it.",
            ),
            _ => (verdict, "Nothing slowed this run."),
        };
        let more = diagnosis.findings.len().saturating_sub(MAX_FINDINGS);
        let finding = |finding: ars_friction::Finding| FindingView {
            severity: severity(finding.severity),
            category: status_text(finding.category.as_str()),
            summary: finding.summary,
            time: finding.duration_ms.map(duration),
        };
        Self {
            verdict,
            without_findings,
            is_preliminary,
            is_incomplete: diagnosis.truncated_input,
            shares: diagnosis.shape.as_ref().map(shares).unwrap_or_default(),
            findings: diagnosis
                .findings
                .into_iter()
                .take(MAX_FINDINGS)
                .map(finding)
                .collect(),
            more,
        }
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
    }
}

/// Returns the time parts that have a share, in run order.
fn shares(shape: &Shape) -> Vec<Share> {
    let parts = [
        ("Getting ready", "ready", shape.getting_ready_ms),
        ("Thinking", "thinking", shape.thinking_ms),
        ("Tools", "tools", shape.tools_ms),
        ("Finishing up", "finishing", shape.finishing_up_ms),
        ("Overhead", "overhead", shape.overhead_ms),
        (
            "Not recorded",
            "unknown",
            shape.not_recorded_ms + shape.not_loaded_ms,
        ),
    ];
    let mut before = 0;
    let share = |(name, class, ms): (&'static str, &'static str, i64)| {
        let thousandths = |ms: i64| ms.max(0).saturating_mul(1000) / shape.window_ms.max(1);
        let start = thousandths(before);
        before += ms;
        Share {
            name,
            class,
            time: duration(ms),
            start,
            width: thousandths(before) - start,
        }
    };
    parts
        .into_iter()
        .filter(|(_, _, ms)| *ms > 0)
        .map(share)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fill_the_bar() {
        let shape = Shape {
            window_ms: 3000,
            thinking_ms: 1000,
            tools_ms: 2000,
            ..Shape::default()
        };
        let bars: Vec<_> = shares(&shape)
            .iter()
            .map(|share| (share.name, share.start, share.width))
            .collect();
        assert_eq!(bars, [("Thinking", 0, 333), ("Tools", 333, 667)]);
    }

    #[test]
    fn failed_run_is_not_called_smooth() {
        let smooth = ars_friction::analyze(&[], &ars_friction::AnalysisOptions::default());
        let smooth = serde_json::to_value(smooth).unwrap();
        let verdict = |outcome| DiagnosisView::from_diagnosis(smooth.clone(), outcome).verdict;
        assert_eq!(verdict(Some(RunStatus::Failed)), FAILED);
        assert_eq!(verdict(Some(RunStatus::Interrupted)), INTERRUPTED);
        for outcome in [
            None,
            Some(RunStatus::Completed),
            Some(RunStatus::StoppedSoft),
        ] {
            assert_eq!(verdict(outcome), "no friction detected", "{outcome:?}");
        }
    }

    #[test]
    fn unreadable_diagnosis_shows_its_verdict() {
        let view = DiagnosisView::from_diagnosis(
            serde_json::json!({"verdict": "stored"}),
            Some(RunStatus::Failed),
        );
        assert_eq!(
            view,
            DiagnosisView {
                verdict: "stored".into(),
                ..DiagnosisView::default()
            }
        );
    }
}
