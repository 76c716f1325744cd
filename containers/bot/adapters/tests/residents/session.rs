//! The sandbox that commands in a resident tree share.

use std::{fs, time::Duration};

use ars_bot_adapters::sandbox::RunLimits;
use ars_bot_ports::{ExecRequest, Release, Workspace, WorkspaceError};
use ars_types::SandboxKind;
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use crate::{
    hostile::{is_running, kinds, warm},
    support::{World, exec},
};

/// Prints the words of the program that started a command.
const STARTER: &str = "tr '\\0' ' ' < /proc/$PPID/cmdline";
/// The first program's subcommand.
const SERVE: &str = "sandbox-serve";

/// Returns the processes that serve commands in this world. Process words are public.
fn servers(world: &World) -> Vec<Pid> {
    let place = world.folder.path().to_str().unwrap();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let found = all.filter_map(|process| {
        let words = fs::read_to_string(process.path().join("cmdline")).ok()?;
        let (first, is_meant) = (
            words.split('\0').next()?,
            words.contains(SERVE) && words.contains(place),
        );
        let is_server = is_meant && !first.ends_with("bwrap") && !first.ends_with("sh");
        is_server.then(|| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))?
    });
    found.collect()
}

/// Waits for a condition; only a hang ends the test otherwise.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}

async fn assert_in_session(tree: &dyn Workspace, kind: SandboxKind) {
    let starter = exec(tree, STARTER).await.output;
    assert!(starter.contains(SERVE), "{kind}: {starter}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_a_tree_share_a_sandbox() {
    for (kind, word) in kinds().into_iter().zip(["98771", "98772"]) {
        let world = warm(kind, RunLimits::default()).await;
        let tree = world.open("t").await;
        assert_in_session(&*tree, kind).await;
        let first = servers(&world);
        assert_eq!(first.len(), 1, "{kind}");
        // Everything that a command left ends before the response, also without the command's mark.
        let leave =
            format!("(env -i setsid sleep {word} & env -i setsid sleep {word} &) > /dev/null 2>&1");
        assert_eq!(exec(&*tree, &leave).await.exit_code, 0, "{kind}");
        assert!(!is_running(word), "{kind}");
        // Also after a timeout.
        let command = format!("env -i setsid sleep {word} & exec sleep {word}");
        let request = ExecRequest {
            command: &command,
            timeout: Duration::from_secs(1),
            output_limit: 900,
        };
        let late = tree.exec(request, &CancellationToken::new()).await.unwrap();
        assert_eq!(
            (late.timed_out, late.exit_code, is_running(word)),
            (true, 124, false),
            "{kind}: {late:?}"
        );
        assert_in_session(&*tree, kind).await;
        assert_eq!(servers(&world), first, "{kind}");
        // Another tree has a separate sandbox.
        let other = world.open("other").await;
        assert_in_session(&*other, kind).await;
        assert_eq!(servers(&world).len(), 2, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn command_beside_another_has_its_own_sandbox() {
    for kind in kinds() {
        let world = warm(kind, RunLimits::default()).await;
        let tree = world.open("t").await;
        let waiting = exec(
            &*tree,
            "touch begun; until [ -e go ]; do sleep 0.01; done; echo went",
        );
        let beside = async {
            while tree.read("begun", 1).await.is_err() {}
            let starter = exec(&*tree, STARTER).await.output;
            exec(&*tree, "touch go").await;
            starter
        };
        let (waited, starter) = tokio::join!(waiting, beside);
        assert_eq!(
            (waited.output.as_str(), starter.contains(SERVE)),
            ("went\n", false),
            "{kind}: {starter}"
        );
        assert_in_session(&*tree, kind).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_sandbox_of_a_tree_is_replaced() {
    for kind in kinds() {
        let world = warm(kind, RunLimits::default()).await;
        let tree = world.open("t").await;
        let kill = || {
            let servers = servers(&world);
            assert_eq!(servers.len(), 1, "{kind}");
            kill_process(servers[0], Signal::KILL).unwrap();
        };
        let running = exec(&*tree, "touch begun; sleep 98765");
        let killing = async {
            while tree.read("begun", 1).await.is_err() {}
            kill();
        };
        let (ended, ()) = tokio::join!(running, killing);
        assert_eq!(
            (ended.exit_code, ended.timed_out),
            (137, false),
            "{kind}: {ended:?}"
        );
        assert_in_session(&*tree, kind).await;
        // Also between two commands. The first may meet a program that is about to end, and has a
        // separate sandbox.
        kill();
        assert_eq!(exec(&*tree, "echo next").await.output, "next\n", "{kind}");
        assert_in_session(&*tree, kind).await;
        let first = servers(&world);
        // A command that is cancelled does not end it.
        let cancel = CancellationToken::new();
        let request = ExecRequest {
            command: "touch third; sleep 98765",
            timeout: Duration::from_secs(60),
            output_limit: 900,
        };
        let cancelling = async {
            while tree.read("third", 1).await.is_err() {}
            cancel.cancel();
        };
        let (cancelled, ()) = tokio::join!(tree.exec(request, &cancel), cancelling);
        assert_eq!(cancelled, Err(WorkspaceError::Cancelled), "{kind}");
        until(|| !is_running("98765")).await;
        assert_eq!(servers(&world), first, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_sandbox_ends_with_its_tree() {
    for kind in kinds() {
        let world = warm(kind, RunLimits::default()).await;
        let first = world.open("first").await;
        assert_in_session(&*first, kind).await;
        first.release(Release::Ended).await;
        until(|| servers(&world).is_empty()).await;
        // The next thread gets the first thread's user.
        let second = world.open("second").await;
        // A kill ends a command in progress, also without the step's mark.
        let running = exec(&*second, "touch begun; exec env -i sleep 98773");
        let killing = async {
            while second.read("begun", 1).await.is_err() {}
            until(|| is_running("98773")).await;
            world.lose_tree("second").await;
        };
        tokio::join!(running, killing);
        assert!(!is_running("98773"), "{kind}");
        let second = world.open("second").await;
        assert_in_session(&*second, kind).await;
        assert_eq!(servers(&world).len(), 1, "{kind}");
        drop(second);
        world.offboard().await;
        until(|| servers(&world).is_empty()).await;
    }
}
