//! The three that are asked: the server itself, and it behind each Worker.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ars_upstream::Upstream;
use ars_workerd::{Bot, Built, NpmTools, Settings, Workerd, build_edge_worker, ensure_npm};
use tempfile::TempDir;

use crate::bench::load::{Measured, WORKER_CORE, copy_modules};
use crate::bench::twin;
use crate::terminal::Step;

/// The twin's entry, from the root.
const TWIN: &str = "tests/bench/edge-twin/src/index.ts";

/// One of the three.
pub struct Side {
    /// Its name in what is told.
    pub name: &'static str,
    measured: Measured,
    /// Of a Worker: its process and its data, which go with it.
    _running: Option<(Workerd, TempDir)>,
}

/// Builds our Worker.
pub fn build(step: &Step) -> Result<(NpmTools, Built)> {
    Ok((ensure_npm(&|line| step.tell(line))?, build_edge_worker(&|line| step.tell(line))?))
}

/// Starts both Workers before the server: ours, then its twin, on the same settings but for their modules.
pub fn start((npm, built): &(NpmTools, Built), upstream: Upstream, dir: &Path) -> Result<[Side; 3]> {
    let worker = |name, modules: &dyn Fn(&Path) -> Result<()>| {
        let data = tempfile::tempdir_in(dir)?;
        let folder: PathBuf = data.path().join("modules");
        modules(&folder)?;
        let settings = Settings::edge(npm, built, data.path(), Bot::Native(upstream.url()))?;
        let settings = Settings { modules: folder, core: Some(WORKER_CORE), ..settings };
        let running = Workerd::start(&settings).with_context(|| format!("the {name} Worker"))?;
        let measured = Measured { address: running.address(), pid: running.pid() };
        anyhow::Ok(Side { name, measured, _running: Some((running, data)) })
    };
    let direct = Measured { address: upstream.address(), pid: std::process::id() };
    Ok([
        Side { name: "direct", measured: direct, _running: None },
        // A Worker that is built anew meanwhile must not change under the measurement.
        worker("Rust", &|folder| copy_modules(&built.modules, folder))?,
        worker("TypeScript", &|folder| twin::bundle(npm, TWIN, folder))?,
    ])
}

impl Side {
    /// What load needs to know of it.
    pub fn measured(&self) -> Measured {
        self.measured
    }
}
