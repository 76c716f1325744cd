//! The two Workers that are compared: the same runtime, the same settings, each on a directory of its own.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ars_workerd::{Settings, Workerd, Wrangler, build_state_worker, ensure_npm, state_worker_dir};
use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

use super::twin;
use crate::bench::load::{Answer, Ask, Connection, Measured, TOKEN, WORKER_CORE, copy_modules};
use crate::terminal::Step;

/// One of the two.
pub struct Side {
    /// Its name in the report.
    pub name: &'static str,
    /// What it weighs, compressed.
    pub gzip_bytes: u64,
    settings: Settings,
    running: Option<Workerd>,
    _data: TempDir,
}

/// Builds both, with their data under `dir`: the state Worker, then its twin.
pub fn build(dir: &Path, step: &Step) -> Result<[Side; 2]> {
    let npm = ensure_npm(&|line| step.tell(line))?;
    let built = build_state_worker(&|line| step.tell(line))?;
    let (ours, theirs) = (tempfile::tempdir_in(dir)?, tempfile::tempdir_in(dir)?);
    // A Worker that is built anew meanwhile must not change under the measurement.
    let modules = ours.path().join("modules");
    copy_modules(&built.modules, &modules)?;
    let settings = Settings::new(&npm, &built, ours.path())?.secret("MEMORY_TOKEN", TOKEN);
    let settings = Settings { modules, core: Some(WORKER_CORE), ..settings };

    let modules = theirs.path().join("modules");
    twin::bundle(&npm, &modules)?;
    let classes = twin::classes()?;
    let mut wrangler = Wrangler::read(&state_worker_dir().join("wrangler.toml"))?;
    wrangler.objects.retain(|object| classes.contains(&object.class));
    let data_dir = theirs.path().to_owned();
    let twin = Settings { modules, wrangler, data_dir, ..settings.clone() };
    Ok([Side::new("Rust", settings, ours)?, Side::new("TypeScript", twin, theirs)?])
}

impl Side {
    fn new(name: &'static str, settings: Settings, data: TempDir) -> Result<Self> {
        let gzip_bytes = gzip_bytes(&settings.modules)?;
        Ok(Self { name, gzip_bytes, settings, running: None, _data: data })
    }

    /// What load needs to know of it.
    pub fn measured(&self) -> Result<Measured> {
        let running = self.running.as_ref().context("the Worker does not run")?;
        Ok(Measured { address: running.address(), pid: running.pid() })
    }

    /// Asks once, on a connection of its own.
    pub fn ask(&self, ask: &Ask) -> Result<Answer> {
        self.ask_raw(&ask.bytes())
    }

    /// Asks what stands in these bytes.
    pub fn ask_raw(&self, request: &[u8]) -> Result<Answer> {
        Connection::open(self.measured()?.address)?.ask(request)
    }

    /// Asks what has to succeed.
    pub fn must(&self, ask: &Ask) -> Result<Answer> {
        let answer = self.ask(ask)?;
        ensure!(answer.status == 200, "{}: {} answered {}", self.name, ask.path, answer.status);
        Ok(answer)
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        drop(self.running.take());
    }

    /// Starts it, on the data it has.
    pub fn start(&mut self) -> Result<()> {
        let running = Workerd::start(&self.settings).with_context(|| format!("the {} Worker", self.name))?;
        self.running = Some(running);
        Ok(())
    }
}

fn gzip_bytes(modules: &Path) -> Result<u64> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for module in fs::read_dir(modules)? {
        encoder.write_all(&fs::read(module?.path())?)?;
    }
    Ok(encoder.finish()?.len() as u64)
}
