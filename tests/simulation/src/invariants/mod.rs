//! What the runtime promises, one function for each sentence (document 1 section 2.4, document 2 sections 2.4 and 3.3).

mod bounded;
mod calls;
mod events;
mod follow_ups;
mod money;
mod stops;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    evidence::{Evidence, RunSeen},
    play::Ended,
    script,
};

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The promise.
    pub promise: &'static str,
    /// What was seen instead.
    pub seen: String,
}

/// Every promise that a scenario did not keep.
pub fn violations(ended: Ended, evidence: &Evidence) -> Vec<Violation> {
    let mut found = Found::default();
    nothing_goes_on_for_ever(ended, evidence, &mut found);
    for (id, run) in &evidence.runs {
        a_run_has_one_final_record(id, run, &mut found);
        events::no_event_is_lost_or_duplicated(id, run, &mut found);
        calls::a_call_is_told_once_and_so_is_its_result(id, run, evidence, &mut found);
        input_and_answer_are_as_told(id, run, evidence, &mut found);
        a_completed_run_has_replied(id, run, evidence, &mut found);
        a_run_that_could_go_on_is_completed(id, run, evidence, &mut found);
        money::a_record_tells_all_that_a_run_has_cost(id, run, evidence, &mut found);
        money::a_run_past_its_cap_asks_no_model(id, run, evidence, &mut found);
        money::no_run_begins_past_the_days_cap(id, run, evidence, &mut found);
        money::runs_that_share_a_day_hold_no_more_than_its_cap(id, run, evidence, &mut found);
        bounded::a_review_tells_its_last_verdict_once(id, run, evidence, &mut found);
    }
    a_run_replies_at_most_once(evidence, &mut found);
    no_unknown_effect_is_repeated(evidence, &mut found);
    events::a_viewer_sees_each_event_once(evidence, &mut found);
    stops::a_stopped_run_stays_stopped(evidence, &mut found);
    bounded::a_model_is_always_shown_the_request(evidence, &mut found);
    bounded::what_a_run_leaves_is_remembered_once(evidence, &mut found);
    follow_ups::an_acknowledged_follow_up_is_not_forgotten(evidence, &mut found);
    found.0
}

#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    fn unless(&mut self, is_kept: bool, promise: &'static str, seen: impl FnOnce() -> String) {
        if !is_kept {
            self.0.push(Violation { promise, seen: seen() });
        }
    }
}

fn nothing_goes_on_for_ever(ended: Ended, evidence: &Evidence, found: &mut Found) {
    let is_quiet = ended != Ended::Never && evidence.left_live.is_empty();
    found.unless(is_quiet, "every run ends, and nothing stays live", || {
        format!("{ended:?}, live: {:?}", evidence.left_live)
    });
}

fn a_run_has_one_final_record(id: &str, run: &RunSeen, found: &mut Found) {
    // A run that the ledger never had dies with its process; its tombstone is then all there is.
    if run.is_claimed {
        let statuses: Vec<_> = run.finals.iter().map(|record| &record["status"]).collect();
        // Once more with what reflecting on the run has cost, and otherwise the same.
        let (before, with_reflection): (Vec<_>, Vec<_>) =
            run.finals.iter().partition(|record| record[REFLECTION].is_null());
        let is_one = before.len() == 1
            && with_reflection.len() <= 1
            && with_reflection.iter().all(|record| without_reflection(record) == *before[0]);
        found.unless(is_one, "a run has exactly one final record", || format!("{id}: {statuses:?}"));
    }
    if let (Some(last), Some(record)) = (run.finals.last(), &run.record) {
        found.unless(last["status"] == record["status"], "a final record stays", || {
            format!("{id}: {} became {}", last["status"], record["status"])
        });
    }
}

/// What reflecting on a run has cost, in its record.
const REFLECTION: &str = "reflectionMicroUsd";

fn without_reflection(record: &Value) -> Value {
    let mut record = record.clone();
    record.as_object_mut().map(|fields| fields.remove(REFLECTION));
    record
}

fn input_and_answer_are_as_told(id: &str, run: &RunSeen, evidence: &Evidence, found: &mut Found) {
    let Some(record) = &run.record else { return };
    let of =
        |kind: &str| events(record).iter().filter(move |event| event["type"] == kind).collect::<Vec<_>>();
    let (inputs, answers) = (of("input"), of("answer"));
    let label = record["label"].as_str().unwrap_or_default();
    let asked = inputs.first().and_then(|event| event["text"].as_str()).unwrap_or_default();
    let is_told =
        inputs.is_empty() || label.contains(&asked.split_whitespace().collect::<Vec<_>>().join(" "));
    found.unless(is_told, "a run's input is what was asked", || format!("{id}: {asked}"));
    found.unless(answers.len() <= 1, "a run has at most one answer", || format!("{id}: {}", answers.len()));
    let Some(answer) = answers.first() else { return };
    let mut said = evidence.said.iter().filter(|said| said.run.as_deref() == Some(id)).peekable();
    let is_told = said.peek().is_none() || said.any(|said| answer["text"] == said.text.as_str());
    found.unless(is_told, "a run's answer is what was said", || format!("{id}: {}", answer["text"]));
}

