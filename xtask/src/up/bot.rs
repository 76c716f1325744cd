//! The bot as a process: started, found, watched, and stopped with its runs recorded.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use ars_workerd::repo_root;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;

use super::code_host::RehearsalHost;
use super::data_dir::DataDir;
use super::environment::set;
use super::options::{Options, Store};
use super::secrets::{DASHBOARD_TOKEN, INGRESS_TOKENS, MEMORY_TOKEN, Secrets};
use super::signals::Signals;
use super::slack::RehearsalSlack;
use super::{http, ports};
use crate::cargo::Target;

/// Build target for the bot.
pub const TARGET: Target<'_> = Target {
    package: "ars",
    kind: "--bin",
    name: "ars",
    profile: "dev",
};
/// The rehearsal script's path from the root.
pub const REHEARSAL: &str = "xtask/sample/rehearsal.toml";
/// The skills that are shipped, from the root.
const SKILLS: &str = "containers/bot/skills";
/// The variable that names the bot's skill folder; the environment's own wins.
const SKILLS_DIR: &str = "SERVICE_SKILLS_DIR";

/// The base URL for run page links, which pull requests have; the environment's own wins.
pub const PUBLIC_BASE_URL: &str = "PUBLIC_BASE_URL";
/// The name among the kept ports.
const PART: &str = "bot";

/// The variable that names the file with the build's commit and time.
const BUILD_STAMP: &str = "ARS_BUILD_STAMP";

/// Longest wait for the bot to listen.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Longest wait for stopped runs to be recorded: a little more than the bot gives itself.
const STOP_LIMIT: Duration = Duration::from_secs(50);
/// How often a process that is to end is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Log bytes that an error repeats.
const TAIL_BYTES: usize = 2_000;

/// What a start needs.
pub struct Launch<'a> {
    /// Path to the bot's binary.
    pub ars: &'a Path,
    /// The `up` command line.
    pub options: &'a Options,
    /// Where everything is kept.
    pub data: &'a DataDir,
    /// Tokens of this installation.
    pub secrets: &'a Secrets,
    /// The state Worker's address, if there is any.
    pub state_url: Option<String>,
    /// The rehearsal host, if there is any.
    pub code_host: Option<&'a RehearsalHost>,
    /// The rehearsal workspace, if there is any.
    pub slack: Option<&'a RehearsalSlack>,
    /// Path to the configuration file.
    pub config: &'a Path,
}

/// The running bot; killed when dropped before it was stopped.
pub struct Bot {
    child: Child,
    url: String,
    log: PathBuf,
}

impl Bot {
    /// Starts the bot and waits until it answers.
    pub fn start(launch: &Launch<'_>) -> Result<Self> {
        let log_path = launch.data.log();
        // The previous log is kept: it may explain the restart.
        if log_path.exists() {
            fs::rename(&log_path, log_path.with_extension("log.old"))?;
        }
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&log_path)?;
        // Read at each start, not compiled in: a new commit alone must not rebuild the bot.
        let stamp = launch.data.join("build.json");
        fs::write(&stamp, ars_engine::stamp().to_string())?;
        let port = ports::choose(
            launch.data,
            PART,
            Ipv4Addr::LOCALHOST,
            launch.options.bot_port(),
        )?;
        let mut child = command(launch, port)
            .env(BUILD_STAMP, &stamp)
            .stdout(Stdio::piped())
            .stderr(log.try_clone()?)
            // A separate group: Ctrl-C reaches it through this program, once, and the tools die
            // with it.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", launch.ars.display()))?;
        let stdout = child.stdout.take();
        let mut bot = Self {
            child,
            url: String::new(),
            log: log_path,
        };
        let url = stdout
            .context("the bot has no standard output")
            .and_then(|stdout| listening(stdout, log));
        bot.url = url.with_context(|| {
            format!("the bot did not start; end of its log:\n{}", bot.log_tail())
        })?;
        ensure!(
            http::is_healthy(&bot.url),
            "the bot listens at {} but GET /healthz fails",
            bot.url
        );
        Ok(bot)
    }

    /// Returns the bot's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Returns the end of the bot's log.
    pub fn log_tail(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..])
            .trim_end()
            .to_owned()
    }

    /// Shuts it down: runs in flight are stopped and recorded.
    /// It is killed after a timeout, or on the user's second signal.
    pub fn stop(mut self, signals: &Signals) {
        // The first has it drain, which may take long; the second insists. Two of the same kind may
        // come as one.
        self.signal(Signal::TERM);
        thread::sleep(LOOK);
        self.signal(Signal::INT);
        let began = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if signals.insists() || began.elapsed() > STOP_LIMIT {
                eprintln!("the bot is killed: unwritten records may be lost");
                return;
            }
            thread::sleep(LOOK);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have exited already.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn command(launch: &Launch<'_>, port: u16) -> Command {
    let mut ars = Command::new(launch.ars);
    let address = format!("127.0.0.1:{port}");
    ars.arg("serve")
        .args(["--listen", &address])
        .arg("--data-dir")
        .arg(launch.data.bot())
        .args([
            "--store",
            if launch.options.store == Store::Worker {
                "worker"
            } else {
                "embedded"
            },
        ])
        .arg("--config")
        .arg(launch.config)
        .arg("--rehearsal")
        .arg(repo_root().join(REHEARSAL))
        .env(INGRESS_TOKENS, &launch.secrets.ingress)
        .env(DASHBOARD_TOKEN, &launch.secrets.dashboard)
        .stdin(Stdio::null());
    if std::env::var_os(SKILLS_DIR).is_none() {
        ars.env(SKILLS_DIR, repo_root().join(SKILLS));
    }
    if set(PUBLIC_BASE_URL).is_none() {
        ars.env(PUBLIC_BASE_URL, format!("http://{address}"));
    }
    if launch.options.residents {
        ars.envs(launch.secrets.residents.of_bot());
    }
    ars.envs(launch.code_host.iter().flat_map(|host| host.variables()));
    ars.envs(launch.slack.iter().flat_map(|slack| slack.variables()));
    if let Some(model) = &launch.options.model {
        ars.args(["--model", model]);
    }
    if let Some(url) = &launch.state_url {
        ars.args(["--state-url", url])
            .env(MEMORY_TOKEN, &launch.secrets.state);
    }
    ars
}

#[derive(Deserialize)]
struct Listening {
    listening: String,
}

/// Waits for the line with the address; a thread copies the following lines to the log.
fn listening(stdout: ChildStdout, mut log: File) -> Result<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            match serde_json::from_str::<Listening>(&line) {
                // The waiting side may have given up.
                Ok(found) => drop(sender.send(found.listening)),
                // A full disk must not stop the bot from being read.
                Err(_) => drop(writeln!(log, "{line}")),
            }
        }
    });
    receiver
        .recv_timeout(START_LIMIT)
        .map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => anyhow!("it did not listen within {START_LIMIT:?}"),
            mpsc::RecvTimeoutError::Disconnected => anyhow!("it ended before it listened"),
        })
}
