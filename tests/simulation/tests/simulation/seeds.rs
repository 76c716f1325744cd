//! Random fault plans for each story; `SIMULATION_SEEDS=10000` plays that many for each.
//! `SIMULATION_SEED=n` plays a single seed and prints all violations. `SIMULATION_COMMIT=<id>`
//! plays as many new seeds, derived from the commit's id, or `SIMULATION_COMMIT_SEEDS=100` such
//! seeds.

use ars_tests_simulation::{Plan, Story, play, violations};

/// Default seed count.
const SEEDS: u64 = 500;
/// Default seed count for the longest story.
const BOUNDED_SEEDS: u64 = 200;
/// Hexadecimal digits in a commit's id that make a seed.
const COMMIT_DIGITS: usize = 12;
/// Default seed count where two processes share a day.
const SHARED_SEEDS: u64 = 200;
/// Every story that is played.
const STORIES: [Story; 4] = [
    Story::Canonical,
    Story::Bounded,
    Story::Reviewed,
    Story::Shared,
];
/// How many seeds are played twice.
const TWICE: u64 = 60;
/// Maximum printed violations per seed, if there are many seeds.
const SHOWN: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} must be a number"))
    })
}

/// Returns the first seed derived from a commit's id, far from the default seeds.
fn first_of_commit() -> Option<u64> {
    let commit = std::env::var("SIMULATION_COMMIT").ok()?;
    let digits = commit
        .get(..COMMIT_DIGITS)
        .unwrap_or_else(|| panic!("SIMULATION_COMMIT is too short"));
    Some(
        u64::from_str_radix(digits, 16)
            .unwrap_or_else(|_| panic!("SIMULATION_COMMIT must be a commit's id")),
    )
}

#[test]
fn a_run_keeps_its_promises_under_random_faults() {
    hold(Story::Canonical, SEEDS);
}

#[test]
fn bounded_runs_survive_random_faults() {
    hold(Story::Bounded, BOUNDED_SEEDS);
}

#[test]
fn a_review_keeps_its_promises_under_random_faults() {
    hold(Story::Reviewed, SEEDS);
}

#[test]
fn shared_day_keeps_its_cap_under_random_faults() {
    hold(Story::Shared, SHARED_SEEDS);
}

fn hold(story: Story, seeds: u64) {
    if let Some(seed) = number("SIMULATION_SEED") {
        let plan = Plan::random(story, seed);
        let (ended, evidence) = play(&plan);
        println!("{plan:#?}\n{}", evidence.tail());
        for run in evidence.runs.values() {
            println!("{:#?}", run.record);
        }
        for ((run, viewer), view) in &evidence.views {
            println!("{viewer} of {run}, ended at {:?}", view.ended_at);
            for stream in &view.streams {
                let seqs: Vec<_> = stream.shown.iter().map(|(seq, _)| seq).collect();
                println!("  {} after {}: {seqs:?}", stream.process, stream.after);
            }
        }
        return assert_eq!(violations(ended, &evidence), []);
    }
    let seeds = number("SIMULATION_SEEDS").unwrap_or(seeds);
    let mut broken = Vec::new();
    let of_commit = number("SIMULATION_COMMIT_SEEDS").unwrap_or(seeds);
    let fresh = first_of_commit().map_or(0..0, |first| first..first + of_commit);
    for seed in (0..seeds).chain(fresh.clone()) {
        let plan = Plan::random(story, seed);
        let (ended, evidence) = play(&plan);
        let found = violations(ended, &evidence);
        if !found.is_empty() {
            let first = &found[..found.len().min(SHOWN)];
            broken.push(format!(
                "SIMULATION_SEED={seed} {story:?} {:?}\n{} broken: {first:#?}",
                plan.faults,
                found.len()
            ));
        }
    }
    assert!(
        broken.is_empty(),
        "{} of the seeds to {seeds} and of {fresh:?}\n{}",
        broken.len(),
        broken.join("\n")
    );
}

#[test]
fn seeds_are_reproducible() {
    for seed in 0..TWICE {
        let story = STORIES[usize::try_from(seed).unwrap() % STORIES.len()];
        let plan = Plan::random(story, seed);
        let first = play(&plan);
        let second = play(&plan);
        assert_eq!(
            first.1.calls, second.1.calls,
            "SIMULATION_SEED={seed} {plan:?}"
        );
        assert!(
            first == second,
            "SIMULATION_SEED={seed} {plan:?}: the same calls, but not the same evidence"
        );
    }
}
