//! Tests the sandbox that a run's commands share.
//!
//! `sandbox.rs` tests what a command reaches in it: its commands are started in the same way.

use ars_bot_ports::{ExecRequest, Workspace, WorkspaceError};
use ars_types::{SandboxKind, SandboxNetwork};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use crate::{
    sandbox::{kinds, opened},
    support::{TIMEOUT, exec, exec_for, must, until},
};

/// Prints the words of the program that started a command.
const STARTER: &str = "tr '\\0' ' ' < /proc/$PPID/cmdline";
/// Subcommand for a session's first program.
const SERVE: &str = "sandbox-serve";

/// Returns the processes that serve a workspace's commands. Process words are public.
fn servers(place: &str) -> Vec<Pid> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let found = all.filter_map(|process| {
        let words = std::fs::read_to_string(process.path().join("cmdline")).ok()?;
        let (first, is_meant) = (
            words.split('\0').next()?,
            words.contains(SERVE) && words.contains(place),
        );
        let is_server = is_meant && !first.ends_with("bwrap") && !first.ends_with("sh");
        is_server.then(|| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))?
    });
    found.collect()
}

fn kill_servers(place: &str) {
    let servers = servers(place);
    assert!(!servers.is_empty(), "a session is there");
    for server in servers {
        kill_process(server, Signal::KILL).unwrap();
    }
}

async fn assert_in_session(workspace: &dyn Workspace, kind: SandboxKind) {
    let starter = must(workspace, STARTER).await;
    assert!(starter.contains(SERVE), "{kind}: {starter}");
}

#[tokio::test]
async fn commands_of_a_run_share_a_sandbox() {
    for kind in kinds() {
        let (world, workspace) = opened(kind, SandboxNetwork::None).await;
        let place = world.tree().parent().unwrap().display().to_string();
        for _ in 0..2 {
            assert_in_session(&*workspace, kind).await;
        }
        must(
            &*workspace,
            "mkdir a b && echo x > a/x && mv a/x b/x && ln b/x a/y",
        )
        .await;
        if kind == SandboxKind::Bubblewrap {
            let plant = "echo x > /dev/shm/x; mkdir -p /dev/shm/y/z; chmod 0 /dev/shm/y /dev/shm";
            must(&*workspace, plant).await;
            assert_eq!(must(&*workspace, "ls -A /dev/shm").await, "");
        }
        // A command that is in progress has it, so another command has a separate sandbox.
        let waiting = exec(
            &*workspace,
            "touch begun; until [ -e go ]; do sleep 0.01; done; echo went",
        );
        let beside = async {
            until("the first one runs", async || {
                world.tree().join("begun").exists()
            })
            .await;
            let starter = must(&*workspace, STARTER).await;
            must(&*workspace, "touch go").await;
            starter
        };
        let (waited, starter) = tokio::join!(waiting, beside);
        assert_eq!(
            (waited.output.as_str(), starter.contains(SERVE)),
            ("went\n", false),
            "{kind}: {starter}"
        );
        assert!(!servers(&place).is_empty());
        drop(workspace);
        until("it ends with the workspace", async || {
            servers(&place).is_empty()
        })
        .await;
    }
}

#[tokio::test]
async fn killed_session_is_replaced() {
    for kind in kinds() {
        let (world, workspace) = opened(kind, SandboxNetwork::None).await;
        let place = world.tree().parent().unwrap().display().to_string();
        let command = "touch begun; sleep 98765";
        let killing = async {
            until("the command runs", async || {
                world.tree().join("begun").exists()
            })
            .await;
            kill_servers(&place);
        };
        let (ended, ()) = tokio::join!(exec_for(&*workspace, command, 60), killing);
        assert_eq!(
            (ended.exit_code, ended.timed_out),
            (137, false),
            "{kind}: {ended:?}"
        );
        assert_in_session(&*workspace, kind).await;
        // Also between two commands, and for a cancelled command.
        kill_servers(&place);
        must(&*workspace, "true").await;
        assert_in_session(&*workspace, kind).await;
        let cancel = CancellationToken::new();
        let request = ExecRequest {
            command: "touch third; sleep 98765",
            timeout: TIMEOUT,
            output_limit: 100,
        };
        let cancelling = async {
            until("the command runs", async || {
                world.tree().join("third").exists()
            })
            .await;
            cancel.cancel();
        };
        let (cancelled, ()) = tokio::join!(workspace.exec(request, &cancel), cancelling);
        assert!(
            matches!(cancelled, Err(WorkspaceError::Cancelled)),
            "{kind}: {cancelled:?}"
        );
        assert_in_session(&*workspace, kind).await;
    }
}

/// A command cannot signal the program that starts it, nor read that program's memory or socket.
#[tokio::test]
async fn command_does_not_reach_its_starter() {
    for kind in kinds() {
        let (_world, workspace) = opened(kind, SandboxNetwork::None).await;
        let first = must(&*workspace, "echo $PPID").await;
        for signal in ["KILL", "STOP", "TERM"] {
            exec(
                &*workspace,
                &format!("kill -{signal} $PPID; kill -{signal} -1"),
            )
            .await;
        }
        for part in ["environ", "fd/0", "mem", "maps"] {
            let read = exec(&*workspace, &format!("head -c 1 /proc/$PPID/{part}")).await;
            assert_ne!(read.exit_code, 0, "{kind}: {part}: {}", read.output);
        }
        let change =
            "prlimit --pid $PPID --nofile=9:9 || renice -n 5 -p $PPID || renice -n 5 -g $PPID";
        assert_ne!(exec(&*workspace, change).await.exit_code, 0, "{kind}");
        assert_eq!(
            must(&*workspace, "echo $PPID").await,
            first,
            "{kind}: it is another one"
        );
    }
}

/// A tree in the folder that is emptied after a command keeps its files.
#[tokio::test]
async fn tree_in_shared_memory_is_kept() {
    for kind in kinds() {
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        let (mut world, _) = opened(kind, SandboxNetwork::None).await;
        world.provider = world.provider.in_folder(memory.path().to_owned());
        let workspace = world
            .open_from("kept", &world.folder.path().join("origin"))
            .await
            .unwrap();
        for _ in 0..2 {
            must(&*workspace, "cat src/lib.txt && touch ../home/x ../tmp/x").await;
        }
    }
}
