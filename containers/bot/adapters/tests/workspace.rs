//! Local workspaces against real git, real processes and a real file system.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ars_bot_adapters::workspace::{ChildEnvironment, GitWorkspaces};
use ars_bot_core::ports::{
    ExecOutcome, ExecRequest, Repository, Workspace, WorkspaceError, WorkspaceProvider, WorkspaceRequest,
};
use ars_types::{RefName, ThreadKey};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct World {
    folder: TempDir,
    provider: GitWorkspaces,
}

fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let environment = ChildEnvironment::from_service(|name| match name {
        "PATH" => std::env::var_os("PATH"),
        "HOME" => None,
        // What a service would have: none of it may reach a child.
        _ => Some("canary-secret".into()),
    });
    let provider = GitWorkspaces::new(folder.path().join("workspaces"), environment);
    World { folder, provider }
}

fn git(directory: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
    let status = Command::new("git").args(identity).args(arguments).current_dir(directory).status().unwrap();
    assert!(status.success(), "{arguments:?}");
}

impl World {
    fn origin(&self) -> PathBuf {
        let origin = self.folder.path().join("origin");
        std::fs::create_dir_all(origin.join("src")).unwrap();
        git(&origin, &["init", "-q"]);
        std::fs::write(origin.join("src/lib.txt"), "one\ntwo\nthree\n").unwrap();
        std::fs::write(origin.join(".gitignore"), "ignored\n").unwrap();
        git(&origin, &["add", "."]);
        git(&origin, &["commit", "-qm", "first"]);
        git(&origin, &["checkout", "-qb", "topic"]);
        std::fs::write(origin.join("topic.txt"), "topic\n").unwrap();
        git(&origin, &["add", "."]);
        git(&origin, &["commit", "-qm", "second"]);
        git(&origin, &["checkout", "-q", "main"]);
        origin
    }

    async fn open_at(
        &self,
        thread: &str,
        origin: &Path,
        git_ref: Option<&str>,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let thread = ThreadKey::new("test", "c", thread);
        let repository = Repository { name: "acme/app".into(), origin: origin.display().to_string() };
        let git_ref = git_ref.map(|text| RefName::parse(text).unwrap());
        let request =
            WorkspaceRequest { thread: &thread, repository: Some(&repository), git_ref: git_ref.as_ref() };
        self.provider.open(request, &CancellationToken::new()).await
    }

    async fn open(&self) -> Arc<dyn Workspace> {
        let origin = self.origin();
        self.open_at("t", &origin, None).await.unwrap()
    }
}

async fn exec_for(workspace: &dyn Workspace, command: &str, seconds: u64) -> ExecOutcome {
    let request = ExecRequest { command, timeout: Duration::from_secs(seconds), output_limit: 10_000 };
    workspace.exec(request, &CancellationToken::new()).await.unwrap()
}

async fn exec(workspace: &dyn Workspace, command: &str) -> ExecOutcome {
    exec_for(workspace, command, 60).await
}

