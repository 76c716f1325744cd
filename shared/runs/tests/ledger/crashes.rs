//! The process dies at a statement, before a commit or after it; the bot repeats its request to the store opened
//! again, and the answers are still the model's.

use ars_testkit::faulty::Fault;
use ars_testkit::ledger::{
    Action, Claim, Event, EventKind, Moment, Name, News, Operation, Sequence, World, Writer, sequences,
};
use proptest::prelude::*;

use crate::model::{agree, cases};

/// Sequences.
const CASES: u32 = 5000;

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn a_crash_leaves_all_of_a_request_or_nothing_of_it(sequence in sequences(&World::crashing())) {
        agree(&World::crashing(), &sequence)?;
    }
}

/// As many of the largest events as a request holds: more than one statement writes.
const MANY: i64 = 31;

/// A claim of a run by `g1`, on the thread of this place.
fn claim(world: &World, run: Name, thread: Name) -> Operation {
    Operation::Claim(Claim {
        writer: Writer { run, generation: "g1" },
        thread,
        lease_ms: 30_000,
        started_at: world.base,
        agent: None,
        card: false,
        state: None,
    })
}

fn large(seqs: std::ops::RangeInclusive<i64>) -> Vec<Event> {
    seqs.map(|seq| Event { seq, kind: EventKind::Bytes(65_536) }).collect()
}

/// Dies at each point of `request`, which comes after two claims and an event that it replaces.
fn lands_whole_or_not_at_all(request: &Operation) {
    let world = World::crashing();
    let faults = (0..8).map(Fault::Statement).chain([Fault::BeforeCommit(0), Fault::AfterCommit(0)]);
    for crash in faults {
        let moment = |operation, crash| Moment { jump_ms: 1, action: Action::Send(operation), crash };
        let writer = Writer { run: "r1", generation: "g1" };
        let replaced = vec![Event { seq: MANY, kind: EventKind::Text(1) }];
        let sequence = Sequence(vec![
            moment(claim(&world, "r1", "t:C1:1"), None),
            moment(claim(&world, "r2", "t:C1:2"), None),
            moment(Operation::Append { writer, events: replaced }, None),
            moment(request.clone(), Some(crash)),
            moment(Operation::LiveEvents { run: "r1" }, None),
        ]);
        agree(&world, &sequence).unwrap();
    }
}

#[test]
fn a_batch_of_many_statements_lands_whole_or_not_at_all() {
    let writer = Writer { run: "r1", generation: "g1" };
    lands_whole_or_not_at_all(&Operation::Append { writer, events: large(1..=MANY) });
}

#[test]
fn a_flush_of_many_statements_lands_whole_or_not_at_all() {
    let news = |run, events| News { run, events, after: 0 };
    let runs = vec![news("r2", large(1..=10)), news("r3", large(1..=1)), news("r1", large(12..=MANY))];
    for lease_ms in [None, Some(60_000)] {
        let runs = runs.clone();
        lands_whole_or_not_at_all(&Operation::Flush { generation: "g1", lease_ms, runs });
    }
}
