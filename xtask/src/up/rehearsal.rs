//! A process of the test kit that stands in for a service: it prints one JSON line and serves.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;

/// Longest wait for the line.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running process; killed when dropped. No `Debug`: its line may hold secrets.
pub struct Rehearsal<T> {
    child: Child,
    /// The parsed line.
    pub line: T,
}

impl<T: DeserializeOwned> Rehearsal<T> {
    /// Starts it with the argument `serve` and these, and waits for the line. `name` is for errors.
    pub fn start(name: &str, binary: &Path, arguments: &[&OsStr]) -> Result<Self> {
        let mut child = Command::new(binary)
            .arg("serve")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A process that outlives a killed `up` must not hold the output open.
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let stdout = child.stdout.take();
        let found = stdout
            .with_context(|| format!("the {name} has no standard output"))
            .and_then(|stdout| line(name, stdout));
        match found {
            Ok(line) => Ok(Self { child, line }),
            Err(error) => {
                // It may have exited already.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }
}

impl<T> Rehearsal<T> {
    /// Returns whether it has not exited.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl<T> Drop for Rehearsal<T> {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the line; a thread drops the following lines.
fn line<T: DeserializeOwned>(name: &str, stdout: ChildStdout) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The waiting side has what it needs.
            let _ = sender.send(line);
        }
    });
    let line = receiver
        .recv_timeout(START_LIMIT)
        .map_err(|_| anyhow!("the {name} did not start"))?;
    serde_json::from_str(&line).with_context(|| format!("the {name} printed no address"))
}
