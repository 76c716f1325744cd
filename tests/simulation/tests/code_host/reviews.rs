//! Review runs: target, head, a single post, findings on lines, threads.

use ars_testkit::github::{FakeGitHub, Fault};
use serde_json::{Value, json};

use crate::support::{Move, World, world};

const LONG: &str = "one\ntwo\nthree\nfour\n";

fn verdict(word: &str, head: &str, more: &Value) -> Move {
    let mut input = json!({ "verdict": word, "summary": "a leak, says @ann", "head": head });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    Move::Call("submit_verdict", input)
}

fn findings() -> Value {
    json!({ "findings": [
        { "path": "a.txt", "line": 2, "text": "Why, @bo?" },
        { "path": "a.txt", "line": 90, "text": "gone" },
    ] })
}

/// Asserts that the pull request has a single review for this head.
fn one_review(world: &World, number: u64, head: &str) -> String {
    let pull = world.pull(number);
    let [review] = &pull.reviews[..] else {
        panic!("{:?}", pull.reviews)
    };
    assert_eq!(
        (review.event.as_str(), review.commit.as_str()),
        ("COMMENT", head)
    );
    world.assert_restrained();
    review.body.clone()
}

#[tokio::test]
async fn review_is_posted_once_with_its_findings() {
    let world = world(vec![]).await;
    let (number, head) = world.person_opens("fix", &[("a.txt", Some(LONG))]);
    let review = || {
        vec![
            verdict("request_changes", &head, &findings()),
            Move::Say("LGTM: see below, fixes #1."),
        ]
    };
    world.script(review());
    let ask = format!("agent:review look at acme/app#{number}");
    let reply = world.ask("t", &ask).await;
    assert!(reply.starts_with("Changes requested: a leak"), "{reply}");
    assert!(
        reply.contains(&format!(
            "is on the pull request: {}/acme/app/pull/{number}",
            world.fake.url()
        )),
        "{reply}"
    );
    let body = one_review(&world, number, &head);
    assert!(
        body.starts_with(
            "Changes requested: a leak, says @\u{200b}ann\n\nLGTM: see below, fixes #\u{200b}1."
        ),
        "{body}"
    );
    assert!(
        body.contains("`a.txt:90` (outside of the diff): gone"),
        "{body}"
    );
    let threads = world.pull(number).threads;
    assert_eq!(
        (threads.len(), threads[0].line, threads[0].body.as_str()),
        (1, 2, "Why, @\u{200b}bo?")
    );
    let (_, prompt) = world.seen();
    assert!(
        prompt.contains(&format!("at commit {head}"))
            && prompt.matches("</untrusted-text>").count() == 1,
        "{prompt}"
    );
    // The same request in another thread finds the review for this head.
    world.script(review());
    world.ask("u", &ask).await;
    one_review(&world, number, &head);
}

#[tokio::test]
async fn review_with_private_text_is_not_posted_in_public() {
    let world = world(vec![]).await;
    world
        .fake
        .add_repository("acme/secret", &[("README.md", "hi\n")]);
    world
        .fake
        .change("acme/app", |repository| repository.is_public = true);
    let (number, head) = world.person_opens("fix", &[("a.txt", Some(LONG))]);
    let read = Move::Call(
        "github_file",
        json!({ "repo": "acme/secret", "path": "README.md" }),
    );
    world.script(vec![
        read,
        verdict("approve", &head, &json!({})),
        Move::Say("Fine."),
    ]);
    let reply = world
        .ask("t", &format!("agent:review acme/app#{number}"))
        .await;
    assert!(
        reply.contains("was not posted: everyone reads acme/app"),
        "{reply}"
    );
    assert!(world.pull(number).reviews.is_empty());
}

