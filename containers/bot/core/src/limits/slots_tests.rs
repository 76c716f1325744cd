//! Tests for slots and the queue.

use super::*;

fn slots(runs_per_caller: u32, runs: u32) -> Slots {
    let limits = LoadLimits {
        runs_per_caller: Some(runs_per_caller),
        runs: Some(runs),
        ..LoadLimits::default()
    };
    Slots::new(limits)
}

fn positions(places: &[&Place]) -> Vec<Option<u32>> {
    let position = |place: &&Place| match place.progress() {
        Progress::Waits(place) => Some(place.position),
        Progress::Granted => None,
    };
    places.iter().map(position).collect()
}

#[test]
fn limits_are_named() {
    let slots = slots(2, 3);
    let _own = [slots.take("a").ok().unwrap(), slots.take("a").ok().unwrap()];
    assert_eq!(slots.take("a").err(), Some(Overload::OwnRuns { limit: 2 }));
    let other = slots.take("b").ok().unwrap();
    assert_eq!(slots.take("c").err(), Some(Overload::Runs { limit: 3 }));
    drop(other);
    assert!(slots.take("c").is_ok());
}

#[test]
fn caller_with_fewest_runs_is_next() {
    let slots = slots(8, 2);
    let (first, second) = (
        slots.take("greedy").ok().unwrap(),
        slots.take("greedy").ok().unwrap(),
    );
    let mut greedy: Vec<_> = (0..3).map(|since| slots.wait("greedy", since)).collect();
    let mut modest = slots.wait("modest", 9);
    let places = [&greedy[0], &greedy[1], &greedy[2], &modest];
    assert_eq!(positions(&places), [Some(2), Some(3), Some(4), Some(1)]);
    drop(first);
    let modest_slot = modest.slot().unwrap();
    assert!(modest.slot().is_none());
    drop(second);
    let slot = greedy[0].slot().unwrap();
    assert_eq!(positions(&[&greedy[1], &greedy[2]]), [Some(1), Some(2)]);
    drop((modest_slot, slot));
    assert_eq!(positions(&[&greedy[1], &greedy[2]]), [None, None]);
}

#[test]
fn caller_at_its_limit_does_not_block_the_queue() {
    let slots = slots(1, 2);
    let _own = slots.take("a").ok().unwrap();
    let waiting = slots.wait("a", 1);
    let other = slots.take("b").ok().unwrap();
    let next = slots.wait("c", 2);
    drop(other);
    assert_eq!(positions(&[&waiting, &next]), [Some(1), None]);
    let limit = Some(Overload::OwnRuns { limit: 1 });
    assert_eq!(
        waiting.progress(),
        Progress::Waits(QueuePlace { position: 1, limit })
    );
}

#[test]
fn dropped_place_frees_its_slot() {
    let slots = slots(1, 1);
    let live = slots.take("a").ok().unwrap();
    let (gone, left, next) = (slots.wait("b", 1), slots.wait("c", 2), slots.wait("d", 3));
    drop(gone);
    assert_eq!(positions(&[&left, &next]), [Some(1), Some(2)]);
    drop(live);
    assert_eq!(positions(&[&left, &next]), [None, Some(1)]);
    drop(left);
    assert_eq!(positions(&[&next]), [None]);
}

#[test]
fn queue_is_bounded() {
    let limits = LoadLimits {
        runs: Some(1),
        queued_runs_per_caller: Some(1),
        queued_runs: Some(2),
        ..LoadLimits::default()
    };
    let slots = Slots::new(limits);
    let _live = slots.take("a").ok().unwrap();
    let place = |turn: Result<RunSlot, Overload>| match turn {
        Ok(RunSlot::Awaited(place)) => Ok(place),
        Ok(RunSlot::Free(_)) => panic!("a slot is free"),
        Err(overload) => Err(overload),
    };
    let _first = place(slots.take_or_wait("a", 1)).unwrap();
    assert_eq!(
        place(slots.take_or_wait("a", 1)).err(),
        Some(Overload::OwnQueue { limit: 1 })
    );
    let _second = place(slots.take_or_wait("b", 2)).unwrap();
    assert_eq!(
        place(slots.take_or_wait("c", 3)).err(),
        Some(Overload::Queue { limit: 2 })
    );
}

#[test]
fn older_request_is_next_after_a_restart() {
    let slots = slots(8, 1);
    let live = slots.take_beyond("a");
    let (newer, older) = (slots.wait("b", 7), slots.wait("c", 5));
    assert_eq!(positions(&[&newer, &older]), [Some(2), Some(1)]);
    drop(live);
    assert_eq!(positions(&[&newer, &older]), [Some(1), None]);
}
