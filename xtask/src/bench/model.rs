//! The model of the benchmark: a process of its own, so that its work is not counted as the bot's.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cargo::Target;

/// The fake model, from the test kit.
pub const TARGET: Target<'_> =
    Target { package: "ars-testkit", kind: "--example", name: "instant_model", profile: "release" };

/// Longest wait for a call of the model.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// The running model; killed when dropped.
pub struct Model {
    child: Child,
    url: String,
    calls: Receiver<Instant>,
}

impl Model {
    /// Starts a model that asks for this many tool turns before it answers.
    pub fn start(binary: &Path, turns: u32) -> Result<Self> {
        let mut command = Command::new(binary);
        let mut child = command.arg(turns.to_string()).stdout(Stdio::piped()).spawn().context("the model")?;
        let stdout = child.stdout.take().context("the model has no output")?;
        let (tell, calls) = mpsc::channel();
        let mut model = Self { child, url: String::new(), calls };
        let mut lines = BufReader::new(stdout).lines();
        model.url = lines.next().context("the model ended")??;
        thread::spawn(move || {
            for _ in lines.map_while(Result::ok) {
                // Nobody may be waiting any more.
                let _ = tell.send(Instant::now());
            }
        });
        Ok(model)
    }

    /// Its base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// When each of the next calls arrived.
    pub fn arrivals(&self, count: u32) -> Result<Vec<Instant>> {
        let next =
            |_| self.calls.recv_timeout(CALL_LIMIT).context("the model was not called as often as expected");
        (0..count).map(next).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