#[tokio::test]
async fn moved_head_is_reviewed_again_once() {
    let world = world(vec![]).await;
    let (number, head) = world.person_opens("fix", &[("a.txt", Some(LONG))]);
    let push = |text: &'static str| {
        move |fake: &FakeGitHub| {
            fake.commit("acme/app", "fix", &[("b.txt", Some(text))]);
            Move::Say("First.")
        }
    };
    world.script(vec![
        verdict("approve", &head, &json!({})),
        Move::Meanwhile(Box::new(push("x\n"))),
        Move::Call("bash", json!({ "command": "git rev-parse HEAD" })),
        Move::Call(
            "submit_verdict",
            json!({ "verdict": "request_changes", "summary": "new file" }),
        ),
        Move::Say("Second."),
    ]);
    let reply = world
        .ask("t", &format!("agent:review acme/app#{number}"))
        .await;
    let moved = world
        .fake
        .git("acme/app", &["rev-parse", "fix"])
        .trim()
        .to_owned();
    assert_ne!(moved, head);
    let body = one_review(&world, number, &moved);
    assert!(
        body.starts_with("Changes requested: new file\n\nSecond."),
        "{body}"
    );
    assert!(
        reply.contains("is on the pull request") && world.seen().0.contains(&moved),
        "{reply}"
    );
    assert!(
        world.events().contains("+++ b/b.txt"),
        "the reading diff is of the first head"
    );

    // A second move ends without a post.
    world.script(vec![
        Move::Meanwhile(Box::new(push("y\n"))),
        Move::Meanwhile(Box::new(push("z\n"))),
    ]);
    let reply = world
        .ask("u", &format!("agent:review acme/app#{number}"))
        .await;
    assert!(
        reply.contains("not posted: the pull request got new commits again"),
        "{reply}"
    );
    one_review(&world, number, &moved);
}

#[tokio::test]
async fn verified_fix_resolves_the_own_thread() {
    let world = world(vec![]).await;
    let (number, head) = world.person_opens("fix", &[("a.txt", Some(LONG))]);
    world.script(vec![
        verdict("request_changes", &head, &findings()),
        Move::Say("See."),
    ]);
    world
        .ask("t", &format!("agent:review acme/app#{number}"))
        .await;
    world.fake.change("acme/app", |repository| {
        let pull = repository
            .items
            .get_mut(&number)
            .unwrap()
            .pull
            .as_mut()
            .unwrap();
        let mut theirs = pull.threads[0].clone();
        (theirs.id, theirs.user) = ("PRRT_bo".into(), "bo".into());
        pull.threads.push(theirs);
    });
    let own = world.pull(number).threads[0].id.clone();
    let moved = world.fake.commit(
        "acme/app",
        "fix",
        &[("a.txt", Some("one\n2\nthree\nfour\n"))],
    );
    let fixed = json!({ "fixed": [own, "PRRT_bo", "PRRT_none"] });
    world.script(vec![
        verdict("approve", &moved, &fixed),
        Move::Say("Fixed."),
    ]);
    world
        .ask("u", &format!("agent:review acme/app#{number}"))
        .await;
    assert!(
        world.seen().1.contains(&own),
        "the prompt names the open thread"
    );
    let resolved: Vec<bool> = world
        .pull(number)
        .threads
        .iter()
        .map(|thread| thread.is_resolved)
        .collect();
    assert_eq!(resolved, [true, false]);
    assert_eq!(world.pull(number).reviews.len(), 2);
}

#[tokio::test]
async fn unknown_pull_request_starts_no_review() {
    let world = world(vec![]).await;
    let reply = world.ask("t", "agent:review acme/app#99").await;
    assert!(reply.contains("has no such pull request"), "{reply}");
    assert!(world.seen().0.is_empty(), "no model is asked");
}

#[tokio::test]
async fn declined_or_rejected_review_is_not_posted() {
    let world = world(vec![]).await;
    let (number, head) = world.person_opens("fix", &[("a.txt", Some(LONG))]);
    let review = || vec![verdict("approve", &head, &json!({})), Move::Say("Fine.")];
    world.script(review());
    let reply = world
        .ask("t", &format!("agent:review acme/app#{number} post:off"))
        .await;
    assert_eq!(reply, "LGTM: a leak, says @ann\n\nFine.");
    world.script(review());
    world.fake.fail(
        &format!("POST /repos/acme/app/pulls/{number}/reviews"),
        Fault::Forbidden,
    );
    let reply = world
        .ask("u", &format!("agent:review acme/app#{number}"))
        .await;
    assert!(
        reply.ends_with("The review was not posted: the code host rejected it."),
        "{reply}"
    );
    // The tree has another commit at the end.
    world.script(vec![
        Move::Call("bash", json!({ "command": "git checkout -q HEAD~1" })),
        verdict("approve", &head, &json!({})),
        Move::Say("Fine."),
    ]);
    let reply = world
        .ask("v", &format!("agent:review acme/app#{number}"))
        .await;
    assert!(reply.contains("another commit than the head"), "{reply}");
    assert!(world.pull(number).reviews.is_empty() && world.moves_left() == 0);
    // A rejected review is no longer claimed, so a plain request posts a review.
    world.script(review());
    let reply = world
        .ask("w", &format!("agent:review acme/app#{number}"))
        .await;
    assert!(reply.contains("is on the pull request"), "{reply}");
    one_review(&world, number, &head);
}

