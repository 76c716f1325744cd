//! Never two containers, whatever happens to the container and to the object.

use super::*;

const T0: i64 = 1_000_000;
const LIMITS: Limits = Limits {
    start_ms: 120_000,
    drain_ms: 900_000,
    grace_ms: 15_000,
    stable_ms: 300_000,
};

fn new() -> Lifecycle {
    Lifecycle::restore(None, "v1", LIMITS)
}

/// Evicts the object and wakes it in a Worker with that version.
fn woken(lifecycle: &Lifecycle, version: &str) -> Lifecycle {
    Lifecycle::restore(Some(&lifecycle.stored()), version, LIMITS)
}

fn up(lifecycle: &mut Lifecycle, now: i64) {
    lifecycle.step(Input::Wanted, now);
    lifecycle.step(
        Input::Probed {
            start: lifecycle.start,
            healthy: true,
        },
        now,
    );
    assert_eq!(lifecycle.verdict(now), Verdict::Pass);
}

/// The actions that destroy a container.
fn destroyed(now: i64) -> [Action; 2] {
    [
        Action::Destroy,
        Action::SetAlarm {
            at: now + DESTROY_TIMEOUT_MS,
        },
    ]
}

fn starts(actions: &[Action]) -> bool {
    actions
        .iter()
        .any(|action| matches!(action, Action::Start { .. }))
}

fn ended(lifecycle: &mut Lifecycle, code: Option<i32>, now: i64) -> Vec<Action> {
    lifecycle.step(
        Input::Ended {
            start: lifecycle.start,
            code,
        },
        now,
    )
}

#[test]
fn first_request_starts_the_container_and_waits() {
    let mut lifecycle = new();
    assert_eq!(lifecycle.step(Input::Woke { running: false }, T0), []);
    let actions = lifecycle.step(Input::Wanted, T0);
    assert_eq!(
        actions,
        [
            Action::Start { start: 1 },
            Action::Monitor { start: 1 },
            Action::Probe {
                start: 1,
                after: 25
            }
        ]
    );
    assert_eq!(lifecycle.verdict(T0), Verdict::Hold);
    assert_eq!(
        lifecycle.step(Input::Wanted, T0),
        [],
        "a second request starts no second one"
    );
    let again = lifecycle.step(
        Input::Probed {
            start: 1,
            healthy: false,
        },
        T0 + 400,
    );
    assert_eq!(
        again,
        [Action::Probe {
            start: 1,
            after: 100
        }]
    );
    assert_eq!(
        lifecycle.step(
            Input::Probed {
                start: 1,
                healthy: true
            },
            T0 + 500
        ),
        []
    );
    assert_eq!(lifecycle.verdict(T0 + 500), Verdict::Pass);
}

#[test]
fn probe_delay_grows_until_the_start_timeout() {
    let mut lifecycle = new();
    lifecycle.step(Input::Wanted, T0);
    let look = |lifecycle: &mut Lifecycle, waited| {
        lifecycle.step(
            Input::Probed {
                start: 1,
                healthy: false,
            },
            T0 + waited,
        )
    };
    assert_eq!(
        look(&mut lifecycle, 60_000),
        [Action::Probe {
            start: 1,
            after: 2_000
        }]
    );
    assert_eq!(
        look(&mut lifecycle, LIMITS.start_ms - 1),
        [Action::Probe {
            start: 1,
            after: 2_000
        }]
    );
    assert_eq!(
        look(&mut lifecycle, LIMITS.start_ms),
        destroyed(T0 + LIMITS.start_ms)
    );
    assert!(matches!(lifecycle.verdict(T0), Verdict::Refuse { .. }));
    assert_eq!(
        lifecycle.step(Input::Wanted, T0 + LIMITS.start_ms),
        [],
        "not before its end was seen"
    );
    assert_eq!(ended(&mut lifecycle, None, T0 + LIMITS.start_ms), []);
    assert!(starts(&lifecycle.step(Input::Wanted, T0 + LIMITS.start_ms)));
}

