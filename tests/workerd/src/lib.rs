//! Starts Workers on workerd for tests: built once per test program, each on a free port.
//! Each start has a new directory.
//!
//! Not here: the tests (`tests/platform.rs` for the platform; `tests/state_worker`, `tests/contract` and `tests/edge`
//! for the shipped Workers).
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    reason = "test support: a broken set-up ends the test with its cause"
)]

mod client;
mod relay;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ars_workerd::{
    Bot, Built, Engine, NpmTools, Settings, Workerd, Wrangler, build_edge_worker,
    build_resident_worker, build_state_worker, build_worker, ensure_npm, repo_root,
};
use tempfile::TempDir;

pub use client::{Answer, Client, raw_answer};
pub use relay::relay;

/// Bearer for a [`state_worker`].
pub const TOKEN: &str = "a-token-of-tests";

/// The file with the runtime's own data.
const ALARMS: &str = "metadata";

/// A running Worker in its own directory.
pub struct Running {
    /// Client that speaks to it.
    pub client: Client,
    workerd: Option<Workerd>,
    settings: Settings,
    _data: TempDir,
}

impl Running {
    /// Starts in a fresh directory. `configure` may add secrets.
    pub fn start(built: &Built, configure: impl FnOnce(Settings) -> Settings) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let settings = Settings::new(npm(), built, data.path()).expect("readable settings");
        Self::start_in(data, configure(settings))
    }

    fn start_in(data: TempDir, settings: Settings) -> Self {
        let workerd = Workerd::start(&settings).expect("workerd starts");
        Self {
            client: Client::new(workerd.address()),
            workerd: Some(workerd),
            settings,
            _data: data,
        }
    }

    /// Kills it with SIGKILL and starts it again on the same directory.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        self.restart();
    }

    /// Kills it with SIGKILL and restarts it with other settings, as a deployment does.
    /// The directory stays the same.
    pub fn deploy(&mut self, change: impl FnOnce(Settings) -> Settings) {
        self.kill();
        self.settings = change(self.settings.clone());
        self.restart();
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(workerd) = self.workerd.take() {
            workerd.kill9();
        }
    }

    /// Starts it again on the same directory.
    pub fn restart(&mut self) {
        let workerd = Workerd::start(&self.settings).expect("workerd starts again");
        self.client = Client::new(workerd.address());
        self.workerd = Some(workerd);
    }

    /// Returns the database for a class that has a single object; for when it is stopped.
    pub fn database_of(&self, class: &str) -> PathBuf {
        let is_objects = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == "sqlite")
                && path.file_stem() != Some(ALARMS.as_ref())
        };
        let found =
            std::fs::read_dir(self.namespace(class)).expect("a directory of a class's objects");
        let found: Vec<_> = found
            .map(|entry| entry.expect("an entry").path())
            .filter(is_objects)
            .collect();
        let [database] = found.as_slice() else {
            panic!("not one object of {class}: {found:?}")
        };
        database.clone()
    }

    /// Returns where the runtime keeps the alarms for a class's objects; for when it is stopped.
    pub fn alarms_of(&self, class: &str) -> PathBuf {
        self.namespace(class).join(ALARMS).with_extension("sqlite")
    }

    fn namespace(&self, class: &str) -> PathBuf {
        self.settings
            .data_dir
            .join("objects")
            .join(format!("{}-{class}", self.settings.wrangler.name))
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.workerd.as_ref().expect("running").pid()
    }

    /// Returns the data folder.
    pub fn data_dir(&self) -> &Path {
        &self.settings.data_dir
    }

    /// Returns where the modules are.
    pub fn modules(&self) -> &Path {
        &self.settings.modules
    }

    /// Returns by how many bytes the memory grows at most while something is done.
    pub fn peak_of(&self, work: impl FnOnce()) -> usize {
        peak_of(self.workerd.as_ref().expect("running"), work)
    }

    /// Returns the output of the runtime and the Worker.
    pub fn log(&self) -> String {
        let path: Option<PathBuf> = self
            .workerd
            .as_ref()
            .map(|workerd| workerd.log_path().to_owned());
        path.and_then(|path| std::fs::read_to_string(path).ok())
            .unwrap_or_default()
    }
}

