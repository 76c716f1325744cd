//! `cargo xtask bench chat`: how soon a chat answers a message, and what many live threads cost.
//!
//! The workspace is a process of the test kit, without the platform's limits; the bot keeps to them
//! nevertheless. First a few mentions are written one after another, then many runs wait for their
//! model, then a minute brings a thousand mentions. Not here: that each request has the right answer.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;

use super::aims::{self, Verdicts};
use super::model::{self, Model, Script};
use super::process::{Usage, peak_kb, resident_kb};
use super::scale::{mb, percentile, spread};
use super::serve::Serve;
use crate::cargo::{self, Target};
use crate::terminal::Step;

/// The workspace, from the test kit.
const TARGET: Target<'_> = Target {
    package: "ars-testkit",
    kind: "--example",
    name: "chat_load",
    profile: "release",
};

/// How to measure.
#[derive(Debug, Args)]
pub struct Options {
    /// Directory of the data; in memory by default, so that no disk is measured
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Fail when a figure is worse than its aim
    #[arg(long)]
    check: bool,
    /// Measure a few messages with the bot as tests start it: shows that it works, not how fast
    #[arg(long, conflicts_with = "check")]
    smoke: bool,
}

/// The size of a measurement.
#[derive(Debug, Clone, Copy)]
struct Plan {
    channels: u32,
    users: u32,
    /// Mentions one after another, and the interval between them: the platform allows 50 reactions
    /// in a minute.
    single: u32,
    interval: Duration,
    /// Runs at once that wait for their model, and how long they are watched.
    live: u32,
    watched: Duration,
    /// Mentions in the busy time, and how long that is.
    busy: u32,
    busy_time: Duration,
}

impl Options {
    /// The smallest measurement, which any machine can run.
    pub fn smoke(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            check: false,
            smoke: true,
        }
    }

    fn plan(&self) -> Plan {
        if self.smoke {
            return Plan {
                channels: 2,
                users: 4,
                single: 2,
                interval: Duration::from_millis(50),
                live: 2,
                watched: Duration::from_millis(100),
                busy: 6,
                busy_time: Duration::from_millis(200),
            };
        }
        Plan {
            channels: 20,
            users: 200,
            single: 25,
            interval: Duration::from_millis(1_500),
            live: 200,
            watched: Duration::from_secs(30),
            busy: 1_000,
            busy_time: Duration::from_secs(60),
        }
    }
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    let plan = options.plan();
    let step = Step::begin("bot, model and workspace");
    let programs = Programs::build(options, &step)?;
    step.done("");
    let mut verdicts = Verdicts::default();
    single(&programs, options, plan, &mut verdicts)?;
    live(&programs, options, plan, &mut verdicts)?;
    busy(&programs, options, plan)?;
    if options.check {
        verdicts.check()
    } else {
        Ok(())
    }
}

/// Mentions one after another: how soon each is shown and answered.
fn single(
    programs: &Programs,
    options: &Options,
    plan: Plan,
    verdicts: &mut Verdicts,
) -> Result<()> {
    let mut world = World::start(programs, options, plan, Script::instant(0))?;
    let step = Step::begin("single mentions");
    let figures = world.write(plan.single, plan.interval, "reply")?;
    step.done("");
    let receipt_ms = percentile(&mut figures.receipts(), 0.5).as_secs_f64() * 1_000.0;
    let card_ms = percentile(&mut figures.cards(), 0.5).as_secs_f64() * 1_000.0;
    println!(
        "{} mentions, from the message to\n  its receipt: {}\n  its card: {}\n  its reply: {}",
        plan.single,
        spread(&mut figures.receipts()),
        spread(&mut figures.cards()),
        spread(&mut figures.replies()),
    );
    println!("{}", verdicts.hold(aims::TO_RECEIPT, "", receipt_ms));
    println!("{}", verdicts.hold(aims::TO_CARD, "", card_ms));
    figures.assert_single()
}

/// Many runs that wait for their model: what their cards cost.
fn live(programs: &Programs, options: &Options, plan: Plan, verdicts: &mut Verdicts) -> Result<()> {
    let script = Script {
        holds: true,
        ..Script::default()
    };
    let mut world = World::start(programs, options, plan, script)?;
    let empty = resident_kb(world.bot.pid())?;
    let step = Step::begin("live threads");
    world.write(plan.live, Duration::ZERO, "card")?;
    let before = Usage::read(world.bot.pid())?;
    let began = Instant::now();
    thread::sleep(plan.watched);
    let used = Usage::read(world.bot.pid())?.since(before).own;
    let share = used.as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    let held = mb(resident_kb(world.bot.pid())?.saturating_sub(empty));
    step.done("");
    println!(
        "\n{} live threads: {share:.1} % of a core, {held:.1} MB with their runs",
        plan.live
    );
    println!("{}", verdicts.hold(aims::LIVE_THREADS, "", share));
    Ok(())
}

