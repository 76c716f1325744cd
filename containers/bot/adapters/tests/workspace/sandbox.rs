//! Tests the sandbox kinds: everything a hostile command reaches, and everything an honest command
//! needs.

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::unix::net::UnixListener,
    path::Path,
    process::{Child, Command},
    sync::Arc,
};

use ars_bot_adapters::sandbox::{SandboxSettings, trusted};
use ars_bot_ports::{CommandSandbox, Workspace, WorkspaceProvider as _};
use ars_testkit::leave_out;
use ars_types::{SandboxKind, SandboxNetwork};

use crate::support::{CANARY, World, exec, exec_for, must, until, world_in};

/// The kinds that this machine has. `cargo xtask test` installs bubblewrap first.
pub fn kinds() -> Vec<SandboxKind> {
    let bubblewrap = trusted("bwrap").map(|_| SandboxKind::Bubblewrap);
    if bubblewrap.is_none() {
        leave_out("the tests under bubblewrap");
    }
    bubblewrap
        .into_iter()
        .chain([SandboxKind::Landlock])
        .collect()
}

pub async fn opened(kind: SandboxKind, network: SandboxNetwork) -> (World, Arc<dyn Workspace>) {
    let world = world_in(SandboxSettings {
        kind: Some(kind),
        network: Some(network),
        ..SandboxSettings::default()
    });
    let workspace = world.open().await;
    let sandbox = world.provider.sandbox();
    let cgroup = world.provider.confinement().unwrap().cgroup;
    assert_eq!(
        sandbox,
        Some(CommandSandbox {
            kind,
            network,
            skipped: None,
            cgroup
        })
    );
    (world, workspace)
}

#[tokio::test]
async fn reason_for_a_skipped_kind_is_kept() {
    // Bubblewrap needs the service's own program for the way to the proxy.
    let world = world_in(SandboxSettings::default());
    let CommandSandbox { kind, skipped, .. } = world.provider.sandbox().unwrap();
    assert_eq!(kind, SandboxKind::Landlock);
    let expected = "bubblewrap: the path of the service's own program is not known";
    assert_eq!(skipped.as_deref(), Some(expected));
}

/// Returns the processes with this word in their arguments.
fn processes_with(word: &str) -> usize {
    let all = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("cmdline"));
    all.filter(|path| fs::read_to_string(path).is_ok_and(|arguments| arguments.contains(word)))
        .count()
}

/// The same user's process outside every sandbox, until dropped.
pub struct Bystander(pub Child);

