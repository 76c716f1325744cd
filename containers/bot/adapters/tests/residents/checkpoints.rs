//! Checkpoints for resident trees, and trees that are recreated from them.

use ars_bot_ports::{OpenFor, Release, Workspace, WorkspaceError, WorkspaceProvider as _};
use ars_codehost::diff::Commit;
use ars_resident::{
    names::{Resource, StrictThreadKey},
    pool::POOL_USERS_MAX,
    wire::DetachRequest,
};
use ars_types::{RefName, RunId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{RESOURCE, World, exec, thread};

const STATUS: &str = "git status --short && git log --format=%s -2";

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

/// Makes a commit, a staged change, an unstaged change and a new file.
async fn work(tree: &dyn Workspace) {
    let script = "echo four >> src/lib.txt && git commit -qam four && echo five >> src/lib.txt && \
                  git add . && echo six >> run.sh && mkdir new && echo seven > new/file";
    assert_eq!(exec(tree, script).await.exit_code, 0);
}

async fn save(tree: &dyn Workspace, name: &str) -> Option<(String, bool)> {
    let saved = tree
        .checkpoint(&run(name), &CancellationToken::new())
        .await
        .unwrap();
    saved.map(|saved| (saved.git_ref, saved.is_new))
}

impl World {
    /// Removes a thread's tree on the resident without informing the bot, as losing a container does.
    pub(crate) async fn lose_tree(&self, name: &str) {
        let (resource, thread_key) = (
            Resource::parse(RESOURCE).unwrap(),
            StrictThreadKey::from_thread_key(&thread(name)),
        );
        let request = DetachRequest {
            resource,
            thread_key,
            force: true,
        };
        let answer = self
            .residents
            .detach(&request, &CancellationToken::new())
            .await
            .unwrap();
        assert!(answer.released, "{answer:?}");
    }
}

/// The run continues in another process with the checkpoint's files, and not with later files.
#[tokio::test(flavor = "multi_thread")]
async fn lost_tree_is_made_again_from_its_checkpoint() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    assert_eq!(
        save(&*tree, "run-1").await,
        None,
        "there is nothing to save"
    );
    work(&*tree).await;
    let expected = (
        " M run.sh\nM  src/lib.txt\n?? new/\nfour\nfirst\n",
        "refs/ars/run-1/1".to_owned(),
    );
    assert_eq!(exec(&*tree, STATUS).await.output, expected.0);
    assert_eq!(
        save(&*tree, "run-1").await,
        Some((expected.1.clone(), true))
    );
    assert_eq!(
        save(&*tree, "run-1").await,
        Some((expected.1.clone(), false))
    );
    assert_eq!(
        exec(&*tree, STATUS).await.output,
        expected.0,
        "a checkpoint changes nothing"
    );
    exec(&*tree, "echo later > later").await;
    world.lose_tree("t").await;
    drop(tree);

    let world = world.restarted();
    let again = world.again("t", OpenFor::Resume).await.unwrap();
    assert_eq!(again.restored_from(), Some(&*expected.1));
    let note = again.placement().note.unwrap();
    assert!(
        note.contains("refs/ars/run-1/1@") && note.contains("not on the resident any more"),
        "{note}"
    );
    // Nothing is staged any more.
    let status = " M run.sh\n M src/lib.txt\n?? new/\nfour\nfirst\n";
    assert_eq!(exec(&*again, STATUS).await.output, status);
    assert_eq!(
        exec(&*again, "tail -qn1 src/lib.txt new/file").await.output,
        "five\nseven\n"
    );
    assert!(
        again.diff().await.unwrap().contains("+four"),
        "the diff begins where the thread did"
    );
    // Work that was restored stays with the tree.
    again.release(Release::Ended).await;
    let tree = world.again("t", OpenFor::Run).await.unwrap();
    assert_eq!(
        (
            exec(&*tree, STATUS).await.output.as_str(),
            tree.restored_from()
        ),
        (status, None)
    );
}

/// A command finds the last checkpoint's tree, and its output names the checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn tree_lost_during_a_run_is_restored_for_its_next_command() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    work(&*tree).await;
    save(&*tree, "run-1").await;
    world.lose_tree("t").await;
    let ended = exec(&*tree, "cat new/file").await;
    assert!(ended.output.ends_with("seven\n"), "{}", ended.output);
    assert!(
        ended.output.contains("made again at refs/ars/run-1/1@"),
        "{}",
        ended.output
    );
}

