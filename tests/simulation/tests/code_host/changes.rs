//! Coding runs: commits, push, draft pull request, evidence.

use std::collections::BTreeSet;

use ars_auth::Restrictions;
use ars_testkit::github::Fault;
use serde_json::json;

use crate::support::{Move, World, bash, world, world_with};

const ASK: &str = "agent:coding repo:acme/app mend it";

fn describe(title: &str) -> Move {
    let input = json!({ "title": title, "tldr": "Adds two. canary-value, cc @bo", "whatWhy": "fixes #1\n\n# Evidence\n\nall passed" });
    Move::Call("submit_pr_description", input)
}

fn commit(text: &str) -> Move {
    bash(&format!("printf '{text}\\n' > a.txt && git commit -qam change"))
}

/// Returns the branches of the host that the service made.
fn branches(world: &World) -> Vec<String> {
    let refs = world.fake.git("acme/app", &["for-each-ref", "--format=%(refname:short)", "refs/heads/ars"]);
    refs.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn coding_run_opens_a_draft_with_evidence() {
    let world = world(vec![
        commit("one\\ntwo"),
        bash("make test"),
        describe("Add two @ann"),
        bash("env; cat .git/config; ls -A .. ../home ../tmp"),
        Move::Say("Done."),
    ])
    .await;
    let reply = world.ask("t", ASK).await;
    assert!(reply.starts_with("Done.\n\nDraft pull request #1: "), "{reply}");
    let item = world.fake.item("acme/app", 1);
    let pull = world.pull(1);
    assert!(pull.is_draft && pull.base == "main" && pull.head.starts_with("ars/"), "{pull:?}");
    assert!(pull.head.ends_with("/add-two-ann"), "{}", pull.head);
    assert_eq!(item.title, "Add two @\u{200b}ann");
    let body = &item.body;
    for part in
        ["Checked at this head:\n\n- test passed: `make test`", "Run: https://ars.example/runs/", &pull.sha]
    {
        assert!(body.contains(part), "{part}\n{body}");
    }
    for part in ["@bo", "#1\n", "canary-value", "\n# Evidence"] {
        assert!(!body.contains(part), "{part}\n{body}");
    }
    let checks = world.fake.repository("acme/app").checks;
    assert_eq!(checks.len(), 1);
    assert_eq!((&checks[0]["conclusion"], &checks[0]["head_sha"]), (&json!("success"), &json!(pull.sha)));
    world.assert_restrained();

    // A follow-up of the thread changes the same pull request.
    world.script(vec![commit("two\\nthree"), describe("Add three"), Move::Say("More.")]);
    let reply = world.ask("t", ASK).await;
    assert!(reply.contains("Pull request #1 was updated: "), "{reply}");
    assert_eq!(world.fake.item("acme/app", 1).title, "Add three");
    assert_ne!(world.pull(1).sha, pull.sha);
    assert_eq!((branches(&world), world.fake.repository("acme/app").items.len()), (vec![pull.head], 1));
    let checks = world.fake.repository("acme/app").checks;
    assert_eq!(
        (checks.len(), &checks[1]["conclusion"]),
        (2, &json!("neutral")),
        "nothing ran at the new head"
    );
    // A question without a change writes nothing.
    world.script(vec![Move::Say("Because.")]);
    assert_eq!(world.ask("t", "agent:coding why?").await, "Because.");
}

#[tokio::test]
async fn failed_and_hidden_results_are_no_success() {
    let world = world(vec![
        commit("one"),
        bash("git commit -q --allow-empty -m more"),
        bash("make test | cat"),
        bash("make test"),
        describe("Fix"),
        Move::Say("Done."),
    ])
    .await;
    let reply = world.ask("t", ASK).await;
    assert!(reply.contains("Draft pull request #1"), "{reply}");
    assert_eq!(world.fake.repository("acme/app").checks[0]["conclusion"], "failure");
    let body = world.fake.item("acme/app", 1).body;
    assert!(body.contains("- test failed: `make test`") && !body.contains("| cat"), "{body}");
}

#[tokio::test]
async fn commits_without_description_get_a_compare_url() {
    let world = world(vec![commit("two"), Move::Say("Done.")]).await;
    let reply = world.ask("t", ASK).await;
    let [branch] = &branches(&world)[..] else { panic!("one branch") };
    let url = format!("{}/acme/app/compare/main...{branch}?expand=1", world.fake.url());
    assert!(reply.contains(&url), "{reply}");
    assert!(world.fake.repository("acme/app").items.is_empty());
}

#[tokio::test]
async fn description_without_commits_opens_nothing() {
    let world = world(vec![describe("Nothing"), Move::Say("Done.")]).await;
    let reply = world.ask("t", ASK).await;
    assert_eq!(reply, "Done.\n\nNo pull request was opened: the run has no commits.");
    assert!(branches(&world).is_empty());
}

#[tokio::test]
async fn rejected_push_is_reported() {
    let moves = || vec![commit("two"), describe("Fix"), Move::Say("Done.")];
    let protected = world(moves()).await;
    protected.fake.protect("acme/app", "ars/*");
    let reply = protected.ask("t", ASK).await;
    assert!(reply.contains("not pushed to `ars/") && reply.contains("Protected branch"), "{reply}");
    let closed = world(moves()).await;
    closed.fake.fail("git-receive-pack", Fault::Forbidden);
    let reply = closed.ask("t", ASK).await;
    assert!(reply.contains("not pushed to `ars/"), "{reply}");
    for world in [protected, closed] {
        assert!(world.fake.repository("acme/app").items.is_empty());
    }
}

#[tokio::test]
async fn lost_answers_open_one_draft() {
    let world = world(vec![commit("two"), describe("Fix"), Move::Say("Done.")]).await;
    world.fake.fail("POST /repos/acme/app/pulls", Fault::LostAnswer);
    let reply = world.ask("t", ASK).await;
    assert!(reply.contains("ull request #1"), "{reply}");
    assert_eq!(world.fake.repository("acme/app").items.len(), 1);
    let refused =
        world.fake.targets().iter().filter(|line| line.contains("POST /repos/acme/app/pulls")).count();
    assert_eq!(refused, 1, "the effect of a lost answer is searched for");
}

#[tokio::test]
async fn hidden_pull_requests_leave_the_branch() {
    let world = world(vec![commit("two"), describe("Fix"), Move::Say("Done.")]).await;
    world.fake.fail("POST /repos/acme/app/pulls", Fault::Forbidden);
    let reply = world.ask("t", ASK).await;
    assert!(
        reply.contains("was not written: the service has no permission") && reply.contains("/compare/"),
        "{reply}"
    );
    assert!(world.fake.repository("acme/app").items.is_empty());
}

#[tokio::test]
async fn closed_repository_is_refused_before_any_call() {
    let repos = BTreeSet::from(["acme/app".to_owned()]);
    let world = world_with(vec![], Restrictions { repos, ..Restrictions::default() }).await;
    for text in [ASK, "agent:review acme/app#1", "agent:coding mend it in acme/app"] {
        let reply = world.ask("t", text).await;
        assert!(reply.contains("may not"), "{reply}");
    }
    assert!(world.fake.targets().is_empty(), "{:?}", world.fake.targets());
}
