//! Guarantees about a run's events: in the record, and in viewers' streams.

use std::collections::BTreeMap;

use serde_json::Value;

use super::found::{Found, events};
use crate::{
    evidence::{Evidence, RunSeen},
    viewer::{Stream, View},
};

pub(super) fn no_event_is_lost_or_duplicated(id: &str, run: &RunSeen, found: &mut Found) {
    let Some(record) = &run.record else { return };
    let events = events(record);
    let seqs: Vec<_> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    let is_whole = seqs
        .iter()
        .copied()
        .eq(1..=record["eventCount"].as_u64().unwrap_or_default());
    found.unless(
        is_whole && seqs.len() == events.len(),
        "a record has every event of its run, by seq",
        || format!("{id}: {} events, {seqs:?}", record["eventCount"]),
    );
    let by_seq: BTreeMap<_, _> = seqs.iter().copied().zip(events).collect();
    for (seq, event) in &run.acknowledged {
        found.unless(
            by_seq.get(seq) == Some(&event),
            "an event that the ledger acknowledged is in the record",
            || format!("{id}: seq {seq} was {event}, is {:?}", by_seq.get(seq)),
        );
    }
}

pub(super) fn a_viewer_sees_each_event_once(evidence: &Evidence, found: &mut Found) {
    for ((id, viewer), view) in &evidence.views {
        let Some(run) = evidence.runs.get(id) else {
            continue;
        };
        for stream in &view.streams {
            found.unless(
                is_in_order(stream),
                "a viewer's stream has no gap and no repetition",
                || {
                    let seqs: Vec<_> = stream.shown.iter().map(|(seq, _)| seq).collect();
                    format!(
                        "{viewer} of {id} at {} after {}: {seqs:?}",
                        stream.process, stream.after
                    )
                },
            );
        }
        let (last, repeated) = merge_streams(view, run);
        found.unless(
            repeated.is_empty(),
            "a viewer sees each stored event once",
            || format!("{viewer} of {id}: {repeated:?}"),
        );
        // A viewer with a stream that ended at another process saw that process's version.
        let (Some(ended_at), Some(record), Some((_, by))) =
            (&view.ended_at, &run.record, &run.finished)
        else {
            continue;
        };
        let has_all = ended_at != by || has_seen(view, &last, events(record));
        found.unless(
            has_all,
            "a viewer with a complete stream saw the record's events",
            || {
                let seen_at = |event: &Value| {
                    event["seq"]
                        .as_u64()
                        .and_then(|seq| last.get(&seq).copied())
                };
                let others: Vec<_> = events(record)
                    .iter()
                    .filter(|event| seen_at(event) != Some(event))
                    .collect();
                format!(
                    "{viewer} of {id}: {} of {}, not {others:?}",
                    last.len(),
                    record["eventCount"]
                )
            },
        );
    }
}

/// Checks the order. A position ahead of the process's events can only come from an earlier process.
fn is_in_order(stream: &Stream) -> bool {
    let Some((first, _)) = stream.shown.first() else {
        return true;
    };
    let is_rising = stream
        .shown
        .windows(2)
        .all(|pair| pair[0].0 + 1 == pair[1].0);
    *first <= stream.after + 1 && is_rising && !stream.is_elided
}

/// Checks that the viewer has seen exactly these events.
/// If a process showed it none, only the numbers are checked, because its position from an earlier process cannot be
/// distinguished (docs/decisions/0011).
fn has_seen(view: &View, last: &BTreeMap<u64, &Value>, events: &[Value]) -> bool {
    if view
        .streams
        .iter()
        .any(|stream| stream.after > 0 && stream.shown.is_empty())
    {
        return last.keys().copied().eq(1..=events.len() as u64);
    }
    let by_seq = events
        .iter()
        .filter_map(|event| Some((event["seq"].as_u64()?, event)));
    last.iter().map(|(seq, event)| (*seq, *event)).eq(by_seq)
}

/// Returns the viewer's final events, and unnecessary repetitions.
/// Events that a killed process had not flushed are lost: its successor resumes before them and reuses their numbers.
fn merge_streams<'a>(view: &'a View, run: &RunSeen) -> (BTreeMap<u64, &'a Value>, Vec<&'a Value>) {
    let mut last = BTreeMap::new();
    let mut repeated = Vec::new();
    for stream in &view.streams {
        let Some((first, _)) = stream.shown.first() else {
            continue;
        };
        let lost: BTreeMap<u64, &Value> = last.split_off(first);
        last.extend(stream.shown.iter().map(|(seq, event)| (*seq, event)));
        let is_repeated = |(seq, event): &(u64, &Value)| {
            run.acknowledged.get(seq) == Some(*event) || last.get(seq) == Some(event)
        };
        repeated.extend(lost.into_iter().filter(is_repeated).map(|(_, event)| event));
    }
    (last, repeated)
}
