//! Pull requests, reviews, check runs and comments, written and read back.

use ars_bot_ports::{
    CodeHost as _, CodeHostError,
    code_host::{CheckConclusion, IssueEdit, IssueFilter, IssueState, NewIssue, NewPullRequest},
};
use ars_codehost::{
    answer::Meaning,
    diff::{Commit, Side},
    pull_request::{Check, CheckResult, Evidence, PullRequestText, check_run},
    review::{Finding, PullRequestState, Submission, is_posted, place},
};
use serde_json::json;

use crate::support::{World, app, branch, world};

const CHANGED: &str = "one\ntwo!\nthree\n";

fn text(title: &str) -> PullRequestText {
    PullRequestText {
        title: title.into(),
        body: "Body.".into(),
    }
}

/// Opens a draft for a branch with a change. Returns the number and head.
async fn opened(world: &World) -> (u64, Commit) {
    let head = world
        .fake
        .commit("acme/app", "ars/r1/fix", &[("src/a.rs", Some(CHANGED))]);
    let (text, head_branch, base) = (text("Fix"), branch("ars/r1/fix"), branch("main"));
    let request = NewPullRequest {
        text,
        head: head_branch,
        base,
        is_draft: true,
    };
    let hit = world
        .host
        .open_pull_request(&app(), &request)
        .await
        .unwrap();
    (hit.number, Commit::parse(&head).unwrap())
}

#[tokio::test]
async fn draft_is_opened_found_and_edited() {
    let world = world().await;
    let name = branch("ars/r1/fix");
    assert_eq!(
        world
            .host
            .pull_request_of_branch(&app(), &name)
            .await
            .unwrap(),
        None
    );
    let (number, head) = opened(&world).await;
    let found = world
        .host
        .pull_request_of_branch(&app(), &name)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (found.number, found.state),
        (number, PullRequestState::Open)
    );
    let again = NewPullRequest {
        text: text("Again"),
        head: name.clone(),
        base: branch("main"),
        is_draft: true,
    };
    let error = world
        .host
        .open_pull_request(&app(), &again)
        .await
        .unwrap_err();
    assert_eq!(error, CodeHostError::Answer(Meaning::AlreadyExists));
    world
        .host
        .edit_pull_request(&app(), number, &text("Better"))
        .await
        .unwrap();
    let facts = world.host.pull_request(&app(), number).await.unwrap();
    assert!(facts.is_draft && facts.author == "ars[bot]" && facts.head_repository == Some(app()));
    assert_eq!(
        (facts.changed_files, facts.additions, facts.deletions),
        (1, 1, 1)
    );
    assert_eq!(
        (facts.pull_request.title.as_str(), facts.pull_request.head),
        ("Better", Some(head))
    );
    world.fake.change("acme/app", |repository| {
        let item = repository.items.get_mut(&number).unwrap();
        item.is_open = false;
        item.pull.as_mut().unwrap().is_merged = true;
    });
    let found = world
        .host
        .pull_request_of_branch(&app(), &name)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.state, PullRequestState::Merged);
    assert!(
        world
            .host
            .pull_request(&app(), number)
            .await
            .unwrap()
            .merged_at
            .is_some()
    );
}

/// The host keeps a deleted fork's last commit. It is no head to review.
#[tokio::test]
async fn deleted_fork_has_no_head() {
    let world = world().await;
    let (number, head) = opened(&world).await;
    assert_eq!(
        world
            .host
            .pull_request(&app(), number)
            .await
            .unwrap()
            .pull_request
            .head,
        Some(head)
    );
    world.fake.change("acme/app", |repository| {
        repository
            .items
            .get_mut(&number)
            .unwrap()
            .pull
            .as_mut()
            .unwrap()
            .is_fork_deleted = true;
    });
    let facts = world.host.pull_request(&app(), number).await.unwrap();
    assert_eq!(
        (facts.pull_request.head, facts.head_repository),
        (None, None)
    );
}

#[tokio::test]
async fn review_is_one_comment_with_its_findings() {
    let world = world().await;
    let (number, head) = opened(&world).await;
    let finding = |line| Finding {
        path: "src/a.rs".into(),
        start: None,
        line,
        side: Side::Right,
        text: "Why?".into(),
    };
    let diff = world
        .host
        .changed_files(&app(), number)
        .await
        .unwrap()
        .diff();
    let submission = Submission::new(
        &head,
        None,
        "LGTM: safe",
        place(&[finding(2), finding(90)], Some(&diff)),
    );
    assert!(!is_posted(
        &world.host.reviews(&app(), number).await.unwrap(),
        &head
    ));
    world
        .host
        .submit_review(&app(), number, &submission)
        .await
        .unwrap();
    assert!(is_posted(
        &world.host.reviews(&app(), number).await.unwrap(),
        &head
    ));
    let pull = world.fake.item("acme/app", number).pull.unwrap();
    let review = &pull.reviews[0];
    assert_eq!(
        (
            pull.reviews.len(),
            review.event.as_str(),
            review.commit.as_str()
        ),
        (1, "COMMENT", head.as_str())
    );
    assert_eq!((pull.threads.len(), pull.threads[0].line), (1, 2));
    // A person's thread does not belong to the service.
    world.fake.change("acme/app", |repository| {
        let pull = repository
            .items
            .get_mut(&number)
            .unwrap()
            .pull
            .as_mut()
            .unwrap();
        let mut thread = pull.threads[0].clone();
        (thread.id, thread.user) = ("PRRT_ann".into(), "ars".into());
        pull.threads.push(thread);
    });
    let threads = world
        .host
        .review_threads(&app(), number)
        .await
        .unwrap()
        .entries;
    let owners: Vec<bool> = threads.iter().map(|thread| thread.is_own).collect();
    assert_eq!(owners, [true, false]);
    world
        .host
        .resolve_thread(&app(), &threads[0].id)
        .await
        .unwrap();
    let resolved = world
        .host
        .review_threads(&app(), number)
        .await
        .unwrap()
        .entries;
    assert!(resolved[0].is_resolved && !resolved[1].is_resolved);
}

