//! A workerd process on a data directory. It is killed when its handle is dropped.
//!
//! It is `workerd serve` without a wrapper: a single process and no Node (docs/platform.md).

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::{Built, NpmTools, Wrangler, bucket, config, pack::MODULES};

/// Longest wait for a port and a first answer; a loaded machine needs under a second.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Mode of the runtime's program file.
const EXECUTE_ONLY: u32 = 0o111;
/// Log bytes that a failed start's error quotes.
const LOG_TAIL_BYTES: usize = 4_000;

/// The program and its data directory. No `Debug`: it holds secrets.
#[derive(Clone)]
pub struct Settings {
    /// Path to the runtime.
    pub workerd: PathBuf,
    /// The built Worker's modules.
    pub modules: PathBuf,
    /// Workers that simulate the platform's services.
    pub simulators: PathBuf,
    /// The Worker's deployment settings.
    pub wrangler: Wrangler,
    /// The directory for objects, configuration and log. A new process on it continues with the
    /// data.
    pub data_dir: PathBuf,
    /// Names and values for the Worker's secrets, passed in the environment, never in arguments or
    /// files.
    pub secrets: Vec<(String, String)>,
    /// The address to listen on. Containers reach only their bridge's address.
    pub host: Ipv4Addr,
    /// The port there; 0 lets the system choose.
    pub port: u16,
    /// The engine for its objects' containers, if any.
    pub engine: Option<Engine>,
    /// Whether the Worker may open connections, as a Worker in front of a bot on this machine does.
    pub outbound: bool,
    /// Whether a start waits until `GET /healthz` succeeds.
    pub awaits_health: bool,
    /// Whether a [`TICK_ROUTE`](crate::TICK_ROUTE) request runs the cron handler, like the platform.
    pub ticks: bool,
    /// The only core that it may run on, for measurements.
    pub core: Option<usize>,
}

impl Settings {
    /// Returns settings for a built Worker, with a port that the system chooses and no secrets.
    pub fn new(npm: &NpmTools, built: &Built, data_dir: impl Into<PathBuf>) -> Result<Self> {
        Ok(Self {
            workerd: npm.workerd.clone(),
            modules: built.modules.clone(),
            simulators: npm.simulators.clone(),
            wrangler: Wrangler::read(&built.settings)?,
            data_dir: data_dir.into(),
            secrets: Vec::new(),
            host: Ipv4Addr::LOCALHOST,
            port: 0,
            engine: None,
            outbound: false,
            awaits_health: true,
            ticks: false,
            core: None,
        })
    }

    /// Adds a named secret.
    pub fn secret(mut self, name: &str, value: &str) -> Self {
        self.secrets.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the name prefix for its objects' containers.
    pub fn containers_prefix(&self) -> String {
        format!("workerd-{}-", self.wrangler.name)
    }

    fn log_path(&self) -> PathBuf {
        self.data_dir.join("workerd.log")
    }
}

/// The container engine for the Worker's objects, and the only image that it runs for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// Socket for a Docker-compatible engine.
    pub socket: PathBuf,
    /// The image's name there.
    pub image: String,
}

