//! Webhooks from the ingress to the host: posted reviews, and commits that mend failed checks.

use ars_codehost::webhook::MAX_CHECK_ATTEMPTS;
use ars_testkit::github::{checked, commented, review_requested, sign};
use serde_json::{Value, json};

use crate::{
    processes::{Installation, Process, Step, WEBHOOK_SECRET},
    support::person_opens,
};

const LONG: &str = "one\ntwo\nthree\n";

/// Delivers an event, later than those before it.
fn deliver(
    installation: &Installation,
    process: &Process,
    event: &str,
    id: &str,
    body: &Value,
) -> u16 {
    installation.pass(1_000);
    process.wait(process.deliver(&sign(WEBHOOK_SECRET, event, id, body)))
}

/// Waits until so many runs are over, and returns the last run's record.
fn last_of(installation: &Installation, count: usize) -> Value {
    installation.until("the end of the run", || {
        let records = installation.records();
        records.len() == count && records.iter().all(|record| record["status"] == "completed")
    });
    installation.records()[0].clone()
}

fn review(installation: &Installation, head: &str) {
    let findings = json!([{ "path": "a.txt", "line": 2, "text": "Why?" }]);
    let verdict = json!({ "verdict": "request_changes", "summary": "a leak", "head": head, "findings": findings });
    installation.script(vec![
        Step::Call("submit_verdict", verdict),
        Step::Say("See.".into()),
    ]);
}

#[test]
fn requested_and_mentioned_reviews_are_posted_once() {
    let installation = Installation::new();
    let (number, head) = person_opens(&installation.fake, "fix", &[("a.txt", Some(LONG))]);
    let process = installation.start();
    review(&installation, &head);
    let body = review_requested("acme/app", number, "ann", &head);
    let forged = sign("another secret", "pull_request", "d-1", &body);
    assert_eq!(process.wait(process.deliver(&forged)), 401);
    assert_eq!(
        deliver(&installation, &process, "pull_request", "d-1", &body),
        202
    );
    let record = last_of(&installation, 1);
    assert_eq!(
        (&record["agent"], &record["threadKey"]),
        (&json!("review"), &json!("github:acme/app:1"))
    );
    let posted = || installation.fake.item("acme/app", number).pull.unwrap();
    let pull = posted();
    let reviews: Vec<_> = pull
        .reviews
        .iter()
        .map(|review| (&*review.event, &*review.commit))
        .collect();
    assert_eq!(
        (reviews, pull.threads.len()),
        (vec![("COMMENT", &*head)], 1)
    );
    // Sent again, it has no effect. A mention reviews the next head.
    assert_eq!(
        deliver(&installation, &process, "pull_request", "d-1", &body),
        200
    );
    let head = installation
        .fake
        .commit("acme/app", "fix", &[("b.txt", Some("b\n"))]);
    review(&installation, &head);
    let body = commented(
        "acme/app",
        number,
        "ann",
        "@ars agent:review look at it again",
    );
    assert_eq!(
        deliver(&installation, &process, "issue_comment", "d-2", &body),
        202
    );
    last_of(&installation, 2);
    let pull = posted();
    assert_eq!(
        (pull.reviews.len(), pull.reviews[1].commit.as_str()),
        (2, head.as_str())
    );
    installation.until("the answers", || {
        installation.fake.item("acme/app", number).comments.len() == 2
    });
}

/// The number in the comment precedes the thread's number, and several are refused by name.
#[test]
fn named_number_precedes_the_threads() {
    let installation = Installation::new();
    let (first, _) = person_opens(&installation.fake, "fix", &[("a.txt", Some(LONG))]);
    let (second, head) = person_opens(&installation.fake, "other", &[("b.txt", Some(LONG))]);
    let process = installation.start();
    let ask = |id: &str, text: &str| {
        let body = commented("acme/app", first, "ann", text);
        assert_eq!(
            deliver(&installation, &process, "issue_comment", id, &body),
            202
        );
    };
    let answers = || installation.fake.item("acme/app", first).comments;
    ask(
        "d-1",
        &format!("@ars agent:review is acme/app#{first} or acme/app#{second} better?"),
    );
    installation.until("the refusal", || {
        answers()
            .iter()
            .any(|answer| answer.body.contains("names several pull requests"))
    });
    let refusal = answers().remove(0).body;
    assert!(
        refusal.contains("1, ") && refusal.contains("2. Send it again with one of them"),
        "{refusal}"
    );
    // An item that is no pull request does not count.
    review(&installation, &head);
    ask(
        "d-2",
        &format!("@ars agent:review acme/app#{second} for acme/app#99"),
    );
    installation.until("the review", || {
        let reviews = installation
            .fake
            .item("acme/app", second)
            .pull
            .unwrap()
            .reviews;
        reviews.iter().any(|review| review.commit == head)
    });
    assert!(
        installation
            .fake
            .item("acme/app", first)
            .pull
            .unwrap()
            .reviews
            .is_empty()
    );
}

