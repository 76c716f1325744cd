//! Tests reading and writing, and every attempt to leave the tree.

use std::{
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ars_bot_ports::{Workspace, WorkspaceError};
use futures::future::join_all;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{CANARY, must, opened, text, until};

#[tokio::test]
async fn no_path_leads_out_of_the_tree() {
    let (world, workspace) = opened().await;
    let outside = world.folder.path().join("outside.txt");
    std::fs::write(&outside, "untouched").unwrap();
    let tree = world.tree();
    symlink(&outside, tree.join("link")).unwrap();
    symlink(world.folder.path(), tree.join("dir")).unwrap();
    symlink("../../../new.txt", tree.join("dangling")).unwrap();
    symlink("dir/outside.txt", tree.join("indirect")).unwrap();
    symlink("/proc/self/root", tree.join("magic")).unwrap();
    for path in "../../../outside.txt /etc/passwd link dir/outside.txt dir/new/deeper/file \
        src/../../../../outside.txt dangling indirect magic/etc/passwd .."
        .split(' ')
    {
        let read = workspace.read(path, 100).await;
        assert!(
            matches!(read, Err(WorkspaceError::PathEscape(_))),
            "{path}: {read:?}"
        );
        let written = workspace.write(path, b"owned").await;
        assert!(
            matches!(written, Err(WorkspaceError::PathEscape(_))),
            "{path}: {written:?}"
        );
        let listed = workspace.list(path, 10).await;
        assert!(
            matches!(listed, Err(WorkspaceError::PathEscape(_))),
            "{path}: {listed:?}"
        );
        let searched = workspace.search("untouched", path, 10).await;
        assert!(
            matches!(searched, Err(WorkspaceError::PathEscape(_))),
            "{path}: {searched:?}"
        );
    }
    assert!(
        workspace
            .search("untouched", ".", 10)
            .await
            .unwrap()
            .0
            .is_empty()
    );
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "untouched");
    let beside: Vec<_> = std::fs::read_dir(world.folder.path()).unwrap().collect();
    assert_eq!(beside.len(), 3, "{beside:?}");
}

#[tokio::test]
async fn inner_paths_are_followed_in_every_spelling() {
    let (world, workspace) = opened().await;
    let tree = world.tree().canonicalize().unwrap();
    let absolute = tree.join("src/lib.txt").display().to_string();
    symlink("src", tree.join("alias")).unwrap();
    for path in [
        "src/lib.txt",
        "./src//lib.txt",
        "src/../src/lib.txt",
        "alias/lib.txt",
        &absolute,
    ] {
        assert_eq!(
            text(&*workspace, path).await.unwrap(),
            "one\ntwo\nthree\n",
            "{path}"
        );
        workspace.write(path, b"one\ntwo\nthree\n").await.unwrap();
    }
    let inside_out = format!("{}/../../../etc/passwd", tree.display());
    assert!(matches!(
        workspace.read(&inside_out, 9).await,
        Err(WorkspaceError::PathEscape(_))
    ));
    let sibling = format!("{}-other/x", tree.display());
    assert!(matches!(
        workspace.read(&sibling, 9).await,
        Err(WorkspaceError::PathEscape(_))
    ));
}

#[tokio::test]
async fn names_and_contents_of_any_script_survive() {
    let (_world, workspace) = opened().await;
    for path in [
        "ünïcødé/файл 文件.txt",
        "a b/'q\"\\n.txt",
        "-rf",
        "$(touch x)",
        "new\nline",
    ] {
        workspace
            .write(path, "naïve 文字 🦀\n".as_bytes())
            .await
            .unwrap();
        assert_eq!(
            text(&*workspace, path).await.unwrap(),
            "naïve 文字 🦀\n",
            "{path}"
        );
        let (listed, _) = workspace.list(path, 10).await.unwrap();
        assert_eq!(listed[0].path, path);
        assert_eq!(
            workspace.search("🦀", path, 10).await.unwrap().0[0].path,
            path
        );
    }
    assert!(matches!(
        workspace.read(&"x".repeat(5_000), 9).await,
        Err(WorkspaceError::Refused(_))
    ));
    assert!(matches!(
        workspace.write(&"x".repeat(300), b"").await,
        Err(WorkspaceError::Refused(_))
    ));
}

#[tokio::test]
async fn git_files_are_read_only() {
    let (world, workspace) = opened().await;
    assert!(
        text(&*workspace, ".git/config")
            .await
            .unwrap()
            .contains("[core]")
    );
    symlink(".git", world.tree().join("g")).unwrap();
    for path in ".git/config .git/new/folder/x .GIT/config src/../.git/hooks/pre-commit g/config \
        g/hooks/pre-commit vendor/.git/config .git"
        .split(' ')
    {
        let written = workspace.write(path, b"owned").await;
        assert!(
            matches!(written, Err(WorkspaceError::Refused(_))),
            "{path}: {written:?}"
        );
    }
    let tree = world.tree();
    assert!(!tree.join(".git/new").exists() && !tree.join("vendor").exists());
    workspace.write(".gitignore", b"x\n").await.unwrap();
}

