//! All guarantees, and those about a whole run and about all runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    bounded, calls, events, follow_ups,
    found::{Found, Violation, events},
    money, stops,
};
use crate::{
    evidence::{Evidence, RunSeen},
    play::Ended,
    script,
};

/// Returns all broken guarantees in a scenario.
pub fn violations(ended: Ended, evidence: &Evidence) -> Vec<Violation> {
    let mut found = Found::default();
    every_run_ends(ended, evidence, &mut found);
    for (id, run) in &evidence.runs {
        a_run_has_one_final_record(id, run, &mut found);
        events::no_event_is_lost_or_duplicated(id, run, &mut found);
        calls::tool_calls_are_published_once(id, run, evidence, &mut found);
        input_and_answer_match(id, run, evidence, &mut found);
        a_completed_run_has_replied(id, run, evidence, &mut found);
        resumable_run_is_completed(id, run, evidence, &mut found);
        money::record_has_the_whole_cost(id, run, evidence, &mut found);
        money::run_past_its_cap_calls_no_model(id, run, evidence, &mut found);
        money::no_run_starts_past_the_days_cap(id, run, evidence, &mut found);
        money::reservations_stay_within_the_days_cap(id, run, evidence, &mut found);
        bounded::review_has_its_last_verdict_once(id, run, evidence, &mut found);
    }
    a_run_replies_at_most_once(evidence, &mut found);
    no_unknown_effect_is_repeated(evidence, &mut found);
    events::a_viewer_sees_each_event_once(evidence, &mut found);
    stops::a_stopped_run_stays_stopped(evidence, &mut found);
    bounded::every_model_call_has_the_request(evidence, &mut found);
    bounded::findings_are_stored_once(evidence, &mut found);
    follow_ups::acknowledged_follow_up_is_not_lost(evidence, &mut found);
    found.0
}

fn every_run_ends(ended: Ended, evidence: &Evidence, found: &mut Found) {
    let is_quiet = ended != Ended::Never && evidence.left_live.is_empty();
    found.unless(is_quiet, "every run ends and no row stays live", || {
        format!("{ended:?}, live: {:?}", evidence.left_live)
    });
}

fn a_run_has_one_final_record(id: &str, run: &RunSeen, found: &mut Found) {
    // A run without a stored claim is lost with its process. Only its tombstone remains.
    if run.is_claimed {
        let statuses: Vec<_> = run.finals.iter().map(|record| &record["status"]).collect();
        // A second record may add the reflection's cost.
        let (before, with_reflection): (Vec<_>, Vec<_>) = run
            .finals
            .iter()
            .partition(|record| record[REFLECTION].is_null());
        let is_one = before.len() == 1
            && with_reflection.len() <= 1
            && with_reflection
                .iter()
                .all(|record| without_reflection(record) == *before[0]);
        found.unless(is_one, "a run has exactly one final record", || {
            format!("{id}: {statuses:?}")
        });
    }
    if let (Some(last), Some(record)) = (run.finals.last(), &run.record) {
        found.unless(
            last["status"] == record["status"],
            "a final record stays",
            || format!("{id}: {} became {}", last["status"], record["status"]),
        );
    }
}

/// Record field with the reflection's cost.
const REFLECTION: &str = "reflectionMicroUsd";

fn without_reflection(record: &Value) -> Value {
    let mut record = record.clone();
    record
        .as_object_mut()
        .map(|fields| fields.remove(REFLECTION));
    record
}

fn input_and_answer_match(id: &str, run: &RunSeen, evidence: &Evidence, found: &mut Found) {
    let Some(record) = &run.record else { return };
    let of = |kind: &str| {
        events(record)
            .iter()
            .filter(move |event| event["type"] == kind)
            .collect::<Vec<_>>()
    };
    let inputs = of("input");
    let answers = of("answer");
    let label = record["label"].as_str().unwrap_or_default();
    let input = inputs
        .first()
        .and_then(|event| event["text"].as_str())
        .unwrap_or_default();
    let is_recorded = inputs.is_empty()
        || label.contains(&input.split_whitespace().collect::<Vec<_>>().join(" "));
    found.unless(
        is_recorded,
        "a run's input event matches its request",
        || format!("{id}: {input}"),
    );
    found.unless(answers.len() <= 1, "a run has at most one answer", || {
        format!("{id}: {}", answers.len())
    });
    let Some(answer) = answers.first() else {
        return;
    };
    let mut delivered = evidence
        .delivered
        .iter()
        .filter(|delivered| delivered.run.as_deref() == Some(id))
        .peekable();
    let is_recorded = delivered.peek().is_none()
        || delivered.any(|delivered| answer["text"] == delivered.text.as_str());
    found.unless(
        is_recorded,
        "a run's answer event matches its reply",
        || format!("{id}: {}", answer["text"]),
    );
}

