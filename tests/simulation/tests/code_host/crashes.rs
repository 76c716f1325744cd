//! A process dies around each write to the host or to a claim, and the next finishes its run.
//!
//! Nothing is posted twice, and nothing is lost: not on the host, not in the run's record, not in
//! the reply.

use ars_testkit::github::{Hang, commented, sign};
use serde_json::{Value, json};

use crate::{
    processes::{Installation, Process, Step, WEBHOOK_SECRET},
    support::person_opens,
};

const CODE: &str = "agent:coding repo:acme/app mend it";
const REVIEW: &str = "agent:review look at acme/app#1";
const ANNOUNCEMENT: &str = "POST /repos/acme/app/issues/1/comments";
const LONG: &str = "one\ntwo\nthree\nfour\n";

/// A kind of work: its writes in order, and the proof that it is complete.
pub struct Story {
    /// Prepares the host and the run's script. Returns further writes.
    pub prepare: fn(&Installation) -> Vec<String>,
    /// Begins the work in a process.
    pub begin: fn(&Installation, &Process),
    /// Parts of requests that write, to the host or to the stores ([`Installation::hang`]).
    pub writes: &'static [&'static str],
    /// Begins the work again in the next process, unless that process finishes its run unasked.
    pub again: Option<fn(&Installation, &Process)>,
    /// Checks host and record at the end.
    pub check: fn(&Installation, &Process),
}

/// Plays the story with a kill before and behind each write.
pub fn hold(story: &Story) {
    let further = (story.prepare)(&Installation::new()).len();
    for at in 0..story.writes.len() + further {
        for hang in [Hang::Before, Hang::After] {
            let installation = Installation::new();
            let further = (story.prepare)(&installation);
            let part = story.writes.get(at).map_or_else(
                || further[at - story.writes.len()].clone(),
                |part| (*part).to_owned(),
            );
            println!("{part} {hang:?}");
            installation.replies.clear();
            let last = installation
                .interrupted(&part, hang, |process| (story.begin)(&installation, process));
            match story.again {
                Some(again) => again(&installation, &last),
                None => completed_and_answered(&installation, &format!("{part} {hang:?}")),
            }
            (story.check)(&installation, &last);
        }
    }
}

/// Checks that the run is completed, and that its requester has a single reply.
fn completed_and_answered(installation: &Installation, case: &str) {
    let records = installation.records();
    assert_eq!(records[0]["status"], "completed", "{case}: {records:#?}");
    let replies = installation.replies.said();
    let is_webhook = records[0]["threadKey"]
        .as_str()
        .unwrap()
        .starts_with("github:");
    assert_eq!(
        replies.len(),
        usize::from(!is_webhook),
        "{case}: {replies:?}"
    );
}

fn call(name: &'static str, input: Value) -> Step {
    Step::Call(name, input)
}

fn bash(command: &str) -> Step {
    call("bash", json!({ "command": command }))
}

/// Returns the steps in a coding run that makes the file pass the test.
fn change(text: &str, title: &str) -> Vec<Step> {
    vec![
        bash(&format!(
            "printf '{text}' > a.txt && git commit -qam change"
        )),
        bash("make test"),
        call(
            "submit_pr_description",
            json!({ "title": title, "tldr": "Adds two.", "whatWhy": "why" }),
        ),
        Step::Say("Done.".into()),
    ]
}

/// Checks that the host has a single branch, a single draft with evidence, and so many check runs.
fn one_draft(installation: &Installation, title: &str, checks: usize) {
    let fake = &installation.fake;
    let refs = fake.git(
        "acme/app",
        &[
            "for-each-ref",
            "--format=%(refname:short)",
            "refs/heads/ars",
        ],
    );
    let repository = fake.repository("acme/app");
    let written = (
        refs.lines().count(),
        repository.items.len(),
        repository.checks.len(),
    );
    let replies = installation.replies.said();
    assert_eq!(
        written,
        (1, 1, checks),
        "{replies:#?} {:#?}",
        fake.targets()
    );
    let item = fake.item("acme/app", 1);
    let head = fake.git("acme/app", &["rev-parse", refs.trim()]);
    assert_eq!(item.title, title);
    assert!(
        item.body.contains("test passed: `make test`") && item.body.contains(head.trim()),
        "{}",
        item.body
    );
    let check = repository.checks.last().unwrap();
    assert_eq!(
        (&check["conclusion"], check["head_sha"].as_str()),
        (&json!("success"), Some(head.trim()))
    );
}

