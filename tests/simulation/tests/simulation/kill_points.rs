//! Every kill point: the process dies at each call of a port, before and after its effect, and another goes on.

use ars_tests_simulation::{Fault, Plan, Story, What, play, violations};

/// The next process starts at once, and has to wait for the lease.
const AT_ONCE_MS: u64 = 100;
/// The next process starts when the lease has lapsed.
const LAPSED_MS: u64 = 45_000;
/// Calls of a process that takes a run over and does its first step.
const TAKING_OVER: u64 = 10;

/// Calls of a story when nothing goes wrong.
fn calls(story: Story) -> u64 {
    let (_, evidence) = play(&Plan::default().of(story));
    u64::try_from(evidence.calls.len()).unwrap()
}

fn hold(plans: impl Iterator<Item = Plan>) {
    let (mut played, mut broken) = (0, Vec::new());
    for plan in plans {
        let (ended, evidence) = play(&plan);
        let found = violations(ended, &evidence);
        if !found.is_empty() {
            let at = plan.faults[0].at;
            let name = evidence.calls.iter().find(|call| call.0 == at).map_or("", |call| &call.2);
            broken.push(format!("{plan:?} ({name}): {found:#?}"));
        }
        played += 1;
    }
    println!("{played} plans");
    assert!(broken.is_empty(), "{} of {played}\n{}", broken.len(), broken.join("\n"));
}

fn every_call(story: Story, idle_ms: u64) -> impl Iterator<Item = Plan> {
    let plans = move |at| [false, true].map(|after| Plan::kill(at, after, idle_ms).of(story));
    (1..=calls(story)).flat_map(plans)
}

#[test]
fn a_run_that_could_go_on_and_does_not_breaks_a_promise() {
    // Without its tree the next process refuses to go on with it.
    let mut plan = Plan::kill(calls(Story::Canonical) / 2, true, LAPSED_MS);
    plan.faults.push(Fault { at: plan.faults[0].at, what: What::LoseTrees });
    let (ended, mut evidence) = play(&plan);
    let run = evidence.runs.values().next().unwrap();
    assert_eq!(
        (&run.was_resumable[..], &run.record.as_ref().unwrap()["status"]),
        (&[true][..], &"interrupted".into())
    );
    assert_eq!(violations(ended, &evidence), [], "a disk was lost");
    evidence.only_kills = true;
    let broken: Vec<_> = violations(ended, &evidence).into_iter().map(|found| found.promise).collect();
    assert_eq!(broken, ["a run that could go on is completed"]);
}

#[test]
fn most_kill_points_leave_a_run_that_goes_on() {
    let taken_over = every_call(Story::Canonical, LAPSED_MS).filter_map(|plan| {
        let (_, evidence) = play(&plan);
        evidence.runs.into_values().find_map(|run| run.was_resumable.first().copied())
    });
    let (resumable, closed): (Vec<_>, Vec<_>) = taken_over.partition(|could| *could);
    assert!(resumable.len() > 3 * closed.len(), "{} of {}", resumable.len(), resumable.len() + closed.len());
}

#[test]
fn a_run_survives_a_kill_at_every_call_when_the_next_process_starts_at_once() {
    hold(every_call(Story::Canonical, AT_ONCE_MS));
}

#[test]
fn a_run_survives_a_kill_at_every_call_when_the_next_process_starts_late() {
    hold(every_call(Story::Canonical, LAPSED_MS));
}

#[test]
fn a_run_survives_a_kill_at_every_call_and_another_while_it_is_taken_over() {
    let plans = (1..=calls(Story::Canonical)).flat_map(|at| {
        (1..=TAKING_OVER).map(move |later| {
            let mut plan = Plan::kill(at, true, LAPSED_MS);
            plan.faults.extend(Plan::kill(at + later, later % 2 == 0, LAPSED_MS).faults);
            plan
        })
    });
    hold(plans);
}

#[test]
fn runs_that_outgrow_their_bounds_survive_a_kill_at_every_call() {
    hold(every_call(Story::Bounded, LAPSED_MS));
}

#[test]
fn runs_that_share_a_day_keep_its_cap_when_a_process_is_killed_at_any_call() {
    hold(every_call(Story::Shared, LAPSED_MS));
}

#[test]
fn a_review_survives_a_kill_at_every_call() {
    hold([AT_ONCE_MS, LAPSED_MS].into_iter().flat_map(|idle_ms| every_call(Story::Reviewed, idle_ms)));
}
