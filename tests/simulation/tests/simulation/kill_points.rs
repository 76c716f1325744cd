//! Kill points: the process dies at each port call, before and after its effect, and another resumes.

use ars_tests_simulation::{CHECKPOINT_CALL, Fault, FaultKind, Plan, Story, play, violations};

/// The next process starts at once and has to wait for the lease.
const AT_ONCE_MS: u64 = 100;
/// The next process starts after the lease has expired.
const LAPSED_MS: u64 = 45_000;
/// Port calls by a process that reclaims a run and takes the first step.
const RECLAIM_CALLS: u64 = 10;

/// Returns how many port calls a story has without faults.
fn calls(story: Story) -> u64 {
    let (_, evidence) = play(&Plan::default().in_story(story));
    u64::try_from(evidence.calls.len()).unwrap()
}

fn hold(plans: impl Iterator<Item = Plan>) {
    let mut played = 0;
    let mut broken = Vec::new();
    for plan in plans {
        let (ended, evidence) = play(&plan);
        let found = violations(ended, &evidence);
        if !found.is_empty() {
            let at = plan.faults[0].at;
            let name = evidence
                .calls
                .iter()
                .find(|call| call.0 == at)
                .map_or("", |call| &call.2);
            broken.push(format!("{plan:?} ({name}): {found:#?}"));
        }
        played += 1;
    }
    println!("{played} plans");
    assert!(
        broken.is_empty(),
        "{} of {played}\n{}",
        broken.len(),
        broken.join("\n")
    );
}

fn every_call(story: Story, idle_ms: u64) -> impl Iterator<Item = Plan> {
    let plans = move |at| [false, true].map(|after| Plan::kill(at, after, idle_ms).in_story(story));
    (1..=calls(story)).flat_map(plans)
}

#[test]
fn resumable_run_that_is_closed_is_a_violation() {
    // Without the tree the run cannot be resumed.
    let mut plan = Plan::kill(calls(Story::Canonical) / 2, true, LAPSED_MS);
    plan.faults.push(Fault {
        at: plan.faults[0].at,
        kind: FaultKind::LoseData,
    });
    let (ended, mut evidence) = play(&plan);
    let run = evidence.runs.values().next().unwrap();
    assert_eq!(
        (
            &run.was_resumable[..],
            &run.record.as_ref().unwrap()["status"]
        ),
        (&[true][..], &"interrupted".into())
    );
    assert_eq!(violations(ended, &evidence), [], "a disk was lost");
    evidence.only_kills = true;
    let broken: Vec<_> = violations(ended, &evidence)
        .into_iter()
        .map(|found| found.promise)
        .collect();
    assert_eq!(broken, ["a resumable run is completed"]);
}

/// A run with a lost tree continues from its checkpoint, also if no event names the checkpoint.
#[test]
fn run_resumes_from_its_checkpoint() {
    let lost = |at| Fault {
        at,
        kind: FaultKind::LoseTrees,
    };
    let mut plan = Plan::default();
    plan.faults.push(lost(u64::MAX));
    let (_, whole) = play(&plan);
    let saves = whole
        .calls
        .iter()
        .filter(|call| call.2 == CHECKPOINT_CALL)
        .map(|call| call.0);
    let saves: Vec<u64> = saves.collect();
    assert!(
        saves.len() > 1,
        "every few steps, and at the end: {saves:?}"
    );
    let mut resumed = 0;
    for at in saves[0]..=saves[saves.len() - 1] {
        let mut plan = Plan::kill(at, true, LAPSED_MS);
        // The next process finds no tree.
        plan.faults.push(lost(at + 1));
        let (ended, evidence) = play(&plan);
        assert_eq!(
            violations(ended, &evidence),
            [],
            "{plan:?}\n{}",
            evidence.tail()
        );
        let run = evidence.runs.values().next().unwrap();
        if run.was_resumable.first() != Some(&true) {
            continue;
        }
        let record = run.record.as_ref().unwrap();
        assert_eq!(
            record["status"],
            "completed",
            "{plan:?}\n{}",
            evidence.tail()
        );
        let notes = record["events"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|event| event["summary"].as_str());
        resumed += notes
            .filter(|note| note.contains("made again from the checkpoint `refs/ars/"))
            .count();
        assert!(
            record["checkpoint"]
                .as_str()
                .unwrap()
                .starts_with("refs/ars/"),
            "{record}"
        );
    }
    assert!(resumed > 0);
}

#[test]
fn most_killed_runs_are_resumed() {
    let reclaimed_at = every_call(Story::Canonical, LAPSED_MS).filter_map(|plan| {
        let (_, evidence) = play(&plan);
        evidence
            .runs
            .into_values()
            .find_map(|run| run.was_resumable.first().copied())
    });
    let (resumable, closed): (Vec<_>, Vec<_>) = reclaimed_at.partition(|could| *could);
    assert!(
        resumable.len() > 3 * closed.len(),
        "{} of {}",
        resumable.len(),
        resumable.len() + closed.len()
    );
}

#[test]
fn run_survives_every_kill_with_immediate_restart() {
    hold(every_call(Story::Canonical, AT_ONCE_MS));
}

#[test]
fn run_survives_every_kill_with_late_restart() {
    hold(every_call(Story::Canonical, LAPSED_MS));
}

#[test]
fn run_survives_a_second_kill_during_reclaim() {
    let plans = (1..=calls(Story::Canonical)).flat_map(|at| {
        (1..=RECLAIM_CALLS).map(move |later| {
            let mut plan = Plan::kill(at, true, LAPSED_MS);
            plan.faults
                .extend(Plan::kill(at + later, later % 2 == 0, LAPSED_MS).faults);
            plan
        })
    });
    hold(plans);
}

#[test]
fn bounded_runs_survive_every_kill() {
    hold(every_call(Story::Bounded, LAPSED_MS));
}

#[test]
fn shared_day_keeps_its_cap_at_every_kill() {
    hold(every_call(Story::Shared, LAPSED_MS));
}

#[test]
fn a_review_survives_a_kill_at_every_call() {
    hold(
        [AT_ONCE_MS, LAPSED_MS]
            .into_iter()
            .flat_map(|idle_ms| every_call(Story::Reviewed, idle_ms)),
    );
}
