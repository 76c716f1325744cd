//! The floor: the same stores on rusqlite, in a process of their own (`tests/bench`), built for release.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;
use tempfile::TempDir;

use crate::bench::load::{Ask, Source, WORKER_CORE};
use crate::cargo::{self, Target};
use crate::terminal::Step;

const TARGET: Target<'_> =
    Target { package: "ars-tests-bench", kind: "--bin", name: "floor", profile: "release" };
/// Bodies made ahead for one measurement; the floor goes round them. A write meets what it wrote a round ago.
const BODIES: usize = 200;
/// Bytes of bodies made ahead, about.
const BODY_BYTES: usize = 20_000_000;
/// Requests of one order while filling.
const BATCH: usize = 500;

/// The running floor; killed when dropped.
pub struct Floor {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    _data: TempDir,
}

/// Builds it.
pub fn build(step: &Step) -> Result<PathBuf> {
    cargo::build(TARGET, step)
}

impl Floor {
    /// Starts it on the core of the Workers, with its databases under `dir`.
    pub fn start(binary: &Path, dir: &Path) -> Result<Self> {
        let data = tempfile::tempdir_in(dir)?;
        let mut child = Command::new("taskset")
            .arg("--cpu-list")
            .arg(WORKER_CORE.to_string())
            .arg(binary)
            .arg(data.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the floor")?;
        let orders = child.stdin.take().context("the floor takes no orders")?;
        let answers = BufReader::new(child.stdout.take().context("the floor has no output")?);
        Ok(Self { child, orders, answers, _data: data })
    }

    /// Sends requests once each.
    pub fn fill(&mut self, asks: &[Ask]) -> Result<()> {
        for same in asks.chunk_by(|a, b| a.path == b.path) {
            for batch in same.chunks(BATCH) {
                let bodies: Vec<_> = batch.iter().filter_map(|ask| ask.body.as_deref()).collect();
                self.order(&json!({ "path": batch[0].path, "bodies": bodies }))?;
            }
        }
        Ok(())
    }

    /// Goes round requests for a while; `None` for what no store answers.
    pub fn measure(&mut self, source: &mut Source, length: Duration) -> Result<Option<Vec<Duration>>> {
        let (mut path, mut bodies, mut bytes) = ("", Vec::new(), 0);
        while bodies.len() < BODIES && bytes < BODY_BYTES {
            let ask = source();
            let Some(body) = ask.body else { return Ok(None) };
            bytes += body.len();
            path = ask.path;
            bodies.push(body);
        }
        let millis = u64::try_from(length.as_millis())?;
        let nanos = self.order(&json!({ "path": path, "bodies": bodies, "millis": millis }))?;
        Ok(Some(nanos.into_iter().map(Duration::from_nanos).collect()))
    }

    fn order(&mut self, order: &serde_json::Value) -> Result<Vec<u64>> {
        writeln!(self.orders, "{order}").context("the floor ended")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).context("the floor ended")
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
