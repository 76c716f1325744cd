//! The machine that survives: Worker, vendor, repository and the bot's data directory.

use std::{
    os::unix::fs::lchown,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering},
};

use ars_testkit::{FakeAnthropic, Reply};
use ars_tests_workerd::{Running, state_worker_build};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{Bot, State, outside::git, secrets, watch::Watch};

/// The variable that names the place at which a bot dies.
const KILL_AT: &str = "ARS_KILL_AT";
/// Maximum folders between a workspace and the files at its tree's root.
const TREE_DEPTH: usize = 2;
/// Folder with the bots' logs.
const LOGS: &str = "logs";

/// A machine for a drill.
pub struct Machine {
    folder: TempDir,
    program: PathBuf,
    environment: Vec<(&'static str, String)>,
    user: Option<u32>,
    worker: Running,
    bots: AtomicUsize,
    pub(crate) watch: Watch,
    /// Vendor for the bots' model.
    pub vendor: FakeAnthropic,
    /// The machine's stores.
    pub state: State,
}

/// Optional machine parts.
#[derive(Default)]
pub struct Setup {
    /// The repository's origin, when that is not a folder on the machine.
    pub origin: Option<String>,
    /// More files for the repository.
    pub files: Vec<(&'static str, String)>,
    /// More lines for the configuration.
    pub config: String,
    /// More variables for the bots' environment.
    pub environment: Vec<(&'static str, String)>,
    /// The user for the bots, if not the test's user, which is then root.
    pub user: Option<u32>,
}

impl Machine {
    /// Starts a machine with a model that answers by the request.
    pub async fn new(
        program: &str,
        answer: impl Fn(&Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::with(program, Setup::default(), answer).await
    }

    /// A machine that has more.
    pub async fn with(
        program: &str,
        setup: Setup,
        answer: impl Fn(&Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", LOGS] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let project = || {
            git::project(folder.path(), &setup.files)
                .display()
                .to_string()
        };
        let origin = setup.origin.unwrap_or_else(project);
        let config = format!(
            "organization = \"acme\"\n\n[defaults]\nagent = \"coding\"\nrepository = \"acme/app\"\nmodel = \"anthropic/claude-drill\"\n\n\
             [[repositories]]\nname = \"acme/app\"\norigin = \"{origin}\"\n\n\
             [providers.local]\ntype = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
             api_key_env = \"LOCAL_KEY\"\n\n\
             [dashboard]\nauth = \"token\"\ntoken = {{ actor = \"access:ops\" }}\n\n\
             [grants.\"access:ops\"]\nchannels = \"all\"\n\n{}",
            setup.config
        );
        std::fs::write(folder.path().join("ars.toml"), config).unwrap();
        let worker = Running::start(state_worker_build(), |settings| {
            settings.secret("MEMORY_TOKEN", secrets::MEMORY)
        });
        let state = State::new(&worker.client, secrets::MEMORY);
        let program = match setup.user {
            Some(_) => program_for_others(program, folder.path()),
            None => program.into(),
        };
        Self {
            folder,
            program,
            user: setup.user,
            environment: setup.environment,
            worker,
            bots: AtomicUsize::new(0),
            watch: Watch::default(),
            vendor: FakeAnthropic::answering(answer).await,
            state,
        }
    }

    /// Returns the bots' command; the environment has only the tools' path.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args([
                "--state-url",
                &format!("http://{}", self.worker.client.address()),
            ])
            .arg("--config")
            .arg(self.path("ars.toml"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("ARS_DATA_DIR", self.path("data"))
            .envs(secrets::environment())
            .env("ANTHROPIC_BASE_URL", self.vendor.url())
            .envs(self.environment.clone())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
            self.give_to(user);
        }
        command
    }

    /// Makes a user own everything here.
    pub fn give_to(&self, user: u32) {
        let mut open = vec![self.folder.path().to_path_buf()];
        while let Some(path) = open.pop() {
            lchown(&path, Some(user), Some(user)).unwrap();
            if path.is_dir() && !path.is_symlink() {
                open.extend(
                    std::fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            }
        }
    }

    /// Starts a bot process.
    pub async fn bot(&self) -> Bot {
        self.started(&mut self.command()).await
    }

    /// Starts a bot that dies at this point.
    pub async fn bot_that_dies_at(&self, point: &str) -> Bot {
        self.started(self.command().env(KILL_AT, point)).await
    }

    async fn started(&self, command: &mut Command) -> Bot {
        let number = self.bots.fetch_add(1, Ordering::Relaxed);
        let log = self.path(LOGS).join(number.to_string());
        Bot::start(command, log, self.watch.clone()).await
    }

    /// Returns the bots' standard error.
    pub fn logs(&self) -> String {
        let logs = std::fs::read_dir(self.path(LOGS))
            .unwrap()
            .map(|log| std::fs::read(log.unwrap().path()));
        logs.map(|log| String::from_utf8_lossy(&log.unwrap()).into_owned())
            .collect()
    }

    /// Returns the text in the runs' streams.
    pub fn streams(&self) -> String {
        self.watch.streams()
    }

    /// Returns the Worker's output.
    pub fn log_of_the_worker(&self) -> String {
        self.worker.log()
    }

    /// Returns a path on the machine.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a file from the only working tree; empty when there is none.
    pub fn file_of_the_tree(&self, name: &str) -> String {
        self.path_in_tree(name)
            .map(|path| std::fs::read_to_string(path).unwrap())
            .unwrap_or_default()
    }

    /// Returns where a file in the only working tree is, when there is a tree.
    pub fn path_in_tree(&self, name: &str) -> Option<PathBuf> {
        let trees = std::fs::read_dir(self.path("data/workspaces"))
            .into_iter()
            .flatten();
        let found: Vec<_> = trees
            .filter_map(|tree| find(&tree.ok()?.path(), name, TREE_DEPTH))
            .collect();
        assert!(found.len() <= 1, "more than one tree: {found:?}");
        found.into_iter().next()
    }
}

/// Returns a program copy in a folder that other users can open.
fn program_for_others(program: &str, folder: &Path) -> PathBuf {
    let copy = folder.join("ars-drilled");
    std::fs::copy(program, &copy).unwrap();
    copy
}

/// Returns a file with this name at most so many folders below.
fn find(folder: &Path, name: &str, depth: usize) -> Option<PathBuf> {
    let file = folder.join(name);
    if file.is_file() {
        return Some(file);
    }
    let below = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()));
    below
        .filter(|path| depth > 0 && path.is_dir())
        .find_map(|path| find(&path, name, depth - 1))
}
