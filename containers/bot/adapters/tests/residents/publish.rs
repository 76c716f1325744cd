//! Pushes from a resident tree, and pull request heads in it.

use ars_bot_ports::{
    OpenFor, PushOutcome, Release, Workspace, WorkspaceError, WorkspaceProvider as _,
};
use ars_codehost::diff::Commit;
use ars_types::{RefName, RunId};
use tokio_util::sync::CancellationToken;

use crate::support::{World, exec, git, thread};

const BRANCH: &str = "ars/run-1/work";

async fn commit(tree: &dyn Workspace, text: &str) -> Commit {
    let command = format!("echo {text} >> src/lib.txt && git commit -qam {text}");
    assert_eq!(exec(tree, &command).await.exit_code, 0);
    Commit::parse(&tree.head().await.unwrap().unwrap()).unwrap()
}

async fn push(
    tree: &dyn Workspace,
    commit: &Commit,
    branch: &str,
) -> Result<PushOutcome, WorkspaceError> {
    tree.push(
        commit,
        &RefName::parse(branch).unwrap(),
        &CancellationToken::new(),
    )
    .await
}

fn at_origin(world: &World, arguments: &[&str]) -> String {
    git(&world.folder.path().join("origin.git"), arguments)
}

/// The pushed tree is released, and the next run continues at that commit, also in another process.
#[tokio::test(flavor = "multi_thread")]
async fn new_tree_continues_at_the_pushed_commit() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    assert_eq!(tree.origin(), Some(&*world.repository().origin));
    let base = tree.head().await.unwrap();
    let first = commit(&*tree, "four").await;
    for refused in ["main", "feature/ars/run-1", "ars/a.b"] {
        assert!(
            matches!(
                push(&*tree, &first, refused).await,
                Err(WorkspaceError::Refused(_))
            ),
            "{refused}"
        );
    }
    assert_eq!(tree.pushed_branch().await, None);
    assert_eq!(push(&*tree, &first, BRANCH).await, Ok(PushOutcome::Pushed));
    // A repetition changes nothing.
    assert_eq!(push(&*tree, &first, BRANCH).await, Ok(PushOutcome::Pushed));
    assert_eq!(at_origin(&world, &["rev-parse", BRANCH]), first.as_str());
    tree.release(Release::Ended).await;
    drop(tree);

    let world = world.restarted();
    let again = world.again("t", OpenFor::Run).await.unwrap();
    assert_eq!(again.head().await.unwrap().as_deref(), Some(first.as_str()));
    assert_eq!(again.pushed_branch().await.unwrap().as_str(), BRANCH);
    let note = again.placement().note.unwrap();
    assert!(
        note.contains(&format!("{BRANCH}@{}", &first.as_str()[..7])),
        "{note}"
    );
    assert!(
        again.diff().await.unwrap().contains("+four"),
        "the diff begins where the thread did"
    );
    assert_eq!(
        exec(&*again, "git rev-parse main~1").await.output.trim(),
        base.unwrap()
    );
    let second = commit(&*again, "five").await;
    assert_eq!(
        push(&*again, &second, BRANCH).await,
        Ok(PushOutcome::Pushed)
    );
    // Another history on the branch is not overwritten.
    let other = exec(
        &*again,
        "git commit -q --amend -m other && git rev-parse HEAD",
    )
    .await
    .output;
    let rejected = push(&*again, &Commit::parse(other.trim()).unwrap(), BRANCH).await;
    assert!(
        matches!(&rejected, Ok(PushOutcome::Rejected(words)) if words.contains("rejected")),
        "{rejected:?}"
    );
    assert_eq!(at_origin(&world, &["rev-parse", BRANCH]), second.as_str());
}