/// A busy minute: everybody gets one reply.
fn busy(programs: &Programs, options: &Options, plan: Plan) -> Result<()> {
    let mut world = World::start(programs, options, plan, Script::instant(0))?;
    let step = Step::begin("a busy minute");
    let began = Instant::now();
    let before = Usage::read(world.bot.pid())?;
    let figures = world.write(plan.busy, plan.busy_time / plan.busy, "reply")?;
    let used = Usage::read(world.bot.pid())?.since(before).own;
    step.done("");
    println!(
        "\n{} mentions in {:.1} s: the last reply after {:.1} s, {:.1} ms of CPU each, peak {:.1} MB",
        plan.busy,
        plan.busy_time.as_secs_f64(),
        began.elapsed().as_secs_f64(),
        used.as_secs_f64() * 1_000.0 / f64::from(plan.busy),
        mb(peak_kb(world.bot.pid())?),
    );
    figures.assert_single()
}

/// The programs of a measurement.
struct Programs {
    ars: PathBuf,
    model: PathBuf,
    workspace: PathBuf,
}

impl Programs {
    fn build(options: &Options, step: &Step) -> Result<Self> {
        let profile = if options.smoke { "dev" } else { "release" };
        let build = |target: Target<'static>| cargo::build(Target { profile, ..target }, step);
        Ok(Self {
            ars: build(Target {
                package: "ars",
                kind: "--bin",
                name: "ars",
                profile,
            })?,
            model: build(model::TARGET)?,
            workspace: build(TARGET)?,
        })
    }
}

/// A bot with its workspace and model, ended when dropped.
struct World {
    bot: Serve,
    people: People,
    _model: Model,
    _place: tempfile::TempDir,
}

impl World {
    fn start(programs: &Programs, options: &Options, plan: Plan, script: Script) -> Result<Self> {
        let model = Model::start(&programs.model, script)?;
        let people = People::start(&programs.workspace, plan)?;
        let place = tempfile::tempdir_in(&options.dir)?;
        let Listening {
            url,
            bot_token,
            app_token,
        } = &people.listening;
        let bot = Serve::start(&programs.ars, place.path(), |command| {
            command
                .args(["--store", "embedded", "--model", "anthropic/instant"])
                .arg("--data-dir")
                .arg(place.path())
                .env_clear()
                .env("ANTHROPIC_BASE_URL", model.url())
                .env("ANTHROPIC_API_KEY", "bench")
                .env("SLACK_BASE_URL", url)
                .env("SLACK_BOT_TOKEN", bot_token)
                .env("SLACK_APP_TOKEN", app_token);
        })?;
        Ok(Self {
            bot,
            people,
            _model: model,
            _place: place,
        })
    }

    /// Lets people write, and waits until all threads have their `card` or `reply`.
    fn write(&mut self, count: u32, interval: Duration, until: &str) -> Result<Figures> {
        let People { input, output, .. } = &mut self.people;
        writeln!(input, "{count} {} {until}", interval.as_millis())?;
        input.flush()?;
        let line = output.next().context("the workspace ended")??;
        Ok(serde_json::from_str(&line)?)
    }
}

/// The line that the workspace prints. No `Debug`: it holds secrets.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listening {
    url: String,
    bot_token: String,
    app_token: String,
}

/// The running workspace; killed when dropped.
struct People {
    child: Child,
    listening: Listening,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl People {
    fn start(binary: &Path, plan: Plan) -> Result<Self> {
        let mut child = Command::new(binary)
            .args([plan.channels.to_string(), plan.users.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the workspace")?;
        let input = child.stdin.take().context("the workspace has no input")?;
        let output = child.stdout.take().context("the workspace has no output")?;
        let mut output = BufReader::new(output).lines();
        let line = output.next().context("the workspace ended")??;
        Ok(Self {
            child,
            listening: serde_json::from_str(&line)?,
            input,
            output,
        })
    }
}

impl Drop for People {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the workspace saw, in microseconds after each mention.
#[derive(Deserialize)]
struct Figures {
    receipts: Vec<u64>,
    cards: Vec<u64>,
    replies: Vec<u64>,
    repeated: u64,
}

impl Figures {
    fn receipts(&self) -> Vec<Duration> {
        times(&self.receipts)
    }

    fn cards(&self) -> Vec<Duration> {
        times(&self.cards)
    }

    fn replies(&self) -> Vec<Duration> {
        times(&self.replies)
    }

    /// Fails if a thread has a second receipt, card or reply.
    fn assert_single(&self) -> Result<()> {
        let repeated = self.repeated;
        ensure!(
            repeated == 0,
            "{repeated} receipts, cards or replies came twice"
        );
        Ok(())
    }
}

fn times(micros: &[u64]) -> Vec<Duration> {
    micros.iter().copied().map(Duration::from_micros).collect()
}