fn change(text: &str) -> Vec<Step> {
    let description =
        json!({ "title": format!("Add {text}"), "tldr": "Adds it.", "whatWhy": "why" });
    let command = format!("echo {text} >> a.txt && git commit -qam {text}");
    vec![
        Step::Call("bash", json!({ "command": command })),
        Step::Call("submit_pr_description", description),
        Step::Say("Done.".into()),
    ]
}

/// Opens pull request #1 by a coding run.
fn opened() -> (Installation, Process) {
    let installation = Installation::new();
    installation.script(change("two"));
    let process = installation.start();
    process.ask("agent:coding repo:acme/app mend it", &installation.replies);
    (installation, process)
}

/// While another agent's run is live in the thread, a failed check starts no run. The attempt is
/// given back.
#[test]
fn failed_check_without_a_run_is_not_counted() {
    let (installation, process) = opened();
    let pull = installation.fake.item("acme/app", 1).pull.unwrap();
    installation.script(vec![Step::SayBehind(
        "GET /repos/acme/app/pulls/99",
        "Free.",
    )]);
    let body = commented("acme/app", 1, "ann", "@ars agent:general what is it?");
    assert_eq!(
        deliver(&installation, &process, "issue_comment", "d-1", &body),
        202
    );
    let failed = |id: &str| {
        deliver(
            &installation,
            &process,
            "check_run",
            id,
            &checked("acme/app", 1, &pull.head, &pull.sha),
        )
    };
    for id in ["d-2", "d-3"] {
        assert_eq!(failed(id), 202, "{id}");
    }
    assert_eq!(failed("d-3"), 200, "a repeated delivery");
    let unknown = checked("acme/app", 99, &pull.head, &pull.sha);
    assert_eq!(
        deliver(&installation, &process, "check_run", "d-4", &unknown),
        200
    );
    last_of(&installation, 2);
    installation.script(change("three"));
    assert_eq!(failed("d-5"), 202);
    let record = last_of(&installation, 3);
    assert_eq!(
        (&record["agent"], &record["pullRequest"]["number"]),
        (&json!("coding"), &json!(1))
    );
}

/// A failed check opens no pull request for itself.
#[test]
fn failed_check_of_a_closed_pull_request_opens_none() {
    let (installation, process) = opened();
    let pull = installation.fake.item("acme/app", 1).pull.unwrap();
    installation.fake.change("acme/app", |repository| {
        repository.items.get_mut(&1).unwrap().is_open = false;
    });
    let body = checked("acme/app", 1, &pull.head, &pull.sha);
    assert_eq!(
        deliver(&installation, &process, "check_run", "d-1", &body),
        202
    );
    let words = "is not changed, because it is not open";
    installation.until(words, || {
        installation
            .fake
            .item("acme/app", 1)
            .comments
            .iter()
            .any(|answer| answer.body.contains(words))
    });
    assert_eq!(installation.fake.repository("acme/app").items.len(), 1);
}

#[test]
fn failed_check_ends_as_a_commit_of_its_pull_request() {
    let (installation, process) = opened();
    let pull = || installation.fake.item("acme/app", 1).pull.unwrap();
    let branch = pull().head;
    let failed = |id: &str| {
        let body = checked("acme/app", 1, &branch, &pull().sha);
        deliver(&installation, &process, "check_run", id, &body)
    };
    for attempt in 1..=MAX_CHECK_ATTEMPTS {
        let before = pull().sha;
        installation.script(change(&format!("attempt-{attempt}")));
        assert_eq!(failed(&format!("d-{attempt}")), 202);
        // Another check on the same commit fails meanwhile.
        assert_eq!(
            deliver(
                &installation,
                &process,
                "check_run",
                &format!("e-{attempt}"),
                &checked("acme/app", 1, &branch, &before)
            ),
            200
        );
        let record = last_of(&installation, attempt + 1);
        assert_eq!(
            (&record["agent"], &record["threadKey"]),
            (&json!("coding"), &json!("github:acme/app:1"))
        );
        assert_eq!(
            (&record["userId"], &record["pullRequest"]["number"]),
            (&json!("http:ci"), &json!(1))
        );
        installation.until("the push", || {
            installation
                .fake
                .git("acme/app", &["log", "-1", "--format=%s", &branch])
                .trim()
                == format!("attempt-{attempt}")
        });
        let parent = installation
            .fake
            .git("acme/app", &["rev-parse", &format!("{branch}~1")]);
        assert_eq!(parent.trim(), before, "one commit on top of the head");
        let head = installation
            .fake
            .git("acme/app", &["rev-parse", &branch])
            .trim()
            .to_owned();
        installation.fake.change("acme/app", |repository| {
            repository
                .items
                .get_mut(&1)
                .unwrap()
                .pull
                .as_mut()
                .unwrap()
                .sha = head;
        });
    }
    assert_eq!(failed("d-last"), 200, "the attempts are used up");
    assert_eq!(installation.records().len(), MAX_CHECK_ATTEMPTS + 1);
    let repository = installation.fake.repository("acme/app");
    assert_eq!(repository.items.len(), 1);
    let answers = &repository.items[&1].comments;
    assert!(
        answers
            .iter()
            .all(|comment| comment.body.contains("ull request #")),
        "{answers:#?}"
    );
}