/// Without unsaved work the checkpoint no longer counts, and without a push the run cannot continue.
#[tokio::test(flavor = "multi_thread")]
async fn lost_tree_without_a_checkpoint_ends_its_run() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    work(&*tree).await;
    save(&*tree, "run-1").await;
    exec(&*tree, "git reset -q --hard HEAD~1 && git clean -fdq").await;
    assert_eq!(save(&*tree, "run-1").await, None);
    world.lose_tree("t").await;
    let refused = world.again("t", OpenFor::Resume).await.err();
    assert!(
        matches!(&refused, Some(WorkspaceError::Infra(text)) if text.contains("not on its resident")),
        "{refused:?}"
    );
}

/// After a push, unsaved files come from the checkpoint and commits from the code host.
#[tokio::test(flavor = "multi_thread")]
async fn lost_tree_is_made_again_from_its_push() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    work(&*tree).await;
    save(&*tree, "run-1").await;
    let head = Commit::parse(&tree.head().await.unwrap().unwrap()).unwrap();
    let never = CancellationToken::new();
    tree.push(&head, &RefName::parse("ars/run-1/work").unwrap(), &never)
        .await
        .unwrap();
    world.lose_tree("t").await;
    let again = world.again("t", OpenFor::Resume).await.unwrap();
    assert_eq!(
        exec(&*again, "cat new/file; git log --format=%s -1")
            .await
            .output,
        "seven\nfour\n"
    );

    exec(&*again, "git reset -q --hard && git clean -fdq").await;
    assert_eq!(
        save(&*again, "run-1").await,
        None,
        "the code host has everything"
    );
    world.lose_tree("t").await;
    let again = world.again("t", OpenFor::Resume).await.unwrap();
    assert_eq!(
        exec(&*again, "ls; git log --format=%s -1").await.output,
        "run.sh\nsrc\nfour\n"
    );
}

/// A resident without a free user rejects the thread, and a later attach restores the checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn rejected_attach_does_not_abandon_saved_work() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    work(&*tree).await;
    save(&*tree, "run-1").await;
    world.lose_tree("t").await;
    let never = CancellationToken::new();
    for number in 0..POOL_USERS_MAX {
        let thread = format!("load:{number}");
        let request = json!({ "resource": RESOURCE, "threadKey": thread, "refHint": "main" });
        world
            .residents
            .attach(&serde_json::from_value(request).unwrap(), &never)
            .await
            .unwrap();
    }
    let rejected = world.again("t", OpenFor::Run).await.err();
    assert!(
        matches!(&rejected, Some(WorkspaceError::Infra(text)) if text.contains("try again later")),
        "{rejected:?}"
    );
    let request = json!({ "resource": RESOURCE, "threadKey": "load:0", "force": true });
    world
        .residents
        .detach(&serde_json::from_value(request).unwrap(), &never)
        .await
        .unwrap();
    let again = world.again("t", OpenFor::Run).await.unwrap();
    assert_eq!(again.restored_from(), Some("refs/ars/run-1/1"));
}

/// An earlier run's checkpoint is refused over unsaved work, and restored after the tree's release.
#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_of_a_finished_run_is_restored() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    work(&*tree).await;
    save(&*tree, "run-1").await;
    let never = CancellationToken::new();
    let restore = async |name: &str| world.trees.restore(&thread("t"), &run(name), &never).await;
    let refused = restore("run-1").await;
    assert!(
        matches!(&refused, Err(WorkspaceError::Refused(text)) if text.contains("unsaved work")),
        "{refused:?}"
    );
    exec(&*tree, "git reset -q --hard HEAD~1 && git clean -fdq").await;
    assert_eq!(save(&*tree, "run-2").await, None);
    tree.release(Release::Ended).await;
    assert!(matches!(
        restore("run-2").await,
        Err(WorkspaceError::NotFound(_))
    ));
    let restored = restore("run-1").await.unwrap();
    assert_eq!(restored.git_ref, "refs/ars/run-1/1");
    let again = world.again("t", OpenFor::Run).await.unwrap();
    assert_eq!(
        exec(&*again, "cat new/file; git log --format=%s -1")
            .await
            .output,
        "seven\nfour\n"
    );
}
