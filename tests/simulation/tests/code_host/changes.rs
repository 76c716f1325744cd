//! Coding runs: commits, push, draft pull request, evidence.

use std::{collections::BTreeSet, sync::Arc};

use ars_auth::Restrictions;
use ars_testkit::github::Fault;
use ars_types::StopMode;
use serde_json::json;

use crate::support::{
    Move, World, bash, fake_host, plain_adapter, trees, world, world_of, world_with,
};

const ASK: &str = "agent:coding repo:acme/app mend it";

fn describe(title: &str) -> Move {
    let input = json!({ "title": title, "tldr": "Adds two. canary-value, cc @bo", "whatWhy": "fixes #1\n\n# Evidence\n\nall passed" });
    Move::Call("submit_pr_description", input)
}

fn commit(text: &str) -> Move {
    bash(&format!(
        "printf '{text}\\n' > a.txt && git commit -qam change"
    ))
}

/// Returns the host's branches that the service made.
fn branches(world: &World) -> Vec<String> {
    let refs = world.fake.git(
        "acme/app",
        &[
            "for-each-ref",
            "--format=%(refname:short)",
            "refs/heads/ars",
        ],
    );
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
    assert!(
        reply.starts_with("Done.\n\nDraft pull request #1: "),
        "{reply}"
    );
    let item = world.fake.item("acme/app", 1);
    let pull = world.pull(1);
    assert!(
        pull.is_draft && pull.base == "main" && pull.head.starts_with("ars/"),
        "{pull:?}"
    );
    assert!(pull.head.ends_with("/add-two-ann"), "{}", pull.head);
    assert_eq!(item.title, "Add two @\u{200b}ann");
    let body = &item.body;
    for part in [
        "Checked at this head:\n\n- test passed: `make test`",
        "Run: https://ars.example/runs/",
        &pull.sha,
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
    for part in ["@bo", "#1\n", "canary-value", "\n# Evidence"] {
        assert!(!body.contains(part), "{part}\n{body}");
    }
    let checks = world.fake.repository("acme/app").checks;
    assert_eq!(checks.len(), 1);
    assert_eq!(
        (&checks[0]["conclusion"], &checks[0]["head_sha"]),
        (&json!("success"), &json!(pull.sha))
    );
    world.assert_restrained();

    // A follow-up in the thread changes the same pull request.
    world.script(vec![
        commit("two\\nthree"),
        describe("Add three"),
        Move::Say("More."),
    ]);
    let reply = world.ask("t", ASK).await;
    assert!(reply.contains("Pull request #1 was updated: "), "{reply}");
    assert_eq!(world.fake.item("acme/app", 1).title, "Add three");
    assert_ne!(world.pull(1).sha, pull.sha);
    assert_eq!(
        (
            branches(&world),
            world.fake.repository("acme/app").items.len()
        ),
        (vec![pull.head], 1)
    );
    let checks = world.fake.repository("acme/app").checks;
    assert_eq!(
        (checks.len(), &checks[1]["conclusion"]),
        (2, &json!("neutral")),
        "nothing ran at the new head"
    );
    let body = world.fake.item("acme/app", 1).body;
    assert!(
        body.contains("Not verified at this head:\n\n- test has no result: `make test`"),
        "{body}"
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
    assert_eq!(
        world.fake.repository("acme/app").checks[0]["conclusion"],
        "failure"
    );
    let body = world.fake.item("acme/app", 1).body;
    assert!(
        body.contains("- test failed: `make test`") && !body.contains("| cat"),
        "{body}"
    );
}

/// Every reader of the public repository would read the commits and their description.
#[tokio::test]
async fn text_of_a_private_repository_is_not_pushed_in_public() {
    for (is_public, is_pushed) in [(false, true), (true, false)] {
        let read = Move::Call(
            "github_file",
            json!({ "repo": "acme/secret", "path": "README.md" }),
        );
        let world = world(vec![
            read,
            commit("two"),
            describe("Fix"),
            Move::Say("Done."),
        ])
        .await;
        world
            .fake
            .add_repository("acme/secret", &[("README.md", "hi\n")]);
        world
            .fake
            .change("acme/app", |repository| repository.is_public = is_public);
        let reply = world.ask("t", ASK).await;
        assert_eq!(
            reply.contains("text of acme/secret, which is private"),
            !is_pushed,
            "{reply}"
        );
        assert_eq!(branches(&world).len(), usize::from(is_pushed), "{reply}");
    }
}

#[tokio::test]
async fn commits_without_description_get_a_compare_url() {
    let world = world(vec![commit("two"), Move::Say("Done.")]).await;
    let reply = world.ask("t", ASK).await;
    let [branch] = &branches(&world)[..] else {
        panic!("one branch")
    };
    let url = format!(
        "{}/acme/app/compare/main...{branch}?expand=1",
        world.fake.url()
    );
    assert!(reply.contains(&url), "{reply}");
    assert!(world.fake.repository("acme/app").items.is_empty());
}

/// A command may push where the configuration allows it.
/// It leaves a remote-tracking branch in the tree.
#[tokio::test]
async fn branch_pushed_by_the_agent_gets_a_draft() {
    let pushed = bash("git update-ref refs/remotes/origin/ars/r1/own HEAD");
    let world = world(vec![
        commit("two"),
        pushed,
        describe("Add two"),
        Move::Say("Done."),
    ])
    .await;
    let reply = world.ask("t", ASK).await;
    assert!(reply.contains("Draft pull request #1: "), "{reply}");
    assert_eq!(branches(&world), [world.pull(1).head]);
}

#[tokio::test]
async fn description_without_commits_opens_nothing() {
    let world = world(vec![describe("Nothing"), Move::Say("Done.")]).await;
    let reply = world.ask("t", ASK).await;
    assert_eq!(
        reply,
        "Done.\n\nNo pull request was opened: the run has no commits."
    );
    assert!(branches(&world).is_empty());
}

#[tokio::test]
async fn rejected_push_is_reported() {
    let moves = || vec![commit("two"), describe("Fix"), Move::Say("Done.")];
    let protected = world(moves()).await;
    protected.fake.protect("acme/app", "ars/*");
    let reply = protected.ask("t", ASK).await;
    assert!(
        reply.contains("not pushed to `ars/") && reply.contains("Protected branch"),
        "{reply}"
    );
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
    world
        .fake
        .fail("POST /repos/acme/app/pulls", Fault::LostAnswer);
    let reply = world.ask("t", ASK).await;
    assert!(reply.contains("ull request #1"), "{reply}");
    assert_eq!(world.fake.repository("acme/app").items.len(), 1);
    let refused = world
        .fake
        .targets()
        .iter()
        .filter(|line| line.contains("POST /repos/acme/app/pulls"))
        .count();
    assert_eq!(refused, 1, "the effect of a lost answer is searched for");
}

#[tokio::test]
async fn hidden_pull_requests_leave_the_branch() {
    let world = world(vec![commit("two"), describe("Fix"), Move::Say("Done.")]).await;
    world
        .fake
        .fail("POST /repos/acme/app/pulls", Fault::Forbidden);
    let reply = world.ask("t", ASK).await;
    assert!(
        reply.contains("was not written: the service has no permission")
            && reply.contains("/compare/"),
        "{reply}"
    );
    assert!(world.fake.repository("acme/app").items.is_empty());
}

#[tokio::test]
async fn closed_repository_is_refused_before_any_call() {
    let repos = BTreeSet::from(["acme/app".to_owned()]);
    let world = world_with(
        vec![],
        Restrictions {
            repos,
            ..Restrictions::default()
        },
    )
    .await;
    for text in [
        ASK,
        "agent:review acme/app#1",
        "agent:coding mend it in acme/app",
    ] {
        let reply = world.ask("t", text).await;
        assert!(reply.contains("may not"), "{reply}");
    }
    assert!(
        world.fake.targets().is_empty(),
        "{:?}",
        world.fake.targets()
    );
}

#[tokio::test]
async fn repository_without_drafts_gets_an_ordinary_one() {
    let world = world(vec![commit("two"), describe("Fix"), Move::Say("Done.")]).await;
    world
        .fake
        .change("acme/app", |repository| repository.has_no_drafts = true);
    let reply = world.ask("t", ASK).await;
    assert!(
        reply.contains("Pull request #1, an ordinary one with a title that marks it as a draft"),
        "{reply}"
    );
    let item = world.fake.item("acme/app", 1);
    assert!(
        item.title == "[Draft] Fix" && item.body.contains("This is a draft of the service."),
        "{item:?}"
    );
    assert!(!world.pull(1).is_draft);
    world.assert_restrained();
    // The mark stays until a person removes it.
    for (line, mark) in [("three", "[Draft] "), ("four", "")] {
        world.fake.change("acme/app", |repository| {
            let item = repository.items.get_mut(&1).unwrap();
            item.title = format!("{mark}A person's title");
        });
        world.script(vec![commit(line), describe("Better"), Move::Say("Done.")]);
        assert!(
            world
                .ask("t", ASK)
                .await
                .contains("Pull request #1 was updated: ")
        );
        assert_eq!(
            world.fake.item("acme/app", 1).title,
            format!("{mark}Better")
        );
    }
}

#[tokio::test]
async fn failure_of_git_is_reported() {
    let world = world(vec![
        commit("two"),
        bash("echo broken > .git/HEAD"),
        Move::Say("Done."),
    ])
    .await;
    let reply = world.ask("t", ASK).await;
    assert!(
        reply.starts_with("Done.\n\nNo commits were pushed: `git status` failed"),
        "{reply}"
    );
    assert!(
        world.events().contains("No commits were pushed: "),
        "the record has it too"
    );
    assert!(branches(&world).is_empty());
}

#[tokio::test]
async fn soft_stop_publishes_the_commits() {
    let end = Move::Stop(StopMode::Soft, Box::new(bash("true")));
    let world = world(vec![
        commit("two"),
        describe("Fix"),
        end,
        Move::Say("Half of it."),
    ])
    .await;
    let reply = world.ask("t", ASK).await;
    assert!(
        reply.contains("Stopped early on request.") && reply.contains("Draft pull request #1: "),
        "{reply}"
    );
    assert_eq!(
        world.fake.git(
            "acme/app",
            &["show", &format!("{}:a.txt", world.pull(1).head)]
        ),
        "two\n"
    );
}

#[tokio::test]
async fn hard_stop_pushes_nothing_and_names_the_commits() {
    let end = Move::Stop(StopMode::Hard, Box::new(bash("true")));
    let world = world(vec![commit("two"), describe("Fix"), end]).await;
    world.ask("t", ASK).await;
    let events = world.events();
    assert!(
        events.contains("1 commit of this run was not pushed") && events.contains("refs/ars/"),
        "{events}"
    );
    assert!(branches(&world).is_empty() && world.fake.repository("acme/app").items.is_empty());
    assert!(
        !world
            .fake
            .targets()
            .iter()
            .any(|target| target.contains("git-receive-pack"))
    );
    // A further request continues with them.
    world.script(vec![describe("Fix"), Move::Say("Done.")]);
    assert!(
        world
            .ask("t", ASK)
            .await
            .contains("Draft pull request #1: ")
    );
}

/// The host lets only apps write check runs.
#[tokio::test]
async fn plain_token_lacks_the_check_run() {
    let (fake, folder) = (fake_host().await, tempfile::tempdir().unwrap());
    let host = plain_adapter(&fake);
    let workspaces = Arc::new(trees(folder.path(), &host));
    let moves = vec![commit("two"), describe("Fix"), Move::Say("Done.")];
    let world = world_of(
        moves,
        Restrictions::default(),
        (fake, host, folder),
        workspaces,
    );
    let reply = world.ask("t", ASK).await;
    assert!(reply.contains("Draft pull request #1: "), "{reply}");
    let missing =
        "Its check run was not written: this needs a GitHub App; a plain token is configured.";
    assert!(reply.ends_with(missing), "{reply}");
}

#[tokio::test]
async fn commands_of_the_repositorys_table_are_evidence() {
    let world = world(vec![
        bash("echo two >> a.txt && git add . && git commit -qm change"),
        bash(".venv/bin/python -m pytest -q"),
        describe("Fix"),
        Move::Say("Done."),
    ])
    .await;
    let interpreter = [
        ("pyproject.toml", Some("[project]\n")),
        (".gitignore", Some(".venv\n")),
    ];
    world.fake.commit("acme/app", "main", &interpreter);
    let reply = world.ask("t", ASK).await;
    assert!(reply.contains("Draft pull request #1"), "{reply}");
    let body = world.fake.item("acme/app", 1).body;
    assert!(
        body.contains("- test failed: `.venv/bin/python -m pytest -q`"),
        "{body}"
    );
}