impl Bystander {
    pub fn start() -> Self {
        Self(
            Command::new("sleep")
                .arg("600")
                .env("SECRET", CANARY)
                .spawn()
                .unwrap(),
        )
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn hostile_command_reaches_only_its_own_folders() {
    for kind in kinds() {
        let (world, workspace) = opened(kind, SandboxNetwork::Open).await;
        let other = world
            .open_from("other", &world.folder.path().join("origin"))
            .await
            .unwrap();
        other.write("private.txt", CANARY.as_bytes()).await.unwrap();
        let sibling = world
            .provider
            .tree_of(&crate::support::thread("other"))
            .join("private.txt");
        let data = world.folder.path().join("data");
        let store = data.join("store.sqlite3");
        fs::write(&store, CANARY).unwrap();
        let bystander = Bystander::start();

        let (data, pid) = (data.display(), bystander.0.id());
        let (sibling_path, store_path) = (sibling.display(), store.display());
        let attempts = [
            format!("cat {sibling_path} {store_path} /etc/shadow /root/.bashrc ~root/.profile"),
            format!(
                "echo x > {store_path}; truncate -s 0 {store_path}; echo x > {sibling_path}; rm {sibling_path}"
            ),
            format!(
                "ln {store_path} linked; cat linked; ln -s {store_path} soft; cat soft; cp {sibling_path} ."
            ),
            format!("ls {data}; ls {data}/workspaces/*; grep -r {CANARY} {data} /var /run /root /home"),
            format!("cat /proc/{pid}/environ /proc/{pid}/cwd/* /proc/{pid}/root{store_path}"),
            "mv ../tree ../away; ln -s / ../tree; mkfifo ../meta.json; echo x > ../x; rmdir ../home"
                .to_owned(),
            "echo x > /etc/cron.d/hostile; echo x >> /etc/ld.so.preload; echo x > /usr/local/bin/hostile"
                .to_owned(),
            "for folder in ${PATH//:/ }; do echo x > $folder/hostile; done".to_owned(),
            "mount -t tmpfs none /mnt; chroot / true && echo canary-secret; mknod device b 8 0".to_owned(),
        ];
        for attempt in attempts {
            let output = exec(&*workspace, &attempt).await.output;
            let shown = output.replace(&format!("grep -r {CANARY}"), "");
            assert!(!shown.contains(CANARY), "{kind}: {attempt}: {output}");
        }
        for (path, content) in [(&sibling, CANARY), (&store, CANARY)] {
            assert_eq!(
                fs::read_to_string(path).unwrap(),
                content,
                "{kind}: {}",
                path.display()
            );
        }
        let places = [
            "/etc/cron.d/hostile",
            "/usr/local/bin/hostile",
            "/usr/bin/hostile",
        ];
        assert!(
            places.iter().all(|place| !Path::new(place).exists()),
            "{kind}"
        );
        assert!(
            world.tree().join("src/lib.txt").is_file() && !world.tree().join("device").exists(),
            "{kind}"
        );
        assert!(!world.tree().join("../x").exists(), "{kind}");
    }
}

#[tokio::test]
async fn signals_reach_only_own_processes() {
    for kind in kinds() {
        let (_world, workspace) = opened(kind, SandboxNetwork::Open).await;
        let mut bystander = Bystander::start();
        let pid = bystander.0.id();
        let outcome = exec(
            &*workspace,
            &format!("kill -9 {pid}; kill -9 -{pid}; kill -9 -1; kill -9 $$"),
        )
        .await;
        assert_ne!(outcome.exit_code, 0, "{kind}");
        assert!(!bystander.has_ended(), "{kind}");
        must(&*workspace, "sleep 600 & kill -9 $!").await;
    }
}

#[tokio::test]
async fn survivors_end_with_their_command() {
    for (kind, word) in kinds().into_iter().zip(["98761", "98762"]) {
        let (_world, workspace) = opened(kind, SandboxNetwork::Open).await;
        let command = format!(
            "setsid sh -c 'trap \"\" TERM HUP; (setsid sleep {word} &); touch up; sleep {word}' & \
             until [ -e up ]; do :; done"
        );
        assert_eq!(exec(&*workspace, &command).await.exit_code, 0, "{kind}");
        until("every survivor is gone", async || processes_with(word) == 0).await;
        // Also after a timeout.
        assert!(
            exec_for(&*workspace, &format!("setsid sleep {word} & sleep 600"), 1)
                .await
                .timed_out,
            "{kind}"
        );
        until("every survivor is gone", async || processes_with(word) == 0).await;
    }
}

#[tokio::test]
async fn closed_network_reaches_no_socket() {
    for kind in kinds() {
        let (_world, workspace) = opened(kind, SandboxNetwork::None).await;
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let port = tcp.local_addr().unwrap().port();
        let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        udp.set_nonblocking(true).unwrap();
        let send = format!("echo x > /dev/udp/127.0.0.1/{port}; exec 3<>/dev/tcp/127.0.0.1/{port}");
        assert_ne!(exec(&*workspace, &send).await.exit_code, 0, "{kind}");
        assert!(
            tcp.accept().is_err() && udp.recv(&mut [0]).is_err(),
            "{kind}"
        );
    }
}

/// A socket in another family reaches things that no namespace holds. `io_uring` makes sockets
/// without a filtered call.
#[tokio::test]
async fn sockets_of_other_families_are_refused() {
    /// `AF_VSOCK`, which reaches a virtual machine's host. A kernel without it has another error.
    const VSOCK: u8 = 40;
    const IO_URING_SETUP: u16 = 425;
    let socket = if cfg!(target_arch = "x86_64") {
        41
    } else {
        198
    };
    for (kind, network) in kinds().into_iter().flat_map(|kind| {
        [SandboxNetwork::Open, SandboxNetwork::None].map(|network| (kind, network))
    }) {
        let (_world, workspace) = opened(kind, network).await;
        for call in [
            format!("{socket}, {VSOCK}, 1, 0"),
            format!("{IO_URING_SETUP}, 8, 0"),
        ] {
            let errors = must(
                &*workspace,
                &format!("perl -e 'syscall({call}); print $!{{EPERM}} ? 1 : $!'"),
            )
            .await;
            assert_eq!(errors, "1", "{kind}: {network:?}: {call}");
        }
    }
}

#[tokio::test]
async fn unix_socket_of_another_program_is_unreachable() {
    for kind in kinds() {
        let (world, workspace) = opened(kind, SandboxNetwork::Open).await;
        let path = world.folder.path().join("engine.sock");
        let socket = UnixListener::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let connect = format!(
            "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) or die \"no socket: $!\"; \
             connect(S, sockaddr_un(\"{}\")) or die \"no connection: $!\"; print \"connected\"'",
            path.display()
        );
        let output = exec(&*workspace, &connect).await.output;
        assert!(
            socket.accept().is_err() && !output.contains("connected"),
            "{kind}: {output}"
        );
        // The machine's network is open.
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        must(
            &*workspace,
            &format!(
                "exec 3<>/dev/tcp/127.0.0.1/{}",
                tcp.local_addr().unwrap().port()
            ),
        )
        .await;
    }
}

/// Returns whether a command can map so many bytes, without using any.
async fn maps(workspace: &dyn Workspace, bytes: u64) -> bool {
    let number = if cfg!(target_arch = "x86_64") { 9 } else { 222 };
    let map = format!("perl -e 'exit(syscall({number}, 0, {bytes}, 3, 34, -1, 0) == -1)'");
    exec(workspace, &map).await.exit_code == 0
}

#[tokio::test]
async fn resources_are_limited() {
    for kind in kinds() {
        let (_world, workspace) = opened(kind, SandboxNetwork::Open).await;
        let limits = must(
            &*workspace,
            "ulimit -c; ulimit -f; ulimit -d; cat /proc/self/oom_score_adj",
        )
        .await;
        let limits: Vec<&str> = limits.lines().collect();
        assert_eq!((limits[0], limits[3]), ("0", "1000"), "{kind}: {limits:?}");
        assert!(
            limits[1].parse::<u64>().is_ok() && limits[2].parse::<u64>().is_ok(),
            "{kind}: {limits:?}"
        );
        let reset = "echo 0 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj";
        assert!(
            exec(&*workspace, reset).await.output.ends_with("1000\n"),
            "{kind}"
        );
        if kind == SandboxKind::Bubblewrap {
            // Folders in memory are limited or read-only.
            assert_eq!(
                must(&*workspace, "df -k --output=size /dev/shm | tail -n 1")
                    .await
                    .trim(),
                "1048576"
            );
            let made = exec(&*workspace, "echo x > /x || echo x > /dev/x").await;
            assert_ne!(made.exit_code, 0, "{}", made.output);
        }
        // A process obtains half its memory and no more than all.
        let most = limits[2].parse::<u64>().unwrap() << 10;
        assert!(
            maps(&*workspace, most / 2).await && !maps(&*workspace, most + (64 << 20)).await,
            "{kind}"
        );
    }
}

#[tokio::test]
async fn honest_test_suite_passes() {
    for kind in kinds() {
        let (_world, workspace) = opened(kind, SandboxNetwork::None).await;
        let makefile = ".PHONY: test unit\ntest: unit\n\t./check.sh\n\tgit status --porcelain > /dev/null\nunit:\n\techo built > built\n";
        let check = "#!/bin/sh\nset -eu\nt=$(mktemp)\necho one > $t\ngrep -q one $t\nread -r name < /proc/self/comm\n\
                     seq 1000 | xargs -n1 -P4 echo | sort -n | tail -1 | grep -qx 1000\n\
                     perl -e 'exit 0'\ndate > /dev/null\ncat /dev/urandom | head -c 10 > $HOME/seed\n\
                     if [ -x /usr/bin/python3 ]; then /usr/bin/python3 -c 'import json, tempfile, subprocess; \
                     subprocess.run([\"true\"], check=True); tempfile.TemporaryFile()'; fi\n";
        workspace
            .write("Makefile", makefile.as_bytes())
            .await
            .unwrap();
        workspace.write("check.sh", check.as_bytes()).await.unwrap();
        must(
            &*workspace,
            "chmod +x check.sh && make test && git add . && git commit -qm tested",
        )
        .await;
        assert!(
            workspace.diff().await.unwrap().contains("+test: unit"),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn unconfined_commands_are_refused_as_root() {
    let world = world_in(SandboxSettings {
        kind: Some(SandboxKind::None),
        ..SandboxSettings::default()
    });
    let origin = world.origin();
    let opened = world.open_from("t", &origin).await;
    if rustix::process::geteuid().is_root() {
        let error = opened.err().unwrap().to_string();
        assert!(
            error.contains("refused as root") && error.contains("apt install bubblewrap"),
            "{error}"
        );
    } else {
        must(&*opened.unwrap(), "true").await;
    }
}
