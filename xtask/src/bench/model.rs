//! The benchmark's model, in a separate process, so that its work is not counted as the bot's.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cargo::Target;

/// The fake model, from the test kit.
pub const TARGET: Target<'_> = Target {
    package: "ars-testkit",
    kind: "--example",
    name: "instant_model",
    profile: "release",
};

/// Longest wait for a model call.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// How a model behaves: at its simplest it answers at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Script {
    /// Tool turns per request.
    pub turns: u32,
    /// Bytes that each tool call prints; none runs `true`.
    pub output_bytes: usize,
    /// Pause before each response event.
    pub pause: Duration,
    /// Leaves the bot waiting after the tool turns, instead of answering.
    pub holds: bool,
}

impl Script {
    /// Tool turns at once, then an answer.
    pub fn instant(turns: u32) -> Self {
        Self {
            turns,
            ..Self::default()
        }
    }
}

/// The model's text after an answered call's mark.
const ANSWERED: &str = " answered";

/// A call to the model.
#[derive(Debug, Clone)]
pub struct Call {
    /// The request's own mark.
    pub mark: String,
    /// When it arrived, or was answered.
    pub at: Instant,
}

/// The running model; killed when dropped.
pub struct Model {
    child: Child,
    url: String,
    calls: Receiver<Call>,
    answers: Receiver<Call>,
}

impl Model {
    /// Starts a model process.
    pub fn start(binary: &Path, script: Script) -> Result<Self> {
        let mut child = Command::new(binary)
            .args([script.turns.to_string(), script.output_bytes.to_string()])
            .args([
                script.pause.as_millis().to_string(),
                if script.holds { "hold" } else { "answer" }.into(),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .context("the model")?;
        let stdout = child.stdout.take().context("the model has no output")?;
        let (call, calls) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let mut model = Self {
            child,
            url: String::new(),
            calls,
            answers,
        };
        let mut lines = BufReader::new(stdout).lines();
        model.url = lines.next().context("the model ended")??;
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let at = Instant::now();
                // The receiver may be gone.
                let _ = match line.strip_suffix(ANSWERED) {
                    Some(mark) => answer.send(Call {
                        mark: mark.to_owned(),
                        at,
                    }),
                    None => call.send(Call { mark: line, at }),
                };
            }
        });
        Ok(model)
    }

    /// Returns the base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the next calls, in arrival order.
    pub fn calls(&self, count: u32) -> Result<Vec<Call>> {
        take(&self.calls, count).context("the model was not called as often as expected")
    }

    /// Returns the next tool turns with a sent last event, in that order.
    pub fn answers(&self, count: u32) -> Result<Vec<Call>> {
        take(&self.answers, count).context("the model did not answer as often as expected")
    }

    /// Returns when each of the next calls arrived.
    pub fn arrivals(&self, count: u32) -> Result<Vec<Instant>> {
        Ok(self.calls(count)?.into_iter().map(|call| call.at).collect())
    }
}

fn take(from: &Receiver<Call>, count: u32) -> Result<Vec<Call>> {
    (0..count)
        .map(|_| Ok(from.recv_timeout(CALL_LIMIT)?))
        .collect()
}

impl Drop for Model {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
