//! Random sequences: two to four generations contending for few runs and threads.
//!
//! Small alphabets make collisions likely. About one value in fifty is invalid.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::Union;

use super::operation::Operation;
use super::payload::{Claim, Event, EventKind, Name, Part, Record, RunFlush, Step, Writer};
use super::play::{Action, Moment, Sequence};
use super::world::World;
use crate::faulty::Fault;

/// Fewer than runs, so that they contend.
const THREADS: &[Name] = &["t:C1:1", "t:C1:2"];
const GENERATIONS: [Name; 4] = ["g1", "g2", "g3", "20261121T090000Z-0a1b2c3d"];
/// One character too long for a generation and for a thread key.
const LONG: Name = letters(&[b'g'; 129]);
const LONG_THREAD: Name = letters(&[b't'; 257]);
const BAD_RUNS: &[Name] = &["", "r:1", "r 1", LONG];
const BAD_GENERATIONS: &[Name] = &["", "g 1", "g/1", LONG];
const BAD_LEASES: &[i64] = &[999, 3_600_001, 0, -1];
/// Event sizes: the maximum, and one byte more.
const EDGE_BYTES: &[usize] = &[65_536, 65_537];

const fn letters(ascii: &'static [u8]) -> Name {
    match std::str::from_utf8(ascii) {
        Ok(text) => text,
        Err(_) => "",
    }
}

/// Returns the strategy for random sequences.
pub fn sequences(world: &World) -> BoxedStrategy<Sequence> {
    prop_oneof![
        sequences_among(world, &GENERATIONS[..2]),
        sequences_among(world, &GENERATIONS[..3]),
        sequences_among(world, &GENERATIONS[..])
    ]
    .boxed()
}

/// Starts with a few claims, so that most later requests find a run.
fn sequences_among(
    world: &World,
    generations: &'static [Name],
) -> impl Strategy<Value = Sequence> + use<> {
    let begin = prop_oneof![
        4 => claim(world, generations).prop_map(Operation::Claim),
        1 => writer(generations).prop_map(|writer| Operation::TranscriptOwner { writer }),
    ];
    let begin = vec(moment(world, begin), 0..5);
    let rest = vec(
        moment(world, operation(world, generations)),
        world.requests.clone(),
    );
    (begin, rest).prop_map(|(begin, rest)| Sequence(begin.into_iter().chain(rest).collect()))
}

fn moment(
    world: &World,
    operation: impl Strategy<Value = Operation> + 'static,
) -> BoxedStrategy<Moment> {
    let jump = if world.jumps.is_empty() {
        Just(0).boxed()
    } else {
        prop_oneof![12 => Just(0), 1 => select(world.jumps)].boxed()
    };
    let action = prop_oneof![
        8 => operation.prop_map(Action::Send),
        1 => (0..64_usize).prop_map(Action::Again),
    ];
    // Shrinks towards no crash.
    let calm = 100 - world.crashes;
    let crash =
        (0..100_u32, fault()).prop_map(move |(roll, fault)| (roll >= calm).then_some(fault));
    (jump, action, crash)
        .prop_map(|(jump_ms, action, crash)| Moment {
            jump_ms,
            action,
            crash,
        })
        .boxed()
}

fn fault() -> impl Strategy<Value = Fault> {
    // No request may commit twice. A crash between two commits would show a second commit.
    let commit = prop_oneof![6 => Just(0), 1 => Just(1)];
    prop_oneof![
        2 => (0..8_u32).prop_map(Fault::Statement),
        3 => commit.clone().prop_map(Fault::BeforeCommit),
        4 => commit.prop_map(Fault::AfterCommit),
    ]
}

fn operation(world: &World, generations: &'static [Name]) -> BoxedStrategy<Operation> {
    let kinds = [
        owner(world, generations),
        history(world),
        transcript(generations),
    ];
    let mut choices: Vec<_> = world
        .weights
        .into_iter()
        .zip(kinds)
        .filter(|(weight, _)| *weight > 0)
        .collect();
    if world.sweeps {
        choices.push((1, Just(Operation::Sweep).boxed()));
    }
    Union::new_weighted(choices).boxed()
}

