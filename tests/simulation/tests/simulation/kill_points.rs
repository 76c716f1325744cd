//! Every kill point: the process dies at each call of a port, before and after its effect, and another goes on.

use ars_tests_simulation::{Plan, play, violations};

/// The next process starts at once, and has to wait for the lease.
const AT_ONCE_MS: u64 = 100;
/// The next process starts when the lease has lapsed.
const LAPSED_MS: u64 = 45_000;

fn every_kill_point(idle_ms: u64) {
    let (_, evidence) = play(&Plan::default());
    let calls = u64::try_from(evidence.calls.len()).unwrap();
    let mut broken = Vec::new();
    for at in 1..=calls {
        for after in [false, true] {
            let (ended, evidence) = play(&Plan::kill(at, after, idle_ms));
            let found = violations(ended, &evidence);
            if !found.is_empty() {
                let name = &evidence.calls.iter().find(|call| call.0 == at).unwrap().2;
                broken.push(format!("call {at} ({name}), after: {after}: {found:#?}"));
            }
        }
    }
    println!("{} kill points", 2 * calls);
    assert!(broken.is_empty(), "{} of {}\n{}", broken.len(), 2 * calls, broken.join("\n"));
}

#[test]
fn a_run_survives_a_kill_at_every_call_when_the_next_process_starts_at_once() {
    every_kill_point(AT_ONCE_MS);
}

#[test]
fn a_run_survives_a_kill_at_every_call_when_the_next_process_starts_late() {
    every_kill_point(LAPSED_MS);
}
