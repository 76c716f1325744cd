//! The promises about a run's events: in its record, and before the eyes of its viewers (document 1 section 2.4, bot
//! supplement section 11).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Found, events};
use crate::{
    evidence::{Evidence, RunSeen},
    viewer::{Stream, View},
};

pub(super) fn no_event_is_lost_or_duplicated(id: &str, run: &RunSeen, found: &mut Found) {
    let Some(record) = &run.record else { return };
    let events = events(record);
    let seqs: Vec<_> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    let is_whole = seqs.iter().copied().eq(1..=record["eventCount"].as_u64().unwrap_or_default());
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
        let Some(run) = evidence.runs.get(id) else { continue };
        for stream in &view.streams {
            found.unless(
                is_in_order(stream),
                "a viewer's stream leaves nothing out and repeats nothing",
                || {
                    let seqs: Vec<_> = stream.shown.iter().map(|(seq, _)| seq).collect();
                    format!("{viewer} of {id} at {} after {}: {seqs:?}", stream.process, stream.after)
                },
            );
        }
        let (last, repeated) = put_together(view, run);
        found.unless(repeated.is_empty(), "a viewer sees an event that the ledger has once", || {
            format!("{viewer} of {id}: {repeated:?}")
        });
        // Whoever saw the end of what another process ended saw its own process's version of it.
        let (Some(ended_at), Some(record), Some((_, by))) = (&view.ended_at, &run.record, &run.finished)
        else {
            continue;
        };
        let has_all = ended_at != by || has_seen(view, &last, events(record));
        found.unless(has_all, "a viewer who saw the end saw what the record has", || {
            let seen_at = |event: &Value| event["seq"].as_u64().and_then(|seq| last.get(&seq).copied());
            let others: Vec<_> =
                events(record).iter().filter(|event| seen_at(event) != Some(event)).collect();
            format!("{viewer} of {id}: {} of {}, not {others:?}", last.len(), record["eventCount"])
        });
    }
}

/// A position ahead of what the process has can only be one before it.
fn is_in_order(stream: &Stream) -> bool {
    let Some((first, _)) = stream.shown.first() else { return true };
    let is_rising = stream.shown.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0);
    *first <= stream.after + 1 && is_rising && !stream.is_elided
}

/// The very events, and all of them. Of a viewer that one of the processes showed nothing, all numbers: it brings what
/// it was shown before that one to the next, where it cannot be told from what that one showed (docs/decisions/0011).
fn has_seen(view: &View, last: &BTreeMap<u64, &Value>, events: &[Value]) -> bool {
    if view.streams.iter().any(|stream| stream.after > 0 && stream.shown.is_empty()) {
        return last.keys().copied().eq(1..=events.len() as u64);
    }
    let by_seq = events.iter().filter_map(|event| Some((event["seq"].as_u64()?, event)));
    last.iter().map(|(seq, event)| (*seq, *event)).eq(by_seq)
}

/// What a viewer has in the end, and what it was shown again although it need not have been. A process that dies takes
/// with it what the ledger did not have yet: another goes on before that, and gives the numbers to other events.
fn put_together<'a>(view: &'a View, run: &RunSeen) -> (BTreeMap<u64, &'a Value>, Vec<&'a Value>) {
    let (mut last, mut repeated) = (BTreeMap::new(), Vec::new());
    for stream in &view.streams {
        let Some((first, _)) = stream.shown.first() else { continue };
        let lost: BTreeMap<u64, &Value> = last.split_off(first);
        last.extend(stream.shown.iter().map(|(seq, event)| (*seq, event)));
        let is_repeated = |(seq, event): &(u64, &Value)| {
            run.acknowledged.get(seq) == Some(*event) || last.get(seq) == Some(event)
        };
        repeated.extend(lost.into_iter().filter(is_repeated).map(|(_, event)| event));
    }
    (last, repeated)
}