/// Generates ledger requests.
fn owner(world: &World, generations: &'static [Name]) -> BoxedStrategy<Operation> {
    let writer = || writer(generations);
    let lease = || mostly(world.leases, BAD_LEASES);
    let handoff = (generation(generations), vec(run(), 0..4));
    let at: Vec<_> = world
        .reclaims
        .iter()
        .map(|offset| world.base + offset)
        .collect();
    let reclaim = (
        generation(generations),
        lease(),
        proptest::option::of(select(at)),
    );
    prop_oneof![
        14 => claim(world, generations).prop_map(Operation::Claim),
        2 => Just(Operation::Live),
        3 => (writer(), lease()).prop_map(|(writer, lease_ms)| Operation::Heartbeat { writer, lease_ms }),
        6 => (writer(), vec(appended(), 0..4)).prop_map(|(writer, events)| Operation::Append { writer, events }),
        6 => flush(world, generations),
        4 => (writer(), step()).prop_map(|(writer, step)| Operation::Step { writer, step }),
        3 => (writer(), any::<u8>()).prop_map(|(writer, state)| Operation::State { writer, state }),
        3 => (run(), any::<u8>()).prop_map(|(run, message)| Operation::Inbox { run, message }),
        2 => (run(), mostly(&["soft", "hard"], &["later", ""])).prop_map(|(run, mode)| Operation::Stop { run, mode }),
        3 => handoff.prop_map(|(generation, runs)| Operation::Handoff { generation, runs }),
        4 => writer().prop_map(|writer| Operation::Finishing { writer }),
        4 => finish(world, generations),
        5 => reclaim.prop_map(|(generation, lease_ms, now)| Operation::Reclaim { generation, lease_ms, now }),
        2 => run().prop_map(|run| Operation::LiveEvents { run }),
    ]
    .boxed()
}

/// Flushes runs in any order, occasionally with a duplicate or an invalid name.
fn flush(world: &World, generations: &'static [Name]) -> BoxedStrategy<Operation> {
    let each_once = subsequence(World::RUNS, 0..=World::RUNS.len()).prop_shuffle();
    let runs = prop_oneof![20 => each_once, 1 => vec(run(), 0..World::RUNS.len())];
    let after = prop_oneof![40 => 0..4_i64, 1 => Just(-1)];
    let entries = vec((vec(appended(), 0..3), after), World::RUNS.len());
    let lease = proptest::option::of(mostly(world.leases, BAD_LEASES));
    (generation(generations), lease, runs, entries)
        .prop_map(|(generation, lease_ms, runs, entries)| {
            let flush = |(run, (events, after))| RunFlush { run, events, after };
            Operation::Flush {
                generation,
                lease_ms,
                runs: runs.into_iter().zip(entries).map(flush).collect(),
            }
        })
        .boxed()
}

/// Requests about finished runs.
fn history(world: &World) -> BoxedStrategy<Operation> {
    let page = (
        run(),
        prop_oneof![0..6_i64, Just(-1)],
        prop_oneof![8 => 1..5_i64, 1 => Just(0), 1 => Just(5001)],
    );
    let limit = proptest::option::of(prop_oneof![9 => 1..4_i64, 1 => Just(0), 1 => Just(201)]);
    prop_oneof![
        4 => run().prop_flat_map({
            let world = world.clone();
            move |run| record(&world, run)
        }).prop_map(|record| Operation::Put { record }),
        2 => run().prop_map(|run| Operation::Get { run }),
        1 => run().prop_map(|run| Operation::Summary { run }),
        1 => limit.prop_map(|limit| Operation::List { limit }),
        2 => page.prop_map(|(run, after, limit)| Operation::Events { run, after, limit }),
        1 => run().prop_map(|run| Operation::Delete { run }),
    ]
    .boxed()
}

/// Generates transcript requests.
fn transcript(generations: &'static [Name]) -> BoxedStrategy<Operation> {
    let part = (
        prop_oneof![20 => 0..3_i64, 1 => Just(-1)],
        0..3_i64,
        any::<u8>(),
    );
    let part = part.prop_map(|(idx, part, note)| Part { idx, part, note });
    let write = (writer(generations), vec(part, 0..4), vec(any::<u8>(), 0..2));
    prop_oneof![
        3 => writer(generations).prop_map(|writer| Operation::TranscriptOwner { writer }),
        6 => write.prop_map(|(writer, rows, attachments)| Operation::TranscriptWrite { writer, rows, attachments }),
        2 => run().prop_map(|run| Operation::TranscriptRead { run }),
        1 => run().prop_map(|run| Operation::TranscriptClear { run, generation: None }),
        1 => writer(generations).prop_map(|Writer { run, generation, .. }| {
            Operation::TranscriptClear { run, generation: Some(generation) }
        }),
    ]
    .boxed()
}

