//! A side in the comparison: a running Worker, or the server behind the Workers.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ars_raw_http::{Connection, Message};
use ars_workerd::{NpmTools, Settings, Workerd, repo_root};
use tempfile::TempDir;

use super::WORKER_CORE;

/// A side to compare.
pub struct Side {
    /// The name in messages.
    pub name: &'static str,
    /// The address it listens on.
    pub address: SocketAddr,
    /// Process id of the side.
    pub pid: u32,
    /// The Worker's process and data, which are removed with it.
    _running: Option<(Workerd, TempDir)>,
}

impl Side {
    /// Measures a server in this process.
    pub fn direct(address: SocketAddr) -> Self {
        Self {
            name: "direct",
            address,
            pid: std::process::id(),
            _running: None,
        }
    }

    /// Starts a Worker with data under `dir`.
    pub fn start(
        name: &'static str,
        dir: &Path,
        settings: impl FnOnce(&Path) -> Result<Settings>,
    ) -> Result<Self> {
        let data = tempfile::tempdir_in(dir)?;
        let settings = Settings {
            core: Some(WORKER_CORE),
            ..settings(data.path())?
        };
        let running = Workerd::start(&settings).with_context(|| format!("the {name} Worker"))?;
        Ok(Self {
            name,
            address: running.address(),
            pid: running.pid(),
            _running: Some((running, data)),
        })
    }

    /// Sends a request on a new connection.
    pub fn ask(&self, request: &[u8]) -> Result<Message> {
        let mut connection = Connection::open(self.address)?;
        connection.send(request)?;
        connection
            .answer("GET")
            .with_context(|| format!("the {} Worker", self.name))
    }
}

/// Bundles this entry's TypeScript Worker, from the root, below `data`, with migrations as text.
pub fn bundle(npm: &NpmTools, entry: &str, data: &Path) -> Result<PathBuf> {
    let modules = data.join("modules");
    let output = Command::new(&npm.esbuild)
        .arg(entry)
        .args([
            "--bundle",
            "--minify",
            "--format=esm",
            "--target=esnext",
            "--log-level=warning",
        ])
        .args(["--loader:.sql=text", "--external:cloudflare:*"])
        .arg(format!("--outfile={}", modules.join("index.js").display()))
        .current_dir(repo_root())
        .output()
        .context("esbuild cannot be started")?;
    ensure!(
        output.status.success(),
        "esbuild: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(modules)
}
