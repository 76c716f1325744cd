//! Tests commands: output, exit codes, and that every started process ends.

use std::time::Duration;

use ars_bot_ports::{ExecRequest, WorkspaceError};
use futures::{future::join_all, poll};
use tokio_util::sync::CancellationToken;

use crate::support::{TIMEOUT, assert_dies, exec, exec_for, opened, text, until};

#[tokio::test]
async fn output_is_interleaved_as_written() {
    let (_world, workspace) = opened().await;
    let outcome = exec(
        &*workspace,
        "for i in 1 2 3; do echo o$i; echo e$i >&2; done; exit 3",
    )
    .await;
    assert_eq!(
        (outcome.output.as_str(), outcome.exit_code),
        ("o1\ne1\no2\ne2\no3\ne3\n", 3)
    );
    assert_eq!(exec(&*workspace, "kill -TERM $$").await.exit_code, 128 + 15);
    assert_eq!(
        exec(&*workspace, "no-such-program-here").await.exit_code,
        127
    );
    assert_eq!(
        exec(&*workspace, "printf 'a\\377b é'").await.output,
        "a\u{fffd}b é"
    );
}

#[tokio::test]
async fn command_starts_in_the_tree_without_input() {
    let (world, workspace) = opened().await;
    let outcome = exec(&*workspace, "pwd; cat; tty; echo done").await;
    assert_eq!(
        outcome.output,
        format!(
            "{}\nnot a tty\ndone\n",
            world.tree().canonicalize().unwrap().display()
        )
    );
}

#[tokio::test]
async fn tree_without_rights_is_usable_again() {
    let (world, workspace) = opened().await;
    for damage in [
        "chmod -R 644 .",
        "chmod 000 .git",
        "chmod 000 .git/objects",
        "mkdir a; touch a/b; chmod -R 000 .",
    ] {
        let _ = exec(&*workspace, damage).await;
        assert_eq!(
            exec(&*workspace, "git status --short >/dev/null && echo fine")
                .await
                .output,
            "fine\n"
        );
    }
    exec(&*workspace, "chmod -R 000 .").await;
    workspace.write("new", b"text").await.unwrap();
    exec(&*workspace, "chmod -R 000 .").await;
    drop(workspace);
    let again = world
        .open_from("t", &world.folder.path().join("origin"))
        .await
        .unwrap();
    assert_eq!(again.read("new", 9).await.unwrap().0, b"text");
}

#[tokio::test]
async fn timeout_kills_the_group_and_keeps_output() {
    let (_world, workspace) = opened().await;
    // These ignore SIGTERM, as do their children.
    let command = "trap '' TERM INT HUP; (trap '' TERM; sleep 600) & echo $!; sleep 600";
    let outcome = exec_for(&*workspace, command, 1).await;
    assert!(outcome.timed_out && outcome.exit_code == 124);
    assert_dies(&outcome.output).await;
}

#[tokio::test]
async fn background_process_ends_with_the_command() {
    let (_world, workspace) = opened().await;
    let outcome = tokio::time::timeout(TIMEOUT, exec_for(&*workspace, "sleep 600 & echo $!", 600))
        .await
        .unwrap();
    assert_eq!((outcome.exit_code, outcome.timed_out), (0, false));
    assert_dies(&outcome.output).await;
}

#[tokio::test]
async fn process_outside_the_group_ends_with_the_command() {
    let (_world, workspace) = opened().await;
    let outcome = tokio::time::timeout(
        TIMEOUT,
        exec_for(&*workspace, "setsid sleep 600 & echo $!", 600),
    )
    .await
    .unwrap();
    assert_eq!(outcome.exit_code, 0);
    assert_dies(&outcome.output).await;
}

#[tokio::test]
async fn a_cancelled_command_dies_at_once() {
    let (_world, workspace) = opened().await;
    let cancel = CancellationToken::new();
    let command = "sleep 600 & echo $! > pid; sleep 600";
    let request = ExecRequest {
        command,
        timeout: Duration::from_secs(600),
        output_limit: 100,
    };
    let (outcome, pid) = tokio::join!(workspace.exec(request, &cancel), async {
        until("the command runs", async || {
            text(&*workspace, "pid")
                .await
                .is_some_and(|pid| pid.ends_with('\n'))
        })
        .await;
        cancel.cancel();
        text(&*workspace, "pid").await.unwrap()
    });
    assert!(matches!(outcome, Err(WorkspaceError::Cancelled)));
    assert_dies(&pid).await;
}

#[tokio::test]
async fn dropped_command_is_killed() {
    let (_world, workspace) = opened().await;
    let cancel = CancellationToken::new();
    let command = "sleep 600 & echo $$ $! > pids; sleep 600";
    let request = ExecRequest {
        command,
        timeout: Duration::from_secs(600),
        output_limit: 100,
    };
    let mut running = workspace.exec(request, &cancel);
    until("the command runs", async || {
        assert!(poll!(&mut running).is_pending());
        text(&*workspace, "pids")
            .await
            .is_some_and(|pids| pids.ends_with('\n'))
    })
    .await;
    drop(running);
    for pid in text(&*workspace, "pids").await.unwrap().split_whitespace() {
        assert_dies(pid).await;
    }
}

#[tokio::test]
async fn huge_output_keeps_both_ends() {
    let (_world, workspace) = opened().await;
    let before = peak_memory();
    let outcome = exec(
        &*workspace,
        "echo first; head -c 1000000000 /dev/zero; echo last",
    )
    .await;
    let grown = peak_memory() - before;
    assert!(outcome.truncated && outcome.exit_code == 0);
    assert!(outcome.output.starts_with("first\n") && outcome.output.ends_with("last\n"));
    assert!(
        outcome.output.contains("999990011 bytes left out"),
        "{:?}",
        outcome.output.get(5000..5100)
    );
    // Other tests in this process share the figure; output kept in memory would be ten times as
    // much.
    assert!(grown < 100 << 10, "{grown} KiB");
}

/// Returns this process's peak memory in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_commands_do_not_mix_output() {
    let (_world, workspace) = opened().await;
    let outcomes = join_all((0..16).map(|n| {
        let workspace = &workspace;
        async move {
            let command = format!("for i in $(seq 100); do echo {n}; done; exit {n}");
            (n, exec(&**workspace, &command).await)
        }
    }));
    for (n, outcome) in outcomes.await {
        assert_eq!(
            (outcome.exit_code, outcome.output),
            (n, format!("{n}\n").repeat(100))
        );
    }
}
