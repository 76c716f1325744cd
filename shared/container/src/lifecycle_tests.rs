//! One container at a time, through everything that may happen to it and to the object that owns it.

use super::*;

const T0: i64 = 1_000_000;

fn new() -> Lifecycle {
    Lifecycle::of(None, "v1")
}

/// Evicted and awake again, in a Worker of that version.
fn reborn(life: &Lifecycle, version: &str) -> Lifecycle {
    Lifecycle::of(Some(&life.kept()), version)
}

fn up(life: &mut Lifecycle, now: i64) {
    life.step(Input::Wanted, now);
    life.step(Input::Looked { start: life.start, healthy: true }, now);
    assert_eq!(life.verdict(now), Verdict::Pass);
}

/// What is done to destroy a container.
fn destroyed(now: i64) -> [Action; 2] {
    [Action::Destroy, Action::Ring { at: now + DEATH_LIMIT_MS }]
}

fn starts(actions: &[Action]) -> bool {
    actions.iter().any(|action| matches!(action, Action::Start { .. }))
}

fn ended(life: &mut Lifecycle, code: Option<i32>, now: i64) -> Vec<Action> {
    life.step(Input::Ended { start: life.start, code }, now)
}

#[test]
fn the_first_request_starts_it_and_waits_until_it_is_healthy() {
    let mut life = new();
    assert_eq!(life.step(Input::Woke { running: false }, T0), []);
    let actions = life.step(Input::Wanted, T0);
    assert_eq!(
        actions,
        [Action::Start { start: 1 }, Action::Watch { start: 1 }, Action::Look { start: 1, after: 25 }]
    );
    assert_eq!(life.verdict(T0), Verdict::Hold);
    assert_eq!(life.step(Input::Wanted, T0), [], "a second request starts no second one");
    let again = life.step(Input::Looked { start: 1, healthy: false }, T0 + 400);
    assert_eq!(again, [Action::Look { start: 1, after: 100 }]);
    assert_eq!(life.step(Input::Looked { start: 1, healthy: true }, T0 + 500), []);
    assert_eq!(life.verdict(T0 + 500), Verdict::Pass);
}

#[test]
fn looks_at_a_start_grow_apart_and_end_after_two_minutes() {
    let mut life = new();
    life.step(Input::Wanted, T0);
    let look =
        |life: &mut Lifecycle, waited| life.step(Input::Looked { start: 1, healthy: false }, T0 + waited);
    assert_eq!(look(&mut life, 60_000), [Action::Look { start: 1, after: 2_000 }]);
    assert_eq!(look(&mut life, START_LIMIT_MS - 1), [Action::Look { start: 1, after: 2_000 }]);
    assert_eq!(look(&mut life, START_LIMIT_MS), destroyed(T0 + START_LIMIT_MS));
    assert!(matches!(life.verdict(T0), Verdict::Refuse { .. }));
    assert_eq!(life.step(Input::Wanted, T0 + START_LIMIT_MS), [], "not before its end was seen");
    assert_eq!(ended(&mut life, None, T0 + START_LIMIT_MS), []);
    assert!(starts(&life.step(Input::Wanted, T0 + START_LIMIT_MS)));
}