fn is_alive(pid: &str) -> bool {
    // A zombie has ended; only its parent has not asked yet.
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

async fn dies(pid: &str) -> bool {
    let gone = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.is_ok()
}

#[tokio::test]
async fn a_thread_gets_its_tree_back_with_unsaved_work() {
    let world = world();
    let origin = world.origin();
    let first = world.open_at("t", &origin, None).await.unwrap();
    first.write("notes/a.txt", b"draft").await.unwrap();
    let again = world.open_at("t", &origin, None).await.unwrap();
    assert_eq!(again.read("notes/a.txt", 100).await.unwrap().0, b"draft");
    let other = world.open_at("other", &origin, None).await.unwrap();
    assert!(matches!(other.read("notes/a.txt", 100).await, Err(WorkspaceError::NotFound(_))));
    let thread = ThreadKey::new("test", "c", "t");
    assert_eq!(world.provider.repository_of(&thread).await.unwrap().unwrap().name, "acme/app");
}

#[tokio::test]
async fn a_tree_is_never_replaced_by_another_repository() {
    let world = world();
    let origin = world.origin();
    world.open_at("t", &origin, None).await.unwrap();
    let refused = world.open_at("t", Path::new("/elsewhere"), None).await.err().unwrap();
    assert!(matches!(refused, WorkspaceError::Refused(text) if text.contains("acme/app")));
}

#[tokio::test]
async fn a_branch_a_commit_and_nothing_else_can_be_checked_out() {
    let world = world();
    let origin = world.origin();
    let topic = world.open_at("a", &origin, Some("topic")).await.unwrap();
    assert!(topic.read("topic.txt", 100).await.is_ok());
    let head = topic.head().await.unwrap().unwrap();
    let by_commit = world.open_at("b", &origin, Some(&head)).await.unwrap();
    assert_eq!(by_commit.head().await.unwrap().unwrap(), head);
    let missing = world.open_at("c", &origin, Some("nowhere")).await.err().unwrap();
    assert!(matches!(missing, WorkspaceError::Clone(text) if text.contains("nowhere")));
    // Nothing half-made stays behind: the next attempt starts afresh.
    assert!(world.open_at("c", &origin, None).await.is_ok());
}

#[tokio::test]
async fn a_repository_that_cannot_be_cloned_is_said_so_without_credentials() {
    let world = world();
    let error = world.open_at("t", Path::new("/nowhere/at all"), None).await.err().unwrap();
    assert!(matches!(&error, WorkspaceError::Clone(text) if text.contains("/nowhere/at all")), "{error}");
    for origin in
        ["--upload-pack=touch /tmp/owned", "ext::sh -c true", "https://user:canary-secret@127.0.0.1:1/x"]
    {
        let error = world.open_at("t", Path::new(origin), None).await.err().unwrap();
        assert!(!error.to_string().contains("canary-secret"), "{error}");
    }
}

#[tokio::test]
async fn concurrent_openings_of_one_thread_share_one_tree() {
    let world = world();
    let origin = world.origin();
    let opened = futures::future::join_all((0..8).map(|_| world.open_at("t", &origin, None))).await;
    let heads = futures::future::join_all(opened.iter().map(|opened| opened.as_ref().unwrap().head())).await;
    assert!(heads.windows(2).all(|pair| pair[0].as_ref().unwrap() == pair[1].as_ref().unwrap()));
    let made = std::fs::read_dir(world.folder.path().join("workspaces")).unwrap().count();
    assert_eq!(made, 1);
}

#[tokio::test]
async fn output_is_interleaved_as_written_and_the_exit_code_is_told() {
    let world = world();
    let workspace = world.open().await;
    let outcome = exec(&*workspace, "echo a; echo b >&2; echo c; exit 3").await;
    assert_eq!((outcome.output.as_str(), outcome.exit_code), ("a\nb\nc\n", 3));
    let killed = exec(&*workspace, "kill -TERM $$").await;
    assert_eq!(killed.exit_code, 128 + 15);
}

#[tokio::test]
async fn a_timeout_kills_the_whole_process_group() {
    let world = world();
    let workspace = world.open().await;
    let outcome = exec_for(&*workspace, "sleep 600 & echo $!; sleep 600", 1).await;
    assert!(outcome.timed_out && outcome.exit_code == 124);
    assert!(dies(&outcome.output).await, "the background process outlived its group");
}

#[tokio::test]
async fn a_background_process_neither_holds_the_answer_nor_outlives_the_command() {
    let world = world();
    let workspace = world.open().await;
    let outcome = exec(&*workspace, "sleep 600 & echo $!").await;
    assert_eq!(outcome.exit_code, 0);
    assert!(dies(&outcome.output).await);
}

#[tokio::test]
async fn a_cancelled_command_dies_at_once() {
    let world = world();
    let workspace = world.open().await;
    let cancel = CancellationToken::new();
    let request = ExecRequest {
        command: "echo $$ > pid; sleep 600",
        timeout: Duration::from_secs(600),
        output_limit: 100,
    };
    let (outcome, ()) = tokio::join!(workspace.exec(request, &cancel), async {
        while workspace.read("pid", 100).await.map_or(true, |(content, _)| content.is_empty()) {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert!(matches!(outcome, Err(WorkspaceError::Cancelled)));
    let pid = String::from_utf8(workspace.read("pid", 100).await.unwrap().0).unwrap();
    assert!(dies(&pid).await);
}

#[tokio::test]
async fn a_flood_of_output_is_kept_at_both_ends_only() {
    let world = world();
    let workspace = world.open().await;
    let outcome = exec(&*workspace, "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo last").await;
    assert!(outcome.truncated);
    assert!(outcome.output.len() < 11_000);
    assert!(outcome.output.starts_with("first") && outcome.output.ends_with("last\n"));
}

#[tokio::test]
async fn a_command_sees_nothing_of_the_services_environment() {
    let world = world();
    let workspace = world.open().await;
    let outcome = exec(&*workspace, "env").await;
    assert!(!outcome.output.contains("ANTHROPIC") && !outcome.output.contains("TOKEN"), "{}", outcome.output);
    assert!(outcome.output.contains("GIT_TERMINAL_PROMPT=0"));
}

#[tokio::test]
async fn no_path_leads_out_of_the_tree() {
    let world = world();
    let workspace = world.open().await;
    let outside = world.folder.path().join("outside.txt");
    std::fs::write(&outside, "untouched").unwrap();
    let outside = outside.display();
    exec(
        &*workspace,
        &format!("ln -s {outside} link; ln -s {} dir; mkfifo fifo", world.folder.path().display()),
    )
    .await;
    for path in
        ["../../../outside.txt", "/etc/passwd", "link", "dir/outside.txt", "src/../../../../outside.txt"]
    {
        let read = workspace.read(path, 100).await;
        assert!(matches!(read, Err(WorkspaceError::PathEscape(_))), "{path}: {read:?}");
        let written = workspace.write(path, b"owned").await;
        assert!(matches!(written, Err(WorkspaceError::PathEscape(_))), "{path}: {written:?}");
    }
    for path in ["fifo", "/dev/zero", "src", "", "a\0b", ".git/config", "src/../.git/hooks/pre-commit"] {
        assert!(workspace.write(path, b"owned").await.is_err(), "{path:?}");
    }
    assert!(matches!(workspace.read("fifo", 100).await, Err(WorkspaceError::Refused(_))));
    assert_eq!(std::fs::read_to_string(world.folder.path().join("outside.txt")).unwrap(), "untouched");
}

#[tokio::test(flavor = "multi_thread")]
async fn swapping_a_directory_for_a_symlink_never_opens_a_way_out() {
    let world = world();
    let workspace = world.open().await;
    let outside = world.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "secret").unwrap();
    let thread = ThreadKey::new("test", "c", "t");
    let tree = world.provider.tree_of(&thread);
    std::fs::create_dir(tree.join("real")).unwrap();
    std::fs::write(tree.join("real/f"), "inside").unwrap();
    std::os::unix::fs::symlink(&outside, tree.join("evil")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (tree, stop) = (tree.clone(), Arc::clone(&stop));
        move || {
            while !stop.load(Ordering::Relaxed) {
                for target in ["real", "evil"] {
                    let _ = std::fs::remove_file(tree.join("swap"));
                    let _ = std::os::unix::fs::symlink(target, tree.join("swap"));
                }
            }
        }
    });
    for _ in 0..2000 {
        if let Ok((content, _)) = workspace.read("swap/f", 100).await {
            assert_ne!(content, b"secret");
        }
        let _ = workspace.write("swap/f", b"inside").await;
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert_eq!(std::fs::read_to_string(outside.join("f")).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_written_file_keeps_its_mode_and_a_link_inside_stays_a_link() {
    let world = world();
    let workspace = world.open().await;
    exec(&*workspace, "printf x > run.sh; chmod 755 run.sh; ln -s run.sh alias").await;
    workspace.write("alias", b"echo hi\n").await.unwrap();
    let outcome = exec(&*workspace, "./run.sh; test -L alias && echo link; ls -A | grep -c '^.ars-'").await;
    assert_eq!(outcome.output, "hi\nlink\n0\n");
}

#[tokio::test]
async fn listing_and_searching_follow_gits_ignore_rules() {
    let world = world();
    let workspace = world.open().await;
    exec(&*workspace, "echo two > ignored; echo two > new.txt; printf 'two\\0' > binary; rm .gitignore; git checkout -q .gitignore").await;
    let (files, more) = workspace.list(".", 100).await.unwrap();
    let names: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((names, more), (vec![".gitignore", "binary", "new.txt", "src/lib.txt"], false));
    assert!(workspace.list(".", 1).await.unwrap().1);
    let (hits, _) = workspace.search("^t[w]o$", ".", 100).await.unwrap();
    let found: Vec<_> = hits.iter().map(|hit| (hit.path.as_str(), hit.line)).collect();
    assert_eq!(found, [("new.txt", 1), ("src/lib.txt", 2)]);
    assert_eq!(workspace.search("two", "src", 100).await.unwrap().0.len(), 1);
    assert!(matches!(workspace.search("(", ".", 1).await, Err(WorkspaceError::Refused(_))));
    assert!(matches!(workspace.list("..", 1).await, Err(WorkspaceError::PathEscape(_))));
}

#[tokio::test]
async fn the_diff_shows_all_work_and_leaves_the_index_alone() {
    let world = world();
    let workspace = world.open().await;
    workspace.write("src/lib.txt", b"one\n2\nthree\n").await.unwrap();
    workspace.write("new.txt", b"new\n").await.unwrap();
    exec(&*workspace, "git add src/lib.txt && git commit -qm mine && echo x > ignored").await;
    let before = exec(&*workspace, "git status --porcelain").await.output;
    let diff = workspace.diff().await.unwrap();
    assert!(diff.contains("-two\n+2") && diff.contains("+++ b/new.txt") && !diff.contains("ignored"));
    assert_eq!(exec(&*workspace, "git status --porcelain").await.output, before);
}
