//! The main job, once, in front of the user: a coding request on the sample project, followed live.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::secrets::Token;
use super::signals::Signals;
use super::{http, sample};

/// What is asked.
pub const REQUEST: &str =
    "The test suite fails. Find out why, mend the code (not the test), and run the tests again.";

/// The answer to an asynchronous request whose run was created.
const ACCEPTED: u16 = 202;

/// What a demonstration needs.
pub struct Demo {
    /// The bot's binary, which is also its command line.
    pub ars: PathBuf,
    /// The bot's address.
    pub bot: String,
    /// The bot's data directory.
    pub data: PathBuf,
    /// No model is configured, so a script stands in for one.
    pub is_rehearsal: bool,
}

impl Demo {
    /// Shows it. A failure is told, and ends nothing: the service serves on.
    pub fn show(&self, caller: Option<&Token>, signals: &Signals) {
        let Some(caller) = caller else {
            eprintln!("\nNo demonstration: no configured token may dispatch.");
            return;
        };
        if let Err(error) = self.run(caller)
            && !signals.told()
        {
            eprintln!("\nThe demonstration did not work: {error:#}");
        }
    }

    fn run(&self, caller: &Token) -> Result<()> {
        println!("\n── the main job ─────────────────────────────────────────────────────────────");
        println!("{REQUEST}\n");
        if self.is_rehearsal {
            println!(
                "REHEARSAL: no model is configured, so a script speaks in its place (set ANTHROPIC_API_KEY or"
            );
            println!(
                "OPENAI_API_KEY for a real one). Everything it does is real: the files, the edit, the tests.\n"
            );
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let body = json!({
            "text": format!("agent:coding repo:{} {REQUEST}", sample::NAME),
            // Each demonstration begins with a tree of its own.
            "thread": format!("demo-{}", now.as_millis()),
            "async": true,
        });
        let (status, answer) = http::dispatch(&self.bot, &caller.token, &body)?;
        if status != ACCEPTED {
            bail!(
                "POST /ingress answered {status}: {}",
                answer["reply"].as_str().unwrap_or(&answer.to_string())
            );
        }
        let run = text(&answer, "runId")?;
        let page = format!("{}/runs/{run}", self.bot);
        let live = http::live_page(&self.bot, run)?.unwrap_or_else(|| page.clone());
        println!("watch it in a browser: {live}\n");
        let watched = self.ars(&["watch", &live]).status().context("ars watch")?;
        ensure!(watched.success(), "ars watch ended with {watched}");
        println!("\n── what it changed ──────────────────────────────────────────────────────────");
        let mut diff =
            self.ars(&["diff", text(&answer, "threadKey")?, "--data-dir", &self.data.to_string_lossy()]);
        let diff = diff.output().context("ars diff")?;
        ensure!(diff.status.success(), "ars diff: {}", String::from_utf8_lossy(&diff.stderr).trim());
        let changed = String::from_utf8_lossy(&diff.stdout);
        println!("{}", if changed.is_empty() { "nothing" } else { changed.trim_end() });
        println!("─────────────────────────────────────────────────────────────────────────────");
        println!("the run's page: {page}");
        Ok(())
    }

    fn ars(&self, arguments: &[&str]) -> Command {
        let mut ars = Command::new(&self.ars);
        ars.args(arguments).stdin(Stdio::null());
        ars
    }
}

fn text<'a>(answer: &'a Value, field: &str) -> Result<&'a str> {
    answer[field].as_str().with_context(|| format!("POST /ingress answered without {field}"))
}