#[test]
fn a_crash_is_answered_by_the_next_request_and_further_ones_wait_longer_and_longer() {
    let mut life = new();
    let mut now = T0;
    let mut waits = Vec::new();
    for _ in 0..10 {
        up(&mut life, now);
        assert_eq!(ended(&mut life, Some(137), now), [], "nobody waits for it: nothing is started");
        let wait = match life.verdict(now) {
            Verdict::Refuse { retry_after } if life.phase != Phase::Down => retry_after,
            _ => 0,
        };
        waits.push(wait);
        let due = now + i64::from(wait) * 1000;
        if wait > 0 {
            assert_eq!(life.step(Input::Wanted, due - 1), [], "too early");
        }
        now = due;
    }
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn a_bot_that_was_up_for_a_while_is_forgiven_and_a_gentle_end_is_no_crash() {
    let mut life = new();
    for _ in 0..5 {
        up(&mut life, T0);
        ended(&mut life, Some(0), T0 + 1);
    }
    assert_eq!(life.crashes, 0);
    up(&mut life, T0);
    ended(&mut life, Some(1), T0);
    up(&mut life, T0);
    ended(&mut life, None, T0 + STABLE_MS);
    assert_eq!(life.crashes, 1);
    assert!(starts(&life.step(Input::Wanted, T0 + STABLE_MS)));
}

#[test]
fn a_restart_ends_it_gently_and_starts_the_next_once_the_end_was_seen() {
    let mut life = new();
    up(&mut life, T0);
    let until = T0 + DRAIN_LIMIT_MS + DRAIN_GRACE_MS;
    let actions = life.step(Input::Restart { force: false }, T0);
    assert_eq!(actions, [Action::Signal, Action::Ring { at: until }]);
    assert_eq!(life.verdict(T0), Verdict::Pass, "it answers while it drains");
    assert_eq!(life.step(Input::Wanted, T0), []);
    assert!(starts(&ended(&mut life, Some(0), T0 + 5)));
    assert_eq!(life.verdict(T0 + 5), Verdict::Hold);
}

#[test]
fn a_bot_that_drains_beyond_its_limit_is_destroyed_and_replaced_after_that() {
    let mut life = new();
    up(&mut life, T0);
    life.step(Input::Restart { force: false }, T0);
    let until = T0 + DRAIN_LIMIT_MS + DRAIN_GRACE_MS;
    assert_eq!(life.step(Input::Rang, until - 1), [Action::Ring { at: until }]);
    assert_eq!(life.step(Input::Rang, until), destroyed(until));
    assert_eq!(life.step(Input::Wanted, until), []);
    assert!(starts(&ended(&mut life, Some(137), until)));
    assert_eq!(life.crashes, 0);
}

#[test]
fn a_destruction_that_nothing_is_heard_of_is_tried_again_and_nothing_starts_meanwhile() {
    let mut life = new();
    up(&mut life, T0);
    life.step(Input::Restart { force: true }, T0);
    life.step(Input::Restart { force: true }, T0);
    let later = T0 + DEATH_LIMIT_MS;
    assert_eq!(life.step(Input::Wanted, later), []);
    assert_eq!(life.step(Input::Rang, later), destroyed(later));
    let mut woken = reborn(&life, "v1");
    let actions = woken.step(Input::Woke { running: true }, later + 1);
    assert!(actions.ends_with(&destroyed(later + 1)) && !starts(&actions), "{actions:?}");
    assert!(starts(&ended(&mut woken, None, later + 2)));
}

#[test]
fn force_cuts_an_end_under_way_short_and_a_plain_restart_does_not() {
    let mut life = new();
    up(&mut life, T0);
    life.step(Input::Restart { force: true }, T0);
    assert_eq!(life.step(Input::Restart { force: false }, T0), []);
    assert_eq!(life.step(Input::Restart { force: true }, T0), destroyed(T0));
}

#[test]
fn a_report_of_an_earlier_container_changes_nothing() {
    let mut life = new();
    up(&mut life, T0);
    let first = life.start;
    ended(&mut life, Some(1), T0);
    life.step(Input::Wanted, T0);
    let before = life.clone();
    assert_eq!(life.step(Input::Ended { start: first, code: Some(1) }, T0), []);
    assert_eq!(life.step(Input::Looked { start: first, healthy: true }, T0), []);
    assert_eq!(life, before);
}

#[test]
fn a_container_whose_watch_failed_is_watched_anew_and_passes_requests_meanwhile() {
    let mut life = new();
    up(&mut life, T0);
    let (before, lost) = (life.clone(), life.start);
    let actions = life.step(Input::Unwatched { start: lost }, T0 + 1);
    assert_eq!(actions, [Action::Watch { start: lost + 1 }]);
    assert_eq!((life.verdict(T0 + 1), life.crashes), (Verdict::Pass, before.crashes));
    let after = life.clone();
    assert_eq!(life.step(Input::Unwatched { start: lost }, T0 + 2), [], "the same failure is heard once");
    assert_eq!(life, after);
}

#[test]
fn a_container_that_runs_already_when_it_is_started_is_looked_at_and_no_crash() {
    let mut life = new();
    life.step(Input::Wanted, T0);
    let start = life.start;
    let actions = life.step(Input::Unwatched { start }, T0);
    assert_eq!(actions, [Action::Watch { start: start + 1 }, Action::Look { start: start + 1, after: 0 }]);
    assert_eq!((life.verdict(T0), life.crashes), (Verdict::Hold, 0));
    life.step(Input::Looked { start: start + 1, healthy: true }, T0 + 1);
    assert_eq!(life.verdict(T0 + 1), Verdict::Pass);
}

#[test]
fn a_container_that_is_to_end_is_told_so_again_by_a_life_that_finds_it() {
    let mut life = new();
    up(&mut life, T0);
    life.step(Input::Restart { force: false }, T0);
    let start = life.start;
    let until = T0 + DRAIN_LIMIT_MS + DRAIN_GRACE_MS;
    let told = |start| [Action::Watch { start }, Action::Signal, Action::Ring { at: until }];
    assert_eq!(life.step(Input::Unwatched { start }, T0 + 5), told(start + 1));
    let mut life = reborn(&life, "v1");
    assert_eq!(life.step(Input::Woke { running: true }, T0 + 9), told(start + 2));
    life.step(Input::Restart { force: true }, T0 + 10);
    let actions = life.step(Input::Unwatched { start: start + 2 }, T0 + 11);
    assert!(actions.ends_with(&destroyed(T0 + 11)), "{actions:?}");
}

#[test]
fn an_evicted_object_goes_on_with_the_container_it_finds() {
    let mut life = new();
    up(&mut life, T0);
    let old = life.start;
    let mut life = reborn(&life, "v1");
    assert_eq!(life.step(Input::Woke { running: true }, T0), [Action::Watch { start: old + 1 }]);
    assert_eq!(life.verdict(T0), Verdict::Pass);
    // What the earlier life still reports is not counted.
    assert_eq!(life.step(Input::Ended { start: old, code: Some(1) }, T0), []);
    assert_eq!(life.verdict(T0), Verdict::Pass);
}

#[test]
fn an_object_evicted_during_a_start_looks_on_and_keeps_the_limit() {
    let mut life = new();
    life.step(Input::Wanted, T0);
    let mut life = reborn(&life, "v1");
    let start = life.start + 1;
    let actions = life.step(Input::Woke { running: true }, T0 + 1_000);
    assert_eq!(actions, [Action::Watch { start }, Action::Look { start, after: 0 }]);
    let late = life.step(Input::Looked { start, healthy: false }, T0 + START_LIMIT_MS);
    assert_eq!(late, destroyed(T0 + START_LIMIT_MS));
}

#[test]
fn a_container_of_another_version_is_ended_gently_and_never_run_beside_the_new_one() {
    for kept in [true, false] {
        let mut life = new();
        up(&mut life, T0);
        // With nothing kept, nobody knows what runs.
        let mut life = if kept { reborn(&life, "v2") } else { Lifecycle::of(None, "v2") };
        let actions = life.step(Input::Woke { running: true }, T0);
        assert!(actions.contains(&Action::Signal) && !starts(&actions), "{actions:?}");
        assert!(!starts(&life.step(Input::Wanted, T0)));
        assert!(starts(&ended(&mut life, Some(0), T0)));
        assert_eq!(life.running.as_deref(), Some("v2"));
    }
}

#[test]
fn a_container_of_another_version_that_still_starts_is_destroyed_because_it_may_not_hear_a_signal() {
    let mut life = new();
    life.step(Input::Wanted, T0);
    let mut life = reborn(&life, "v2");
    let actions = life.step(Input::Woke { running: true }, T0 + 1);
    assert_eq!(actions[1..], destroyed(T0 + 1), "{actions:?}");
    assert!(!starts(&life.step(Input::Wanted, T0 + 1)), "not before its end was seen");
    assert!(starts(&ended(&mut life, Some(137), T0 + 2)));
    assert_eq!((life.running.as_deref(), life.crashes), (Some("v2"), 0));
}

#[test]
fn a_second_version_cuts_the_end_of_the_first_short_but_an_eviction_alone_does_not() {
    let mut life = new();
    up(&mut life, T0);
    let mut life = reborn(&life, "v2");
    life.step(Input::Woke { running: true }, T0);
    let until = T0 + DRAIN_LIMIT_MS + DRAIN_GRACE_MS;
    // The same version wakes again: the end goes on as it was, with the limit it had.
    let mut same = reborn(&life, "v2");
    let actions = same.step(Input::Woke { running: true }, T0 + 5);
    assert!(
        actions.contains(&Action::Ring { at: until }) && !actions.contains(&Action::Destroy),
        "{actions:?}"
    );
    let mut third = reborn(&life, "v3");
    let actions = third.step(Input::Woke { running: true }, T0 + 5);
    assert!(actions.contains(&Action::Destroy) && !starts(&actions), "{actions:?}");
    assert!(starts(&ended(&mut third, None, T0 + 6)));
}

#[test]
fn what_ended_while_nobody_watched_is_followed_when_it_was_to_end() {
    let mut life = new();
    up(&mut life, T0);
    let mut lost = reborn(&life, "v1");
    assert_eq!(lost.step(Input::Woke { running: false }, T0), []);
    assert!(starts(&lost.step(Input::Wanted, T0)));

    life.step(Input::Restart { force: false }, T0);
    let mut restarting = reborn(&life, "v1");
    assert!(starts(&restarting.step(Input::Woke { running: false }, T0)));
}

#[test]
fn a_text_that_is_no_life_is_an_empty_one() {
    for kept in [None, Some(""), Some("{"), Some(r#"{"phase":"Elsewhere"}"#)] {
        assert_eq!(Lifecycle::of(kept, "v1"), new(), "{kept:?}");
    }
    let mut life = new();
    up(&mut life, T0);
    assert_eq!(reborn(&life, "v1"), life);
}