#[test]
fn repeated_crashes_increase_the_backoff() {
    let mut lifecycle = new();
    let mut now = T0;
    let mut waits = Vec::new();
    for _ in 0..10 {
        up(&mut lifecycle, now);
        assert_eq!(
            ended(&mut lifecycle, Some(137), now),
            [],
            "nobody waits for it: nothing is started"
        );
        let wait = match lifecycle.verdict(now) {
            Verdict::Refuse { retry_after } if lifecycle.phase != Phase::Down => retry_after,
            _ => 0,
        };
        waits.push(wait);
        let due = now + i64::from(wait) * 1000;
        if wait > 0 {
            assert_eq!(lifecycle.step(Input::Wanted, due - 1), [], "too early");
        }
        now = due;
    }
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn stable_uptime_resets_the_crash_count() {
    let mut lifecycle = new();
    for _ in 0..5 {
        up(&mut lifecycle, T0);
        ended(&mut lifecycle, Some(0), T0 + 1);
    }
    assert_eq!(lifecycle.crashes, 0);
    up(&mut lifecycle, T0);
    ended(&mut lifecycle, Some(1), T0);
    up(&mut lifecycle, T0);
    ended(&mut lifecycle, None, T0 + LIMITS.stable_ms);
    assert_eq!(lifecycle.crashes, 1);
    assert!(starts(
        &lifecycle.step(Input::Wanted, T0 + LIMITS.stable_ms)
    ));
}

#[test]
fn restart_drains_before_the_next_start() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    let until = T0 + LIMITS.drain_ms + LIMITS.grace_ms;
    let actions = lifecycle.step(Input::Restart { force: false }, T0);
    assert_eq!(actions, [Action::Signal, Action::SetAlarm { at: until }]);
    assert_eq!(
        lifecycle.verdict(T0),
        Verdict::Pass,
        "it answers while it drains"
    );
    assert_eq!(lifecycle.step(Input::Wanted, T0), []);
    assert!(starts(&ended(&mut lifecycle, Some(0), T0 + 5)));
    assert_eq!(lifecycle.verdict(T0 + 5), Verdict::Hold);
}

#[test]
fn overdue_drain_is_destroyed() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    lifecycle.step(Input::Restart { force: false }, T0);
    let until = T0 + LIMITS.drain_ms + LIMITS.grace_ms;
    assert_eq!(
        lifecycle.step(Input::AlarmFired, until - 1),
        [Action::SetAlarm { at: until }]
    );
    assert_eq!(lifecycle.step(Input::AlarmFired, until), destroyed(until));
    assert_eq!(lifecycle.step(Input::Wanted, until), []);
    assert!(starts(&ended(&mut lifecycle, Some(137), until)));
    assert_eq!(lifecycle.crashes, 0);
}

#[test]
fn unreported_destruction_is_retried() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    lifecycle.step(Input::Restart { force: true }, T0);
    lifecycle.step(Input::Restart { force: true }, T0);
    let later = T0 + DESTROY_TIMEOUT_MS;
    assert_eq!(lifecycle.step(Input::Wanted, later), []);
    assert_eq!(lifecycle.step(Input::AlarmFired, later), destroyed(later));
    let mut woken = woken(&lifecycle, "v1");
    let actions = woken.step(Input::Woke { running: true }, later + 1);
    assert!(
        actions.ends_with(&destroyed(later + 1)) && !starts(&actions),
        "{actions:?}"
    );
    assert!(starts(&ended(&mut woken, None, later + 2)));
}

#[test]
fn only_force_ends_a_drain() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    lifecycle.step(Input::Restart { force: true }, T0);
    assert_eq!(lifecycle.step(Input::Restart { force: false }, T0), []);
    assert_eq!(
        lifecycle.step(Input::Restart { force: true }, T0),
        destroyed(T0)
    );
}