fn fact(installation: &Installation, name: &str) -> Value {
    installation.records()[0][name].clone()
}

#[test]
fn killed_coding_run_opens_one_draft() {
    hold(&Story {
        prepare: |installation| {
            installation.script(change("one\\ntwo\\n", "Add two"));
            Vec::new()
        },
        begin: |installation, process| process.send(CODE, &installation.replies),
        writes: &[
            "POST /acme/app.git/git-receive-pack",
            "POST /repos/acme/app/pulls",
            "POST /repos/acme/app/check-runs",
        ],
        again: None,
        check: |installation, _| {
            one_draft(installation, "Add two", 1);
            let opened = fact(installation, "pullRequest");
            assert_eq!(
                (&opened["number"], &opened["created"]),
                (&json!(1), &json!(true)),
                "{opened}"
            );
            let replies = installation.replies.said();
            assert!(
                replies.last().unwrap().contains("Draft pull request #1: "),
                "{replies:?}"
            );
        },
    });
}

/// Returns the story for a request that edits an earlier run's draft.
fn edit(prepare: fn(&Installation) -> Vec<String>, begin: fn(&Installation, &Process)) -> Story {
    Story {
        prepare,
        begin,
        writes: &[
            "POST /acme/app.git/git-receive-pack",
            "PATCH /repos/acme/app/pulls/1",
            "POST /repos/acme/app/check-runs",
        ],
        again: None,
        check: |installation, _| {
            one_draft(installation, "Add three", 2);
            let edited = fact(installation, "pullRequest");
            assert_eq!(
                (&edited["number"], &edited["created"]),
                (&json!(1), &json!(false)),
                "{edited}"
            );
        },
    }
}

/// Opens a draft in a thread, and sets the script for editing it.
pub fn opened_in(installation: &Installation, thread: &str) -> Vec<String> {
    installation.script(change("one\\ntwo\\n", "Add two"));
    let process = installation.start();
    process.ask_in(thread, CODE, &installation.replies);
    process.kill();
    installation.script(change("two\\nthree\\n", "Add three"));
    Vec::new()
}

#[test]
fn killed_follow_up_edits_its_draft() {
    let begin =
        |installation: &Installation, process: &Process| process.send(CODE, &installation.replies);
    hold(&edit(|installation| opened_in(installation, "t"), begin));
}

/// Another thread names the draft.
#[test]
fn killed_continuation_edits_the_named_draft() {
    hold(&edit(
        |installation| opened_in(installation, "first"),
        |installation, process| process.send("agent:coding mend acme/app#1", &installation.replies),
    ));
}

fn verdict(word: &str, head: &str, more: (&str, Value)) -> Vec<Step> {
    let mut input = json!({ "verdict": word, "summary": "a leak", "head": head });
    input[more.0] = more.1;
    vec![call("submit_verdict", input), Step::Say("See.".into())]
}

