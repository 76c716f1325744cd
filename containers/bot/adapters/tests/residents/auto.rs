//! Automatic onboarding: a repository's first run prepares a resident for later threads.

use std::{fs, time::Duration};

use ars_bot_ports::OpenFor;
use ars_resident::{lifecycle::StateWord, names::TableCommand};
use ars_types::TreePlace;
use tokio_util::sync::CancellationToken;

use crate::{
    onboard::settled,
    support::{World, exec, git},
};

/// Timeout for an onboarding's rejection, which runs beside the requests.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(60);

/// The first thread stays with the local tree.
#[tokio::test(flavor = "multi_thread")]
async fn second_thread_works_in_the_resident() {
    let world = World::onboarding(|configured| vec![configured]);
    // A branch with this name is not the origin's default branch.
    git(
        &world.folder.path().join("origin.git"),
        &["branch", "-m", "main", "trunk"],
    );
    let first = world.open("first").await.placement();
    assert_eq!(first.tree, TreePlace::Local);
    assert!(
        first
            .note
            .unwrap()
            .contains("a resident of acme/app is being prepared")
    );
    settled(&*world.residents, StateWord::Warm).await;

    let second = world.open("second").await;
    let placement = second.placement();
    assert_eq!(placement.tree, TreePlace::Resident, "{placement:?}");
    assert!(
        placement
            .note
            .unwrap()
            .starts_with("resident · acme/app · trunk@")
    );
    assert_eq!(
        exec(&*second, "cat src/lib.txt").await.output,
        "one\ntwo\nthree\n"
    );
    assert_eq!(
        world
            .again("first", OpenFor::Run)
            .await
            .unwrap()
            .placement()
            .tree,
        TreePlace::Local
    );
}

/// A run's branch tells nothing about the default branch's dependencies.
#[tokio::test(flavor = "multi_thread")]
async fn commands_are_those_of_the_default_branch() {
    let world = World::onboarding(|configured| vec![configured]);
    let source = world.folder.path().join("source");
    fs::write(source.join("Makefile"), "test:\n\ttrue\n").unwrap();
    git(&source, &["add", "."]);
    git(&source, &["commit", "-qm", "make"]);
    git(&source, &["push", "-q", "../origin.git", "HEAD:main"]);
    fs::write(
        source.join("package.json"),
        r#"{"dependencies": {"x": "file:missing.tgz"}}"#,
    )
    .unwrap();
    git(&source, &["add", "."]);
    git(&source, &["commit", "-qm", "dependencies"]);
    git(&source, &["push", "-q", "../origin.git", "HEAD:other"]);
    world.open_at("first", "other").await;
    settled(&*world.residents, StateWord::Warm).await;
    let listed = world
        .residents
        .list(&CancellationToken::new())
        .await
        .unwrap();
    let command = listed.residents[0]
        .record
        .command("test")
        .map(TableCommand::as_str);
    assert_eq!(command, Some("make test"));
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_preparation_leaves_runs_on_local_trees() {
    let world = World::onboarding(|configured| vec![configured]);
    let source = world.folder.path().join("source");
    // The dependencies cannot be installed.
    fs::write(
        source.join("package.json"),
        r#"{"dependencies": {"x": "file:missing.tgz"}}"#,
    )
    .unwrap();
    git(&source, &["add", "."]);
    git(&source, &["commit", "-qm", "dependencies"]);
    git(&source, &["push", "-q", "../origin.git", "HEAD:main"]);
    world.open("first").await;
    settled(&*world.residents, StateWord::Down).await;
    let second = world.open("second").await;
    let placement = second.placement();
    assert_eq!(placement.tree, TreePlace::Local);
    let note = placement.note.unwrap();
    assert!(
        note.contains("acme/app is down (provision-failed at install"),
        "{note}"
    );
    assert_eq!(
        exec(&*second, "cat src/lib.txt").await.output,
        "one\ntwo\nthree\n"
    );
}

/// An administrator's removal holds, also after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn offboarded_repository_is_not_onboarded_again() {
    let world = World::onboarding(|configured| vec![configured]);
    world.open("first").await;
    settled(&*world.residents, StateWord::Warm).await;
    world.offboard().await;
    let second = world.open("second").await.placement();
    assert_eq!((second.tree, second.note), (TreePlace::Local, None));
    assert!(
        world
            .residents
            .list(&CancellationToken::new())
            .await
            .unwrap()
            .residents
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unconfigured_repository_is_not_onboarded() {
    let world = World::onboarding(|_| Vec::new());
    let tree = world.open("t").await.placement();
    assert_eq!((tree.tree, tree.note), (TreePlace::Local, None));
    assert!(!world.folder.path().join("data/residents").exists());
}

/// A rejection is the reason that later runs name, until it is mended.
#[tokio::test(flavor = "multi_thread")]
async fn rejected_onboarding_is_named_and_repeated() {
    let world = World::onboarding(|configured| vec![configured]);
    let folder = world.folder.path().join("data/residents");
    fs::create_dir_all(&folder).unwrap();
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.try_lock().unwrap();
    let rejection = async {
        for number in 0.. {
            let note = world
                .open(&format!("t{number}"))
                .await
                .placement()
                .note
                .unwrap();
            if note.contains("acme/app has no resident: ") {
                return note;
            }
        }
        unreachable!("the numbers do not end")
    };
    let note = tokio::time::timeout(REJECTION_TIMEOUT, rejection)
        .await
        .expect("no rejection");
    assert!(note.contains("another process serves"), "{note}");
    drop(lock);
    world.open("later").await;
    settled(&*world.residents, StateWord::Warm).await;
}