/// Bytes by which a runtime's memory grows at most while something is done.
pub fn peak_of(workerd: &Workerd, work: impl FnOnce()) -> usize {
    let process = PathBuf::from("/proc").join(workerd.pid().to_string());
    let bytes = |name: &str| {
        let status = std::fs::read_to_string(process.join("status")).expect("a status");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .expect("a line of memory");
        line.trim_matches(|c: char| !c.is_ascii_digit())
            .parse::<usize>()
            .expect("kilobytes")
            * 1024
    };
    // The peak counts from here.
    std::fs::write(process.join("clear_refs"), "5").expect("a new peak");
    let before = bytes("VmRSS");
    work();
    bytes("VmHWM").saturating_sub(before)
}

/// Starts the Worker in `fixture/`.
pub fn fixture() -> Running {
    fixture_with(|settings| settings)
}

/// Starts the Worker in `fixture/` with settings that `configure` changes.
pub fn fixture_with(configure: impl FnOnce(Settings) -> Settings) -> Running {
    Running::start(fixture_build(), configure)
}

/// Starts the Worker in `fixture/` as the edge with the container engine at this socket.
pub fn fixture_with_containers(
    socket: &Path,
    configure: impl FnOnce(Settings) -> Settings,
) -> Running {
    let deployed = Wrangler::read(&repo_root().join("wrangler.toml")).expect("readable settings");
    edge(fixture_build(), container(socket), |mut settings| {
        settings.wrangler.compatibility_date = deployed.compatibility_date;
        settings.wrangler.compatibility_flags = deployed.compatibility_flags;
        configure(settings)
    })
}

fn fixture_build() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    let dir = repo_root().join("tests/workerd/fixture");
    BUILT.get_or_init(|| {
        build_worker(&dir, &|line| eprintln!("{line}")).expect("the fixture builds")
    })
}

/// Starts the deployed state Worker with [`TOKEN`] as the secret.
pub fn state_worker() -> Running {
    Running::start(state_worker_build(), |settings| {
        settings.secret("MEMORY_TOKEN", TOKEN)
    })
}

/// The state Worker's build.
pub fn state_worker_build() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        build_state_worker(&|line| eprintln!("{line}")).expect("the state Worker builds")
    })
}

/// Starts the deployed resident Worker without an engine: its residents have no container. The
/// bearers are `admin`, `operator` and `read`, after the [`TOKEN`] prefix.
pub fn resident_worker() -> Running {
    Running::start(resident_worker_build(), |settings| {
        settings
            .secret("RESIDENT_ADMIN_TOKEN", &format!("{TOKEN}-admin"))
            .secret("RESIDENT_OPERATOR_TOKEN", &format!("{TOKEN}-operator"))
            .secret("RESIDENT_READ_TOKEN", &format!("{TOKEN}-read"))
    })
}

/// The resident Worker's build.
pub fn resident_worker_build() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        build_resident_worker(&|line| eprintln!("{line}")).expect("the resident Worker builds")
    })
}

/// Starts the deployed edge Worker before a local bot, without waiting for its health. `tokens` is
/// its `SERVICE_INGRESS_TOKENS`.
pub fn edge_worker(bot_url: &str, tokens: Option<&str>) -> Running {
    edge(
        edge_worker_build(),
        Bot::Native(bot_url.to_owned()),
        |settings| match tokens {
            Some(tokens) => settings.secret("SERVICE_INGRESS_TOKENS", tokens),
            None => settings,
        },
    )
}

/// Starts the deployed edge Worker with the engine at this socket; `configure` may add secrets.
pub fn edge_with_containers(
    socket: &Path,
    configure: impl FnOnce(Settings) -> Settings,
) -> Running {
    edge(edge_worker_build(), container(socket), configure)
}

fn container(socket: &Path) -> Bot {
    Bot::Container(Engine {
        socket: socket.to_owned(),
        image: "bot:first".to_owned(),
    })
}

/// The edge Worker's build.
pub fn edge_worker_build() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        build_edge_worker(&|line| eprintln!("{line}")).expect("the edge Worker builds")
    })
}

fn edge(built: &Built, bot: Bot, configure: impl FnOnce(Settings) -> Settings) -> Running {
    let data = tempfile::tempdir().expect("a temporary directory");
    let settings = Settings::edge(npm(), built, data.path(), bot).expect("readable settings");
    Running::start_in(
        data,
        configure(Settings {
            awaits_health: false,
            ..settings
        }),
    )
}

/// Returns the runtime and the tests' packages.
pub fn npm() -> &'static NpmTools {
    static NPM: OnceLock<NpmTools> = OnceLock::new();
    NPM.get_or_init(|| ensure_npm(&|line| eprintln!("{line}")).expect("npm packages"))
}
