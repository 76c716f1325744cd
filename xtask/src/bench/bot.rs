//! The measured bot: released, on the state Worker, against a scripted model.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ars_workerd::{Settings, Workerd, build_state_worker, ensure_npm, repo_root};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::model::{self, Model, Script};
use super::plain_user::{self, NOBODY};
use super::serve::Serve;
use crate::cargo::{self, Target};
use crate::terminal::Step;
use crate::up::http;

/// The released bot's profile.
const RELEASED: &str = "release";
/// The bot as tests start it.
const TESTED: &str = "dev";
/// Tokens for the measured bot and Worker; they live as long as the measurement.
const TOKEN: &str = "bench";
/// This machine's viewer, which dashboard mode `none` admits, reads every run.
pub(super) const READS_ALL_RUNS: &str = "[grants.\"access:loopback\"]\nchannels = \"all\"\n";
/// The measured runs and their viewers share a token, so its limits are off.
const LIMITS: &str = "[limits]\nrequestsPerMinute = 0\nrunsPerCaller = 0\nruns = 0\nfollowUps = 0\nconnections = 0\n\
    connectionsPerPeer = 0\nstreams = 0\nstreamsPerPeer = 0\n";
/// Turns that a run is given beyond the measured turns: the answer.
const SPARE_TURNS: u32 = 2;
/// How often the bot is asked whether the runs are recorded.
const LOOK: Duration = Duration::from_millis(2);
/// Longest wait for that.
const RECORD_LIMIT: Duration = Duration::from_secs(60);

/// A measurement's programs.
pub struct Programs {
    ars: PathBuf,
    model: PathBuf,
    state: Settings,
    dir: PathBuf,
    /// The bot configuration's `[sandbox]`; the default if absent.
    sandbox: Option<&'static str>,
}

/// Which bot is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The released bot profile.
    Released,
    /// The same, as it was built last.
    AsBuilt,
    /// As tests start it: to see that a measurement works, not for the figures.
    Tested,
}

impl Programs {
    /// Builds everything, or uses the last build of the bot and the model; data will lie below `dir`.
    pub fn new(dir: &Path, which: Which) -> Result<Self> {
        let step = Step::begin("builds");
        let (ars, model) = match which {
            Which::Released => built(RELEASED, &step)?,
            Which::Tested => built(TESTED, &step)?,
            Which::AsBuilt => {
                let built = repo_root().join("target/release");
                (built.join("ars"), built.join("examples/instant_model"))
            }
        };
        let npm = ensure_npm(&|line| step.update(line))?;
        let built = build_state_worker(&|line| step.update(line))?;
        let state = Settings::new(&npm, &built, dir)?.secret("MEMORY_TOKEN", TOKEN);
        step.done("");
        Ok(Self {
            ars,
            model,
            state,
            dir: dir.to_owned(),
            sandbox: None,
        })
    }

    /// The same with another `[sandbox]` in the bot's configuration.
    pub fn with_sandbox(&self, sandbox: &'static str) -> Self {
        let Self {
            ars,
            model,
            state,
            dir,
            ..
        } = self;
        let (ars, model, state, dir) = (ars.clone(), model.clone(), state.clone(), dir.clone());
        Self {
            ars,
            model,
            state,
            dir,
            sandbox: Some(sandbox),
        }
    }
}

/// The bot and the model.
fn built(profile: &str, step: &Step) -> Result<(PathBuf, PathBuf)> {
    let ars = Target {
        package: "ars",
        kind: "--bin",
        name: "ars",
        profile,
    };
    Ok((
        cargo::build(ars, step)?,
        cargo::build(
            Target {
                profile,
                ..model::TARGET
            },
            step,
        )?,
    ))
}

/// Request counts by route.
pub type Counts = BTreeMap<String, u64>;

/// Bot, Worker and model; ended when dropped.
pub struct Bench {
    serve: Serve,
    /// From when `ars serve` starts until it listens.
    pub start: Duration,
    /// The scripted model process.
    pub model: Model,
    _worker: Workerd,
    _place: TempDir,
}

impl Bench {
    /// Starts model, Worker and bot.
    pub fn start(programs: &Programs, script: Script) -> Result<Self> {
        let place = place(&programs.dir, script.turns + SPARE_TURNS, programs.sandbox)?;
        let model = Model::start(&programs.model, script)?;
        let settings = Settings {
            data_dir: place.path().join("state"),
            ..programs.state.clone()
        };
        let worker = Workerd::start(&settings)?;
        // A single user measures all sandbox kinds.
        let copy = match programs.sandbox {
            Some(_) => plain_user::hand_over(&programs.ars, place.path())?,
            None => None,
        };
        let began = Instant::now();
        let serve = serve(
            &programs.ars,
            copy.as_deref(),
            place.path(),
            (model.url(), &worker.url()),
        )?;
        Ok(Self {
            serve,
            start: began.elapsed(),
            model,
            _worker: worker,
            _place: place,
        })
    }

    /// Returns the bot's process id.
    pub fn pid(&self) -> u32 {
        self.serve.pid()
    }

