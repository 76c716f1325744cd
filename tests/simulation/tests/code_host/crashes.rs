//! A process dies before and behind each write to the host, and the next one finishes its run.
//!
//! Nothing is posted twice, and nothing is lost: not on the host, not in the run's record, not in the reply.

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

/// One kind of run: its writes in order, and the proof that it is complete.
struct Story {
    /// Prepares the host and the script of the run. Returns further writes.
    prepare: fn(&Installation) -> Vec<String>,
    /// Sends the request.
    begin: fn(&Installation, &Process),
    /// Parts of the requests that write.
    writes: &'static [&'static str],
    /// Checks host and record at the end.
    check: fn(&Installation, &Process),
}

/// Plays the story with a kill before and behind each write.
fn hold(story: &Story) {
    let further = (story.prepare)(&Installation::new()).len();
    for at in 0..story.writes.len() + further {
        for hang in [Hang::Before, Hang::After] {
            let installation = Installation::new();
            let further = (story.prepare)(&installation);
            let part = story
                .writes
                .get(at)
                .map_or_else(|| further[at - story.writes.len()].clone(), |part| (*part).to_owned());
            println!("{part} {hang:?}");
            let before = installation.replies.replies.lock().unwrap().len();
            let last = installation.interrupted(&part, hang, |process| (story.begin)(&installation, process));
            let records = installation.records();
            assert_eq!(records[0]["status"], "completed", "{part} {hang:?}: {records:#?}");
            (story.check)(&installation, &last);
            let replies = installation.replies.replies.lock().unwrap().split_off(before);
            let is_webhook = records[0]["threadKey"].as_str().unwrap().starts_with("github:");
            assert_eq!(replies.len(), usize::from(!is_webhook), "{part} {hang:?}: {replies:?}");
        }
    }
}

fn call(name: &'static str, input: Value) -> Step {
    Step::Call(name, input)
}

fn bash(command: &str) -> Step {
    call("bash", json!({ "command": command }))
}

/// The steps of a coding run that makes the file pass its test.
fn change(text: &str, title: &str) -> Vec<Step> {
    vec![
        bash(&format!("printf '{text}' > a.txt && git commit -qam change")),
        bash("make test"),
        call("submit_pr_description", json!({ "title": title, "tldr": "Adds two.", "whatWhy": "why" })),
        Step::Say("Done.".into()),
    ]
}

/// Checks that the host has one branch, one draft with evidence, and so many check runs.
fn one_draft(installation: &Installation, title: &str, checks: usize) {
    let fake = &installation.fake;
    let refs = fake.git("acme/app", &["for-each-ref", "--format=%(refname:short)", "refs/heads/ars"]);
    let repository = fake.repository("acme/app");
    let written = (refs.lines().count(), repository.items.len(), repository.checks.len());
    let replies = installation.replies.replies.lock().unwrap().clone();
    assert_eq!(written, (1, 1, checks), "{replies:#?} {:#?}", fake.targets());
    let item = fake.item("acme/app", 1);
    let head = fake.git("acme/app", &["rev-parse", refs.trim()]);
    assert_eq!(item.title, title);
    assert!(
        item.body.contains("test passed: `make test`") && item.body.contains(head.trim()),
        "{}",
        item.body
    );
    let check = repository.checks.last().unwrap();
    assert_eq!((&check["conclusion"], check["head_sha"].as_str()), (&json!("success"), Some(head.trim())));
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
        check: |installation, _| {
            one_draft(installation, "Add two", 1);
            let opened = fact(installation, "pullRequest");
            assert_eq!((&opened["number"], &opened["created"]), (&json!(1), &json!(true)), "{opened}");
            let replies = installation.replies.replies.lock().unwrap();
            assert!(replies.last().unwrap().contains("Draft pull request #1: "), "{replies:?}");
        },
    });
}

#[test]
fn killed_follow_up_edits_its_draft() {
    hold(&Story {
        prepare: |installation| {
            installation.script(change("one\\ntwo\\n", "Add two"));
            let process = installation.start();
            process.ask(CODE, &installation.replies);
            process.kill();
            installation.script(change("two\\nthree\\n", "Add three"));
            Vec::new()
        },
        begin: |installation, process| process.send(CODE, &installation.replies),
        writes: &[
            "POST /acme/app.git/git-receive-pack",
            "PATCH /repos/acme/app/pulls/1",
            "POST /repos/acme/app/check-runs",
        ],
        check: |installation, _| {
            one_draft(installation, "Add three", 2);
            let edited = fact(installation, "pullRequest");
            assert_eq!((&edited["number"], &edited["created"]), (&json!(1), &json!(false)), "{edited}");
        },
    });
}

fn verdict(word: &str, head: &str, more: (&str, Value)) -> Vec<Step> {
    let mut input = json!({ "verdict": word, "summary": "a leak", "head": head });
    input[more.0] = more.1;
    vec![call("submit_verdict", input), Step::Say("See.".into())]
}

/// The second review resolves the two threads of the first.
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
            let head = installation.fake.commit("acme/app", "fix", &[("a.txt", Some("one\n2\n3\nfour\n"))]);
            let threads = installation.fake.item("acme/app", 1).pull.unwrap().threads;
            let ids: Vec<String> = threads.into_iter().map(|thread| thread.id).collect();
            assert_eq!(ids.len(), 2);
            installation.script(verdict("approve", &head, ("fixed", json!(ids))));
            // Only the request that resolves a thread names it.
            ids.iter().map(|id| format!("\"id\":\"{id}\"")).collect()
        },
        begin: |installation, process| process.send(REVIEW, &installation.replies),
        writes: &["POST /repos/acme/app/pulls/1/reviews"],
        check: |installation, _| {
            let pull = installation.fake.item("acme/app", 1).pull.unwrap();
            let heads: Vec<_> = pull.reviews.iter().map(|review| review.commit.as_str()).collect();
            assert_eq!((heads.len(), heads[1]), (2, pull.sha.as_str()), "{heads:?}");
            assert!(pull.threads.iter().all(|thread| thread.is_resolved), "{:?}", pull.threads);
            let posted = fact(installation, "postedReview");
            assert_eq!((&posted["repo"], &posted["number"]), (&json!("acme/app"), &json!(1)), "{posted}");
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
        check: |installation, last| {
            assert_eq!(last.wait(last.deliver(&mention())), 200);
            let comments = installation.fake.item("acme/app", 1).comments;
            let [comment] = &comments[..] else { panic!("{comments:#?}") };
            assert!(comment.body.starts_with("Because."), "{}", comment.body);
            assert_eq!(installation.records().len(), 1);
        },
    });
}

fn mention() -> ars_testkit::github::Delivered {
    sign(WEBHOOK_SECRET, "issue_comment", "d-1", &commented("acme/app", 1, "ann", "@ars why?"))
}