#[test]
fn a_report_of_an_earlier_container_changes_nothing() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    let first = lifecycle.start;
    ended(&mut lifecycle, Some(1), T0);
    lifecycle.step(Input::Wanted, T0);
    let before = lifecycle.clone();
    assert_eq!(
        lifecycle.step(
            Input::Ended {
                start: first,
                code: Some(1)
            },
            T0
        ),
        []
    );
    assert_eq!(
        lifecycle.step(
            Input::Probed {
                start: first,
                healthy: true
            },
            T0
        ),
        []
    );
    assert_eq!(lifecycle, before);
}

#[test]
fn lost_monitor_is_replaced() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    let (before, lost) = (lifecycle.clone(), lifecycle.start);
    let actions = lifecycle.step(Input::MonitorLost { start: lost }, T0 + 1);
    assert_eq!(actions, [Action::Monitor { start: lost + 1 }]);
    assert_eq!(
        (lifecycle.verdict(T0 + 1), lifecycle.crashes),
        (Verdict::Pass, before.crashes)
    );
    let after = lifecycle.clone();
    assert_eq!(
        lifecycle.step(Input::MonitorLost { start: lost }, T0 + 2),
        [],
        "the same failure is heard once"
    );
    assert_eq!(lifecycle, after);
}

#[test]
fn container_that_runs_already_is_adopted() {
    let mut lifecycle = new();
    lifecycle.step(Input::Wanted, T0);
    let start = lifecycle.start;
    let actions = lifecycle.step(Input::MonitorLost { start }, T0);
    assert_eq!(
        actions,
        [
            Action::Monitor { start: start + 1 },
            Action::Probe {
                start: start + 1,
                after: 0
            }
        ]
    );
    assert_eq!(
        (lifecycle.verdict(T0), lifecycle.crashes),
        (Verdict::Hold, 0)
    );
    lifecycle.step(
        Input::Probed {
            start: start + 1,
            healthy: true,
        },
        T0 + 1,
    );
    assert_eq!(lifecycle.verdict(T0 + 1), Verdict::Pass);
}

#[test]
fn wake_up_repeats_the_signal_of_a_drain() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    lifecycle.step(Input::Restart { force: false }, T0);
    let start = lifecycle.start;
    let until = T0 + LIMITS.drain_ms + LIMITS.grace_ms;
    let told = |start| {
        [
            Action::Monitor { start },
            Action::Signal,
            Action::SetAlarm { at: until },
        ]
    };
    assert_eq!(
        lifecycle.step(Input::MonitorLost { start }, T0 + 5),
        told(start + 1)
    );
    let mut lifecycle = woken(&lifecycle, "v1");
    assert_eq!(
        lifecycle.step(Input::Woke { running: true }, T0 + 9),
        told(start + 2)
    );
    lifecycle.step(Input::Restart { force: true }, T0 + 10);
    let actions = lifecycle.step(Input::MonitorLost { start: start + 2 }, T0 + 11);
    assert!(actions.ends_with(&destroyed(T0 + 11)), "{actions:?}");
}

#[test]
fn wake_up_adopts_a_running_container() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    let old = lifecycle.start;
    let mut lifecycle = woken(&lifecycle, "v1");
    assert_eq!(
        lifecycle.step(Input::Woke { running: true }, T0),
        [Action::Monitor { start: old + 1 }]
    );
    assert_eq!(lifecycle.verdict(T0), Verdict::Pass);
    // Ignores a report with the earlier number.
    assert_eq!(
        lifecycle.step(
            Input::Ended {
                start: old,
                code: Some(1)
            },
            T0
        ),
        []
    );
    assert_eq!(lifecycle.verdict(T0), Verdict::Pass);
}

