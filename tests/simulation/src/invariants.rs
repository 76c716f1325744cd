//! What the runtime promises, one function for each sentence (document 1 section 2.4, document 2 sections 2.4 and 3.3).

use std::collections::BTreeMap;

use ars_types::StopMode;
use serde_json::Value;

use crate::{
    evidence::{Evidence, RunSeen, Stopped},
    play::Ended,
    script,
};

/// Calls from a run's record to the claim of the fresh turn that follows it, and some of other processes.
const BETWEEN: u64 = 10;

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
        no_event_is_lost_or_duplicated(id, run, &mut found);
        input_and_answer_are_as_told(id, run, evidence, &mut found);
        a_completed_run_has_replied(id, run, evidence, &mut found);
    }
    a_run_replies_at_most_once(evidence, &mut found);
    no_unknown_effect_is_repeated(evidence, &mut found);
    a_stopped_run_stays_stopped(evidence, &mut found);
    an_acknowledged_follow_up_is_not_forgotten(evidence, &mut found);
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
        found.unless(run.finals.len() == 1, "a run has exactly one final record", || {
            format!("{id}: {statuses:?}")
        });
    }
    if let (Some(last), Some(record)) = (run.finals.last(), &run.record) {
        found.unless(last["status"] == record["status"], "a final record stays", || {
            format!("{id}: {} became {}", last["status"], record["status"])
        });
    }
}

fn no_event_is_lost_or_duplicated(id: &str, run: &RunSeen, found: &mut Found) {
    let Some(record) = &run.record else { return };
    let events = events(record);
    let seqs: Vec<_> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    let is_rising = seqs.windows(2).all(|pair| pair[0] < pair[1]);
    found.unless(is_rising && seqs.len() == events.len(), "every event has a seq of its own, rising", || {
        format!("{id}: {seqs:?}")
    });
    let by_seq: BTreeMap<_, _> = seqs.iter().copied().zip(events).collect();
    for (seq, event) in &run.acknowledged {
        found.unless(
            by_seq.get(seq) == Some(&event),
            "an event that the ledger acknowledged is in the record",
            || format!("{id}: seq {seq} was {event}, is {:?}", by_seq.get(seq)),
        );
    }
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
    let to = script::ids(label).pop().unwrap_or_default();
    let said = evidence.said.iter().filter(|said| said.to == to);
    let is_other = said.clone().count() > 0 && !said.clone().any(|said| answer["text"] == said.text.as_str());
    found.unless(!is_other, "a run's answer is what was said", || format!("{id}: {}", answer["text"]));
}

fn a_completed_run_has_replied(id: &str, run: &RunSeen, evidence: &Evidence, found: &mut Found) {
    let Some(record) = run.record.as_ref().filter(|record| record["status"] == "completed") else { return };
    let to = script::ids(record["label"].as_str().unwrap_or_default()).pop().unwrap_or_default();
    let count = evidence.said.iter().filter(|said| said.to == to).count();
    found.unless(count == 1, "a run whose record says completed has replied", || {
        format!("{id}: {count} replies")
    });
}

fn a_run_replies_at_most_once(evidence: &Evidence, found: &mut Found) {
    let mut counts = BTreeMap::<_, Vec<_>>::new();
    for said in &evidence.said {
        counts.entry(&said.to).or_default().push(&said.text);
    }
    for (to, texts) in counts {
        found.unless(texts.len() <= 1, "a message is answered at most once", || format!("{to}: {texts:?}"));
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

fn a_stopped_run_stays_stopped(evidence: &Evidence, found: &mut Found) {
    // A stop that could not be stored is lost with the process that took it.
    let is_lost = |stop: &Stopped| !stop.is_stored && evidence.killed.contains_key(&stop.through);
    for stop in evidence.stops.iter().filter(|stop| !stop.is_late && !is_lost(stop)) {
        let record = evidence.runs.get(&stop.run).and_then(|run| run.record.as_ref());
        let status = record.and_then(|record| record["status"].as_str()).unwrap_or("none");
        let was_told_elsewhere = stop.owner.as_ref() != Some(&stop.through);
        let works_on = evidence.effects.iter().any(|effect| effect.number > stop.number);
        // The ledger keeps the last of several stops (state-worker supplement section 9.3).
        let is_softened =
            evidence.stops.iter().any(|other| other.run == stop.run && other.mode == StopMode::Soft);
        let is_kept = match stop.mode {
            // The owner learns of another process's stop by its next heartbeat, and may be done by then.
            _ if was_told_elsewhere && !works_on => true,
            StopMode::Hard if is_softened && status == "stopped_soft" => true,
            // Interrupted: it was being closed when the stop came, because it could not go on.
            StopMode::Hard => ["stopped_hard", "interrupted"].contains(&status),
            StopMode::Soft => ["stopped_soft", "stopped_hard", "interrupted"].contains(&status),
        };
        found.unless(is_kept, "a run that was asked to stop stays stopped", || format!("{stop:?}: {status}"));
        if stop.mode == StopMode::Hard {
            let later = evidence.effects.iter().find(|effect| {
                effect.number > stop.number
                    && stop.owner.as_ref().is_some_and(|owner| *owner != effect.process)
            });
            found.unless(later.is_none(), "no later process works on a run that was stopped hard", || {
                format!("{stop:?}: {later:?}")
            });
        }
    }
}

fn an_acknowledged_follow_up_is_not_forgotten(evidence: &Evidence, found: &mut Found) {
    for id in &evidence.passed_on {
        let is_read = evidence.runs.values().filter_map(|run| run.record.as_ref()).any(|record| {
            // In an outage the event of what a follow-up said may be lost; the answer tells what the model has heard.
            let told =
                events(record).iter().filter(|event| event["type"] == "input" || event["type"] == "answer");
            told.filter_map(|event| event["text"].as_str()).any(|text| script::ids(text).contains(id))
        });
        // Taken in by a process alone, while the ledger could not be reached, and lost with the process.
        let was_volatile = !evidence.kept.contains(id) && !evidence.killed.is_empty();
        // What is to be run as a fresh turn is nobody's between the run before and its own claim.
        let was_between = evidence.runs.values().filter_map(|run| run.finished_at).any(|finished_at| {
            evidence.killed.values().any(|killed_at| (finished_at..finished_at + BETWEEN).contains(killed_at))
        });
        let is_told = evidence.said.iter().any(|said| said.to == *id) || evidence.handed_back.contains(id);
        let is_cut_off = evidence
            .runs
            .values()
            .any(|run| run.record.as_ref().is_none_or(|record| record["status"] == "interrupted"));
        found.unless(
            is_read || is_told || is_cut_off || was_volatile || was_between,
            "an acknowledged follow-up is not forgotten",
            || id.clone(),
        );
    }
}

fn events(record: &Value) -> &[Value] {
    record["events"].as_array().map_or(&[], Vec::as_slice)
}
