//! Guarantees about the model's context, memory, and a review's verdict.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::found::{Found, events};
use crate::evidence::{Evidence, RunSeen};

pub(super) fn every_model_call_has_the_request(evidence: &Evidence, found: &mut Found) {
    let mut prompts = BTreeMap::<_, BTreeSet<_>>::new();
    for model_call in &evidence.model_calls {
        found.unless(
            model_call.has_request,
            "every model call has the request in its context",
            || format!("call {} of {}", model_call.number, model_call.process),
        );
        prompts
            .entry(model_call.about.first())
            .or_default()
            .insert(&model_call.system);
    }
    for (about, systems) in prompts {
        found.unless(systems.len() == 1, "a run keeps its initial prompt", || {
            format!("{about:?}: {systems:#?}")
        });
    }
}

pub(super) fn findings_are_stored_once(evidence: &Evidence, found: &mut Found) {
    for (run, texts) in &evidence.learned {
        found.unless(texts.len() == 1, "a run writes to memory once", || {
            format!("{run}: {texts:?}")
        });
    }
    let mut kept = BTreeMap::<_, u32>::new();
    for record in &evidence.memory {
        *kept.entry(record["sourceRunId"].to_string()).or_default() += 1;
    }
    for (run, count) in kept {
        found.unless(count == 1, "a run's findings are stored once", || {
            format!("{run}: {count}")
        });
    }
}

/// Checks the last accepted verdict and the line in the answer.
pub(super) fn review_has_its_last_verdict_once(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let Some(record) = run
        .record
        .as_ref()
        .filter(|record| record["agent"] == "review")
    else {
        return;
    };
    let events = events(record);
    let artifacts = events
        .iter()
        .filter(|event| event["type"] == "review_artifact")
        .count();
    found.unless(
        artifacts <= 1,
        "a review has at most one reading diff",
        || format!("{id}: {artifacts}"),
    );

    let Some(answer) = events.iter().find(|event| event["type"] == "answer") else {
        return;
    };
    let lines = answer["text"].as_str().unwrap_or_default().lines();
    let published: Vec<_> = lines
        .filter(|line| LINES.iter().any(|word| line.starts_with(word)))
        .collect();
    let decided = last_decision(events);
    // A process killed in an outage loses events. The stored conversation has the verdict.
    let may_lack_events = evidence.failed_requests > 0 && !evidence.killed.is_empty();
    let is_told = match (decided, &published[..]) {
        (Some(decided), [line]) if decided.contains("request_changes") => line.starts_with(CHANGES),
        (Some(_) | None, [_]) if may_lack_events => true,
        (Some(_), [line]) => !line.starts_with(CHANGES),
        (None, [line]) => line.starts_with(NOT),
        _ => false,
    };
    found.unless(
        is_told,
        "a review's answer has its last verdict once",
        || format!("{id}: {decided:?} published as {published:?}"),
    );
}

const CHANGES: &str = "Changes requested: ";
const NOT: &str = "Not approved: ";
/// Prefixes for the generated line.
const LINES: [&str; 3] = ["LGTM: ", CHANGES, NOT];

/// Returns the summary from the last accepted verdict call.
fn last_decision(events: &[Value]) -> Option<&str> {
    // A call in another step may have the same id.
    let was_taken = |at: usize, call: &Value| {
        let mut results = events[at..]
            .iter()
            .filter(|event| event["type"] == "tool_result");
        results.any(|event| {
            ["tool", "callId"].iter().all(|key| event[key] == call[key]) && event["ok"] == true
        })
    };
    let calls = events
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, event)| event["type"] == "tool_call");
    let taken = calls.filter(|(at, call)| was_taken(*at, call));
    let mut summaries = taken.filter_map(|(_, call)| call["summary"].as_str());
    summaries.find(|summary| summary.starts_with("submit_verdict"))
}
