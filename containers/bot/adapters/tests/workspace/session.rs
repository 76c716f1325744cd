//! Tests of the sandbox that the commands of a run share.
//!
//! What a command reaches in it is in `sandbox.rs`, whose commands are started in the same way.

use ars_types::{SandboxKind, SandboxNetwork};

use crate::{
    sandbox::{kinds, opened},
    support::{exec, exec_for, must, until},
};

/// Prints the words of the program that started a command.
const STARTER: &str = "tr '\\0' ' ' < /proc/$PPID/cmdline";
/// The subcommand of a session's first program.
const SERVE: &str = "sandbox-serve";

/// Returns the processes that serve the commands of a workspace on this machine.
fn servers(place: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let found = all.filter_map(|process| {
        let words = std::fs::read_to_string(process.path().join("cmdline")).ok()?;
        let folder = std::fs::read_to_string(process.path().join("environ")).unwrap_or_default();
        let is_meant = words.contains(SERVE) && folder.contains(place);
        is_meant.then(|| process.file_name().to_str()?.parse().ok())?
    });
    found.collect()
}

#[tokio::test]
async fn commands_of_a_run_share_a_sandbox() {
    for kind in kinds() {
        let (world, workspace) = opened(kind, SandboxNetwork::None).await;
        let place = world.tree().parent().unwrap().display().to_string();
        for _ in 0..2 {
            let starter = must(&*workspace, STARTER).await;
            assert!(starter.contains(SERVE), "{kind}: {starter}");
        }
        must(&*workspace, "mkdir a b && echo x > a/x && mv a/x b/x && ln b/x a/y").await;
        if kind == SandboxKind::Bubblewrap {
            must(&*workspace, "echo x > /dev/shm/x; mkdir -p /dev/shm/y/z").await;
            assert_eq!(must(&*workspace, "ls -A /dev/shm").await, "");
        }
        // A command that is in progress has it, so another one has a sandbox of its own.
        let waiting = exec(&*workspace, "touch begun; until [ -e go ]; do sleep 0.01; done; echo went");
        let beside = async {
            until("the first one runs", async || world.tree().join("begun").exists()).await;
            let starter = must(&*workspace, STARTER).await;
            must(&*workspace, "touch go").await;
            starter
        };
        let (waited, starter) = tokio::join!(waiting, beside);
        assert_eq!((waited.output.as_str(), starter.contains(SERVE)), ("went\n", false), "{kind}: {starter}");
        drop(workspace);
        until("it ends with the workspace", async || servers(&place).is_empty()).await;
    }
}

#[tokio::test]
async fn killed_session_is_replaced() {
    for kind in kinds() {
        let (world, workspace) = opened(kind, SandboxNetwork::None).await;
        let place = world.tree().parent().unwrap().display().to_string();
        let command = "touch begun; sleep 98765";
        let killing = async {
            until("the command runs", async || world.tree().join("begun").exists()).await;
            for server in servers(&place) {
                let server = rustix::process::Pid::from_raw(server.cast_signed()).unwrap();
                let _ = rustix::process::kill_process(server, rustix::process::Signal::KILL);
            }
        };
        let (ended, ()) = tokio::join!(exec_for(&*workspace, command, 60), killing);
        assert_eq!((ended.exit_code, ended.timed_out), (137, false), "{kind}: {ended:?}");
        let starter = must(&*workspace, STARTER).await;
        assert!(starter.contains(SERVE), "{kind}: {starter}");
    }
}

/// A command cannot signal the program that starts it, nor read its memory or its socket.
#[tokio::test]
async fn command_does_not_reach_its_starter() {
    for kind in kinds() {
        let (_world, workspace) = opened(kind, SandboxNetwork::None).await;
        let first = must(&*workspace, "echo $PPID").await;
        for signal in ["KILL", "STOP", "TERM"] {
            exec(&*workspace, &format!("kill -{signal} $PPID; kill -{signal} -1")).await;
        }
        let read =
            "cat /proc/$PPID/environ /proc/$PPID/fd/0 || ls -l /proc/$PPID/fd || head -c 1 /proc/$PPID/mem";
        assert_ne!(exec(&*workspace, read).await.exit_code, 0, "{kind}");
        assert_eq!(must(&*workspace, "echo $PPID").await, first, "{kind}: it is another one");
    }
}
