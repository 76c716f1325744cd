//! Every input order that the world can produce, and the promises that hold in each.

use std::collections::{HashMap, HashSet, VecDeque};

use ars_agent::run_end::LedgerKnowledge;
use ars_types::RunStatus;

use crate::world::{Attempts, Mailbox, Place, Row, World};

/// Explores every world that can follow from this world.
fn explored(first: World) -> HashMap<World, Vec<World>> {
    let mut successors = HashMap::new();
    let mut open = VecDeque::from([first]);
    while let Some(world) = open.pop_front() {
        if successors.contains_key(&world) {
            continue;
        }
        let next: Vec<_> = if world.end.is_over() {
            Vec::new()
        } else {
            world
                .answered()
                .into_iter()
                .chain(world.disturbed())
                .collect()
        };
        open.extend(
            next.iter()
                .filter(|next| !successors.contains_key(*next))
                .cloned(),
        );
        successors.insert(world, next);
    }
    successors
}

/// Returns every running run.
fn beginnings() -> Vec<World> {
    let claims = [
        (LedgerKnowledge::Absent, Row::Missing),
        (LedgerKnowledge::Confirmed, Row::Ours),
        (LedgerKnowledge::Unconfirmed, Row::Missing),
        (LedgerKnowledge::Unconfirmed, Row::Ours),
    ];
    let outcomes = [
        (RunStatus::Completed, true),
        (RunStatus::Failed, true),
        (RunStatus::StoppedSoft, true),
        (RunStatus::StoppedHard, false),
        (RunStatus::Interrupted, false),
    ];
    let mut worlds = Vec::new();
    for (ledger, row) in claims {
        for (status, has_answer) in outcomes {
            worlds.push(World::new(ledger, row, status, has_answer));
        }
    }
    worlds
}

/// The promises that hold once nothing is left to do here.
fn check_over(world: &World) -> Vec<&'static str> {
    let mut world = world.clone();
    let is_row_left = matches!(world.row, Row::Ours | Row::Theirs);
    let is_handled_elsewhere = is_row_left || matches!(world.row, Row::Finished { ours: false });
    let is_given_up = matches!(world.attempts, Attempts::Lost { .. });
    if world.is_aborted {
        world.promise(
            world.replies == 0 && world.records == 0,
            "an aborted run leaves no reply and no record",
        );
        world.promise(
            world.mailbox == Mailbox::Redirected,
            "the mailbox of an aborted run is redirected",
        );
        world.promise(is_handled_elsewhere, "an aborted run is left to the ledger");
    } else {
        world.promise(world.records <= 1, "a run has at most one record");
        world.promise(
            !is_given_up || world.is_patience_over(),
            "a lost record is retried for its whole timeout",
        );
        let is_recorded = world.records == 1 || is_handled_elsewhere || is_given_up;
        world.promise(
            is_recorded,
            "a run has a record, or every attempt to write it was lost",
        );
        world.promise(!world.has_thread, "the thread is released");
        world.promise(world.mailbox == Mailbox::Closed, "the mailbox is closed");
    }
    if is_row_left {
        // The next process closes the run.
        world.owner_ends();
    }
    for follow_up in world.follow_ups {
        let is_settled = !matches!(
            follow_up.place,
            Place::Mailbox | Place::Unread | Place::Vanished
        );
        world.promise(
            is_settled,
            "a follow-up is dispatched, rejected or left to the owner",
        );
        let is_owned =
            follow_up.place != Place::WithOwner || !follow_up.is_in_inbox || is_handled_elsewhere;
        world.promise(
            is_owned || is_given_up,
            "follow-ups are left to a process that owns the run, unless the record was lost",
        );
        world.promise(
            follow_up.turns <= 1 || world.was_record_lost(),
            "a follow-up runs once, unless an attempt at the record was lost",
        );
    }
    world.broken
}

#[test]
fn every_order_keeps_every_promise() {
    for beginning in beginnings() {
        let worlds = explored(beginning.clone());
        for world in worlds.keys() {
            assert!(world.broken.is_empty(), "{:?}\n{world:#?}", world.broken);
            if world.end.is_over() {
                let broken = check_over(world);
                assert!(broken.is_empty(), "{broken:?}\n{world:#?}");
            } else {
                let is_waiting = world.pending.is_some() || !world.has_exited;
                assert!(is_waiting, "the machine waits for nothing: {world:#?}");
            }
        }
    }
}

#[test]
fn every_order_can_come_to_an_end() {
    for beginning in beginnings() {
        let worlds = explored(beginning);
        let mut predecessors: HashMap<&World, Vec<&World>> = HashMap::new();
        for (world, next) in &worlds {
            next.iter()
                .for_each(|next| predecessors.entry(next).or_default().push(world));
        }
        let mut ending: HashSet<&World> =
            worlds.keys().filter(|world| world.end.is_over()).collect();
        let mut open: Vec<_> = ending.iter().copied().collect();
        while let Some(world) = open.pop() {
            for before in predecessors.get(world).into_iter().flatten() {
                if ending.insert(before) {
                    open.push(before);
                }
            }
        }
        assert_eq!(ending.len(), worlds.len());
    }
}