#[tokio::test]
async fn rejected_anchor_stores_no_review() {
    let world = world().await;
    let (number, head) = opened(&world).await;
    // The line is valid in an older diff only.
    let finding = Finding {
        path: "src/a.rs".into(),
        start: None,
        line: 2,
        side: Side::Right,
        text: "x".into(),
    };
    let diff = world
        .host
        .changed_files(&app(), number)
        .await
        .unwrap()
        .diff();
    let submission = Submission::new(&head, None, "x", place(&[finding], Some(&diff)));
    world.fake.commit(
        "acme/app",
        "ars/r1/fix",
        &[("src/a.rs", Some("one\ntwo\nthree\n"))],
    );
    let error = world
        .host
        .submit_review(&app(), number, &submission)
        .await
        .unwrap_err();
    assert_eq!(error, CodeHostError::Answer(Meaning::AnchorRejected));
    assert!(
        world
            .fake
            .item("acme/app", number)
            .pull
            .unwrap()
            .reviews
            .is_empty()
    );
}

#[tokio::test]
async fn check_run_of_a_head_exists_once() {
    let world = world().await;
    let (_, head) = opened(&world).await;
    let evidence = |result| Evidence {
        head: head.clone(),
        run_url: None,
        cost_micro_usd: None,
        refers_to: None,
        is_marked_draft: false,
        checks: vec![Check {
            name: "test".into(),
            command: "make".into(),
            head: Some(head.clone()),
            result,
        }],
        expected: Vec::new(),
    };
    let failed = CheckResult::Failed {
        output: "src/a.rs:2: boom".into(),
    };
    for result in [failed, CheckResult::Passed] {
        world
            .host
            .put_check_run(&app(), &check_run("r1", &evidence(result)))
            .await
            .unwrap();
        // More than a page of other threads is newer.
        world.fake.change("acme/app", |repository| {
            let other =
                |id| json!({ "id": id, "name": "ci", "head_sha": head.as_str(), "app": { "slug": "ci" } });
            repository.checks.extend((9_000..9_120).map(other));
        });
    }
    let listed = world.host.checks(&app(), &head).await.unwrap();
    assert_eq!((listed.entries.len(), listed.truncated), (241, false));
    let checks: Vec<_> = listed
        .entries
        .into_iter()
        .filter(|check| check.is_own)
        .collect();
    assert_eq!(checks.len(), 1);
    assert_eq!(checks[0].conclusion, Some(CheckConclusion::Success));
    let log: String = (0..9_000).map(|line| format!("line {line}\n")).collect();
    world.fake.change("acme/app", |repository| {
        repository.logs.insert(checks[0].id, log)
    });
    let tail = world
        .host
        .log_tail(&app(), checks[0].id)
        .await
        .unwrap()
        .unwrap();
    assert!(tail.truncated && tail.text.starts_with("line ") && tail.text.ends_with("line 8999\n"));
    let storage = world
        .fake
        .seen()
        .into_iter()
        .find(|seen| seen.target.starts_with("/storage"))
        .unwrap();
    assert_eq!(storage.token, None, "the storage receives no token");
    assert_eq!(world.host.log_tail(&app(), 4_000).await.unwrap(), None);
}

#[tokio::test]
async fn issues_and_comments_are_written() {
    let world = world().await;
    let new = NewIssue {
        title: "Slow".into(),
        body: "b".into(),
        labels: vec!["bug".into()],
        assignees: vec![],
    };
    let issue = world.host.create_issue(&app(), &new).await.unwrap();
    opened(&world).await;
    let filter = IssueFilter {
        state: Some(IssueState::Open),
        labels: vec!["bug".into()],
    };
    let filed = world.host.issues(&app(), &filter).await.unwrap().entries;
    assert_eq!(filed, std::slice::from_ref(&issue));
    let all = world
        .host
        .issues(&app(), &IssueFilter::default())
        .await
        .unwrap()
        .entries;
    assert_eq!(all.len(), 1, "a pull request is no issue");
    let comment = world
        .host
        .comment(&app(), issue.number, "working")
        .await
        .unwrap();
    let edited = world
        .host
        .edit_comment(&app(), comment.id, "done")
        .await
        .unwrap();
    assert!(edited.is_own && edited.body == "done");
    assert_eq!(
        world
            .host
            .comments(&app(), issue.number)
            .await
            .unwrap()
            .entries,
        [edited]
    );
    let close = IssueEdit {
        state: Some(IssueState::Closed),
        ..IssueEdit::default()
    };
    let closed = world
        .host
        .edit_issue(&app(), issue.number, &close)
        .await
        .unwrap();
    assert_eq!(
        (closed.state, closed.title.as_str()),
        (IssueState::Closed, "Slow")
    );
    assert_eq!(
        world
            .host
            .search_issues(&app(), "slow")
            .await
            .unwrap()
            .entries
            .len(),
        1
    );
    let error = world
        .host
        .search_issues(&app(), "slow repo:other/app")
        .await
        .unwrap_err();
    assert_eq!(error, CodeHostError::Answer(Meaning::Invalid));
}
