//! The main job, once, in front of the user: a coding request and its pull request's review.
//!
//! Both runs are followed live.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::code_host::Place;
use super::dashboard::Dashboard;
use super::residents::Fleet;
use super::secrets::Token;
use super::signals::Signals;
use super::{http, sample};

/// The demonstration's request.
pub const REQUEST: &str =
    "The test suite fails. Find out why, mend the code (not the test), and run the tests again.";

/// The request to a bot in a container.
pub const CONTAINER_REQUEST: &str = "Where do you run, and which way did this request come?";

/// The answer to an accepted asynchronous request.
const ACCEPTED: u16 = 202;

/// Where a bot's working trees are.
pub enum Trees {
    /// On the bot's own disk.
    Local {
        /// The bot's data directory.
        data: PathBuf,
        /// The bot's configuration file.
        config: PathBuf,
    },
    /// On residents; then a resident has the sample.
    Resident(Fleet),
}

/// A demonstration run.
struct Run {
    id: String,
    thread: String,
}

impl Run {
    fn page(&self) -> String {
        format!("/runs/{}", self.id)
    }
}

/// What a request waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Until the run begins.
    Run,
    /// Until the answer arrives.
    Answer,
}

/// What a demonstration needs.
pub struct Demo {
    /// The bot's binary, which is also its command line.
    pub ars: PathBuf,
    /// The bot's base address.
    pub bot: String,
    /// The bot's run pages.
    pub dashboard: Dashboard,
    /// The working trees; a bot in a container has none without residents.
    pub trees: Option<Trees>,
    /// The rehearsal host, which then has the sample.
    pub code_host: Option<Place>,
    /// No model is configured, so a script stands in for it.
    pub is_rehearsal: bool,
}

impl Demo {
    /// Runs it. A failure is printed, and the service continues.
    pub fn show(&self, caller: Option<&Token>, signals: &Signals) {
        let Some(caller) = caller else {
            eprintln!("\nNo demonstration: no configured token may dispatch.");
            return;
        };
        if let Err(error) = self.run(caller, signals)
            && !signals.received()
        {
            eprintln!("\nThe demonstration did not work: {error:#}");
        }
    }

    fn run(&self, caller: &Token, signals: &Signals) -> Result<()> {
        if let Some(Trees::Resident(fleet)) = &self.trees {
            println!(
                "\n── a warm environment ──────────────────────────────────────────────────────"
            );
            println!(
                "{} is onboarded: a container with a mirror, a checkout and tools\n",
                sample::NAME
            );
            fleet.onboard_sample(signals)?;
        }
        println!("\n── the main job ─────────────────────────────────────────────────────────────");
        let request = if self.trees.is_some() {
            REQUEST
        } else {
            CONTAINER_REQUEST
        };
        println!("{request}\n");
        if self.is_rehearsal {
            println!(
                "REHEARSAL: no model is configured, so a script speaks in its place (set ANTHROPIC_API_KEY or"
            );
            let real = if self.trees.is_some() {
                "the files, the edit, the tests"
            } else {
                "the way and the record"
            };
            println!("OPENAI_API_KEY for a real one). Everything it does is real: {real}.\n");
        }
        let Some(trees) = &self.trees else {
            // Without work on a repository there is nothing to follow but the answer.
            let (status, answer) =
                self.ask(caller, &format!("agent:general {request}"), Wait::Answer)?;
            return show_reply(status, &answer);
        };
        let run = self.follow(
            caller,
            &format!("agent:coding repo:{} {request}", sample::NAME),
        )?;
        let changed = match trees {
            Trees::Resident(fleet) => self.commits(fleet, &run)?,
            Trees::Local { data, config } => self.diff(&run.thread, data, config)?,
        };
        println!("\n── its changes ─────────────────────────────────────────────────────────────");
        println!(
            "{}",
            if changed.is_empty() {
                "nothing"
            } else {
                changed.trim_end()
            }
        );
        if let Some(host) = &self.code_host {
            self.show_pull_request(caller, host, &run)?;
        }
        println!("─────────────────────────────────────────────────────────────────────────────");
        println!("the run's page: {}", self.dashboard.link(&run.page()));
        Ok(())
    }

