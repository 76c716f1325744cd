//! Our own podman, with configuration, storage, network and socket separate from the machine's.
//!
//! The storage lies in the cache and is shared by all checkouts, so that an image is built once. Each user starts its
//! own service, which stops when the user exits.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ars_workerd::{Progress, cache_dir};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::api::Api;
use crate::{HOST, bridge, debian, forwards};

/// Seconds without a connection after which a service leaves.
const IDLE_SECONDS: u32 = 20;
/// Longest wait for a service to answer.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Timeout for a service to stop.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How often a starting or ending service is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How podman writes that a container has no process.
const NO_PROCESS: &str = "0";
/// The program that monitors a container's process for podman.
const WATCHER: &str = "conmon";
/// Takes Docker's command line, as far as wrangler speaks it.
const COMMAND_LINE: &str = "docker";
/// The file with the storage driver's name.
const DRIVER: &str = "driver";
/// Maximum socket path length in bytes for the kernel.
const SOCKET_PATH_LIMIT: usize = 107;

/// A running service; ended when dropped. Containers do not depend on it.
#[derive(Debug)]
pub(crate) struct Service {
    home: Home,
    child: Child,
    api: Api,
    command_line: PathBuf,
}

impl Service {
    /// Sets up missing parts and starts the service.
    pub(crate) fn start(progress: Progress<'_>) -> Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "no container engine answers: start Docker, name one in DOCKER_HOST, or be root on Debian so that podman \
             can be set up"
        );
        debian::ensure_packages(&debian::PODMAN, progress)?;
        let home = Home::make(&cache_dir()?)?;
        bridge::ensure()?;
        home.sweep()?;
        let socket = home
            .dir
            .join(format!("{}-{}.sock", std::process::id(), nonce()));
        ensure!(
            socket.as_os_str().len() <= SOCKET_PATH_LIMIT,
            "{} is too long for a socket",
            socket.display()
        );
        let log = home.dir.join("service.log");
        let child = home
            .podman()
            .args(["system", "service", &format!("--time={IDLE_SECONDS}")])
            .arg(format!("unix://{}", socket.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .process_group(0)
            .spawn()
            .context("podman cannot be started")?;
        let command_line = home.dir.join(COMMAND_LINE);
        let mut service = Self {
            home,
            child,
            api: Api::new(socket),
            command_line,
        };
        service.wait(&log)?;
        Ok(service)
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    /// Returns the program that accepts Docker's command line.
    pub(crate) fn command_line(&self) -> &Path {
        &self.command_line
    }

    fn wait(&mut self, log: &Path) -> Result<()> {
        let began = Instant::now();
        while !self.api.answers() {
            if began.elapsed() > START_LIMIT || !matches!(self.child.try_wait(), Ok(None)) {
                let said = fs::read_to_string(log).unwrap_or_default();
                bail!(
                    "podman's service did not start: {}",
                    said.lines().last().unwrap_or_default()
                );
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let signal = |signal| {
            // It may have exited already.
            group.map(|group| kill_process_group(group, signal).ok());
        };
        // It finishes the current request: a half-removed container leaves rules in the machine's
        // firewall.
        signal(Signal::TERM);
        let began = Instant::now();
        while began.elapsed() < END_LIMIT && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(LOOK);
        }
        signal(Signal::KILL);
        let _ = self.child.wait();
        // A remaining socket file is harmless.
        let _ = fs::remove_file(self.api.socket());
        if let Err(error) = self.home.sweep() {
            eprintln!("forwards of ended containers may stay: {error:#}");
        }
    }
}

/// Several services in a process each have a socket.
fn nonce() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns a process's program, or `None` if it has exited.
fn program(pid: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// How podman stores images and containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Driver {
    /// A container has its own layer above the image's.
    Overlay,
    /// A container begins with a copy of the image: it takes seconds, and no kernel feature.
    Copies,
}

impl Driver {
    /// Returns the driver's name for podman.
    const fn name(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Copies => "vfs",
        }
    }

    /// Returns the folder for images and containers. Podman rejects a folder that another driver
    /// wrote.
    const fn folder(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Copies => "root",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Overlay, Self::Copies]
            .into_iter()
            .find(|driver| driver.name() == name)
    }
}

/// Where our podman keeps everything.
#[derive(Debug)]
struct Home {
    dir: PathBuf,
    driver: Driver,
}

impl Home {
    fn make(cache: &Path) -> Result<Self> {
        let mut home = Self {
            dir: cache.join("engine"),
            driver: Driver::Overlay,
        };
        for folder in ["run", "tmp", "networks"] {
            let path = home.dir.join(folder);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.with_context(|| format!("cannot create {}", path.display()))?;
        }
        for (name, text) in home.files()? {
            home.write(name, &text)?;
        }
        let known = fs::read_to_string(home.dir.join(DRIVER)).ok();
        home.driver = match known.as_deref().and_then(Driver::parse) {
            Some(driver) => driver,
            None => home.choose_driver()?,
        };
        home.write(COMMAND_LINE, &home.script())?;
        let script = home.dir.join(COMMAND_LINE);
        fs::set_permissions(&script, Permissions::from_mode(0o755))?;
        Ok(home)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.dir.join(name);
        // Written once: another service may be reading it.
        if fs::read_to_string(&path).ok().as_deref() != Some(text) {
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Has podman try the faster driver, which not every file system supports, and keeps the choice.
    fn choose_driver(&self) -> Result<Driver> {
        let tried = self.said(&["info", "--format={{.Store.GraphDriverName}}"]);
        let is_overlay = tried.is_ok_and(|name| name.trim() == Driver::Overlay.name());
        let driver = if is_overlay {
            Driver::Overlay
        } else {
            Driver::Copies
        };
        self.write(DRIVER, driver.name())?;
        Ok(driver)
    }

    fn podman(&self) -> Command {
        let mut podman = Command::new("podman");
        podman.env("CONTAINERS_CONF", self.dir.join("containers.conf"));
        podman
            .arg("--root")
            .arg(self.dir.join(self.driver.folder()));
        podman.arg("--runroot").arg(self.dir.join("run"));
        podman.args(["--storage-driver", self.driver.name()]);
        podman
    }

    /// Removes containers left by a process that died without a monitor, and forwards to missing ones.
    fn sweep(&self) -> Result<()> {
        for id in self.listed()?.iter().filter(|id| self.is_lost(id)) {
            let remove = || self.said(&["container", "rm", "--force", "--ignore", "--time=0", id]);
            // The first attempt finds out that it does not run, and fails over it.
            remove().or_else(|_| remove())?;
        }
        forwards::sweep(|| self.listed())
    }

    /// Lists the containers, including ended ones.
    fn listed(&self) -> Result<BTreeSet<String>> {
        let list = || self.said(&["container", "ls", "--all", "--no-trunc", "--format={{.ID}}"]);
        // It fails while another is being removed.
        let said = list().or_else(|_| list()).or_else(|_| list())?;
        Ok(said.lines().map(str::to_owned).collect())
    }

    /// Whether podman believes that the container runs, although process and monitor have exited. A
    /// monitor leaves a note before it exits, which podman reads at the next inspection, so two are
    /// needed.
    fn is_lost(&self, id: &str) -> bool {
        let remembered = [
            "container",
            "inspect",
            "--format={{.State.Pid}} {{.State.ConmonPid}}",
            id,
        ];
        (0..2).all(|_| {
            // A container that cannot be inspected was removed concurrently.
            let said = self.said(&remembered).unwrap_or_default();
            let processes = said
                .trim()
                .split_once(' ')
                .filter(|(process, _)| *process != NO_PROCESS);
            processes.is_some_and(|(process, watcher)| {
                // A zombie has no program any more.
                program(process).is_none()
                    && program(watcher).is_none_or(|found| !found.ends_with(WATCHER))
            })
        })
    }

    /// Returns podman's output.
    fn said(&self, arguments: &[&str]) -> Result<String> {
        let output = self
            .podman()
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .context("podman")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "podman: {}", complaint.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn files(&self) -> Result<[(&'static str, String); 3]> {
        let place = |name: &str| serde_json::to_string(&self.dir.join(name).to_string_lossy());
        // crun fails with mixed control groups of version 1 and 2, which only systemd would manage. Podman's default
        // limits exceed those a container may raise.
        let conf = format!(
            "# Written by cargo xtask.\n\
             [engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n\
             lock_type = \"file\"\ntmp_dir = {tmp}\n\
             [containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\nbase_hosts_file = {hosts}\n\
             [network]\nnetwork_backend = \"netavark\"\nnetwork_config_dir = {networks}\ndefault_network = \"ars\"\n\
             default_subnet = \"{subnet}\"\n",
            tmp = place("tmp")?,
            hosts = place("hosts")?,
            networks = place("networks")?,
            subnet = bridge::SUBNET,
        );
        // This podman version does not support Docker's `host-gateway`.
        let hosts = format!("127.0.0.1 localhost\n{} {HOST}\n", bridge::GATEWAY);
        let network = serde_json::json!({
            "name": "ars", "id": "a".repeat(64), "driver": "bridge", "network_interface": bridge::NAME,
            "created": "2026-01-01T00:00:00Z", "ipv6_enabled": false, "internal": false, "dns_enabled": false,
            "subnets": [{"subnet": bridge::SUBNET, "gateway": bridge::GATEWAY}],
            "ipam_options": {"driver": "host-local"},
        });
        Ok([
            ("containers.conf", conf),
            ("hosts", hosts),
            ("networks/ars.json", network.to_string()),
        ])
    }

    /// Returns the program that accepts Docker's command line. wrangler asks Docker for two things
    /// that this podman does not know, and hands the Dockerfile on a pipe.
    fn script(&self) -> String {
        let quoted = |name: &str| {
            format!(
                "'{}'",
                self.dir.join(name).to_string_lossy().replace('\'', "'\\''")
            )
        };
        format!(
            "#!/bin/sh\n# Written by cargo xtask.\nexport CONTAINERS_CONF={conf}\nfor word do\n  shift\n  \
             case $word in --load | --provenance=*) ;; *) set -- \"$@\" \"$word\" ;; esac\ndone\n\
             cat | podman --root {root} --runroot {run} --storage-driver {driver} \"$@\"\n",
            conf = quoted("containers.conf"),
            root = quoted(self.driver.folder()),
            run = quoted("run"),
            driver = self.driver.name(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_have_names_and_folders_of_their_own() {
        assert_eq!(
            (Driver::parse("overlay"), Driver::parse("vfs")),
            (Some(Driver::Overlay), Some(Driver::Copies))
        );
        assert_eq!(Driver::parse(""), None);
        assert_ne!(Driver::Overlay.folder(), Driver::Copies.folder());
        let home = Home {
            dir: "/it's".into(),
            driver: Driver::Copies,
        };
        let script = home.script();
        assert!(
            script.contains("--root '/it'\\''s/root'") && script.contains("--storage-driver vfs"),
            "{script}"
        );
    }
}
