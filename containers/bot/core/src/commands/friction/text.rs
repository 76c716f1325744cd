//! Renders a diagnosis for people. Stream texts are cleaned, because the source is not trusted.

use std::fmt::Write as _;

use ars_friction::{Finding, Severity, Shape, duration};

use super::analysis::Analysis;

/// Maximum characters per finding line.
const SUMMARY_MAX: usize = 200;

/// Returns the report, which ends with a newline.
pub(super) fn render(analysis: &Analysis) -> String {
    let diagnosis = &analysis.diagnosis;
    let mut text = format!("{}\n", diagnosis.verdict);
    let _ = write!(
        text,
        "{} events, {} tool calls",
        analysis.events, diagnosis.tool_calls
    );
    if analysis.skipped > 0 {
        let _ = write!(text, ", {} lines skipped", analysis.skipped);
    }
    if let Some(ms) = diagnosis.run_ms {
        let _ = write!(text, ", {}", duration(ms));
    }
    text.push('\n');
    if diagnosis.truncated_input {
        text.push_str("Events are missing: findings may be missing too, or be mistaken.\n");
    }
    if let Some(shape) = &diagnosis.shape {
        text.push_str("\nWhere the time went\n");
        terms(shape)
            .into_iter()
            .filter(|(_, ms)| *ms > 0)
            .for_each(|(name, ms)| {
                let share = (ms as f64 / shape.window_ms as f64 * 100.0).round();
                let _ = writeln!(text, "  {name:<14} {:>9}  {share:>3}%", duration(ms));
            });
    }
    if !diagnosis.findings.is_empty() {
        text.push_str("\nWhat slowed it\n");
        diagnosis
            .findings
            .iter()
            .for_each(|finding| text.push_str(&line(finding)));
    }
    text
}

fn terms(shape: &Shape) -> [(&'static str, i64); 7] {
    [
        ("getting ready", shape.getting_ready_ms),
        ("thinking", shape.thinking_ms),
        ("tools", shape.tools_ms),
        ("finishing up", shape.finishing_up_ms),
        ("overhead", shape.overhead_ms),
        ("not recorded", shape.not_recorded_ms),
        ("not loaded", shape.not_loaded_ms),
    ]
}

fn line(finding: &Finding) -> String {
    let severity = severity(finding.severity);
    let took = finding.duration_ms.map(duration).unwrap_or_default();
    let summary = ars_events::clean(&finding.summary, SUMMARY_MAX).replace(['\n', '\t'], " ");
    format!(
        "  {severity:<6}  {:<15} {took:>9}  {summary}\n",
        finding.category.as_str()
    )
}

/// Returns a severity's name.
pub(super) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
    }
}