fn a_completed_run_has_replied(id: &str, run: &RunSeen, evidence: &Evidence, found: &mut Found) {
    if run
        .record
        .as_ref()
        .is_none_or(|record| record["status"] != "completed")
    {
        return;
    }
    let has_replied = evidence
        .delivered
        .iter()
        .any(|delivered| delivered.run.as_deref() == Some(id));
    found.unless(has_replied, "a completed run has replied", || id.to_owned());
}

/// Kills at the same step after which a run is abandoned, because it may cause them.
const MANY_DEATHS: usize = 5;

/// Without other faults every run completes.
/// A run that is closed as interrupted although its stored state is sufficient breaks no other guarantee.
fn resumable_run_is_completed(id: &str, run: &RunSeen, evidence: &Evidence, found: &mut Found) {
    let was_resumable =
        !run.was_resumable.is_empty() && run.was_resumable.iter().all(|could| *could);
    if !evidence.only_kills || evidence.killed.len() > MANY_DEATHS || !was_resumable {
        return;
    }
    let status = run.record.as_ref().map(|record| &record["status"]);
    found.unless(
        status.is_some_and(|status| status == "completed"),
        "a resumable run is completed",
        || format!("{id}: {status:?}"),
    );
}

fn a_run_replies_at_most_once(evidence: &Evidence, found: &mut Found) {
    let (mut by_run, mut by_message) = (
        BTreeMap::<_, Vec<_>>::new(),
        BTreeMap::<_, BTreeSet<_>>::new(),
    );
    for delivered in &evidence.delivered {
        if !delivered.is_unknown_to_others(evidence) && !delivered.was_sent_while_cut_off(evidence)
        {
            by_run
                .entry((&delivered.run, &delivered.to))
                .or_default()
                .push(&delivered.text);
        }
        let record = delivered
            .run
            .as_ref()
            .and_then(|run| evidence.runs.get(run)?.record.as_ref());
        let label = record
            .and_then(|record| record["label"].as_str())
            .unwrap_or_default();
        for id in script::ids(label) {
            by_message.entry(id).or_default().insert(&delivered.run);
        }
    }
    for ((run, to), texts) in by_run {
        found.unless(texts.len() == 1, "a run replies at most once", || {
            format!("{run:?} to {to}: {texts:?}")
        });
    }
    for (id, runs) in by_message {
        found.unless(runs.len() == 1, "a message is answered by one run", || {
            format!("{id}: {runs:?}")
        });
    }
}

fn no_unknown_effect_is_repeated(evidence: &Evidence, found: &mut Found) {
    // Writing the same content to the same file again has no effect.
    let may_repeat = ["t2c0", "t7c1"];
    let mut counts = BTreeMap::<_, u32>::new();
    for effect in &evidence.effects {
        *counts.entry(effect.call.as_str()).or_default() += 1;
    }
    for (call, count) in counts {
        let is_kept = count == 1 || may_repeat.contains(&call);
        found.unless(
            is_kept,
            "a call with unknown effects is never silently repeated",
            || format!("{call}: {count} times"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Delivered;

    /// The run is reclaimed at call 20 and answered with a permit at 30. Its first process, which
    /// got its last store response at `last_answer`, answers too.
    fn is_kept(at: u64, last_answer: u64, is_without_permit: bool) -> bool {
        let delivered = |through: &str, number, is_without_permit, last_answer| Delivered {
            to: "m0".into(),
            run: Some("run".into()),
            text: "Done.".into(),
            through: through.into(),
            number,
            is_without_permit,
            last_answer,
        };
        let run = RunSeen {
            reclaimers: vec!["g2".into()],
            reclaimed_at: vec![20],
            ..RunSeen::default()
        };
        let evidence = Evidence {
            delivered: vec![
                delivered("g2", 30, false, 29),
                delivered("g1", at, is_without_permit, last_answer),
            ],
            runs: BTreeMap::from([("run".into(), run)]),
            ..Evidence::default()
        };
        let mut found = Found::default();
        a_run_replies_at_most_once(&evidence, &mut found);
        found.0.is_empty()
    }

    #[test]
    fn only_a_cut_off_process_may_reply_twice() {
        assert!(is_kept(40, 19, true));
        assert!(is_kept(25, 19, true), "nor could it tell who has it now");
        assert!(
            !is_kept(19, 18, true),
            "it still had the run, and lives to tell"
        );
        assert!(
            !is_kept(40, 21, true),
            "the process could have learned of its loss"
        );
        assert!(!is_kept(40, 19, false), "no permit is granted twice");
    }
}