    /// Sends a request in its own thread.
    fn ask(&self, caller: &Token, text: &str, wait: Wait) -> Result<(u16, Value)> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        // Each demonstration starts with a new working tree.
        let thread = format!("demo-{}", now.as_millis());
        let body = json!({ "text": text, "thread": thread, "async": wait == Wait::Run });
        http::dispatch(&self.bot, &caller.token, &body)
    }

    /// Sends a request and shows the run live.
    fn follow(&self, caller: &Token, request: &str) -> Result<Run> {
        let (status, answer) = self.ask(caller, request, Wait::Run)?;
        if status != ACCEPTED {
            bail!(
                "POST /ingress answered {status}: {}",
                answer["reply"].as_str().unwrap_or(&answer.to_string())
            );
        }
        let run = Run {
            id: text(&answer, "runId")?.to_owned(),
            thread: text(&answer, "threadKey")?.to_owned(),
        };
        let viewer = self.dashboard.token.as_deref();
        let live = http::live_page(&self.bot, viewer, &run.id)?.unwrap_or_else(|| run.page());
        println!("watch it in a browser: {}\n", self.dashboard.link(&live));
        let mut watch = self.ars(&["watch", &format!("{}{live}", self.bot)]);
        if let Some(viewer) = viewer {
            watch.env("ARS_TOKEN", viewer);
        }
        let watched = watch.status().context("ars watch")?;
        ensure!(watched.success(), "ars watch ended with {watched}");
        Ok(run)
    }

    /// Shows a run's pull request, and has it reviewed.
    fn show_pull_request(&self, caller: &Token, host: &Place, run: &Run) -> Result<()> {
        println!("\n── its pull request, on the rehearsal host ─────────────────────────────────");
        let Some(pull) = host.opened_by(&run.id)? else {
            let why = match &self.trees {
                Some(Trees::Resident(_)) => {
                    "none: its commit stays in the thread's tree on the resident"
                }
                Some(Trees::Local { .. }) | None => {
                    "none: the run handed over no commits with a description"
                }
            };
            println!("{why}");
            return Ok(());
        };
        println!("{}", pull.lines.join("\n"));
        println!("\n── its review ──────────────────────────────────────────────────────────────");
        let request = format!("Review pull request {}#{}", sample::NAME, pull.number);
        println!("{request}\n");
        let review = self.follow(caller, &format!("agent:review {request}"))?;
        let posted = host.reviews_of(&pull)?;
        println!("\nreviews posted on #{}: {}", pull.number, posted.len());
        for line in posted
            .iter()
            .flat_map(|body| body.lines())
            .filter(|line| !line.starts_with("<!--"))
        {
            println!("  │ {line}");
        }
        println!("the review's page: {}", self.dashboard.link(&review.page()));
        Ok(())
    }

    /// Returns a run's commits in a resident. A tree with pushed commits is released after the
    /// reply.
    fn commits(&self, fleet: &Fleet, run: &Run) -> Result<String> {
        let pushed = self
            .code_host
            .as_ref()
            .map(|host| host.pushed_by(&run.id))
            .transpose()?;
        let pushed = pushed.filter(|commits| !commits.is_empty());
        Ok(pushed.unwrap_or_else(|| {
            fleet
                .commits()
                .unwrap_or_else(|_| "the tree was released".to_owned())
        }))
    }

    /// Returns the changes in a thread's tree on the local disk.
    fn diff(&self, thread: &str, data: &Path, config: &Path) -> Result<String> {
        let mut diff = self.ars(&["diff", thread]);
        diff.arg("--data-dir").arg(data).arg("--config").arg(config);
        let diff = diff.output().context("ars diff")?;
        ensure!(
            diff.status.success(),
            "ars diff: {}",
            String::from_utf8_lossy(&diff.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&diff.stdout).into_owned())
    }

    fn ars(&self, arguments: &[&str]) -> Command {
        let mut ars = Command::new(&self.ars);
        ars.args(arguments).stdin(Stdio::null());
        ars
    }
}

fn show_reply(status: u16, answer: &Value) -> Result<()> {
    ensure!(status == 200, "POST /ingress answered {status}");
    println!("{}\n", text(answer, "reply")?);
    println!("run {}: {}", answer["run"]["id"], answer["run"]["status"]);
    println!("─────────────────────────────────────────────────────────────────────────────");
    Ok(())
}

fn text<'a>(answer: &'a Value, field: &str) -> Result<&'a str> {
    answer[field]
        .as_str()
        .with_context(|| format!("POST /ingress answered without {field}"))
}