fn claim(world: &World, generations: &'static [Name]) -> impl Strategy<Value = Claim> + use<> {
    let thread = mostly(THREADS, &["", LONG_THREAD]);
    let rest = (
        proptest::option::of(select(&["coding", "general"][..])),
        any::<bool>(),
        proptest::option::of(any::<u8>()),
    );
    let start = world.base;
    (
        writer(generations),
        thread,
        mostly(world.leases, BAD_LEASES),
        0..4_i64,
        rest,
    )
        .prop_map(
            move |(writer, thread, lease_ms, later, (agent, card, state))| Claim {
                writer,
                thread,
                lease_ms,
                started_at: start + later,
                agent,
                card,
                state,
            },
        )
}

fn finish(world: &World, generations: &'static [Name]) -> BoxedStrategy<Operation> {
    let world = world.clone();
    (writer(generations), 0..20_u8, run())
        .prop_flat_map(move |(writer, stray, other)| {
            // Another run's record is rejected.
            let run = if stray == 0 { other } else { writer.run };
            (Just(writer), record(&world, run))
        })
        .prop_map(|(writer, record)| Operation::Finish { writer, record })
        .boxed()
}

fn record(world: &World, id: Name) -> impl Strategy<Value = Record> + use<> {
    let statuses = mostly(&["completed", "interrupted", "failed"], &["fine"]);
    let endings: Vec<_> = world
        .endings
        .iter()
        .map(|offset| world.base + offset)
        .collect();
    let rising = prop_oneof![
        4 => (0..4_i64, any::<u8>()).prop_map(|(count, note)| (1..=count).map(|seq| text(seq, note)).collect()),
        1 => vec(event(0..5), 0..4),
    ];
    (select(endings), statuses, 0..2_u8, rising).prop_map(
        move |(finished_at, status, note, events)| Record {
            id,
            finished_at,
            status,
            note,
            events,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let number = prop_oneof![20 => 0..4_i64, 1 => Just(-1)];
    (number, 0..4_i64, 0..3_u8).prop_map(|(step, consumed, in_flight)| Step {
        step,
        consumed,
        in_flight,
    })
}

fn appended() -> impl Strategy<Value = Event> {
    let limit = (1..7_i64, select(EDGE_BYTES)).prop_map(|(seq, bytes)| Event {
        seq,
        kind: EventKind::Bytes(bytes),
    });
    prop_oneof![120 => event(1..7), 2 => event(0..1), 1 => limit]
}

fn event(seqs: std::ops::Range<i64>) -> impl Strategy<Value = Event> {
    let kind =
        prop_oneof![15 => any::<u8>().prop_map(EventKind::Text), 1 => Just(EventKind::Untyped)];
    (seqs, kind).prop_map(|(seq, kind)| Event { seq, kind })
}

fn text(seq: i64, note: u8) -> Event {
    Event {
        seq,
        kind: EventKind::Text(note),
    }
}

fn writer(generations: &'static [Name]) -> impl Strategy<Value = Writer> {
    (run(), generation(generations)).prop_map(|(run, generation)| Writer { run, generation })
}

fn run() -> BoxedStrategy<Name> {
    skewed(World::RUNS, BAD_RUNS)
}

fn generation(generations: &'static [Name]) -> BoxedStrategy<Name> {
    skewed(generations, BAD_GENERATIONS)
}

/// Picks from `right`, earlier names first, so that about half the owner's requests find their run.
fn skewed(right: &'static [Name], wrong: &'static [Name]) -> BoxedStrategy<Name> {
    let right = (1..)
        .zip(right)
        .map(|(place, name)| (120 / place, Just(*name).boxed()));
    Union::new_weighted(right.chain([(3, select(wrong).boxed())]).collect()).boxed()
}

/// Picks from `right`, occasionally from `wrong`.
fn mostly<T: Clone + std::fmt::Debug + 'static>(
    right: &'static [T],
    wrong: &'static [T],
) -> impl Strategy<Value = T> {
    prop_oneof![60 => select(right), 1 => select(wrong)]
}
