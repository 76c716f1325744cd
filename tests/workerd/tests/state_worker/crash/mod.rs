//! Kills the runtime at random under parallel writers: what was acknowledged is there afterwards, as it was written,
//! and nothing is there by half (document 2 section 4.3; the ledger's promises of state-worker supplement section 9).
//!
//! Each writer tells stories: requests in a fixed order, each of which changes what can be read. A story that was
//! acknowledged up to some request reads as it should after that one, or after the next, which was under way at the
//! kill. The moment of each kill is drawn from a seed that a failure names.

mod finished;
mod live;
mod remembered;
mod story;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ars_tests_workerd::{Client, Running, state_worker};

use finished::Finished;
use live::{Live, check_reclaim, ledger};
use remembered::Remembered;
use story::{Told, check, tell};

/// Kills.
const ROUNDS: u64 = 20;
/// Writers of each kind at once.
const WRITERS: u64 = 2;
/// Most acknowledgements that a round waits for before its kill.
const MOST_BEFORE_KILL: u64 = 150;

/// What writers were told is kept.
#[derive(Default)]
struct Kept {
    finished: Vec<Told<Finished>>,
    live: Vec<Told<Live>>,
    remembered: Vec<Told<Remembered>>,
}

impl Kept {
    fn extend(&mut self, more: Self) {
        self.finished.extend(more.finished);
        self.live.extend(more.live);
        self.remembered.extend(more.remembered);
    }

    /// Every acknowledged write is there, and no write is there by half.
    fn check(&mut self, client: &Client) {
        let ledger = ledger(client);
        check(&mut self.finished, |story| story.seen(client));
        check(&mut self.live, |story| story.seen(client, &ledger));
        check(&mut self.remembered, |story| story.seen(client));
    }
}

#[test]
fn twenty_kills_under_parallel_writers_lose_nothing_that_was_acknowledged_and_leave_nothing_by_half() {
    let mut worker = state_worker();
    let mut kept = Kept::default();
    for round in 0..ROUNDS {
        let until = 1 + scramble(round) % MOST_BEFORE_KILL;
        eprintln!("round {round}: killed after {until} acknowledgements");
        let mut told = write_until_killed(round, until, &mut worker);
        worker.restart();
        told.check(&worker.client);
        kept.extend(told);
    }
    // No later kill has taken anything back either, nor moved it on.
    kept.check(&worker.client);
    check_reclaim(&worker.client, &mut kept.live);
    let is_whole = |told: &Told<Live>| told.is_whole();
    assert!(kept.live.iter().any(is_whole) && !kept.live.iter().all(is_whole), "kills came at all stages");
    assert!(
        kept.finished.len() > 100 && kept.remembered.len() >= 40,
        "too little was written to mean anything"
    );
}

/// The splitmix64 step: any two rounds differ in all their bits.
fn scramble(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 31)
}

fn write_until_killed(round: u64, until: u64, worker: &mut Running) -> Kept {
    let acknowledged = AtomicU64::new(0);
    let client = worker.client.clone();
    let count = &acknowledged;
    let client = &client;
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let name = move |kind: &str, nth: u64| format!("r{round}-{kind}{writer}-{nth}");
                (
                    scope.spawn(move || tell(client, count, |nth| Finished::new(name("put", nth)))),
                    // Runs of all lengths, among them one that ends as soon as it has begun.
                    scope.spawn(move || tell(client, count, |nth| Live::new(name("live", nth), nth % 4))),
                    scope.spawn(move || tell(client, count, |nth| Remembered::new(&name("memory", nth)))),
                )
            })
            .collect();
        while acknowledged.load(Ordering::SeqCst) < until {
            thread::yield_now();
        }
        worker.kill();
        let mut kept = Kept::default();
        for (finished, live, remembered) in writers {
            kept.extend(Kept {
                finished: finished.join().unwrap(),
                live: live.join().unwrap(),
                remembered: remembered.join().unwrap(),
            });
        }
        kept
    })
}
