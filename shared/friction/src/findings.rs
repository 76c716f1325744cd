//! Classifies calls, turns and notes (docs/reference/friction.md#categories).

use crate::{
    calls::{Call, Outcome},
    diagnosis::{Category, Finding, Severity},
    intervals::Interval,
    options::AnalysisOptions,
    reading::{Event, EventKind},
    turns::Turn,
};

/// A slow call or turn has high severity from this multiple of the threshold.
const HIGH_AT: i64 = 2;

/// Returns every finding in stream order. A wrap-up lasts until `end`.
pub(crate) fn findings(
    events: &[Event<'_>],
    calls: &[Call<'_>],
    turns: &[Turn],
    end: Option<i64>,
    options: &AnalysisOptions,
) -> Vec<Finding> {
    let of_turns = turns.iter().filter_map(|turn| of_turn(turn, options));
    let of_notes = events
        .iter()
        .enumerate()
        .filter_map(|(index, event)| of_note(index, event, end));
    let of_calls = calls
        .iter()
        .flat_map(|call| [retry(call), of_call(call, options)])
        .flatten();
    let mut findings: Vec<_> = of_turns.chain(of_notes).chain(of_calls).collect();
    findings.sort_by_key(|finding| finding.event_index);
    findings
}

/// Returns how severe slowness is; untimed intervals are never slow.
fn slowness(interval: Option<Interval>, threshold: i64) -> Option<Severity> {
    let ms = interval?.ms();
    if ms >= threshold.saturating_mul(HIGH_AT) {
        Some(Severity::High)
    } else {
        (ms >= threshold).then_some(Severity::Medium)
    }
}

fn of_turn(turn: &Turn, options: &AnalysisOptions) -> Option<Finding> {
    let severity = slowness(Some(turn.interval), options.slow_model_turn_ms)?;
    let summary = "the model took long to answer".to_owned();
    Some(finding(
        Category::SlowModelTurn,
        severity,
        summary,
        turn.index,
        "",
        Some(turn.interval),
    ))
}

fn of_note(index: usize, event: &Event<'_>, end: Option<i64>) -> Option<Finding> {
    let EventKind::Note { kind, .. } = event.kind else {
        return None;
    };
    let (category, severity, summary) = match kind {
        "wrap_up" => (
            Category::WrapUp,
            Severity::Medium,
            "the run was asked to wrap up",
        ),
        "time_budget_exhausted" => (
            Category::BudgetHit,
            Severity::High,
            "the time budget ended the run",
        ),
        "turn_budget_exhausted" => (
            Category::BudgetHit,
            Severity::High,
            "the turn budget ended the run",
        ),
        "sandbox_dead" => (
            Category::InfraFailure,
            Severity::High,
            "the sandbox stopped working",
        ),
        "fleet_busy" => (
            Category::InfraFailure,
            Severity::Medium,
            "no sandbox was free",
        ),
        _ => return None,
    };
    let interval = (category == Category::WrapUp)
        .then(|| Interval::between(event.at, end))
        .flatten();
    Some(finding(
        category,
        severity,
        summary.to_owned(),
        index,
        "",
        interval,
    ))
}

/// Returns the retry finding for a call that repeats a failed call; it is additional to the
/// category.
fn retry(call: &Call<'_>) -> Option<Finding> {
    let summary = named(call, "was called again after it failed");
    let interval = call.outcome.and_then(|outcome| outcome.interval);
    call.retry.then(|| {
        finding(
            Category::Retry,
            Severity::Low,
            summary,
            call.index,
            call.tool,
            interval,
        )
    })
}

/// Returns a call's category by precedence: infrastructure, set-up, failure, slowness.
fn of_call(call: &Call<'_>, options: &AnalysisOptions) -> Option<Finding> {
    let Some(Outcome {
        ok,
        infra,
        synthetic,
        interval,
    }) = call.outcome
    else {
        let summary = named(call, "never answered");
        return options.finished.then(|| {
            finding(
                Category::InfraFailure,
                Severity::High,
                summary,
                call.index,
                call.tool,
                None,
            )
        });
    };
    if synthetic {
        return None;
    }
    let slow = slowness(interval, options.slow_tool_ms);
    let (category, severity, what) = match (infra, call.installs, ok, slow) {
        (true, ..) => (
            Category::InfraFailure,
            Severity::High,
            "failed with its sandbox or transport",
        ),
        (_, true, false, _) => (Category::SetupInstall, Severity::High, "failed to install"),
        (_, true, true, Some(_)) => (
            Category::SetupInstall,
            Severity::Medium,
            "installed for long",
        ),
        (_, true, true, None) => (Category::SetupInstall, Severity::Low, "installed"),
        (_, _, false, Some(_)) => (
            Category::FailedTool,
            Severity::High,
            "failed after a long time",
        ),
        (_, _, false, None) => (Category::FailedTool, Severity::Medium, "failed"),
        (_, _, true, Some(Severity::High)) => (Category::SlowTool, Severity::High, "was very slow"),
        (_, _, true, Some(severity)) => (Category::SlowTool, severity, "was slow"),
        (_, _, true, None) => return None,
    };
    Some(finding(
        category,
        severity,
        named(call, what),
        call.index,
        call.tool,
        interval,
    ))
}

/// Formats `<tool> <event>: <call>`; patterns parse this form.
fn named(call: &Call<'_>, what: &str) -> String {
    let Call { tool, summary, .. } = call;
    if summary.is_empty() {
        format!("{tool} {what}")
    } else {
        format!("{tool} {what}: {summary}")
    }
}

fn finding(
    category: Category,
    severity: Severity,
    summary: String,
    event_index: usize,
    tool: &str,
    interval: Option<Interval>,
) -> Finding {
    Finding {
        category,
        severity,
        summary,
        event_index,
        tool: (!tool.is_empty()).then(|| tool.to_owned()),
        duration_ms: interval.map(Interval::ms),
        interval,
    }
}
