//! Where a thread's tree is: on the resident, or on the local disk with a reason.

use std::fs;

use ars_bot_adapters::{
    egress::{EgressSettings, HostRule},
    sandbox::SandboxSettings,
};
use ars_bot_ports::{OpenFor, Repository, WorkspaceError, WorkspaceProvider as _};
use ars_types::{SandboxKind, TreePlace};

use crate::support::{World, exec, git, thread};

#[tokio::test(flavor = "multi_thread")]
async fn repository_without_resident_is_local() {
    let world = World::new();
    let tree = world.open("t").await;
    assert_eq!(
        (tree.placement().tree, tree.placement().note),
        (TreePlace::Local, None)
    );
    // Nothing was created for residents.
    assert!(!world.folder.path().join("data/residents").exists());
    // The thread stays with the tree after an onboarding.
    drop(tree);
    world.onboard().await;
    assert_eq!(
        world
            .again("t", OpenFor::Run)
            .await
            .unwrap()
            .placement()
            .tree,
        TreePlace::Local
    );
    assert_eq!(
        world.open("other").await.placement().tree,
        TreePlace::Resident
    );
}

/// An agent's hosts apply only in local trees.
#[tokio::test(flavor = "multi_thread")]
async fn agent_with_own_hosts_gets_a_local_tree() {
    let hosts = vec![HostRule::parse("docs.example").unwrap()];
    let agents = [("coding".to_owned(), hosts)].into();
    let egress = EgressSettings {
        agents,
        ..EgressSettings::default()
    };
    let world = World::in_sandbox(SandboxSettings {
        kind: Some(SandboxKind::Landlock),
        egress,
        ..SandboxSettings::default()
    });
    world.onboard().await;
    assert_eq!(world.open("t").await.placement().tree, TreePlace::Local);
    assert_eq!(
        world.open_to_read("other").await.placement().tree,
        TreePlace::Resident
    );
}

/// The residents' wire has a stricter pattern than git. The run works on the ref, and the reader
/// learns where and why.
#[tokio::test(flavor = "multi_thread")]
async fn ref_that_residents_reject_gets_a_local_tree() {
    let world = World::new();
    let origin = world.repository().origin;
    git(
        origin.as_ref(),
        &["update-ref", "refs/heads/fix/#1-größe", "HEAD"],
    );
    world.onboard().await;
    let tree = world.open_at("t", "fix/#1-größe").await;
    let placement = tree.placement();
    assert_eq!(placement.tree, TreePlace::Local);
    assert!(
        placement
            .note
            .unwrap()
            .contains("residents accept no ref with the characters of fix/#1-größe")
    );
    assert_eq!(
        exec(&*tree, "git symbolic-ref HEAD").await.output,
        "refs/heads/fix/#1-größe\n"
    );
}

/// The resident was removed with all trees. A later run is local, and the reader learns why.
#[tokio::test(flavor = "multi_thread")]
async fn offboarded_repository_falls_back() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    tree.write("notes.txt", b"unsaved\n").await.unwrap();
    world.offboard().await;
    assert!(matches!(
        world.again("t", OpenFor::Resume).await,
        Err(WorkspaceError::Infra(_))
    ));
    let local = world.again("t", OpenFor::Run).await.unwrap();
    let placement = local.placement();
    assert_eq!(placement.tree, TreePlace::Local);
    assert!(
        placement
            .note
            .unwrap()
            .contains("acme/app has no resident any more")
    );
    assert_eq!(
        exec(&*local, "cat src/lib.txt").await.output,
        "one\ntwo\nthree\n"
    );
}

/// A tree that may have unsaved work is not replaced while the resident cannot be asked.
#[tokio::test(flavor = "multi_thread")]
async fn unsaved_tree_waits_for_its_resident() {
    let world = World::new();
    world.onboard().await;
    world
        .open("t")
        .await
        .write("notes.txt", b"unsaved\n")
        .await
        .unwrap();
    // Another process serves the data directory's residents.
    let served = world.folder.path().join("data");
    let world = world.restarted();
    let lock = fs::File::options()
        .write(true)
        .open(served.join("residents/lock"))
        .unwrap();
    lock.try_lock().unwrap();
    let Err(WorkspaceError::Infra(text)) = world.again("t", OpenFor::Run).await else {
        panic!()
    };
    assert!(
        text.contains("another process serves") && text.contains("try again later"),
        "{text}"
    );
    let other = world.open("other").await.placement();
    assert_eq!(other.tree, TreePlace::Local);
    assert!(other.note.unwrap().contains("another process serves"));
}

/// The bot's disk was replaced. A continuing run's tree is found on the resident.
#[tokio::test(flavor = "multi_thread")]
async fn tree_is_found_after_the_loss_of_notes() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    tree.write("notes.txt", b"unsaved\n").await.unwrap();
    let head = tree.head().await.unwrap();
    fs::remove_dir_all(world.folder.path().join("data/resident-threads")).unwrap();
    let repository = world.repository();
    assert_eq!(world.trees.repository_of(&thread("t")).await.unwrap(), None);
    assert!(
        !world
            .trees
            .find_elsewhere(&thread("unknown"), &repository)
            .await
            .unwrap()
    );
    assert!(
        world
            .trees
            .find_elsewhere(&thread("t"), &repository)
            .await
            .unwrap()
    );
    let found = world.again("t", OpenFor::Resume).await.unwrap();
    assert_eq!(
        (
            found.head().await.unwrap(),
            found.read("notes.txt", 99).await.unwrap().1
        ),
        (head, 8)
    );
    assert!(found.diff().await.unwrap().contains("+unsaved"));
}

#[tokio::test(flavor = "multi_thread")]
async fn thread_keeps_its_repository() {
    let world = World::new();
    world.onboard().await;
    world.open("t").await;
    let other = Repository {
        name: "acme/app".to_owned(),
        origin: "/elsewhere".to_owned(),
    };
    let thread = thread("t");
    let request = ars_bot_ports::WorkspaceRequest {
        thread: &thread,
        repository: Some(&other),
        purpose: OpenFor::Run,
        ..ars_bot_ports::WorkspaceRequest::for_thread(&thread)
    };
    let opened = world
        .trees
        .open(request, &tokio_util::sync::CancellationToken::new())
        .await;
    assert!(matches!(opened, Err(WorkspaceError::Refused(_))));
}