/// The branch was merged and deleted, so the next tree begins at the default branch.
#[tokio::test(flavor = "multi_thread")]
async fn deleted_branch_is_forgotten() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    let first = commit(&*tree, "four").await;
    assert_eq!(push(&*tree, &first, BRANCH).await, Ok(PushOutcome::Pushed));
    tree.release(Release::Ended).await;
    at_origin(
        &world,
        &["update-ref", "-d", &format!("refs/heads/{BRANCH}")],
    );
    // The mirror learns it from the next fetch, which attaching an unknown branch makes.
    world.attach_unknown_branch().await;
    let again = world.again("t", OpenFor::Run).await.unwrap();
    assert_eq!(again.pushed_branch().await, None);
    assert_eq!(
        again.head().await.unwrap().unwrap(),
        at_origin(&world, &["rev-parse", "main"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn head_of_a_pull_request_is_checked_out() {
    let world = World::new();
    world.onboard().await;
    let source = world.folder.path().join("source");
    git(&source, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    git(
        &source,
        &["push", "-q", "../origin.git", "HEAD:refs/pull/7/head"],
    );
    let head = Commit::parse(&git(&source, &["rev-parse", "HEAD"])).unwrap();
    let tree = world.open("t").await;
    let never = CancellationToken::new();
    tree.check_out(7, &head, &never).await.unwrap();
    assert_eq!(tree.head().await.unwrap().as_deref(), Some(head.as_str()));
    // The commit belongs to this pull request only.
    for (number, commit) in [(8, &head), (7, &Commit::parse(&"a".repeat(40)).unwrap())] {
        let refused = tree.check_out(number, commit, &never).await;
        assert!(
            matches!(&refused, Err(WorkspaceError::Refused(text)) if text.contains("no commit")),
            "{refused:?}"
        );
    }
    // A tree without a branch is found by a run that continues elsewhere.
    std::fs::remove_dir_all(world.folder.path().join("data/resident-threads")).unwrap();
    assert!(
        world
            .trees
            .find_elsewhere(&thread("t"), &world.repository())
            .await
            .unwrap()
    );
    tree.release(Release::Ended).await;
    let list = world.residents.list(&never).await.unwrap();
    let list = serde_json::to_value(&list.residents[0]).unwrap();
    assert_eq!(list["live"]["threads"][0]["evicted"], true, "{list:#}");
}

/// A review gets a tree without a token. The thread's next change gets a writable tree with the
/// same work, also in a process without the note about it.
#[tokio::test(flavor = "multi_thread")]
async fn reading_agent_gets_a_read_only_tree() {
    let world = World::new();
    world.onboard().await;
    let never = CancellationToken::new();
    let origin = "git remote get-url origin";
    let run = RunId::parse("run-0").unwrap();
    let mut heads = Vec::new();
    for name in ["noted", "unnoted"] {
        let tree = world.open_to_read(name).await;
        let mirror = exec(&*tree, origin).await.output;
        assert!(mirror.trim().ends_with("/mirror"), "{mirror}");
        // Not the same commit in both threads, because a commit on the code host needs no
        // checkpoint.
        let head = commit(&*tree, name).await;
        let refused = push(&*tree, &head, BRANCH).await;
        assert!(
            matches!(&refused, Err(WorkspaceError::Refused(text)) if text.contains("read-only")),
            "{refused:?}"
        );
        tree.checkpoint(&run, &never).await.unwrap().unwrap();
        tree.release(Release::Ended).await;
        heads.push(head);
        if name == "noted" {
            let again = world.again(name, OpenFor::Run).await.unwrap();
            assert_eq!(
                exec(&*again, origin).await.output.trim(),
                world.repository().origin
            );
            assert_eq!(again.restored_from(), Some("refs/ars/run-0/1"));
            assert_eq!(
                again.head().await.unwrap().as_deref(),
                Some(heads[0].as_str())
            );
            assert_eq!(
                push(&*again, &heads[0], BRANCH).await,
                Ok(PushOutcome::Pushed)
            );
            again.release(Release::Ended).await;
            // A read-only tree gets the thread's work too.
            let read = world.open_to_read(name).await;
            assert_eq!(
                read.head().await.unwrap().as_deref(),
                Some(heads[0].as_str())
            );
        }
    }
    std::fs::remove_dir_all(world.folder.path().join("data/resident-threads")).unwrap();
    assert!(
        world
            .trees
            .find_elsewhere(&thread("unnoted"), &world.repository())
            .await
            .unwrap()
    );
    let again = world.again("unnoted", OpenFor::Run).await.unwrap();
    assert_eq!(
        exec(&*again, origin).await.output.trim(),
        world.repository().origin
    );
}
