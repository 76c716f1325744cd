//! Hostile commands on a local resident, in each sandbox kind.

use std::{fs, time::Duration};

use ars_bot_adapters::sandbox::{RunLimits, SandboxSettings, trusted};
use ars_bot_ports::{ExecRequest, Release, WorkspaceProvider as _};
use ars_types::{Cgroup, SandboxKind, SandboxNetwork, TreePlace};
use tokio_util::sync::CancellationToken;

use crate::support::{World, exec};

/// The kinds that this machine has.
pub fn kinds() -> Vec<SandboxKind> {
    let bubblewrap = trusted("bwrap").map(|_| SandboxKind::Bubblewrap);
    bubblewrap
        .into_iter()
        .chain([SandboxKind::Landlock])
        .collect()
}

/// Makes a world with this kind and a warm resident.
pub async fn warm(kind: SandboxKind, limits: RunLimits) -> World {
    let network = Some(SandboxNetwork::Open);
    let settings = SandboxSettings {
        kind: Some(kind),
        network,
        limits,
        ..SandboxSettings::default()
    };
    let world = World::in_sandbox(settings);
    world.onboard().await;
    world
}

/// Returns whether a process has this word in the arguments.
pub fn is_running(word: &str) -> bool {
    let mut all = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("cmdline"));
    all.any(|path| fs::read_to_string(path).is_ok_and(|arguments| arguments.contains(word)))
}

/// Waits until no process has the word; only a hang ends the test otherwise.
async fn until_gone(word: &str) {
    while is_running(word) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn survivors_end_with_their_command() {
    for (kind, word) in kinds().into_iter().zip(["98781", "98782"]) {
        let world = warm(kind, RunLimits::default()).await;
        let tree = world.open("t").await;
        assert_eq!(tree.placement().tree, TreePlace::Resident);
        // Neither session nor environment show to which command it belongs.
        let hidden = format!("env -i setsid sleep {word} &");
        let command = format!(
            "setsid sh -c 'trap \"\" TERM HUP; ({hidden}) ; touch up; sleep {word}' & until [ -e up ]; do :; done"
        );
        assert_eq!(exec(&*tree, &command).await.exit_code, 0, "{kind}");
        until_gone(word).await;
        // Also after a timeout.
        let command = format!("{hidden} exec tail -f /dev/null");
        let request = ExecRequest {
            command: &command,
            timeout: Duration::from_secs(1),
            output_limit: 900,
        };
        assert!(
            tree.exec(request, &CancellationToken::new())
                .await
                .unwrap()
                .timed_out,
            "{kind}"
        );
        until_gone(word).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_from_the_first_instruction() {
    for kind in kinds() {
        let world = warm(kind, RunLimits::default()).await;
        let tree = world.open("t").await;
        let limits = exec(
            &*tree,
            "ulimit -c; ulimit -f; ulimit -d; cat /proc/self/oom_score_adj",
        )
        .await;
        let limits: Vec<&str> = limits.output.lines().collect();
        assert_eq!((limits[0], limits[3]), ("0", "1000"), "{kind}: {limits:?}");
        assert!(limits[1].parse::<u64>().is_ok(), "{kind}: {limits:?}");
        let data: u64 = limits[2].parse().unwrap();
        // A process with 1 KiB more is refused.
        let eats = format!("perl -e '$x = \"x\" x ({data} << 10); print \"allocated\"'");
        let ended = exec(&*tree, &eats).await;
        assert!(
            ended.exit_code != 0 && !ended.output.contains("allocated"),
            "{kind}: {ended:?}"
        );
    }
}

/// The control group that a run's data names holds the run's commands.
#[tokio::test(flavor = "multi_thread")]
async fn memory_over_the_groups_limit_ends_the_command() {
    let limits = RunLimits {
        memory_bytes: Some(64 << 20),
        processes: Some(64),
    };
    for kind in kinds() {
        let world = warm(kind, limits).await;
        let tree = world.open("t").await;
        let named = tree.placement().sandbox.unwrap();
        assert_eq!(Some(&named), world.local.sandbox().as_ref());
        if named.cgroup == Cgroup::None {
            continue;
        }
        let eats =
            "sleep 600 & perl -e '$x = \"x\" x (256 << 20); sleep 600'; sleep 600; echo survived";
        let ended = exec(&*tree, eats).await;
        assert!(
            !ended.timed_out && ended.exit_code == 137,
            "{kind}: {ended:?}"
        );
        assert!(!ended.output.contains("survived"), "{kind}: {ended:?}");
        assert_eq!(exec(&*tree, "echo next").await.output, "next\n", "{kind}");
    }
}

/// What the first subject leaves wherever it can. Nothing is in the tree, which is therefore
/// released as clean.
const PLANT: &str = "mkdir -p ~/.config/git ~/.config/pip ~/.cargo ~/.cache/x ~/bin
    printf '[core]\n\tfsmonitor = touch pwned\n\thooksPath = ~/hooks\n' > ~/.gitconfig; mkdir -p ~/hooks
    printf '#!/bin/sh\ntouch pwned\n' > ~/hooks/pre-commit; chmod +x ~/hooks/pre-commit
    echo '*' > ~/.config/git/ignore; echo '* filter=x' > ~/.config/git/attributes
    for name in .npmrc .bashrc .profile .netrc .cargo/config.toml .config/pip/pip.conf .cache/x/y bin/git; do
        echo planted > ~/$name; done
    echo planted > \"${TMPDIR:-/tmp}/planted\"; chmod 500 ~/bin; (setsid tail -f /dev/null 98791 &) > /dev/null 2>&1";
/// What the second subject finds: a home, temporary folders, and objects with others' work.
const FIND: &str = "find ~ -mindepth 1 ! -path ~/tmp; find \"${TMPDIR:-/tmp}\" -name planted
    git cat-file --batch-all-objects --batch | grep -a unfinished-plan; true";

/// Two subjects that do not trust each other have threads on the same resident in turn.
#[tokio::test(flavor = "multi_thread")]
async fn next_subject_finds_nothing_of_the_last() {
    for kind in kinds() {
        let world = warm(kind, RunLimits::default()).await;
        let first = world.open("first").await;
        let planted = exec(&*first, PLANT).await;
        assert_eq!(
            (planted.output.as_str(), planted.exit_code),
            ("", 0),
            "{kind}: {planted:?}"
        );
        first.release(Release::Ended).await;
        until_gone("98791").await;
        // The work is saved, and released too.
        let plans = world.open("plans").await;
        exec(&*plans, "echo unfinished-plan > plan.txt").await;
        plans.release(Release::Ended).await;
        let second = world.open("second").await;
        assert_eq!(second.placement().tree, TreePlace::Resident);
        assert_eq!(exec(&*second, FIND).await.output, "", "{kind}");
        // A person's honest work: nothing runs beside it, and nothing hides it.
        let honest = "echo new > new_module.py; git add -A && git -c user.name=a -c user.email=a@localhost \
            commit -qm honest && git show --stat --format=%s | cat; ls pwned";
        let honest = exec(&*second, honest).await;
        assert!(
            honest
                .output
                .starts_with("honest\n\n new_module.py | 1 +\n"),
            "{kind}: {honest:?}"
        );
        assert!(honest.exit_code != 0, "{kind}: {honest:?}");
        drop(second);
        world.offboard().await;
        let left = fs::read_dir(world.folder.path().join("data/residents"))
            .unwrap()
            .flatten();
        assert!(
            left.flat_map(|entry| fs::read_dir(entry.path()))
                .flatten()
                .flatten()
                .all(|entry| entry.file_name() != "homes")
        );
    }
}
