//! Tests checkpoints and trees that are made from them, on real git repositories.

use std::{
    collections::HashSet,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, SystemTime},
};

use ars_bot_ports::{
    Checkpoint, OpenFor, Repository, Workspace, WorkspaceError, WorkspaceProvider as _,
    WorkspaceRequest,
};
use ars_types::{RunId, SandboxNetwork};
use tokio_util::sync::CancellationToken;

use crate::{
    sandbox,
    support::{World, must, thread, world},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

/// Saves a tree as a run's.
async fn save(workspace: &dyn Workspace, name: &str) -> Option<Checkpoint> {
    workspace
        .checkpoint(&run(name), &CancellationToken::new())
        .await
        .unwrap()
}

/// Returns git's output in a repository.
fn output(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl World {
    /// Returns the only mirror.
    fn mirror(&self) -> PathBuf {
        let mut mirrors = fs::read_dir(self.folder.path().join("data/mirrors")).unwrap();
        let mirror = mirrors.next().unwrap().unwrap().path();
        assert!(
            mirrors.next().is_none(),
            "threads of one origin share their mirror"
        );
        mirror
    }

    /// Changes the index, so that the next checkpoint makes a pack.
    fn touch_index(&self) {
        File::open(self.tree().join(".git/index"))
            .unwrap()
            .set_modified(SystemTime::now())
            .unwrap();
    }

    /// Returns the mirror's packs, and the objects outside them.
    fn objects(&self) -> (usize, usize) {
        let objects = self.mirror().join("objects");
        let count = |folder: &Path| fs::read_dir(folder).unwrap().count();
        let folders = fs::read_dir(&objects)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let is_loose = |folder: &PathBuf| folder.file_name().unwrap().len() == 2;
        let loose = folders.filter(is_loose).map(|folder| count(&folder)).sum();
        let packs = fs::read_dir(objects.join("pack"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let packs = packs.filter(|path| path.extension().is_some_and(|kind| kind == "pack"));
        (packs.count(), loose)
    }

    /// Removes the tree, home and temporary files, as a lost disk does.
    fn lose(&self) {
        fs::remove_dir_all(self.tree().parent().unwrap()).unwrap();
    }

    /// Opens the thread's tree for a run that continues.
    async fn resumed(&self) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let thread = thread("t");
        let request = WorkspaceRequest {
            purpose: OpenFor::Resume,
            ..WorkspaceRequest::for_thread(&thread)
        };
        self.provider.open(request, &CancellationToken::new()).await
    }

    async fn restore(&self, name: &str) -> Result<Checkpoint, WorkspaceError> {
        self.provider
            .restore(&thread("t"), &run(name), &CancellationToken::new())
            .await
    }
}

#[tokio::test]
async fn checkpoint_has_all_files_and_no_secrets() {
    for kind in sandbox::kinds() {
        let (world, workspace) = sandbox::opened(kind, SandboxNetwork::Open).await;
        assert_eq!(save(&*workspace, "r").await, None, "a new tree has no work");
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let work = format!(
            "echo new > new.txt; echo x > ignored; echo staged >> src/lib.txt; git add src; echo more >> src/lib.txt; \
             echo {token} > token.txt; printf '\\377{token}' > binary; mkdir inner; git init -q inner; \
             git -C inner commit -q --allow-empty -m x; git status --porcelain > /dev/null"
        );
        must(&*workspace, &work).await;
        let before = fs::read(world.tree().join(".git/index")).unwrap();
        let saved = save(&*workspace, "r").await.unwrap();
        assert!(
            fs::read(world.tree().join(".git/index")).unwrap() == before,
            "the index changed"
        );
        assert_eq!(
            (saved.git_ref.as_str(), saved.is_new),
            ("refs/ars/r/1", true)
        );
        assert_eq!(
            saved.withheld,
            [
                "binary (left out)",
                "inner (a repository of its own)",
                "token.txt"
            ]
        );
        let mirror = world.mirror();
        let files = output(&mirror, &["ls-tree", "-r", "--name-only", &saved.commit]);
        assert_eq!(
            files.lines().collect::<Vec<_>>(),
            [".gitignore", "inner", "new.txt", "src/lib.txt", "token.txt"]
        );
        let lib = output(&mirror, &["show", "refs/ars/r/1:src/lib.txt"]);
        assert_eq!(lib, "one\ntwo\nthree\nstaged\nmore\n");
        // Also no object without a name has the secret.
        let objects = output(&mirror, &["cat-file", "--batch-all-objects", "--batch"]);
        assert!(!objects.contains(&token));
        assert_eq!(
            save(&*workspace, "r").await.unwrap(),
            Checkpoint {
                is_new: false,
                ..saved.clone()
            }
        );
        let again = save(&*workspace, "later").await.unwrap();
        assert_eq!(
            (again.git_ref.as_str(), &again.commit),
            ("refs/ars/later/1", &saved.commit)
        );
        output(&mirror, &["fsck", "--strict", "--no-dangling"]);
    }
}

/// Git compares no file with these flags, so that their changes are in no status.
#[tokio::test]
async fn checkpoint_has_changes_that_the_index_hides() {
    for kind in sandbox::kinds() {
        let (world, workspace) = sandbox::opened(kind, SandboxNetwork::Open).await;
        let work = "touch 'a \"b' c d far; git add .; git commit -qm files; \
                    git update-index --assume-unchanged src/lib.txt 'a \"b' d; \
                    git update-index --skip-worktree src/lib.txt c far; \
                    rm d far; for file in src/lib.txt 'a \"b' c; do echo hidden > \"$file\"; done";
        must(&*workspace, work).await;
        let saved = save(&*workspace, "r").await.unwrap();
        let show = |commit: &str, path: &str| {
            output(&world.mirror(), &["show", &format!("{commit}:{path}")])
        };
        for path in ["src/lib.txt", "a \"b", "c"] {
            assert_eq!(show(&saved.commit, path), "hidden\n", "{path}");
        }
        let files = |saved: &Checkpoint| {
            output(
                &world.mirror(),
                &["ls-tree", "-r", "--name-only", "-z", &saved.commit],
            )
        };
        assert_eq!(
            files(&saved),
            ".gitignore\0a \"b\0c\0far\0src/lib.txt\0",
            "only d was deleted"
        );
        // Also a later checkpoint, and a file in a sparse tree that appears again.
        for (path, text) in [("c", "again\n"), ("far", "near\n")] {
            fs::write(world.tree().join(path), text).unwrap();
            let saved = save(&*workspace, "r").await.unwrap();
            assert_eq!(show(&saved.commit, path), text);
        }
    }
}

/// Git skips a folder that it may not read, as if the files were deleted.
#[tokio::test]
async fn checkpoint_diff_and_list_have_what_a_command_made_unreadable() {
    let world = world();
    let workspace = world.open().await;
    for name in ["first", "later"] {
        let work = format!("mkdir -p {name}/in && echo x > {name}/in/file && echo y > {name}/own");
        must(
            &*workspace,
            &format!("{work} && chmod 000 {name}/own {name}/in"),
        )
        .await;
        let saved = save(&*workspace, "r").await.unwrap();
        let files = output(
            &world.mirror(),
            &["ls-tree", "-r", "--name-only", &saved.commit, "--", name],
        );
        assert_eq!(files, format!("{name}/in/file\n{name}/own\n"));
        assert_eq!(saved.withheld, [""; 0]);
    }
    for read in ["diff", "list"] {
        must(&*workspace, "chmod 000 first/in").await;
        let has_file = match read {
            "diff" => workspace.diff().await.unwrap().contains("first/in/file"),
            _ => workspace
                .list(".", 99)
                .await
                .unwrap()
                .0
                .iter()
                .any(|entry| entry.path == "first/in/file"),
        };
        assert!(has_file, "{read}");
    }
}

#[tokio::test]
async fn programs_of_the_tree_are_not_run() {
    let world = world();
    let workspace = world.open().await;
    let work = "printf '#!/bin/sh\\ntouch ran; cat' > evil; chmod +x evil; echo '* filter=evil' > .gitattributes; \
                git config filter.evil.clean \"$PWD/evil\"; git config filter.evil.required true; \
                git config core.fsmonitor \"$PWD/evil\"; git config core.hooksPath \"$PWD\"; cp evil post-index-change";
    must(&*workspace, work).await;
    let saved = save(&*workspace, "r").await.unwrap();
    assert!(!world.tree().join("ran").exists());
    assert!(
        output(
            &world.mirror(),
            &["show", &format!("{}:evil", saved.commit)]
        )
        .contains("touch ran")
    );
}

#[tokio::test]
async fn damaged_index_is_made_again() {
    let world = world();
    let workspace = world.open().await;
    must(&*workspace, "echo new > new.txt; echo damaged > .git/index").await;
    let saved = save(&*workspace, "r").await.unwrap();
    let files = output(
        &world.mirror(),
        &["ls-tree", "-r", "--name-only", &saved.commit],
    );
    assert!(
        files.contains("new.txt") && files.contains("src/lib.txt"),
        "{files}"
    );
    assert_eq!(
        fs::read_to_string(world.tree().join(".git/index")).unwrap(),
        "damaged\n"
    );
}

#[tokio::test]
async fn lost_tree_is_made_again_from_its_checkpoint() {
    let world = world();
    let workspace = world.open().await;
    assert_eq!(workspace.restored_from(), None);
    let work = "git checkout -q -b mine; echo c > committed; git add .; git commit -qm mine; \
                git branch other HEAD~; git checkout -q other; echo o > o; git add .; git commit -qm other; \
                git checkout -q mine; echo 1 > src/lib.txt; git stash -q; echo 2 > src/lib.txt; git stash -q; \
                echo new > new.txt; rm .gitignore; echo staged >> src/lib.txt; git add src";
    must(&*workspace, work).await;
    let saved = save(&*workspace, "r").await.unwrap();
    let head = workspace.head().await.unwrap();
    drop(workspace);
    world.lose();
    let view = thread("t");
    let viewed = world
        .provider
        .open(
            WorkspaceRequest::for_thread(&view),
            &CancellationToken::new(),
        )
        .await;
    assert!(
        matches!(viewed, Err(WorkspaceError::NotFound(_))),
        "a viewer makes no tree"
    );
    // The origin is gone too.
    fs::rename(
        world.folder.path().join("origin"),
        world.folder.path().join("moved"),
    )
    .unwrap();
    let workspace = world.resumed().await.unwrap();
    assert_eq!(workspace.restored_from(), Some("refs/ars/r/1"));
    assert_eq!(
        (workspace.head().await.unwrap(), workspace.is_cloned_again()),
        (head, false)
    );
    let shown = must(
        &*workspace,
        "git symbolic-ref HEAD; git status --porcelain; cat new.txt; git show other:o; git stash list | wc -l; \
         git show stash@{0}:src/lib.txt; git show stash@{1}:src/lib.txt; git remote",
    )
    .await;
    let expected =
        "refs/heads/mine\n D .gitignore\n M src/lib.txt\n?? new.txt\nnew\no\n2\n2\n1\norigin\n";
    assert_eq!(shown, expected);
    assert_eq!(
        save(&*workspace, "r").await,
        Some(Checkpoint {
            is_new: false,
            ..saved
        }),
        "unchanged"
    );
    drop(workspace);
    assert_eq!(
        world.resumed().await.unwrap().restored_from(),
        None,
        "the tree is there"
    );
}

#[tokio::test]
async fn next_message_continues_from_the_checkpoint() {
    let world = world();
    let origin = world.origin();
    let workspace = world.open_from("t", &origin).await.unwrap();
    must(&*workspace, "echo new > new.txt").await;
    save(&*workspace, "r").await.unwrap();
    drop(workspace);
    world.lose();
    // The request names the repository, or the plan has checked the thread's own.
    let thread = thread("t");
    let own = Repository {
        name: "acme/app".into(),
        origin: origin.display().to_string(),
    };
    let request = WorkspaceRequest {
        purpose: OpenFor::Run,
        ..WorkspaceRequest::for_thread(&thread)
    };
    let never = CancellationToken::new();
    assert!(
        world.provider.open(request, &never).await.is_err(),
        "no repository was authorized"
    );
    let request = WorkspaceRequest {
        own: Some(&own),
        ..request
    };
    let workspace = world.provider.open(request, &never).await.unwrap();
    assert_eq!(
        must(&*workspace, "cat new.txt; git rev-parse --abbrev-ref @{u}").await,
        "new\norigin/main\n"
    );
}

#[tokio::test]
async fn evicted_tree_continues_where_it_was() {
    let world = world();
    let origin = world.origin();
    let workspace = world.open_from("t", &origin).await.unwrap();
    must(&*workspace, "echo new > new.txt").await;
    save(&*workspace, "r").await.unwrap();
    must(
        &*workspace,
        "rm new.txt; git checkout -q -b topic origin/topic",
    )
    .await;
    drop(workspace);
    let place = world.tree().parent().unwrap().to_path_buf();
    File::open(&place)
        .unwrap()
        .set_modified(SystemTime::now() - DAY)
        .unwrap();
    let usage = world.provider.measure().await.unwrap();
    let evicted = world
        .provider
        .evict(usage, &HashSet::new(), 0)
        .await
        .unwrap();
    assert_eq!((evicted.count, place.exists()), (1, false), "{evicted:?}");
    let thread = thread("t");
    let own = Repository {
        name: "acme/app".into(),
        origin: origin.display().to_string(),
    };
    let request = WorkspaceRequest {
        purpose: OpenFor::Run,
        own: Some(&own),
        ..WorkspaceRequest::for_thread(&thread)
    };
    let workspace = world
        .provider
        .open(request, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        must(&*workspace, "git symbolic-ref HEAD; git status --porcelain").await,
        "refs/heads/topic\n"
    );
    assert_eq!(
        (workspace.restored_from(), workspace.is_cloned_again()),
        (Some("refs/ars/r/2"), false)
    );
}

#[tokio::test]
async fn restore_replaces_no_work() {
    let world = world();
    let workspace = world.open().await;
    must(&*workspace, "echo one > new.txt").await;
    save(&*workspace, "r").await.unwrap();
    assert!(matches!(
        world.restore("unknown").await,
        Err(WorkspaceError::NotFound(_))
    ));
    let refused =
        |result| matches!(result, Err(WorkspaceError::Refused(text)) if text.contains("in use"));
    assert!(refused(world.restore("r").await));
    drop(workspace);
    let Err(WorkspaceError::Refused(text)) = world.restore("r").await else {
        panic!()
    };
    assert!(text.contains("unsaved work"), "{text}");
    fs::remove_file(world.tree().join("new.txt")).unwrap();
    let restored = world.restore("r").await.unwrap();
    assert_eq!(
        (restored.git_ref.as_str(), restored.is_new),
        ("refs/ars/r/1", false)
    );
    assert_eq!(
        fs::read_to_string(world.tree().join("new.txt")).unwrap(),
        "one\n"
    );
    assert_eq!(world.places().len(), 1, "the former tree is removed");
    world.lose();
    world.restore("r").await.unwrap();
    assert_eq!(
        fs::read_to_string(world.tree().join("new.txt")).unwrap(),
        "one\n"
    );
}

#[tokio::test]
async fn old_checkpoints_and_their_objects_are_removed() {
    let world = world();
    let workspace = world.open().await;
    for number in 0..34 {
        fs::write(world.tree().join("new.txt"), format!("{number}\n")).unwrap();
        world.touch_index();
        save(&*workspace, "r").await.unwrap();
    }
    let mirror = world.mirror();
    let refs = || {
        output(
            &mirror,
            &["for-each-ref", "--format=%(refname)", "refs/ars"],
        )
    };
    assert_eq!(refs().lines().count(), 32, "{}", refs());
    assert!(!refs().contains("refs/ars/r/2\n") && refs().contains("refs/ars/r/34"));
    for number in 0..32 {
        fs::write(world.tree().join("new.txt"), format!("kept {number}\n")).unwrap();
        world.touch_index();
        save(&*workspace, "kept").await.unwrap();
    }
    for entry in fs::read_dir(mirror.join("refs/ars/r")).unwrap() {
        File::open(entry.unwrap().path())
            .unwrap()
            .set_modified(SystemTime::now() - DAY * 31)
            .unwrap();
    }
    let packs = || fs::read_dir(mirror.join("objects/pack")).unwrap().count();
    assert!(packs() > 64 * 2, "{}", packs());
    world.provider.measure().await.unwrap();
    assert_eq!(
        (refs().lines().count(), refs().contains("refs/ars/r/")),
        (32, false)
    );
    assert!(packs() < 5, "{}", packs());
    output(&mirror, &["fsck", "--strict", "--no-dangling"]);
    drop(workspace);
    world.lose();
    world.resumed().await.unwrap();
    assert_eq!(
        fs::read_to_string(world.tree().join("new.txt")).unwrap(),
        "kept 31\n"
    );
}

/// Gives a file an old time, because git reads files that are as new as its index again.
fn make_old(file: &Path) {
    let at = SystemTime::now() - Duration::from_secs(60);
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(at)
        .unwrap();
}

/// Only the run's first checkpoint makes a pack.
#[tokio::test]
async fn later_checkpoints_save_what_changed() {
    for kind in sandbox::kinds() {
        let (world, workspace) = sandbox::opened(kind, SandboxNetwork::Open).await;
        let write = |name: &str, text: &str| fs::write(world.tree().join(name), text).unwrap();
        write("new.txt", "1\n");
        ["new.txt", ".gitignore", "src/lib.txt"]
            .iter()
            .for_each(|name| make_old(&world.tree().join(name)));
        let first = save(&*workspace, "r").await.unwrap();
        assert_eq!(world.objects(), (1, 0));
        assert_eq!(
            save(&*workspace, "r").await.unwrap(),
            Checkpoint {
                is_new: false,
                ..first.clone()
            }
        );
        fs::create_dir(world.tree().join("docs")).unwrap();
        write("docs/a.txt", "only here\n");
        write("new.txt", "2\n");
        fs::remove_file(world.tree().join("src/lib.txt")).unwrap();
        let second = save(&*workspace, "r").await.unwrap();
        assert_eq!(
            (second.git_ref.as_str(), second.is_new),
            ("refs/ars/r/2", true)
        );
        // Two files, the folder, the root and the commit.
        assert_eq!(world.objects(), (1, 5));
        let mirror = world.mirror();
        let parents = |commit: &str| output(&mirror, &["log", "-1", "--format=%P%n%B", commit]);
        assert_eq!(parents(&first.commit), parents(&second.commit));
        let files = output(&mirror, &["ls-tree", "-r", "--name-only", &second.commit]);
        assert_eq!(files, ".gitignore\ndocs/a.txt\nnew.txt\n");
        assert_eq!(output(&mirror, &["show", "refs/ars/r/2:new.txt"]), "2\n");
        assert_eq!(
            save(&*workspace, "r").await.unwrap(),
            Checkpoint {
                is_new: false,
                ..second.clone()
            }
        );
        // A file that has the former content again, and another run.
        write("new.txt", "1\n");
        let third = save(&*workspace, "later").await.unwrap();
        assert_eq!(
            (third.git_ref.as_str(), third.is_new),
            ("refs/ars/later/1", true)
        );
        assert_eq!(
            output(&mirror, &["show", &format!("{}:new.txt", third.commit)]),
            "1\n"
        );
        output(&mirror, &["fsck", "--strict", "--no-dangling"]);
        drop(workspace);
        world.lose();
        world.resumed().await.unwrap();
        assert_eq!(
            fs::read_to_string(world.tree().join("docs/a.txt")).unwrap(),
            "only here\n"
        );
    }
}

#[tokio::test]
async fn secret_of_a_later_checkpoint_is_left_out() {
    let world = world();
    let workspace = world.open().await;
    let token = format!("ghp_{}", "a1B2".repeat(9));
    fs::write(world.tree().join("new.txt"), "1\n").unwrap();
    save(&*workspace, "r").await.unwrap();
    fs::write(world.tree().join("token.txt"), &token).unwrap();
    let saved = save(&*workspace, "r").await.unwrap();
    assert_eq!(saved.withheld, ["token.txt"]);
    fs::write(world.tree().join("new.txt"), "2\n").unwrap();
    let saved = save(&*workspace, "r").await.unwrap();
    assert_eq!(saved.withheld, ["token.txt"], "it is left out again");
    let mirror = world.mirror();
    assert_eq!(
        output(&mirror, &["show", &format!("{}:new.txt", saved.commit)]),
        "2\n"
    );
    assert!(!output(&mirror, &["cat-file", "--batch-all-objects", "--batch"]).contains(&token));
}

/// The last checkpoint's index does not hide git's work in the tree.
#[tokio::test]
async fn later_checkpoint_follows_refs_and_ignored_files() {
    let world = world();
    let workspace = world.open().await;
    let files = |saved: &Checkpoint| {
        let files = output(
            &world.mirror(),
            &["ls-tree", "-r", "--name-only", &saved.commit],
        );
        files.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    must(
        &*workspace,
        "mkdir out; echo 1 > out/made; echo 1 > new.txt",
    )
    .await;
    let first = save(&*workspace, "r").await.unwrap();
    assert!(files(&first).contains(&"out/made".to_owned()));
    // A folder that ignores itself.
    must(&*workspace, "echo '*' > out/.gitignore").await;
    let ignored = save(&*workspace, "r").await.unwrap();
    assert_eq!(files(&ignored), [".gitignore", "new.txt", "src/lib.txt"]);
    must(
        &*workspace,
        "echo x > kept; git add -f out/made; git branch other",
    )
    .await;
    let forced = save(&*workspace, "r").await.unwrap();
    assert!(
        files(&forced).contains(&"out/made".to_owned()),
        "{:?}",
        files(&forced)
    );
    must(&*workspace, "git commit -qm work").await;
    let committed = save(&*workspace, "r").await.unwrap();
    let parent = output(
        &world.mirror(),
        &["log", "-1", "--format=%P", &committed.commit],
    );
    assert_eq!(
        Some(parent.trim()),
        workspace.head().await.unwrap().as_deref()
    );
    must(&*workspace, "git stash -qu").await;
    let stashed = save(&*workspace, "r").await.unwrap();
    let parents = output(
        &world.mirror(),
        &["log", "-1", "--format=%P", &stashed.commit],
    );
    assert_eq!(
        parents.split_whitespace().count(),
        2,
        "the stash is saved: {parents}"
    );
}

#[tokio::test]
async fn single_objects_are_joined() {
    let world = world();
    let workspace = world.open().await;
    [".gitignore", "src/lib.txt"]
        .iter()
        .for_each(|name| make_old(&world.tree().join(name)));
    for number in 0..3 {
        fs::write(world.tree().join("new.txt"), format!("{number}\n")).unwrap();
        save(&*workspace, "r").await.unwrap();
    }
    let mirror = world.mirror();
    // Objects from checkpoints that were removed.
    let folder = tempfile::tempdir().unwrap();
    let names: String = (0..2_000)
        .map(|number| {
            let place = folder.path().join(number.to_string());
            fs::write(&place, format!("old {number}")).unwrap();
            format!("{}\n", place.display())
        })
        .collect();
    fs::write(folder.path().join("names"), names).unwrap();
    let names = File::open(folder.path().join("names")).unwrap();
    let arguments = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
    let mut git = Command::new("git");
    git.arg("--git-dir")
        .arg(&mirror)
        .args(arguments)
        .stdin(names);
    assert!(git.output().unwrap().status.success());
    assert_eq!(world.objects(), (1, 2_006));
    world.provider.measure().await.unwrap();
    assert_eq!(world.objects(), (1, 0));
    output(&mirror, &["fsck", "--strict", "--no-dangling"]);
    fs::write(world.tree().join("new.txt"), "last\n").unwrap();
    save(&*workspace, "r").await.unwrap();
    drop(workspace);
    world.lose();
    world.resumed().await.unwrap();
    assert_eq!(
        fs::read_to_string(world.tree().join("new.txt")).unwrap(),
        "last\n"
    );
}

#[tokio::test]
async fn threads_share_the_history_of_their_origin() {
    let world = world();
    let origin = world.origin();
    for name in ["t", "u"] {
        let workspace = world.open_from(name, &origin).await.unwrap();
        must(&*workspace, &format!("echo {name} > new.txt")).await;
        save(&*workspace, name).await.unwrap();
    }
    let mirror = world.mirror();
    let packs = fs::read_dir(mirror.join("objects/pack"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let indexes = packs.filter(|path| path.extension().is_some_and(|kind| kind == "idx"));
    let objects = |index: PathBuf| {
        let listed = Command::new("git")
            .args(["show-index"])
            .stdin(File::open(index).unwrap())
            .output();
        String::from_utf8(listed.unwrap().stdout)
            .unwrap()
            .lines()
            .count()
    };
    let mut counts: Vec<usize> = indexes.map(objects).collect();
    counts.sort_unstable();
    assert_eq!(counts.len(), 2);
    // A commit, a tree and a file; the first pack has the commit before too.
    assert!(counts[0] == 3 && counts[1] > 5, "{counts:?}");
}
