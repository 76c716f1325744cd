//! Coding and review runs in resident trees end on the code host as those in local trees do.

use std::sync::Arc;

use ars_auth::Restrictions;
use ars_bot_adapters::residents::{
    LocalTransport, PROBE_TIMEOUT, ResidentPlaces, ResidentWorkspaces, ResidentsClient,
};
use ars_bot_ports::{Repository, Residents};
use ars_resident::{names::Resource, wire::Live};
use ars_testkit::github::Fault;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::onboarding::{RESOURCE, onboard};
use crate::support::{Move, World, adapter, bash, fake_host, trees, world_of};

const ASK: &str = "agent:coding repo:acme/app mend it";

struct Hosted {
    world: World,
    residents: Arc<dyn Residents>,
}

/// Makes the service with a warm resident for the repository, which only a token may read.
async fn hosted() -> Hosted {
    let fake = fake_host().await;
    let host = adapter(&fake);
    let folder = tempfile::tempdir().unwrap();
    let (data, local) = (
        folder.path().join("data"),
        Arc::new(trees(folder.path(), &host)),
    );
    let origin = format!("{}/acme/app.git", fake.url());
    let known = move |resource: &Resource| {
        let repository = || Repository {
            name: "acme/app".into(),
            origin: origin.clone(),
        };
        (resource.as_str() == RESOURCE).then(repository)
    };
    let folder_of_residents = data.join("residents");
    let transport = LocalTransport::new(
        folder_of_residents,
        Arc::clone(&local),
        Arc::new(known),
        "test".into(),
    );
    let residents: Arc<dyn Residents> =
        Arc::new(ResidentsClient::over(transport, PROBE_TIMEOUT * 10));
    let resource = Resource::parse(RESOURCE).unwrap();
    let resource_of = Arc::new(move |_: &Repository| Some(resource.clone()));
    let places = ResidentPlaces {
        resource_of,
        are_local: true,
    };
    let workspaces = Arc::new(ResidentWorkspaces::new(
        local,
        Arc::clone(&residents),
        places,
        &data,
    ));
    let hosted = Hosted {
        world: world_of(
            vec![],
            Restrictions::default(),
            (fake, host, folder),
            workspaces,
        ),
        residents,
    };
    onboard(&*hosted.residents, "make test").await;
    hosted
}

impl Hosted {
    /// Asks, and asserts that the run worked on the resident. Returns the replies.
    async fn ask(&self, thread: &str, text: &str, moves: Vec<Move>) -> String {
        self.world.script(moves);
        let reply = self.world.ask(thread, text).await;
        let list = self
            .residents
            .list(&CancellationToken::new())
            .await
            .unwrap();
        let Live::View(view) = &list.residents[0].live else {
            panic!("it does not answer")
        };
        let key = format!("http:default:{thread}");
        assert!(
            view.threads
                .iter()
                .any(|row| row.thread_key.as_str() == key),
            "{:?}",
            view.threads
        );
        self.world.assert_restrained();
        reply
    }
}

