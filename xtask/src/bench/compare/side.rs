//! A side of the comparison: a running Worker, or the server behind the Workers.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ars_raw_http::{Connection, Message};
use ars_workerd::{NpmTools, Settings, Workerd, repo_root};
use tempfile::TempDir;

use super::measure::WORKER_CORE;

/// One of the sides.
pub struct Side {
    /// Its name in messages.
    pub name: &'static str,
    /// The address it listens on.
    pub address: SocketAddr,
    /// Its process.
    pub pid: u32,
    /// The Worker's process and data, which are removed with it.
    _running: Option<(Workerd, TempDir)>,
}

impl Side {
    /// A server of this process.
    pub fn direct(address: SocketAddr) -> Self {
        Self { name: "direct", address, pid: std::process::id(), _running: None }
    }

    /// Starts a Worker with its data under `dir`. `modules` puts its modules into a directory.
    pub fn start(
        name: &'static str,
        dir: &Path,
        modules: impl FnOnce(&Path) -> Result<()>,
        settings: impl FnOnce(&Path) -> Result<Settings>,
    ) -> Result<Self> {
        let data = tempfile::tempdir_in(dir)?;
        let folder = data.path().join("modules");
        fs::create_dir_all(&folder)?;
        modules(&folder)?;
        let settings = Settings { modules: folder, core: Some(WORKER_CORE), ..settings(data.path())? };
        let running = Workerd::start(&settings).with_context(|| format!("the {name} Worker"))?;
        Ok(Self { name, address: running.address(), pid: running.pid(), _running: Some((running, data)) })
    }

    /// Sends a request on a new connection.
    pub fn ask(&self, request: &[u8]) -> Result<Message> {
        let mut connection = Connection::open(self.address)?;
        connection.send(request)?;
        connection.answer("GET").with_context(|| format!("the {} Worker", self.name))
    }
}

/// Copies the modules of a built Worker, so that a later build does not change them during the measurement.
pub fn copy_modules(from: &Path, to: &Path) -> Result<()> {
    for module in fs::read_dir(from)? {
        let module = module?;
        if module.file_type()?.is_file() {
            fs::copy(module.path(), to.join(module.file_name()))?;
        }
    }
    Ok(())
}

/// Bundles the TypeScript Worker of this entry, named from the root. Migrations are bundled as text.
pub fn bundle(npm: &NpmTools, entry: &str, modules: &Path) -> Result<()> {
    let output = Command::new(&npm.esbuild)
        .arg(entry)
        .args(["--bundle", "--minify", "--format=esm", "--target=esnext", "--log-level=warning"])
        .args(["--loader:.sql=text", "--external:cloudflare:*"])
        .arg(format!("--outfile={}", modules.join("index.js").display()))
        .current_dir(repo_root())
        .output()
        .context("esbuild cannot be started")?;
    ensure!(output.status.success(), "esbuild: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
