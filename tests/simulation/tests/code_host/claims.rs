//! A process dies around a claim that outlasts it.
//!
//! The claims are for filed issues, a weekly firing and an attempt at a failed check. No process
//! finishes this work unasked: a person, the schedule or the host asks again, and it is done once.

use std::collections::BTreeSet;

use ars_auth::{Actor, Grants, Set};
use ars_testkit::github::{Delivered, checked, sign};
use serde_json::{Value, json};

use crate::{
    crashes::{Story, hold, opened_in},
    friction::rehearsed,
    processes::{Installation, Process, Step, WEBHOOK_SECRET},
};

/// Monday, 18 January 2027, 14:00 UTC, when the weekly schedule is due.
const MONDAY: i64 = 1_800_280_800_000;
/// Age at which a work claim expires.
const CLAIM_MS: i64 = 900_000;
/// The request for issues: labels are part of creating them.
const PROPOSE: &str = "friction propose";
/// Actor for failed checks.
const CHECKS_ACTOR: &str = "http:ci";

/// A caller who may file issues.
pub fn operator() -> Actor {
    let actions = ["friction:read", "friction:write"].map(str::to_owned);
    let grants = Grants {
        actions: Set::Only(actions.into()),
        channels: Set::All,
        ..Grants::default()
    };
    Actor::new("http:operator", grants)
}

/// Records runs with two patterns, so that a process may die between their issues.
fn two_patterns(installation: &Installation) -> Vec<String> {
    let ended = json!(MONDAY - 1);
    installation.adopt(
        ["evenly", "oddly"]
            .iter()
            .flat_map(|name| rehearsed(name, &ended))
            .collect(),
    );
    Vec::new()
}

/// Checks that each pattern has a single issue, and that no claim prevents the next call.
fn filed_once(installation: &Installation, process: &Process) {
    let issues = installation.fake.repository("acme/app").items;
    for name in ["evenly(", "oddly("] {
        assert!(
            issues.values().any(|issue| issue.title.contains(name)),
            "{name}: {issues:#?}"
        );
    }
    let markers: BTreeSet<_> = issues
        .values()
        .map(|issue| issue.body.lines().next_back().unwrap())
        .collect();
    assert_eq!(markers.len(), issues.len(), "{markers:?}");
    assert!(
        issues
            .values()
            .all(|issue| issue.labels == ["self-improvement"]),
        "{issues:#?}"
    );
    let reply = process.command(operator(), PROPOSE);
    assert_eq!(
        reply.matches("- already open #").count(),
        issues.len(),
        "{reply}"
    );
    assert_eq!(
        installation.fake.repository("acme/app").items.len(),
        issues.len()
    );
}

#[test]
fn killed_proposal_files_each_issue_once() {
    hold(&Story {
        prepare: two_patterns,
        begin: |_, process| drop(process.begin_command(operator(), PROPOSE)),
        writes: &[
            "/config/put work-claims filing",
            "GET /repos/acme/app/issues",
            "POST /repos/acme/app/issues",
            "/config/put work-claims \"claims\":{}",
        ],
        again: Some(|installation, process| {
            installation.pass(CLAIM_MS);
            process.command(operator(), PROPOSE);
        }),
        check: filed_once,
    });
}

/// The schedule looks again before and after the dead process's claims end.
#[test]
fn killed_firing_files_each_issue_once() {
    hold(&Story {
        prepare: two_patterns,
        begin: |_, process| drop(process.fire()),
        writes: &[
            "/config/put work-claims firing",
            "/config/put work-claims filing",
            "GET /repos/acme/app/issues",
            "POST /repos/acme/app/issues",
            "/schedules/record self-improvement",
        ],
        again: Some(|installation, process| {
            process.wait(process.fire());
            installation.pass(CLAIM_MS);
            process.wait(process.fire());
        }),
        check: |installation, process| {
            let firings = installation.firings();
            let [firing] = &firings[..] else {
                panic!("{firings:?}")
            };
            assert_eq!(firing["outcome"], "completed", "{firing}");
            filed_once(installation, process);
        },
    });
}

/// Returns the delivery for a check that failed at a head on the pull request.
fn failed(installation: &Installation, delivery: &str, head: &str) -> Delivered {
    let branch = installation.fake.item("acme/app", 1).pull.unwrap().head;
    sign(
        WEBHOOK_SECRET,
        "check_run",
        delivery,
        &checked("acme/app", 1, &branch, head),
    )
}

/// Returns the delivery that the process dies at, for a check at the first head.
fn first_failure(installation: &Installation) -> Delivered {
    failed(
        installation,
        "d-1",
        &installation.fake.item("acme/app", 1).pull.unwrap().sha,
    )
}

/// Returns the attempt records.
fn attempts(installation: &Installation) -> Vec<Value> {
    installation
        .records()
        .into_iter()
        .filter(|record| record["userId"] == CHECKS_ACTOR)
        .collect()
}

/// A head has a single attempt, and a pull request three, whenever the process dies.
#[test]
fn killed_attempt_counts_once() {
    hold(&Story {
        prepare: |installation| opened_in(installation, "t"),
        begin: |installation, process| drop(process.deliver(&first_failure(installation))),
        writes: &["/config/put webhook-check-attempts", "/runs/claim"],
        again: Some(|installation, process| {
            process.wait(process.deliver(&first_failure(installation)));
            installation.settle(2);
        }),
        check: |installation, process| {
            let own = attempts(installation);
            let [attempt] = &own[..] else {
                panic!("{own:#?}")
            };
            // A run that was claimed and did not begin is closed as interrupted, and the comment
            // tells so.
            let commits = match attempt["status"].as_str() {
                Some("completed") => 2,
                Some("interrupted") => 1,
                other => panic!("{other:?}"),
            };
            let branch = installation.fake.item("acme/app", 1).pull.unwrap().head;
            let log = installation.fake.git(
                "acme/app",
                &["log", "--format=%s", &format!("main..{branch}")],
            );
            assert_eq!(log.lines().count(), commits, "{log}");
            let status = |delivery: &str, head: &str| {
                process.wait(process.deliver(&failed(installation, delivery, head)))
            };
            let first = installation.fake.git(
                "acme/app",
                &["rev-parse", &format!("{branch}~{}", commits - 1)],
            );
            assert_eq!(
                status("d-2", first.trim()),
                200,
                "another check of the same head"
            );
            installation.script(vec![Step::Say("The cause is elsewhere.".into())]);
            for (number, digit) in ["a", "b"].iter().enumerate() {
                assert_eq!(
                    status(&format!("e-{digit}"), &digit.repeat(40)),
                    202,
                    "{digit}"
                );
                installation.settle(3 + number);
            }
            assert_eq!(
                status("e-c", &"c".repeat(40)),
                200,
                "the attempts are used up"
            );
            assert_eq!(attempts(installation).len(), 3);
        },
    });
}