/// The second review resolves the first review's two threads.
#[test]
fn killed_review_is_posted_once() {
    hold(&Story {
        prepare: |installation| {
            let (number, head) = person_opens(&installation.fake, "fix", &[("a.txt", Some(LONG))]);
            assert_eq!(number, 1);
            let finding = |line: u64| json!({ "path": "a.txt", "line": line, "text": "Why?" });
            installation.script(verdict(
                "request_changes",
                &head,
                ("findings", json!([finding(2), finding(3)])),
            ));
            let process = installation.start();
            process.ask(REVIEW, &installation.replies);
            process.kill();
            let head = installation.fake.commit(
                "acme/app",
                "fix",
                &[("a.txt", Some("one\n2\n3\nfour\n"))],
            );
            let threads = installation.fake.item("acme/app", 1).pull.unwrap().threads;
            let ids: Vec<String> = threads.into_iter().map(|thread| thread.id).collect();
            assert_eq!(ids.len(), 2);
            installation.script(verdict("approve", &head, ("fixed", json!(ids))));
            // Only the request that resolves a thread names it.
            ids.iter().map(|id| format!("\"id\":\"{id}\"")).collect()
        },
        begin: |installation, process| process.send(REVIEW, &installation.replies),
        writes: &[
            "/config/put review-claims",
            "POST /repos/acme/app/pulls/1/reviews",
        ],
        again: None,
        check: |installation, _| {
            let pull = installation.fake.item("acme/app", 1).pull.unwrap();
            let heads: Vec<_> = pull
                .reviews
                .iter()
                .map(|review| review.commit.as_str())
                .collect();
            assert_eq!((heads.len(), heads[1]), (2, pull.sha.as_str()), "{heads:?}");
            assert!(
                pull.threads.iter().all(|thread| thread.is_resolved),
                "{:?}",
                pull.threads
            );
            let posted = fact(installation, "postedReview");
            assert_eq!(
                (&posted["repo"], &posted["number"]),
                (&json!("acme/app"), &json!(1)),
                "{posted}"
            );
            assert_eq!(posted["resolved"], 2, "{posted}");
        },
    });
}

/// The host sends its delivery again after the crash, as a person may ask it to.
#[test]
fn killed_webhook_answers_with_one_comment() {
    hold(&Story {
        prepare: |installation| {
            person_opens(&installation.fake, "fix", &[("a.txt", Some(LONG))]);
            // An answer before the announcement would take its place.
            installation.script(vec![Step::SayBehind(ANNOUNCEMENT, "Because.")]);
            Vec::new()
        },
        begin: |_, process| drop(process.deliver(&mention())),
        writes: &[ANNOUNCEMENT, "PATCH /repos/acme/app/issues/comments/"],
        again: None,
        check: |installation, last| {
            assert_eq!(last.wait(last.deliver(&mention())), 200);
            let comments = installation.fake.item("acme/app", 1).comments;
            let [comment] = &comments[..] else {
                panic!("{comments:#?}")
            };
            assert!(comment.body.starts_with("Because."), "{}", comment.body);
            assert_eq!(installation.records().len(), 1);
        },
    });
}

fn mention() -> ars_testkit::github::Delivered {
    sign(
        WEBHOOK_SECRET,
        "issue_comment",
        "d-1",
        &commented("acme/app", 1, "ann", "@ars why?"),
    )
}

/// Two processes review the same head, and the first hangs in its submission.
#[test]
fn concurrent_reviews_post_one() {
    let installation = Installation::new();
    let (number, head) = person_opens(&installation.fake, "fix", &[("a.txt", Some(LONG))]);
    installation.script(verdict("approve", &head, ("findings", json!([]))));
    let reached = installation
        .fake
        .hang("POST /repos/acme/app/pulls/1/reviews", Hang::Before);
    let first = installation.start();
    first.send(REVIEW, &installation.replies);
    installation.block_on(reached, "the submission");
    let second = installation.start();
    let replies = std::sync::Arc::default();
    second.ask_in("u", REVIEW, &replies);
    let reply = replies.said().join("\n");
    assert!(
        reply.contains("The review was not posted: run ")
            && reply.contains("posts its review of the same commit"),
        "{reply}"
    );
    // The second process finishes the first's run.
    installation.kill(first);
    let reviews = installation
        .fake
        .item("acme/app", number)
        .pull
        .unwrap()
        .reviews;
    assert_eq!(reviews.len(), 1, "{reviews:?}");
    assert!(installation.replies.said()[0].contains("is on the pull request: "));
    second.ask_in("v", REVIEW, &replies);
    let reply = replies.said().pop().unwrap();
    assert!(
        reply.contains("is on the pull request, so this one was not posted: "),
        "{reply}"
    );
    assert_eq!(
        installation
            .fake
            .item("acme/app", number)
            .pull
            .unwrap()
            .reviews
            .len(),
        1
    );
}