fn a_completed_run_has_replied(id: &str, run: &RunSeen, evidence: &Evidence, found: &mut Found) {
    if run.record.as_ref().is_none_or(|record| record["status"] != "completed") {
        return;
    }
    let has_replied = evidence.said.iter().any(|said| said.run.as_deref() == Some(id));
    found.unless(has_replied, "a run whose record says completed has replied", || id.to_owned());
}

/// Deaths at one step after which a run is given up: it may be what its processes die of.
const MANY_DEATHS: usize = 5;

/// Where nothing else goes wrong, every story's runs end by themselves. That of one which is closed as interrupted although
/// all that it needs is stored breaks no other promise.
fn a_run_that_could_go_on_is_completed(id: &str, run: &RunSeen, evidence: &Evidence, found: &mut Found) {
    let could_go_on = !run.was_resumable.is_empty() && run.was_resumable.iter().all(|could| *could);
    if !evidence.only_kills || evidence.killed.len() > MANY_DEATHS || !could_go_on {
        return;
    }
    let status = run.record.as_ref().map(|record| &record["status"]);
    found.unless(
        status.is_some_and(|status| status == "completed"),
        "a run that could go on is completed",
        || format!("{id}: {status:?}"),
    );
}

fn a_run_replies_at_most_once(evidence: &Evidence, found: &mut Found) {
    let (mut by_run, mut by_message) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, BTreeSet<_>>::new());
    for said in &evidence.said {
        if !said.is_lost_sight_of(evidence) && !said.was_said_unheard(evidence) {
            by_run.entry((&said.run, &said.to)).or_default().push(&said.text);
        }
        let record = said.run.as_ref().and_then(|run| evidence.runs.get(run)?.record.as_ref());
        let label = record.and_then(|record| record["label"].as_str()).unwrap_or_default();
        for id in script::ids(label) {
            by_message.entry(id).or_default().insert(&said.run);
        }
    }
    for ((run, to), texts) in by_run {
        found
            .unless(texts.len() == 1, "a run replies at most once", || format!("{run:?} to {to}: {texts:?}"));
    }
    for (id, runs) in by_message {
        found.unless(runs.len() == 1, "a message is answered by one run", || format!("{id}: {runs:?}"));
    }
}

fn no_unknown_effect_is_repeated(evidence: &Evidence, found: &mut Found) {
    // Writing the same content to the same file again is the same.
    let may_repeat = ["t2c0", "t7c1"];
    let mut counts = BTreeMap::<_, u32>::new();
    for effect in &evidence.effects {
        *counts.entry(effect.call.as_str()).or_default() += 1;
    }
    for (call, count) in counts {
        let is_kept = count == 1 || may_repeat.contains(&call);
        found.unless(is_kept, "a call with unknown effects is never run again silently", || {
            format!("{call}: {count} times")
        });
    }
}

fn events(record: &Value) -> &[Value] {
    record["events"].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Said;

    /// The run is taken over at call 20 and answered with leave at 30; its first process, which has last heard from a store
    /// then, answers it too.
    fn is_kept(at: u64, heard: u64, is_without_leave: bool) -> bool {
        let said = |through: &str, number, is_without_leave, heard| Said {
            to: "m0".into(),
            run: Some("run".into()),
            text: "Done.".into(),
            through: through.into(),
            number,
            is_without_leave,
            heard,
        };
        let run = RunSeen { takers: vec!["g2".into()], taken_over: vec![20], ..RunSeen::default() };
        let evidence = Evidence {
            said: vec![said("g2", 30, false, 29), said("g1", at, is_without_leave, heard)],
            runs: BTreeMap::from([("run".into(), run)]),
            ..Evidence::default()
        };
        let mut found = Found::default();
        a_run_replies_at_most_once(&evidence, &mut found);
        found.0.is_empty()
    }

    #[test]
    fn only_a_process_without_leave_that_could_not_hear_of_its_loss_may_reply_too() {
        assert!(is_kept(40, 19, true));
        assert!(is_kept(25, 19, true), "nor could it tell who has it now");
        assert!(!is_kept(19, 18, true), "it still had the run, and lives to tell");
        assert!(!is_kept(40, 21, true), "it could have been told");
        assert!(!is_kept(40, 19, false), "nobody gives leave twice");
    }
}
