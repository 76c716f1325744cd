//! The promises about what a model is shown, what is remembered, and what a review decides (bot supplement sections 14
//! and 17, state-worker supplement section 12).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Found, events};
use crate::evidence::{Evidence, RunSeen};

pub(super) fn a_model_is_always_shown_the_request(evidence: &Evidence, found: &mut Found) {
    let mut prompts = BTreeMap::<_, BTreeSet<_>>::new();
    for thought in &evidence.thoughts {
        found.unless(thought.has_request, "a model is always shown the request", || {
            format!("call {} of {}", thought.number, thought.process)
        });
        prompts.entry(thought.about.first()).or_default().insert(&thought.system);
    }
    for (about, systems) in prompts {
        found.unless(systems.len() == 1, "a run keeps the prompt that it began with", || {
            format!("{about:?}: {systems:#?}")
        });
    }
}

pub(super) fn what_a_run_leaves_is_remembered_once(evidence: &Evidence, found: &mut Found) {
    for (run, texts) in &evidence.learned {
        found.unless(texts.len() == 1, "a run leaves something in memory once", || {
            format!("{run}: {texts:?}")
        });
    }
    let mut kept = BTreeMap::<_, u32>::new();
    for record in &evidence.memory {
        *kept.entry(record["sourceRunId"].to_string()).or_default() += 1;
    }
    for (run, count) in kept {
        found.unless(count == 1, "what a run leaves is remembered once", || format!("{run}: {count}"));
    }
}

/// The last verdict that was taken, and the line that tells it.
pub(super) fn a_review_tells_its_last_verdict_once(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let Some(record) = run.record.as_ref().filter(|record| record["agent"] == "review") else { return };
    let events = events(record);
    let artifacts = events.iter().filter(|event| event["type"] == "review_artifact").count();
    found.unless(artifacts <= 1, "a review has at most one reading diff", || format!("{id}: {artifacts}"));

    let Some(answer) = events.iter().find(|event| event["type"] == "answer") else { return };
    let lines = answer["text"].as_str().unwrap_or_default().lines();
    let told: Vec<_> = lines.filter(|line| LINES.iter().any(|word| line.starts_with(word))).collect();
    let decided = last_decision(events);
    // A process that dies in an outage takes events with it; the conversation that it stored has the verdict.
    let may_lack_events = evidence.failed_requests > 0 && !evidence.killed.is_empty();
    let is_told = match (decided, &told[..]) {
        (Some(decided), [line]) if decided.contains("request_changes") => line.starts_with(CHANGES),
        (Some(_) | None, [_]) if may_lack_events => true,
        (Some(_), [line]) => !line.starts_with(CHANGES),
        (None, [line]) => line.starts_with(NOT),
        _ => false,
    };
    found.unless(is_told, "a review's answer tells its last verdict, once", || {
        format!("{id}: {decided:?} told as {told:?}")
    });
}

const CHANGES: &str = "Changes requested: ";
const NOT: &str = "Not approved: ";
/// How the line begins that code writes.
const LINES: [&str; 3] = ["LGTM: ", CHANGES, NOT];

/// The summary of the last call that handed a verdict over.
fn last_decision(events: &[Value]) -> Option<&str> {
    // Another step's call may have the same id.
    let was_taken = |at: usize, call: &Value| {
        let mut results = events[at..].iter().filter(|event| event["type"] == "tool_result");
        results
            .any(|event| ["tool", "callId"].iter().all(|key| event[key] == call[key]) && event["ok"] == true)
    };
    let calls = events.iter().enumerate().rev().filter(|(_, event)| event["type"] == "tool_call");
    let taken = calls.filter(|(at, call)| was_taken(*at, call));
    let mut summaries = taken.filter_map(|(_, call)| call["summary"].as_str());
    summaries.find(|summary| summary.starts_with("submit_verdict"))
}