#[test]
fn wake_up_during_a_start_keeps_its_timeout() {
    let mut lifecycle = new();
    lifecycle.step(Input::Wanted, T0);
    let mut lifecycle = woken(&lifecycle, "v1");
    let start = lifecycle.start + 1;
    let actions = lifecycle.step(Input::Woke { running: true }, T0 + 1_000);
    assert_eq!(
        actions,
        [Action::Monitor { start }, Action::Probe { start, after: 0 }]
    );
    let late = lifecycle.step(
        Input::Probed {
            start,
            healthy: false,
        },
        T0 + LIMITS.start_ms,
    );
    assert_eq!(late, destroyed(T0 + LIMITS.start_ms));
}

#[test]
fn other_version_is_drained_and_replaced() {
    for kept in [true, false] {
        let mut lifecycle = new();
        up(&mut lifecycle, T0);
        // Without a stored lifecycle the version is unknown.
        let mut lifecycle = if kept {
            woken(&lifecycle, "v2")
        } else {
            Lifecycle::restore(None, "v2", LIMITS)
        };
        let actions = lifecycle.step(Input::Woke { running: true }, T0);
        assert!(
            actions.contains(&Action::Signal) && !starts(&actions),
            "{actions:?}"
        );
        assert!(!starts(&lifecycle.step(Input::Wanted, T0)));
        assert!(starts(&ended(&mut lifecycle, Some(0), T0)));
        assert_eq!(lifecycle.running.as_deref(), Some("v2"));
    }
}

#[test]
fn other_version_that_still_starts_is_destroyed() {
    let mut lifecycle = new();
    lifecycle.step(Input::Wanted, T0);
    let mut lifecycle = woken(&lifecycle, "v2");
    let actions = lifecycle.step(Input::Woke { running: true }, T0 + 1);
    assert_eq!(actions[1..], destroyed(T0 + 1), "{actions:?}");
    assert!(
        !starts(&lifecycle.step(Input::Wanted, T0 + 1)),
        "not before its end was seen"
    );
    assert!(starts(&ended(&mut lifecycle, Some(137), T0 + 2)));
    assert_eq!(
        (lifecycle.running.as_deref(), lifecycle.crashes),
        (Some("v2"), 0)
    );
}

#[test]
fn second_new_version_destroys_a_drain() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    let mut lifecycle = woken(&lifecycle, "v2");
    lifecycle.step(Input::Woke { running: true }, T0);
    let until = T0 + LIMITS.drain_ms + LIMITS.grace_ms;
    // The same version wakes again: the drain continues with the same deadline.
    let mut same = woken(&lifecycle, "v2");
    let actions = same.step(Input::Woke { running: true }, T0 + 5);
    assert!(
        actions.contains(&Action::SetAlarm { at: until }) && !actions.contains(&Action::Destroy),
        "{actions:?}"
    );
    let mut third = woken(&lifecycle, "v3");
    let actions = third.step(Input::Woke { running: true }, T0 + 5);
    assert!(
        actions.contains(&Action::Destroy) && !starts(&actions),
        "{actions:?}"
    );
    assert!(starts(&ended(&mut third, None, T0 + 6)));
}

#[test]
fn unobserved_end_of_a_drain_is_followed_by_a_start() {
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    let mut lost = woken(&lifecycle, "v1");
    assert_eq!(lost.step(Input::Woke { running: false }, T0), []);
    assert!(starts(&lost.step(Input::Wanted, T0)));

    lifecycle.step(Input::Restart { force: false }, T0);
    let mut restarting = woken(&lifecycle, "v1");
    assert!(starts(&restarting.step(Input::Woke { running: false }, T0)));
}

#[test]
fn unreadable_stored_text_is_an_empty_lifecycle() {
    for kept in [None, Some(""), Some("{"), Some(r#"{"phase":"Elsewhere"}"#)] {
        assert_eq!(Lifecycle::restore(kept, "v1", LIMITS), new(), "{kept:?}");
    }
    let mut lifecycle = new();
    up(&mut lifecycle, T0);
    assert_eq!(woken(&lifecycle, "v1"), lifecycle);
}
