//! `PyGithub` against the fake code host.

use ars_testkit::github::{FakeGitHub, Fault};
use ars_tests_models::{Client, run};
use serde_json::json;

/// A query as the service sends it.
const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $replies: Boolean!) {
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewThreads(last: 100) { nodes {
    path line isResolved latest: comments(last: 10) @include(if: $replies) { nodes { body } } } } } } }";

async fn host() -> FakeGitHub {
    let fake = FakeGitHub::start().await;
    fake.add_repository("acme/app", &[("a", "one\n")]);
    fake.commit("acme/app", "topic", &[("a", Some("two\n"))]);
    fake
}

#[tokio::test]
async fn app_works_on_a_pull_request() {
    let fake = host().await;
    let app = fake.app();
    let permissions = json!({
        "metadata": "read", "contents": "read", "issues": "write", "pull_requests": "write", "checks": "write",
    });
    let input = json!({
        "app": app.id, "installation": app.installation, "key": app.private_key, "permissions": permissions,
        "threads": THREADS,
    });
    let seen = run(
        Client::GitHub,
        "converse",
        &format!("{}/api/v3", fake.url()),
        &input,
    )
    .await;
    let head = fake.item("acme/app", 1).pull.unwrap().sha;
    let comment = fake.item("acme/app", 1).pull.unwrap().threads[0].comment;
    let expected = json!({
        "app": "ars", "default": "main", "pull": [1, "Better", true, "ars[bot]", 1],
        "pulls": [[1, head]], "files": [["a", 1, "@@ -1 +1 @@\n-one\n+two"]], "review": ["COMMENTED", "ars[bot]"], "reviews": 1,
        "lines": [["a", 1, "ars[bot]", "Why?", null], ["a", 1, "ars[bot]", "Because.", comment]],
        "threads": [["a", 1, false, 2]],
        "comments": ["ho"], "issues": ["Slow"], "found": [2], "content": "one\n", "check": "success",
        "open": ["Better"], "missing": [], "compared": [1, 0],
    });
    assert_eq!(seen, expected);
    assert_eq!(
        fake.item("acme/app", 1).pull.unwrap().threads[0].body,
        "Why?"
    );
}

#[tokio::test]
async fn faults_raise_the_clients_types() {
    let fake = host().await;
    let faults = [
        Fault::Unauthorized,
        Fault::RateLimited(4_000_000_000),
        Fault::SecondaryLimited(1),
        Fault::Hidden,
        Fault::Forbidden,
        Fault::Unavailable,
    ];
    for fault in faults {
        fake.fail("GET /repos/acme/app", fault);
    }
    let input = json!({ "token": fake.plain_token(), "repositories": vec!["acme/app"; 6] });
    let failed = run(
        Client::GitHub,
        "failing",
        &format!("{}/api/v3", fake.url()),
        &input,
    )
    .await;
    let expected = json!([
        ["BadCredentialsException", 401],
        ["RateLimitExceededException", 403],
        ["RateLimitExceededException", 403],
        ["UnknownObjectException", 404],
        ["GithubException", 403],
        ["GithubException", 502],
    ]);
    assert_eq!(failed, expected);
}
