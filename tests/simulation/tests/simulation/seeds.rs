//! Random plans of faults. `SIMULATION_SEEDS=10000` plays that many; `SIMULATION_SEED=n` plays one and tells all of it.

use ars_tests_simulation::{Plan, play, violations};

/// Seeds played when nobody asks for more.
const SEEDS: u64 = 500;
/// Seeds played twice.
const TWICE: u64 = 60;
/// Violations shown of one seed among many.
const SHOWN: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

#[test]
fn a_run_keeps_its_promises_under_random_faults() {
    if let Some(seed) = number("SIMULATION_SEED") {
        let plan = Plan::random(seed);
        let (ended, evidence) = play(&plan);
        println!("{plan:#?}\n{}", evidence.tail());
        for run in evidence.runs.values() {
            println!("{:#?}", run.record);
        }
        return assert_eq!(violations(ended, &evidence), []);
    }
    let seeds = number("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let mut broken = Vec::new();
    for seed in 0..seeds {
        let plan = Plan::random(seed);
        let (ended, evidence) = play(&plan);
        let found = violations(ended, &evidence);
        if !found.is_empty() {
            let first = &found[..found.len().min(SHOWN)];
            broken.push(format!(
                "SIMULATION_SEED={seed} {:?}\n{} broken: {first:#?}",
                plan.faults,
                found.len()
            ));
        }
    }
    assert!(broken.is_empty(), "{} of {seeds} seeds\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn a_seed_played_twice_is_the_same_to_the_last_event() {
    for seed in 0..TWICE {
        let plan = Plan::random(seed);
        let (first, second) = (play(&plan), play(&plan));
        assert_eq!(first.1.calls, second.1.calls, "SIMULATION_SEED={seed} {plan:?}");
        assert!(
            first == second,
            "SIMULATION_SEED={seed} {plan:?}: the same calls, but not the same evidence"
        );
    }
}
