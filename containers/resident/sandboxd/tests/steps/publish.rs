//! Commits between trees and the code host, through the mirror.

use std::num::NonZeroU64;

use ars_resident::daemon::{FailureKind, StepInput};
use ars_resident::lifecycle::Step;
use ars_resident::names::{RunBranch, Sha};
use ars_resident::plan::{
    CycleContext, PublishContext, check_out, contains, note_pushed, push, receive,
};
use ars_resident::thread::TreeDecision;
use ars_resident::wire::CheckOutFrom;

use super::world::{World, git, main_ref, pool, thread};

const COMMIT: &str = "git -c user.name=a -c user.email=a@b commit -qam work";

fn sha(text: &str) -> Sha {
    Sha::parse(text.trim()).unwrap()
}

/// The tree's settings and hooks neither redirect the push nor run.
#[tokio::test]
async fn push_reads_no_setting_of_the_tree() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        let hostile = "printf '#!/bin/sh\\ntouch ran\\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push; \
            git config url.file:///nowhere.insteadOf /; git config core.hooksPath .git/hooks; \
            git config remote.origin.pushurl /nowhere; echo x >> README.md";
        let done = world
            .exec(
                &key,
                user,
                &format!("mkdir -p .git/hooks; {hostile}; {COMMIT}"),
                10_000,
            )
            .await;
        assert_eq!(done.exit_code, 0, "{done:?}");
        let head = sha(&git(&world.tree(&key), &["rev-parse", "HEAD"]));
        let (main, branch) = (main_ref(), RunBranch::parse("ars/run-1/work").unwrap());
        let context = PublishContext {
            thread: &key,
            git_ref: &main,
            user,
            sha: &head,
        };
        let steps = [
            receive(context),
            push(&world.origin(), &head, &branch, false),
        ];
        for step in steps.into_iter().chain(note_pushed(context, &branch)) {
            world
                .run(step.clone(), StepInput::None)
                .await
                .unwrap_or_else(|failure| panic!("{failure:?}"));
        }
        let origin = world.dir.path().join("origin.git");
        assert_eq!(
            git(&origin, &["rev-parse", "ars/run-1/work"]).trim(),
            head.as_str()
        );
        assert!(!world.tree(&key).join("ran").exists());
        let unsaved = git(
            &world.tree(&key),
            &["rev-list", "HEAD", "--not", "--remotes"],
        );
        assert_eq!(unsaved, "", "pushed commits are saved");

        // Another history is no fast-forward.
        let other = format!("git reset -q --hard HEAD~1; echo y >> README.md; {COMMIT}");
        assert_eq!(world.exec(&key, user, &other, 10_000).await.exit_code, 0);
        let other = sha(&git(&world.tree(&key), &["rev-parse", "HEAD"]));
        world
            .run(
                receive(PublishContext {
                    sha: &other,
                    ..context
                }),
                StepInput::None,
            )
            .await
            .unwrap();
        let rejected = world
            .run(
                push(&world.origin(), &other, &branch, false),
                StepInput::None,
            )
            .await
            .unwrap_err();
        assert_eq!(rejected.kind, FailureKind::Exit);
        assert!(rejected.stderr.contains("non-fast-forward"), "{rejected:?}");
        assert_eq!(
            git(&origin, &["rev-parse", "ars/run-1/work"]).trim(),
            head.as_str()
        );
    }
}

#[tokio::test]
async fn commit_of_the_host_is_checked_out() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user, main) = (thread("load:1"), pool(0), main_ref());
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        let work = world.dir.path().join("work");
        git(&work, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
        git(
            &work,
            &["push", "-q", "../origin.git", "HEAD:refs/pull/7/head"],
        );
        let head = sha(&git(&work, &["rev-parse", "HEAD"]));
        let from = CheckOutFrom::PullRequest(NonZeroU64::new(7).unwrap());
        let context = PublishContext {
            thread: &key,
            git_ref: &main,
            user,
            sha: &head,
        };
        let unknown = world
            .run(contains(&head, &from), StepInput::None)
            .await
            .unwrap_err();
        assert_eq!(unknown.kind, FailureKind::Exit);
        world
            .cycle(Step::Fetch, &CycleContext::default())
            .await
            .unwrap();
        world
            .run(contains(&head, &from), StepInput::None)
            .await
            .unwrap();
        for step in check_out(context, &from) {
            world
                .run(step.clone(), StepInput::None)
                .await
                .unwrap_or_else(|failure| panic!("{failure:?}"));
        }
        let read = |arguments: &[&str]| git(&world.tree(&key), arguments).trim().to_owned();
        assert_eq!(read(&["rev-parse", "HEAD"]), head.as_str());
        assert_eq!(read(&["rev-list", "HEAD", "--not", "--remotes"]), "");
        // The tree's changes stay.
        assert_eq!(
            world
                .exec(&key, user, "echo mine > README.md", 10_000)
                .await
                .exit_code,
            0
        );
        std::fs::write(work.join("README.md"), "theirs\n").unwrap();
        git(&work, &["commit", "-qam", "more"]);
        git(
            &work,
            &["push", "-q", "../origin.git", "HEAD:refs/pull/7/head"],
        );
        world
            .cycle(Step::Fetch, &CycleContext::default())
            .await
            .unwrap();
        let moved = sha(&git(&work, &["rev-parse", "HEAD"]));
        let [send, turn] = check_out(
            PublishContext {
                sha: &moved,
                ..context
            },
            &from,
        );
        world.run(send, StepInput::None).await.unwrap();
        let kept = world.run(turn, StepInput::None).await.unwrap_err();
        assert!(kept.stderr.contains("README.md"), "{kept:?}");
        assert_eq!(read(&["rev-parse", "HEAD"]), head.as_str());
    }
}