    /// Requests to the state Worker so far, as the bot's metrics count them.
    pub fn counts(&self) -> Result<Counts> {
        Ok(requests(&http::metrics(self.serve.url())?))
    }

    /// Has the bot do a request in a thread, and waits until it ends. The mark is the request's
    /// own.
    pub fn ask(&self, thread: &str, mark: &str) -> Result<()> {
        let (status, answer) = http::dispatch(self.serve.url(), TOKEN, &body(thread, mark))?;
        ensure!(
            status == 200 && answer["run"]["status"] == "completed",
            "the run ended otherwise: {answer}"
        );
        Ok(())
    }

    /// Starts a run on its own thread and returns the id.
    pub fn begin(&self, mark: &str) -> Result<String> {
        let mut body = body(mark, mark);
        body["async"] = json!(true);
        let (status, answer) = http::dispatch(self.serve.url(), TOKEN, &body)?;
        let run = answer["runId"].as_str().filter(|_| status == 202);
        Ok(run
            .with_context(|| format!("no run: {status} {answer}"))?
            .to_owned())
    }

    /// Returns the address of a run's events.
    pub fn events(&self, run: &str) -> Result<String> {
        let page =
            http::live_page(self.serve.url(), None, run)?.context("the run is not in the index")?;
        let (path, query) = page
            .split_once('?')
            .context("the run's page has no token")?;
        Ok(format!("{}{path}/events?{query}", self.serve.url()))
    }

    /// Waits until every record is written: until then a run is in flight.
    pub fn recorded(&self) -> Result<()> {
        let began = Instant::now();
        while http::in_flight(self.serve.url())? > 0 {
            ensure!(
                began.elapsed() < RECORD_LIMIT,
                "the run was not recorded in {RECORD_LIMIT:?}"
            );
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// Returns the requests by route from the metrics text.
fn requests(metrics: &str) -> Counts {
    let mut counts = Counts::new();
    for line in metrics
        .lines()
        .filter(|line| line.starts_with("ars_store_request_duration_seconds_count"))
    {
        let route = line
            .split("operation=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let count = line
            .rsplit(' ')
            .next()
            .and_then(|count| count.parse::<u64>().ok());
        *counts
            .entry(route.unwrap_or_default().to_owned())
            .or_default() += count.unwrap_or_default();
    }
    counts
}

fn body(thread: &str, mark: &str) -> Value {
    json!({"text": format!("agent:coding repo:bench/bench run what is wanted #{mark}"), "thread": thread})
}

fn serve(
    ars: &Path,
    copy: Option<&Path>,
    place: &Path,
    (model, state): (&str, &str),
) -> Result<Serve> {
    Serve::start(copy.unwrap_or(ars), place, |command| {
        if copy.is_some() {
            command.uid(NOBODY).gid(NOBODY).env("HOME", place);
        }
        command
            .args(["--state-url", state, "--model", "anthropic/instant"])
            .arg("--data-dir")
            .arg(place.join("data"))
            .arg("--config")
            .arg(place.join("ars.toml"))
            .env("ANTHROPIC_BASE_URL", model)
            .env("ANTHROPIC_API_KEY", "bench")
            .env("MEMORY_TOKEN", TOKEN)
            .env(
                "SERVICE_INGRESS_TOKENS",
                json!({ TOKEN: {"subject": "bench"} }).to_string(),
            )
            .env_remove("RUST_LOG");
    })
}

/// A directory with a repository and a configuration.
fn place(dir: &Path, turns: u32, sandbox: Option<&str>) -> Result<TempDir> {
    let place = tempfile::tempdir_in(dir)?;
    let repository = place.path().join("repository");
    fs::create_dir_all(&repository)?;
    fs::write(repository.join("README.md"), "Measured.\n")?;
    let steps: [&[&str]; 3] = [
        &["init", "--quiet"],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "Begin"],
    ];
    for step in steps {
        let identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        let status = Command::new("git")
            .args(identity)
            .args(step)
            .current_dir(&repository)
            .status()?;
        ensure!(status.success(), "git {}", step[0]);
    }
    let config = format!(
        "{LIMITS}{READS_ALL_RUNS}{}[telemetry]\nprometheus = true\n[agents.coding]\nturns = {turns}\n[[repositories]]\nname = \"bench/bench\"\norigin = {}\n",
        sandbox
            .map(|keys| format!("[sandbox]\n{keys}\n"))
            .unwrap_or_default(),
        json!(repository.to_string_lossy())
    );
    fs::write(place.path().join("ars.toml"), config)?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route() {
        let line = |route, outcome, count| {
            format!(
                "ars_store_request_duration_seconds_count{{operation=\"{route}\",outcome=\"{outcome}\"}} {count}\n"
            )
        };
        let text = [
            line("/runs/flush", "ok", 2),
            line("/runs/flush", "failed", 1),
            line("/runs/claim", "ok", 4),
            "ars_in_flight 7\n".to_owned(),
        ];
        let expected = [("/runs/claim".to_owned(), 4), ("/runs/flush".to_owned(), 3)];
        assert_eq!(requests(&text.concat()), Counts::from(expected));
    }
}