#[tokio::test]
async fn lost_answer_posts_one_review() {
    let world = world(vec![]).await;
    let (number, head) = world.person_opens("fix", &[("a.txt", Some(LONG))]);
    world.script(vec![
        verdict("approve", &head, &json!({})),
        Move::Say("Fine."),
    ]);
    let reviews = format!("/repos/acme/app/pulls/{number}/reviews");
    world
        .fake
        .fail(&format!("POST {reviews}"), Fault::LostAnswer);
    // The list before the post, and the first list after it.
    for _ in 0..2 {
        world
            .fake
            .fail(&format!("GET {reviews}"), Fault::NotListedYet);
    }
    let reply = world
        .ask("t", &format!("agent:review acme/app#{number}"))
        .await;
    assert!(reply.contains("is on the pull request"), "{reply}");
    one_review(&world, number, &head);
}

/// The host can reject a line that the file list shows.
#[tokio::test]
async fn rejected_anchor_moves_the_findings_to_the_body() {
    let world = world(vec![]).await;
    let (number, head) = world.person_opens("fix", &[("a.txt", Some(LONG))]);
    world.script(vec![
        verdict("request_changes", &head, &findings()),
        Move::Say("See below."),
    ]);
    world.fake.fail(
        &format!("POST /repos/acme/app/pulls/{number}/reviews"),
        Fault::AnchorRejected,
    );
    world
        .ask("t", &format!("agent:review acme/app#{number}"))
        .await;
    let body = one_review(&world, number, &head);
    assert!(
        body.contains("`a.txt:2`") && body.contains("Why, @\u{200b}bo?"),
        "{body}"
    );
    assert!(world.pull(number).threads.is_empty());
}

/// A rebase with the same changes is not reviewed again: the review names the commit that was read.
#[tokio::test]
async fn rebased_head_has_the_review_of_its_changes() {
    let world = world(vec![]).await;
    let (number, head) = world.person_opens("fix", &[("b.txt", Some("x\n"))]);
    let rebase = |fake: &FakeGitHub| {
        fake.commit("acme/app", "main", &[("base.txt", Some("new\n"))]);
        fake.git("acme/app", &["branch", "-D", "fix"]);
        fake.commit("acme/app", "fix", &[("b.txt", Some("x\n"))]);
        Move::Say("Fine.")
    };
    world.script(vec![
        verdict("approve", &head, &json!({})),
        Move::Meanwhile(Box::new(rebase)),
    ]);
    let reply = world
        .ask("t", &format!("agent:review acme/app#{number}"))
        .await;
    assert!(
        reply.contains("is on the pull request") && world.moves_left() == 0,
        "{reply}"
    );
    let rebased = world
        .fake
        .git("acme/app", &["rev-parse", "fix"])
        .trim()
        .to_owned();
    let body = one_review(&world, number, &rebased);
    assert_ne!(rebased, head);
    assert!(body.contains(&head[..7]), "{body}");
}

/// A thread's tree knows the base as it was when the thread began.
#[tokio::test]
async fn reading_diff_is_of_the_pull_request_alone() {
    let world = world(vec![]).await;
    let (first, head) = world.person_opens("fix", &[("a.txt", Some(LONG))]);
    world.script(vec![
        verdict("approve", &head, &json!({})),
        Move::Say("Fine."),
    ]);
    world
        .ask("t", &format!("agent:review acme/app#{first}"))
        .await;
    world
        .fake
        .commit("acme/app", "main", &[("base.txt", Some("new\n"))]);
    let (second, head) = world.person_opens("later", &[("b.txt", Some("x\n"))]);
    world.script(vec![
        verdict("approve", &head, &json!({})),
        Move::Say("Fine."),
    ]);
    world
        .ask("t", &format!("agent:review acme/app#{second}"))
        .await;
    one_review(&world, second, &head);
    let diffs = world.all_events();
    let of_second: Vec<&String> = diffs
        .iter()
        .filter(|event| event.contains("reading_diff") && event.contains("b/b.txt"))
        .collect();
    assert!(
        matches!(of_second[..], [diff] if !diff.contains("base.txt") && diff.contains("origin/main")),
        "{diffs:?}"
    );
}
