//! A workspace on a resident: commands, files, git, and releasing it.

use std::time::Duration;

use ars_bot_ports::{ExecRequest, GitRequest, OpenFor, Release, WorkspaceError};
use ars_types::TreePlace;
use tokio_util::sync::CancellationToken;

use crate::support::{World, exec};

/// A run attaches, edits, runs a command and commits. The next run finds the tree as it was left.
#[tokio::test(flavor = "multi_thread")]
async fn dirty_tree_survives_between_runs() {
    let world = World::new();
    world.onboard().await;
    let first = world.open("t").await;
    let placement = first.placement();
    assert_eq!(placement.tree, TreePlace::Resident, "{placement:?}");
    assert!(
        placement
            .note
            .unwrap()
            .starts_with("resident · acme/app · main@")
    );
    assert!(placement.sandbox.is_some());
    assert_eq!(first.repository(), Some("acme/app"));
    let start = first.head().await.unwrap().unwrap();

    first
        .write("src/lib.txt", b"one\nTWO\nthree\n")
        .await
        .unwrap();
    let committed = exec(
        &*first,
        "git commit -qam second && git log --format=%s -1 && ./run.sh",
    )
    .await;
    assert_eq!(
        (committed.exit_code, committed.output.as_str()),
        (0, "second\nran\n")
    );
    first.write("notes.txt", b"unsaved\n").await.unwrap();
    let head = first.head().await.unwrap();
    assert_ne!(head.as_deref(), Some(start.as_str()));
    first.release(Release::Ended).await;

    // The last handle ends this process's residents.
    drop(first);
    let world = world.restarted();
    let second = world.again("t", OpenFor::Run).await.unwrap();
    assert_eq!(second.head().await.unwrap(), head);
    assert_eq!(
        second.read("notes.txt", 100).await.unwrap(),
        (b"unsaved\n".to_vec(), 8)
    );
    let diff = second.diff().await.unwrap();
    assert!(diff.contains("+TWO") && diff.contains("+unsaved"), "{diff}");
    // A viewer sees the same tree.
    assert_eq!(
        world
            .again("t", OpenFor::View)
            .await
            .unwrap()
            .diff()
            .await
            .unwrap(),
        diff
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_runs_no_program_of_a_nested_repository() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    let nest = "mkdir .ars; for name in new 'tracked one'; do git init -q \"$name\"; (cd \"$name\"; echo 1 > f; \
                git add .; git commit -qm x; git config core.fsmonitor \"touch $OLDPWD/.ars/ran; false\"); done; \
                git -c advice.addEmbeddedRepo=false add tracked* && git commit -qm tracked && rm -f .ars/ran";
    assert_eq!(exec(&*tree, nest).await.exit_code, 0);
    let diff = tree.diff().await.unwrap();
    assert!(
        diff.contains("b/new\n") && diff.contains("b/tracked one"),
        "{diff}"
    );
    // The agent's own git runs them, so the first check is meaningful.
    let checks = exec(&*tree, "ls .ars; git status > /dev/null; ls .ars").await;
    assert_eq!(checks.output, "ran\n");
}

/// A clean tree is given back when a run ends, and the next run attaches again.
#[tokio::test(flavor = "multi_thread")]
async fn clean_tree_is_released() {
    let world = World::new();
    world.onboard().await;
    let first = world.open("t").await;
    exec(&*first, "git status --short").await;
    first.release(Release::Ended).await;
    let never = CancellationToken::new();
    let list = world.residents.list(&never).await.unwrap();
    let list = serde_json::to_value(&list.residents[0]).unwrap();
    assert_eq!(list["live"]["threads"][0]["evicted"], true, "{list:#}");
    assert!(matches!(
        world.again("t", OpenFor::View).await,
        Err(WorkspaceError::Infra(_))
    ));
    let again = world.again("t", OpenFor::Run).await.unwrap();
    assert_eq!(again.placement().tree, TreePlace::Resident);
    assert_eq!(
        exec(&*again, "cat src/lib.txt").await.output,
        "one\ntwo\nthree\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_listings_behave_like_local_ones() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    // Text, other bytes, and a name that the residents' route refuses.
    let bytes: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    for (path, content) in [
        ("a/new.txt", b"text\n".to_vec()),
        ("data.bin", bytes.clone()),
        ("with space é.txt", b"x\n".to_vec()),
    ] {
        tree.write(path, &content).await.unwrap();
        assert_eq!(
            tree.read(path, 1 << 20).await.unwrap(),
            (content.clone(), content.len() as u64),
            "{path}"
        );
    }
    assert_eq!(
        tree.read("data.bin", 10).await.unwrap(),
        (bytes[..10].to_vec(), 200_000)
    );
    // A script stays executable.
    tree.write("run.sh", b"#!/bin/sh\necho again\n")
        .await
        .unwrap();
    assert_eq!(exec(&*tree, "./run.sh").await.output, "again\n");
    let kept = tree.keep_output("long").await.unwrap();
    assert_eq!(tree.read(&kept, 10).await.unwrap().0, b"long");

    let (entries, has_more) = tree.list(".", 100).await.unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
    let expected = [
        ".gitignore",
        "a/new.txt",
        "data.bin",
        "run.sh",
        "src/lib.txt",
        "with space é.txt",
    ];
    assert_eq!((names.as_slice(), has_more), (expected.as_slice(), false));
    assert_eq!(entries[2].size, 200_000);
    let (few, has_more) = tree.list(".", 2).await.unwrap();
    assert_eq!((few.len(), has_more), (2, true));
    let (within, _) = tree.list("src", 9).await.unwrap();
    assert_eq!(within[0].path, "src/lib.txt");

    let (hits, has_more) = tree.search("^t[wh]", ".", 10).await.unwrap();
    let found: Vec<_> = hits
        .iter()
        .map(|hit| (hit.path.as_str(), hit.line, hit.text.as_str()))
        .collect();
    let expected = vec![("src/lib.txt", 2, "two"), ("src/lib.txt", 3, "three")];
    assert_eq!((found, has_more), (expected, false));
    assert!(tree.search("two", ".", 0).await.unwrap().1);
    assert!(matches!(
        tree.search("(", ".", 1).await,
        Err(WorkspaceError::Refused(_))
    ));

    for path in ["../x", "/etc/passwd"] {
        assert!(
            matches!(tree.read(path, 1).await, Err(WorkspaceError::PathEscape(_))),
            "{path}"
        );
        assert!(tree.write(path, b"x").await.is_err(), "{path}");
    }
    assert!(matches!(
        tree.read("nope", 1).await,
        Err(WorkspaceError::NotFound(_))
    ));
    assert!(matches!(
        tree.read("src", 1).await,
        Err(WorkspaceError::Refused(_))
    ));
    assert!(matches!(
        tree.write(".git/config", b"x").await,
        Err(WorkspaceError::Refused(_))
    ));
    assert!(matches!(
        tree.list("nope", 1).await,
        Err(WorkspaceError::NotFound(_))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_confined_and_bounded() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    // Both streams in write order.
    let ended = exec(&*tree, "echo a; echo b >&2; echo c; exit 3").await;
    assert_eq!((ended.exit_code, ended.output.as_str()), (3, "a\nb\nc\n"));
    let broken = exec(&*tree, "if then").await;
    assert!(
        broken.exit_code != 0 && broken.output.contains("syntax error"),
        "{broken:?}"
    );
    // The data directory is outside the sandbox.
    let outside = world.folder.path().join("data/outside");
    let tried = exec(
        &*tree,
        &format!(
            "touch {}; ls {}/data/residents",
            outside.display(),
            world.folder.path().display()
        ),
    )
    .await;
    assert!(!outside.exists() && tried.exit_code != 0, "{tried:?}");
    let never = CancellationToken::new();
    let request = ExecRequest {
        command: "echo so far; exec tail -f /dev/null",
        timeout: Duration::from_secs(1),
        output_limit: 900,
    };
    let late = tree.exec(request, &never).await.unwrap();
    assert!(
        late.timed_out && late.exit_code == 124 && late.output.starts_with("so far\n"),
        "{late:?}"
    );
    let request = ExecRequest {
        command: "seq 100000",
        timeout: Duration::from_secs(20),
        output_limit: 900,
    };
    let long = tree.exec(request, &never).await.unwrap();
    assert!(long.truncated && long.output.len() < 1_200);
    let hostile = ["log", "--format=%s", "-1", "--grep=$(touch '/tmp/x')`;"];
    let answer = tree
        .git(
            GitRequest {
                arguments: &hostile,
                output_limit: 100,
            },
            &never,
        )
        .await
        .unwrap();
    assert_eq!((answer.exit_code, answer.output), (0, Vec::new()));
    let show = ["show", "HEAD:src/lib.txt"];
    let answer = tree
        .git(
            GitRequest {
                arguments: &show,
                output_limit: 5,
            },
            &never,
        )
        .await
        .unwrap();
    assert_eq!(
        (answer.output.as_slice(), answer.truncated),
        (b"one\nt".as_slice(), true)
    );
}

/// A run's reader learns once which host a command could not reach.
#[tokio::test(flavor = "multi_thread")]
async fn refused_host_is_reported_once() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    let command = "curl -sS http://elsewhere.invalid/ >&2";
    let ended = exec(&*tree, command).await;
    let hosts: Vec<_> = ended
        .refused
        .iter()
        .map(|refused| refused.host.as_str())
        .collect();
    assert_eq!(hosts, ["elsewhere.invalid"], "{ended:?}");
    assert!(ended.refused[0].setting.is_some(), "{ended:?}");
    assert_eq!(exec(&*tree, command).await.refused, []);
    let again = world.again("t", OpenFor::Run).await.unwrap();
    assert_eq!(
        exec(&*again, command).await.refused.len(),
        1,
        "each run has its own reader"
    );
}

/// A stopped run leaves no command, and the unsaved work is a checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn stopped_run_leaves_no_command() {
    let world = World::new();
    world.onboard().await;
    let tree = world.open("t").await;
    tree.write("notes.txt", b"unsaved\n").await.unwrap();
    let stop = CancellationToken::new();
    let command = "touch started; exec tail -f /dev/null";
    let request = ExecRequest {
        command,
        timeout: Duration::from_secs(60),
        output_limit: 900,
    };
    let running = tree.exec(request, &stop);
    let stopping = async {
        while tree.read("started", 1).await.is_err() {}
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(running, stopping);
    assert_eq!(ended, Err(WorkspaceError::Cancelled));
    tree.release(Release::Stopped).await;
    let list = world
        .residents
        .list(&CancellationToken::new())
        .await
        .unwrap();
    let row = serde_json::to_value(&list.residents[0]).unwrap();
    assert_eq!(
        (
            &row["live"]["inFlight"],
            &row["live"]["threads"][0]["evicted"]
        ),
        (&0.into(), &true.into()),
        "{row:#}"
    );
    assert!(
        row["live"]["threads"][0]["checkpoint"].is_string(),
        "{row:#}"
    );
}
