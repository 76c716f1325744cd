//! Kills the runtime at random under parallel writers. Afterwards all acknowledged writes are
//! stored unchanged, and no write is partial.
//!
//! Each writer sends stories: requests in a fixed order, each changing the visible state. A story
//! acknowledged up to some request reads as after that request, or as after the next request, which
//! was in flight at the kill. Each kill's time derives from a seed, which a failure prints.

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
use story::{Progress, check, send_until_killed};

/// How many kills are made.
const ROUNDS: u64 = 20;
/// Concurrent writers per kind.
const WRITERS: u64 = 2;
/// Maximum acknowledgements before a kill.
const MAX_BEFORE_KILL: u64 = 150;

/// Progress that all writers made.
#[derive(Default)]
struct Writers {
    finished: Vec<Progress<Finished>>,
    live: Vec<Progress<Live>>,
    remembered: Vec<Progress<Remembered>>,
}

impl Writers {
    fn extend(&mut self, more: Self) {
        self.finished.extend(more.finished);
        self.live.extend(more.live);
        self.remembered.extend(more.remembered);
    }

    /// Checks that every acknowledged write is stored and no write is partial.
    fn check(&mut self, client: &Client) {
        let ledger = ledger(client);
        check(&mut self.finished, |story| story.seen(client));
        check(&mut self.live, |story| story.seen(client, &ledger));
        check(&mut self.remembered, |story| story.seen(client));
    }
}

#[test]
fn kills_under_load_lose_no_acknowledged_write() {
    let mut worker = state_worker();
    let mut all = Writers::default();
    for round in 0..ROUNDS {
        let until = 1 + scramble(round) % MAX_BEFORE_KILL;
        eprintln!("round {round}: killed after {until} acknowledgements");
        let mut writers = write_until_killed(round, until, &mut worker);
        worker.restart();
        writers.check(&worker.client);
        all.extend(writers);
    }
    // Later kills have not changed the state either.
    all.check(&worker.client);
    check_reclaim(&worker.client, &mut all.live);
    let is_whole = |progress: &Progress<Live>| progress.is_whole();
    assert!(
        all.live.iter().any(is_whole) && !all.live.iter().all(is_whole),
        "kills came at all stages"
    );
    assert!(
        all.finished.len() > 100 && all.remembered.len() >= 40,
        "too little was written to mean anything"
    );
}

/// The splitmix64 step, so that any two rounds differ in all bits.
fn scramble(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 31)
}

fn write_until_killed(round: u64, until: u64, worker: &mut Running) -> Writers {
    let acknowledged = AtomicU64::new(0);
    let client = worker.client.clone();
    let count = &acknowledged;
    let client = &client;
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let name = move |kind: &str, nth: u64| format!("r{round}-{kind}{writer}-{nth}");
                (
                    scope.spawn(move || {
                        send_until_killed(client, count, |nth| Finished::new(name("put", nth)))
                    }),
                    // Runs with all lengths, including a run without a cycle.
                    scope.spawn(move || {
                        send_until_killed(client, count, |nth| {
                            Live::new(name("live", nth), nth % 4)
                        })
                    }),
                    scope.spawn(move || {
                        send_until_killed(client, count, |nth| {
                            Remembered::new(&name("memory", nth))
                        })
                    }),
                )
            })
            .collect();
        while acknowledged.load(Ordering::SeqCst) < until {
            thread::yield_now();
        }
        worker.kill();
        let mut all = Writers::default();
        for (finished, live, remembered) in writers {
            all.extend(Writers {
                finished: finished.join().unwrap(),
                live: live.join().unwrap(),
                remembered: remembered.join().unwrap(),
            });
        }
        all
    })
}