#[tokio::test]
async fn special_files_are_rejected_without_blocking() {
    let (world, workspace) = opened().await;
    let _socket = std::os::unix::net::UnixListener::bind(world.tree().join("socket")).unwrap();
    must(
        &*workspace,
        "mkfifo fifo; ln -s fifo to-fifo; ln -s loop loop; mkdir d",
    )
    .await;
    for path in [
        "fifo",
        "to-fifo",
        "socket",
        "loop",
        "d",
        ".",
        "",
        "a\0b",
        "src/lib.txt/below",
    ] {
        let read = workspace.read(path, 100).await;
        assert!(
            matches!(read, Err(WorkspaceError::Refused(_))),
            "{path:?}: {read:?}"
        );
        let written = workspace.write(path, b"x").await;
        assert!(
            matches!(written, Err(WorkspaceError::Refused(_))),
            "{path:?}: {written:?}"
        );
    }
    assert!(matches!(
        workspace.read("nowhere", 1).await,
        Err(WorkspaceError::NotFound(_))
    ));
    let kinds = must(&*workspace, "stat -c %F fifo d; stat -c %F socket").await;
    assert_eq!(kinds, "fifo\ndirectory\nsocket\n");
    // A listing and a search skip the same files.
    assert!(workspace.search(".", ".", 100).await.is_ok());
}

#[tokio::test]
async fn read_is_cut_and_returns_the_full_size() {
    let (_world, workspace) = opened().await;
    must(&*workspace, "truncate -s 10G huge").await;
    let (content, size) = workspace.read("huge", 1000).await.unwrap();
    assert_eq!((content.len(), size), (1000, 10 << 30));
}

#[tokio::test]
async fn write_keeps_mode_and_links() {
    let (_world, workspace) = opened().await;
    must(
        &*workspace,
        "printf x > run.sh; chmod 755 run.sh; ln -s run.sh alias; ln -s nothing broken",
    )
    .await;
    workspace.write("alias", b"echo hi\n").await.unwrap();
    assert_eq!(
        must(&*workspace, "./run.sh; test -L alias && echo link").await,
        "hi\nlink\n"
    );
    workspace.write("broken", b"new").await.unwrap();
    assert_eq!(
        must(&*workspace, "test -L broken && cat nothing").await,
        "new"
    );
    must(
        &*workspace,
        "ln -s round around; ln -s around round; ln -s missing/file far",
    )
    .await;
    assert!(
        workspace.write("around", b"x").await.is_err()
            && workspace.write("far", b"x").await.is_err()
    );
    assert_eq!(
        must(&*workspace, "test -L around && test -L far && echo kept").await,
        "kept\n"
    );
    assert_eq!(
        must(&*workspace, "ls -A | grep -c '^.ars-' || true").await,
        "0\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_are_atomic() {
    let (_world, workspace) = opened().await;
    let contents: Vec<String> = ('a'..='h')
        .map(|letter| letter.to_string().repeat(200_000))
        .collect();
    workspace.write("f", contents[0].as_bytes()).await.unwrap();
    let writers = join_all(contents.iter().map(|content| async {
        for _ in 0..20 {
            workspace.write("f", content.as_bytes()).await.unwrap();
        }
    }));
    let readers = async {
        for _ in 0..100 {
            let seen = text(&*workspace, "f").await.unwrap();
            assert!(contents.contains(&seen), "{} bytes, torn", seen.len());
        }
    };
    tokio::join!(writers, readers);
    assert_eq!(
        must(&*workspace, "ls -A | grep -c '^.ars-' || true").await,
        "0\n"
    );
}

/// Until dropped, atomically swaps a folder in the tree for a symlink that leads out, and back.
struct Swapper {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Swapper {
    fn start(one: &Path, other: &Path) -> Self {
        let (one, other) = (one.to_owned(), other.to_owned());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

async fn read_and_write(workspace: &dyn Workspace, round: usize) -> (bool, bool) {
    let read = workspace.read("swapped/f", 100).await;
    if let Ok((content, _)) = &read {
        assert_ne!(content, CANARY.as_bytes());
    }
    let (hits, _) = workspace
        .search(CANARY, "swapped", 10)
        .await
        .unwrap_or_default();
    assert!(hits.is_empty());
    let written = [
        workspace.write("swapped/f", b"inside").await,
        workspace
            .write(&format!("swapped/new{round}/deeper/f"), b"inside")
            .await,
    ];
    let escape = |error: &WorkspaceError| matches!(error, WorkspaceError::PathEscape(_));
    let escaped = read.as_ref().is_err_and(escape)
        || written
            .iter()
            .any(|written| written.as_ref().is_err_and(escape));
    (read.is_ok(), escaped)
}

#[tokio::test(flavor = "multi_thread")]
async fn swapped_symlink_never_leads_outside() {
    let (world, workspace) = opened().await;
    let outside = world.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), CANARY).unwrap();
    let tree = world.tree();
    std::fs::create_dir(tree.join("swapped")).unwrap();
    std::fs::write(tree.join("swapped/f"), "inside").unwrap();
    symlink(&outside, tree.join("other")).unwrap();
    let swapper = Swapper::start(&tree.join("swapped"), &tree.join("other"));
    // Enough rounds that the swap happens between every two steps.
    let (mut let_in, mut refused, mut round) = (0, 0, 0);
    until("both sides of the swap were met often", async || {
        round += 1;
        let (read, escaped) = read_and_write(&*workspace, round).await;
        let_in += usize::from(read);
        refused += usize::from(escaped);
        let_in >= 300 && refused >= 300
    })
    .await;
    drop(swapper);
    assert_eq!(std::fs::read_to_string(outside.join("f")).unwrap(), CANARY);
    let beside: Vec<_> = std::fs::read_dir(&outside).unwrap().collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
}
