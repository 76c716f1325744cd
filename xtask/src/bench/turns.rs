//! Tool turns: the bot as it is released, on its embedded store, against a model that answers at once.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tempfile::TempDir;

use super::model::{self, Model};
use super::process::{Usage, peak_kb};
use super::report::{Sample, table};
use crate::cargo::{self, Target};
use crate::terminal::Step;
use crate::up::http;

/// The bot as it is released.
const ARS: Target<'_> = Target { package: "ars", kind: "--bin", name: "ars", profile: "release" };
/// The one token of the measured bot; it lives as long as the measurement.
const TOKEN: &str = "bench";
/// How often the bot is asked whether its run is recorded.
const LOOK: Duration = Duration::from_millis(2);
/// Longest wait for that.
const RECORD_LIMIT: Duration = Duration::from_secs(30);

/// Measures and prints the table.
pub fn run(turns: &[u32], runs: u32) -> Result<()> {
    let step = Step::begin("release build");
    let ars = cargo::build(ARS, &step)?;
    let instant = cargo::build(model::TARGET, &step)?;
    step.done("");
    let mut rows = Vec::new();
    for &count in turns {
        let step = Step::begin(&format!("{count} turns"));
        let samples = (0..runs).map(|_| measure(&ars, &instant, count)).collect::<Result<Vec<_>>>()?;
        step.done("");
        rows.push((count, samples));
    }
    println!("{}", table(&rows));
    println!(
        "Medians of {runs}. Each turn runs `true` in bash; every run is recorded in the embedded store."
    );
    println!(
        "CPU is the bot's threads (schedstat) and the children it waited for (in ticks of 10 ms); memory is VmHWM."
    );
    println!("Both include a run's fixed cost: cloning its repository, starting, recording.");
    Ok(())
}

fn measure(ars: &Path, instant: &Path, turns: u32) -> Result<Sample> {
    let model = Model::start(instant, turns)?;
    let place = place(turns)?;
    let bot = Bot::start(ars, place.path(), model.url())?;
    let pid = bot.child.id();

    let before = Usage::of(pid)?;
    let began = Instant::now();
    bot.ask()?;
    // A turn's answer is one call, and the last call says that it is done.
    let calls = model.arrivals(turns + 1)?;
    bot.recorded()?;
    let used = Usage::of(pid)?.since(before);
    let peak_kb = peak_kb(pid)?;

    let again = Instant::now();
    bot.ask()?;
    let next = model.arrivals(1)?[0];
    Ok(Sample {
        cpu: (used.own + used.children) / turns,
        own_cpu: used.own / turns,
        wall: calls[calls.len() - 1].duration_since(calls[0]) / turns,
        peak_kb,
        start: bot.start,
        first_call: calls[0].duration_since(began),
        next_call: next.duration_since(again),
    })
}

/// A directory with a repository and a configuration.
fn place(turns: u32) -> Result<TempDir> {
    let place = tempfile::tempdir()?;
    let repository = place.path().join("repository");
    fs::create_dir_all(&repository)?;
    fs::write(repository.join("README.md"), "Measured.\n")?;
    let steps: [&[&str]; 3] =
        [&["init", "--quiet"], &["add", "--all"], &["commit", "--quiet", "--message", "Begin"]];
    for step in steps {
        let identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        let status = Command::new("git").args(identity).args(step).current_dir(&repository).status()?;
        ensure!(status.success(), "git {}", step[0]);
    }
    // Room for every turn, and for the answer.
    let config = format!(
        "[agents.coding]\nturns = {}\n[[repositories]]\nname = \"bench/bench\"\norigin = {}\n",
        turns + 2,
        json!(repository.to_string_lossy())
    );
    fs::write(place.path().join("ars.toml"), config)?;
    Ok(place)
}

/// The measured bot; killed when dropped.
struct Bot {
    child: Child,
    url: String,
    start: Duration,
}

impl Bot {
    fn start(ars: &Path, place: &Path, model: &str) -> Result<Self> {
        let began = Instant::now();
        let mut child = Command::new(ars)
            .args(["serve", "--listen", "127.0.0.1:0", "--store", "embedded", "--model", "anthropic/instant"])
            .arg("--data-dir")
            .arg(place.join("data"))
            .arg("--config")
            .arg(place.join("ars.toml"))
            .env("ANTHROPIC_BASE_URL", model)
            .env("ANTHROPIC_API_KEY", "bench")
            .env("SERVICE_INGRESS_TOKENS", json!({ TOKEN: {"subject": "bench"} }).to_string())
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(place.join("bot.log"))?)
            .spawn()
            .context("the bot")?;
        let stdout = child.stdout.take();
        let mut bot = Self { child, url: String::new(), start: Duration::ZERO };
        let mut line = String::new();
        BufReader::new(stdout.context("the bot has no output")?).read_line(&mut line)?;
        bot.start = began.elapsed();
        let found: serde_json::Value =
            serde_json::from_str(&line).context("the bot ended before it listened")?;
        bot.url = found["listening"].as_str().context("the bot said something else first")?.to_owned();
        Ok(bot)
    }

    fn ask(&self) -> Result<()> {
        let body = json!({"text": "agent:coding repo:bench/bench run true", "thread": "bench"});
        let (status, answer) = http::dispatch(&self.url, TOKEN, &body)?;
        ensure!(status == 200 && answer["run"]["status"] == "completed", "the run ended otherwise: {answer}");
        Ok(())
    }

    /// Waits until the record is written: until then the run is in flight.
    fn recorded(&self) -> Result<()> {
        let began = Instant::now();
        while http::in_flight(&self.url)? > 0 {
            ensure!(began.elapsed() < RECORD_LIMIT, "the run was not recorded in {RECORD_LIMIT:?}");
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
