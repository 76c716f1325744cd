//! Crashes at a statement, before a commit or after it.
//!
//! The bot repeats the request to the reopened store, and the responses still match the model.

use ars_testkit::faulty::Fault;
use ars_testkit::ledger::{
    Action, Claim, Event, EventKind, Moment, Name, Operation, RunFlush, Sequence, World, Writer,
    sequences,
};
use proptest::prelude::*;

use crate::model::{assert_matches_model, cases};

/// Number of sequences to play.
const CASES: u32 = 5000;

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn crashed_requests_are_atomic(sequence in sequences(&World::crashing())) {
        assert_matches_model(&World::crashing(), &sequence)?;
    }
}

/// The maximum number of maximum-size events in a request, which need more than one write statement.
const MANY: i64 = 31;

/// Returns a claim by `g1` for a run on this thread.
fn claim(world: &World, run: Name, thread: Name) -> Operation {
    Operation::Claim(Claim {
        writer: Writer {
            run,
            generation: "g1",
        },
        thread,
        lease_ms: 30_000,
        started_at: world.base,
        agent: None,
        card: false,
        state: None,
    })
}

fn large(seqs: std::ops::RangeInclusive<i64>) -> Vec<Event> {
    seqs.map(|seq| Event {
        seq,
        kind: EventKind::Bytes(65_536),
    })
    .collect()
}

/// Crashes at each point in `request`, which follows two claims and an event that it replaces.
fn lands_whole_or_not_at_all(request: &Operation) {
    let world = World::crashing();
    let faults = (0..8)
        .map(Fault::Statement)
        .chain([Fault::BeforeCommit(0), Fault::AfterCommit(0)]);
    for crash in faults {
        let moment = |operation, crash| Moment {
            jump_ms: 1,
            action: Action::Send(operation),
            crash,
        };
        let writer = Writer {
            run: "r1",
            generation: "g1",
        };
        let replaced = vec![Event {
            seq: MANY,
            kind: EventKind::Text(1),
        }];
        let sequence = Sequence(vec![
            moment(claim(&world, "r1", "t:C1:1"), None),
            moment(claim(&world, "r2", "t:C1:2"), None),
            moment(
                Operation::Append {
                    writer,
                    events: replaced,
                },
                None,
            ),
            moment(request.clone(), Some(crash)),
            moment(Operation::LiveEvents { run: "r1" }, None),
        ]);
        assert_matches_model(&world, &sequence).unwrap();
    }
}

#[test]
fn batch_of_many_statements_is_atomic() {
    let writer = Writer {
        run: "r1",
        generation: "g1",
    };
    lands_whole_or_not_at_all(&Operation::Append {
        writer,
        events: large(1..=MANY),
    });
}

#[test]
fn flush_of_many_statements_is_atomic() {
    let flush_of = |run, events| RunFlush {
        run,
        events,
        after: 0,
    };
    let runs = vec![
        flush_of("r2", large(1..=10)),
        flush_of("r3", large(1..=1)),
        flush_of("r1", large(12..=MANY)),
    ];
    for lease_ms in [None, Some(60_000)] {
        let runs = runs.clone();
        lands_whole_or_not_at_all(&Operation::Flush {
            generation: "g1",
            lease_ms,
            runs,
        });
    }
}