/// A running workerd; dropping it kills its process group at once.
///
/// Acknowledged data is on disk (docs/platform.md, durability), so a slower end has no advantage.
#[derive(Debug)]
pub struct Workerd {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Workerd {
    /// Starts workerd and waits until it listens, and, if wanted, until `GET /healthz` answers.
    pub fn start(settings: &Settings) -> Result<Self> {
        let log = settings.log_path();
        start(settings)
            .with_context(|| format!("workerd did not start; end of its log:\n{}", tail(&log)))
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the log path for the runtime and the Worker.
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// Kills it with SIGKILL, as dropping does.
    pub fn kill9(self) {
        drop(self);
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Workerd {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may be gone already; then there is nothing to kill and the wait returns at once.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn start(settings: &Settings) -> Result<Workerd> {
    let objects = settings.data_dir.join("objects");
    fs::create_dir_all(&objects).with_context(|| format!("cannot create {}", objects.display()))?;
    let objects = objects.canonicalize()?;
    let names: Vec<_> = settings
        .secrets
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let has_buckets = !settings.wrangler.buckets.is_empty();
    let archives = objects.join(bucket::FOLDER);
    if has_buckets {
        fs::create_dir_all(&archives)
            .with_context(|| format!("cannot create {}", archives.display()))?;
    }
    let config = settings.data_dir.join("workerd.capnp");
    // A Worker without wasm is a single module.
    let modules: Vec<_> = MODULES
        .into_iter()
        .filter(|name| settings.modules.join(name).is_file())
        .collect();
    let text = config::capnp(settings, &modules, &names, &objects)?;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&config)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", config.display()))?;

    hide_memory(&settings.workerd);
    let log_path = settings.log_path();
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&log_path)?;
    let mut child = program(settings)
        .arg("serve")
        // Standard output carries the port, then whatever the Worker prints there.
        .arg("--control-fd=1")
        // The cron trigger and the simulated bucket are not part of the stable runtime yet.
        .args((settings.ticks || has_buckets).then_some("--experimental"))
        .arg("-I")
        .arg(&settings.modules)
        .arg("-I")
        .arg(&settings.simulators)
        .arg(&config)
        .env_clear()
        .envs(settings.secrets.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log.try_clone()?)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", settings.workerd.display()))?;
    let stdout = child.stdout.take();
    // An early return drops and thereby kills the process.
    let mut workerd = Workerd {
        child,
        address: SocketAddr::from((settings.host, 0)),
        log: log_path,
    };
    let port = port(stdout.context("workerd has no standard output")?, log)?;
    workerd.address.set_port(port);
    if settings.awaits_health {
        ready(&workerd.url())?;
    }
    Ok(workerd)
}

/// Takes the read permission from the runtime's program file. The kernel then hides its processes'
/// environment and memory from the user's other processes. A process cannot ask for that before
/// `execve`, which resets it.
fn hide_memory(program: &Path) {
    // Another user's cache files stay readable.
    let _ = fs::set_permissions(program, Permissions::from_mode(EXECUTE_ONLY));
}

/// Returns the runtime's command; `taskset` execs its program, so the process is the same.
fn program(settings: &Settings) -> Command {
    match settings.core {
        None => Command::new(&settings.workerd),
        Some(core) => {
            let mut taskset = Command::new("taskset");
            taskset
                .arg("--cpu-list")
                .arg(core.to_string())
                .arg(&settings.workerd);
            taskset
        }
    }
}

/// Waits until workerd reports the port. A thread copies the later lines to the log.
fn port(stdout: ChildStdout, mut log: File) -> Result<u16> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { return };
            match serde_json::from_str::<Value>(&line) {
                Ok(found) if found["event"] == "listen" && found["socket"] == config::SOCKET => {
                    let port = found["port"].as_u64().and_then(|port| port.try_into().ok());
                    // The waiting side may have given up.
                    let _ = port.map(|port| sender.send(port));
                }
                // A full disk must not stop workerd from being read.
                _ => drop(writeln!(log, "{line}")),
            }
        }
    });
    receiver
        .recv_timeout(START_LIMIT)
        .map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => anyhow!("no port within {START_LIMIT:?}"),
            mpsc::RecvTimeoutError::Disconnected => anyhow!("workerd ended before it listened"),
        })
}

fn ready(url: &str) -> Result<()> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(START_LIMIT))
        .build()
        .into();
    let status = agent
        .get(format!("{url}/healthz"))
        .call()
        .context("GET /healthz")?
        .status();
    if !status.is_success() {
        bail!("GET /healthz answered {status}");
    }
    Ok(())
}

fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_TAIL_BYTES)..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user id without files; a plain user tests as itself.
    const NOBODY: u32 = 65_534;

    /// The program as the user to which the hiding applies.
    fn as_plain_user(program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Returns whether the user's other processes can read the environment of a process running
    /// this program.
    fn is_readable(program: &Path) -> bool {
        let mut hidden = as_plain_user(program)
            .arg("60")
            .env_clear()
            .env("TOKEN", "s3cret")
            .spawn()
            .unwrap();
        let path = format!("/proc/{}/environ", hidden.id());
        let read = as_plain_user("/bin/cat")
            .arg(path)
            .stderr(Stdio::null())
            .output()
            .unwrap();
        hidden.kill().unwrap();
        hidden.wait().unwrap();
        String::from_utf8_lossy(&read.stdout).contains("s3cret")
    }

    #[test]
    fn hidden_runtime_is_unreadable_for_its_user() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let program = folder.path().join("sleep");
        fs::copy("/bin/sleep", &program).unwrap();
        assert!(is_readable(&program), "the test shows nothing");
        hide_memory(&program);
        assert!(!is_readable(&program));
    }
}