/// The last move looks for a token in the tree, its surroundings and the environment.
fn change(text: &str, title: &str) -> Vec<Move> {
    vec![
        bash(&format!(
            "printf '{text}\\n' > a.txt && git commit -qam change"
        )),
        bash("make test"),
        Move::Call(
            "submit_pr_description",
            json!({ "title": title, "tldr": "Adds two.", "whatWhy": "why" }),
        ),
        bash("env; cat .git/config; cat .git/github-credentials; ls -A .. ~"),
        Move::Say("Done."),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn coding_run_on_a_resident_opens_a_draft() {
    let hosted = hosted().await;
    let fake = &hosted.world.fake;
    let reply = hosted.ask("t", ASK, change("one\\ntwo", "Add two")).await;
    assert!(
        reply.starts_with("Done.\n\nDraft pull request #1: "),
        "{reply}"
    );
    let pull = hosted.world.pull(1);
    assert!(
        pull.is_draft && pull.base == "main" && pull.head.ends_with("/add-two"),
        "{pull:?}"
    );
    assert_eq!(
        fake.git("acme/app", &["show", &format!("{}:a.txt", pull.head)]),
        "one\ntwo\n"
    );
    let checks = fake.repository("acme/app").checks;
    let check = |at: usize| {
        (
            checks[at]["conclusion"].clone(),
            checks[at]["head_sha"].clone(),
        )
    };
    assert_eq!(
        (checks.len(), check(0)),
        (1, (json!("success"), json!(pull.sha)))
    );

    // The tree had no unsaved work, so it was removed. A new tree has the pushed commits.
    let list = hosted
        .residents
        .list(&CancellationToken::new())
        .await
        .unwrap();
    let list = serde_json::to_value(&list.residents[0]).unwrap();
    assert_eq!(list["live"]["threads"][0]["evicted"], true, "{list:#}");
    fake.commit("acme/app", "main", &[("b.txt", Some("theirs\n"))]);
    let mut moves = change("one\\ntwo\\nthree", "Add three");
    moves.pop();
    // The first push's token is not valid any more.
    moves.push(Move::Meanwhile(Box::new(|fake| {
        fake.revoke_tokens();
        Move::Say("Done.")
    })));
    let reply = hosted.ask("t", ASK, moves).await;
    assert!(reply.contains("Pull request #1 was updated: "), "{reply}");
    let log = fake.git(
        "acme/app",
        &["log", "--format=%H", &format!("main~1..{}", pull.head)],
    );
    assert!(log.lines().count() == 2 && log.contains(&pull.sha), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn named_pull_request_is_continued_on_a_resident() {
    let hosted = hosted().await;
    hosted.ask("t", ASK, change("one\\ntwo", "Add two")).await;
    let first = hosted.world.pull(1);
    let ask = "agent:coding mend acme/app#1";
    let reply = hosted
        .ask("u", ask, change("one\\ntwo\\nthree", "Add three"))
        .await;
    assert!(reply.contains("Pull request #1 was updated: "), "{reply}");
    let second = hosted.world.pull(1);
    // The tree was removed, and a new tree has both runs' commits.
    let reply = hosted
        .ask(
            "u",
            "agent:coding and four",
            change("one\\ntwo\\nfour", "Add four"),
        )
        .await;
    assert!(reply.contains("Pull request #1 was updated: "), "{reply}");
    let third = hosted.world.pull(1);
    let log = hosted.world.fake.git(
        "acme/app",
        &["log", "--format=%H", &format!("main..{}", third.head)],
    );
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        [&third.sha, &second.sha, &first.sha]
    );
    assert_eq!(hosted.world.fake.repository("acme/app").items.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_change_on_a_resident_names_its_branch() {
    let hosted = hosted().await;
    // Equal commits in the same second would have the same name, and the second would already be on
    // the host.
    let moves = |line| {
        vec![
            bash(&format!("echo {line} >> a.txt && git commit -qam change")),
            Move::Say("Done."),
        ]
    };
    let reply = hosted.ask("t", ASK, moves("two")).await;
    let url = format!("{}/acme/app/compare/main...ars/", hosted.world.fake.url());
    assert!(reply.contains(&url), "{reply}");
    hosted.world.fake.protect("acme/app", "ars/*");
    let reply = hosted.ask("u", ASK, moves("three")).await;
    assert!(
        reply.contains("not pushed to `ars/") && reply.contains("Protected branch"),
        "{reply}"
    );
    hosted.world.fake.fail("git-receive-pack", Fault::Forbidden);
    let reply = hosted.ask("v", ASK, moves("four")).await;
    assert!(reply.contains("not pushed to `ars/"), "{reply}");
    assert!(hosted.world.fake.repository("acme/app").items.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn review_on_a_resident_is_posted_once() {
    let hosted = hosted().await;
    let (number, head) = hosted
        .world
        .person_opens("fix", &[("a.txt", Some("one\ntwo\n"))]);
    let review = || {
        let findings = json!([{ "path": "a.txt", "line": 2, "text": "Why?" }]);
        let verdict = json!({ "verdict": "request_changes", "summary": "a leak", "head": head, "findings": findings });
        vec![
            bash("git rev-parse HEAD; cat a.txt; git status --short"),
            Move::Call("submit_verdict", verdict),
            Move::Say("See."),
        ]
    };
    let ask = format!("agent:review look at acme/app#{number}");
    let reply = hosted.ask("t", &ask, review()).await;
    assert!(reply.contains("is on the pull request: "), "{reply}");
    let (conversation, _) = hosted.world.seen();
    assert!(
        conversation.contains(&format!("{head}\\none\\ntwo\\n")),
        "{conversation}"
    );
    // Another thread finds the review for this head.
    hosted.ask("u", &ask, review()).await;
    let pull = hosted.world.pull(number);
    let posted: Vec<_> = pull
        .reviews
        .iter()
        .map(|review| (&*review.event, &*review.commit))
        .collect();
    assert_eq!((posted, pull.threads.len()), (vec![("COMMENT", &*head)], 1));
}
