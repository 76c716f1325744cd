//! The process dies at a statement, before a commit or after it; the bot repeats its request to the store opened
//! again, and the answers are still the model's.

use ars_testkit::faulty::Fault;
use ars_testkit::ledger::{
    Action, Claim, Event, EventKind, Moment, Operation, Sequence, World, Writer, sequences,
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

#[test]
fn a_batch_of_many_statements_lands_whole_or_not_at_all() {
    let world = World::crashing();
    let faults = (0..8).map(Fault::Statement).chain([Fault::BeforeCommit(0), Fault::AfterCommit(0)]);
    for crash in faults {
        let writer = Writer { run: "r1", generation: "g1" };
        let claim = Claim {
            writer: writer.clone(),
            thread: "t:C1:1",
            lease_ms: 30_000,
            started_at: world.base,
            agent: None,
            card: false,
            state: None,
        };
        let large = |seq| Event { seq, kind: EventKind::Bytes(65_536) };
        let append = |events| Action::Send(Operation::Append { writer: writer.clone(), events });
        let moment = |action, crash| Moment { jump_ms: 0, action, crash };
        let sequence = Sequence(vec![
            moment(Action::Send(Operation::Claim(claim)), None),
            moment(append(vec![Event { seq: MANY, kind: EventKind::Text(1) }]), None),
            moment(append((1..=MANY).map(large).collect()), Some(crash)),
            moment(Action::Send(Operation::LiveEvents { run: "r1" }), None),
        ]);
        agree(&world, &sequence).unwrap();
    }
}
