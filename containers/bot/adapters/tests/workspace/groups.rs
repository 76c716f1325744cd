//! Limits for a run as a whole. Where this machine has no control groups, the tests show that a
//! reason is named.

use ars_bot_adapters::sandbox::{RunLimits, SandboxSettings};
use ars_bot_ports::ReachedLimit;
use ars_types::{Cgroup, SandboxKind, SandboxNetwork};
use rustix::process::geteuid;

use crate::{
    sandbox::kinds,
    support::{World, exec, must, world_in},
};

/// The memory limit has room for as many processes as the other limit allows.
const MEMORY_BYTES: u64 = 256 << 20;
const LIMITS: RunLimits = RunLimits {
    memory_bytes: Some(MEMORY_BYTES),
    processes: Some(64),
};

/// Returns a world with these limits, if the runs have groups.
fn limited(kind: SandboxKind) -> Option<World> {
    let network = Some(SandboxNetwork::Open);
    let world = world_in(SandboxSettings {
        kind: Some(kind),
        network,
        limits: LIMITS,
        ..SandboxSettings::default()
    });
    let confinement = world.provider.confinement().unwrap();
    match confinement.no_cgroup {
        None => {
            assert_ne!(confinement.cgroup, Cgroup::None);
            Some(world)
        }
        Some(reason) => {
            assert_eq!(confinement.cgroup, Cgroup::None);
            let has_files = ["memory/cgroup.procs", "pids/cgroup.procs"]
                .iter()
                .all(|file| std::path::Path::new("/sys/fs/cgroup").join(file).exists());
            assert!(!reason.is_empty());
            assert!(!has_files || !geteuid().is_root(), "{reason}");
            None
        }
    }
}

#[tokio::test]
async fn fork_bomb_ends_at_the_process_limit() {
    for kind in kinds() {
        let Some(world) = limited(kind) else { continue };
        let workspace = world.open().await;
        let other = world
            .open_from("other", &world.folder.path().join("origin"))
            .await
            .unwrap();
        let bomb = exec(&*workspace, "perl -e 'while (1) { fork }'");
        let (bomb, ()) = tokio::join!(bomb, async {
            // Another run has a separate group.
            for _ in 0..20 {
                must(&*other, "true").await;
            }
        });
        assert!(!bomb.timed_out && bomb.exit_code == 137, "{kind}: {bomb:?}");
        assert_eq!(
            bomb.reached,
            [ReachedLimit::Processes {
                max: 64,
                is_killed: true
            }],
            "{kind}"
        );
        // The run's next command can start processes again, and reached nothing.
        let next = exec(&*workspace, "true | true && echo next").await;
        assert_eq!((&*next.output, next.reached.len()), ("next\n", 0), "{kind}");
    }
}

#[tokio::test]
async fn memory_over_the_limit_ends_all_processes() {
    for kind in kinds() {
        let Some(world) = limited(kind) else { continue };
        let workspace = world.open().await;
        let eats =
            "sleep 600 & perl -e '$x = \"x\" x (1 << 30); sleep 600'; sleep 600; echo survived";
        let outcome = exec(&*workspace, eats).await;
        assert!(
            !outcome.timed_out && outcome.exit_code == 137,
            "{kind}: {outcome:?}"
        );
        assert!(!outcome.output.contains("survived"), "{kind}: {outcome:?}");
        assert_eq!(
            outcome.reached,
            [ReachedLimit::Memory(MEMORY_BYTES)],
            "{kind}"
        );
        assert_eq!(
            exec(&*workspace, "echo next").await.output,
            "next\n",
            "{kind}"
        );
    }
}
