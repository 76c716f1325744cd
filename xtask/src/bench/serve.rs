//! `ars serve` as a process that ends with its measurement.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

/// A bot that listens; ended when dropped.
pub struct Serve {
    child: Child,
    url: String,
}

impl Serve {
    /// Starts the bot with further arguments and variables, and waits until it listens. The log
    /// lies in a folder.
    pub fn start(ars: &Path, folder: &Path, configure: impl FnOnce(&mut Command)) -> Result<Self> {
        let log = folder.join("bot.log");
        let mut command = Command::new(ars);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        configure(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?);
        let mut child = command.spawn().context("the bot")?;
        let stdout = child.stdout.take();
        let mut serve = Self {
            child,
            url: String::new(),
        };
        let mut line = String::new();
        BufReader::new(stdout.context("the bot has no output")?).read_line(&mut line)?;
        let found: Value = serde_json::from_str(&line)
            .with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
        serve.url = found["listening"]
            .as_str()
            .context("the bot's first line is another one")?
            .to_owned();
        Ok(serve)
    }

    /// Returns the base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the process's id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
