//! Tests how a command affects its user's other programs, in each sandbox kind.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use ars_types::SandboxNetwork;

use crate::{
    sandbox::{Bystander, kinds, opened},
    support::{CANARY, exec, must},
};

/// Returns a process's limits, nice value, policy and processors.
fn treatment(pid: u32) -> (String, Vec<String>, String) {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let stat = read("stat");
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let status = read("status");
    let processors = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed:"))
        .unwrap();
    // Fields 19 and 41 in proc(5), without the first two.
    (
        read("limits"),
        [16, 38].map(|at: usize| fields[at].to_owned()).to_vec(),
        processors.to_owned(),
    )
}

#[tokio::test]
async fn other_processes_keep_their_limits_and_priorities() {
    for kind in kinds() {
        let (_world, workspace) = opened(kind, SandboxNetwork::Open).await;
        let bystander = Bystander::start();
        let pid = bystander.0.id();
        let before = treatment(pid);
        for change in [
            format!("prlimit --pid {pid} --nofile=1:1"),
            format!("taskset -p 1 {pid}"),
            format!("renice -n 19 -p {pid}"),
            "renice -n 19 -u $(id -u)".to_owned(),
            format!("ionice -c 3 -p {pid}"),
            format!("chrt --idle -p 0 {pid}"),
        ] {
            exec(&*workspace, &change).await;
            assert_eq!(treatment(pid), before, "{kind}: {change}");
        }
        let idle = must(&*workspace, &format!("ionice -p {pid} || true")).await;
        assert!(!idle.contains("idle"), "{kind}: {idle}");
        // A process changes its own.
        must(
            &*workspace,
            "ulimit -n 64 && prlimit --nofile=32 true && nice -n 3 true && taskset 1 true",
        )
        .await;
        must(
            &*workspace,
            "ionice -c 3 true && chrt --idle 0 true && prlimit --pid $$ > /dev/null",
        )
        .await;
    }
}

#[tokio::test]
async fn program_of_another_lends_no_rights() {
    for kind in kinds() {
        let (world, workspace) = opened(kind, SandboxNetwork::Open).await;
        let program = world.folder.path().join("program");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = program.display();
        for mode in ["4755", "2755", "6755", "u+s", "g+s"] {
            let outcome = exec(&*workspace, &format!("chmod {mode} {path}")).await;
            assert_ne!(outcome.exit_code, 0, "{kind}: {mode}");
            let mode_now = fs::metadata(&program).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode_now, 0o755, "{kind}: {mode}");
        }
        must(
            &*workspace,
            "touch own && chmod 1750 own && install -m 700 own other && cp -a own third",
        )
        .await;
    }
}

/// Asserts that the canary is printed outside the sandbox, and not inside.
async fn only_outside_reads(read: &str) {
    let own = Command::new("sh").args(["-c", read]).output().unwrap();
    assert_eq!(String::from_utf8(own.stdout).unwrap(), CANARY);
    for kind in kinds() {
        let (_world, workspace) = opened(kind, SandboxNetwork::Open).await;
        let outcome = exec(&*workspace, read).await;
        assert!(
            outcome.exit_code != 0 && !outcome.output.contains(CANARY),
            "{kind}: {}",
            outcome.output
        );
    }
}

#[tokio::test]
async fn shared_memory_of_another_is_unreachable() {
    /// A System V segment, until dropped.
    struct Segment(String);
    impl Drop for Segment {
        fn drop(&mut self) {
            let _ = Command::new("ipcrm").args(["-m", &self.0]).status();
        }
    }
    let make = format!(
        "$id = shmget(0, 64, 0600 | 01000) // die $!; shmwrite($id, '{CANARY}', 0, 13); print $id"
    );
    let made = Command::new("perl").args(["-e", &make]).output().unwrap();
    let segment = Segment(String::from_utf8(made.stdout).unwrap());
    let read = format!(
        "perl -e 'shmread({}, $x, 0, 13) or die $!; print $x'",
        segment.0
    );
    only_outside_reads(&read).await;
}

#[tokio::test]
async fn key_of_another_is_unreachable() {
    // `add_key` and `keyctl`.
    let [add, control] = if cfg!(target_arch = "x86_64") {
        [248, 250]
    } else {
        [217, 219]
    };
    // In the user's keyring (-4), readable for the user's programs (5), for five minutes (15).
    let make = format!(
        "my ($kind, $name, $text) = ('user', 'ars-test', '{CANARY}'); \
         $key = syscall({add}, $kind, $name, $text, 13, -4); $key > 0 or die $!; \
         syscall({control}, 5, $key, 0x3f3f0000) and die $!; syscall({control}, 15, $key, 300) and die $!; print $key"
    );
    let made = Command::new("perl").args(["-e", &make]).output().unwrap();
    let key = String::from_utf8(made.stdout).unwrap();
    let read = format!(
        "perl -e '$x = \"-\" x 13; syscall({control}, 11, {key}, $x, 13) == 13 or die $!; print $x'"
    );
    only_outside_reads(&read).await;
}
