//! The official tools that come as npm packages, installed once per lock file and cached.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// Timeout for a tool.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A tool in the Node packages.
#[derive(Debug, Clone, Copy)]
pub enum Tool {
    /// The MCP conformance suite.
    Conformance,
    /// The inspector's command line.
    Inspector,
}

/// How a tool ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code, if any.
    pub code: Option<i32>,
    /// Text on standard output.
    pub stdout: String,
    /// Text on standard error.
    pub stderr: String,
}

impl Tool {
    /// Runs the tool in an empty folder, with no environment but a home.
    ///
    /// # Panics
    /// When the tool cannot be installed or started, or does not end.
    pub async fn run(self, arguments: &[&str]) -> Ended {
        let packages = tokio::task::spawn_blocking(installed)
            .await
            .expect("the packages are installed");
        let home = TempDir::new().expect("a folder can be made");
        let mut tool = tokio::process::Command::new(node(&packages));
        tool.arg(packages.join(self.script()))
            .args(self.leading())
            .args(arguments)
            .env_clear()
            .env("HOME", home.path())
            .current_dir(home.path())
            .kill_on_drop(true);
        let output = tokio::time::timeout(TIMEOUT, tool.output())
            .await
            .expect("the tool ends");
        let Output {
            status,
            stdout,
            stderr,
        } = output.expect("the tool starts");
        let [stdout, stderr] =
            [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        Ended {
            code: status.code(),
            stdout,
            stderr,
        }
    }

    fn script(self) -> &'static str {
        match self {
            Self::Conformance => "@modelcontextprotocol/conformance/dist/index.js",
            Self::Inspector => "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
        }
    }

    fn leading(self) -> &'static [&'static str] {
        match self {
            Self::Conformance => &[],
            Self::Inspector => &["--cli"],
        }
    }
}

/// Returns the Node that comes as a package, because the tools need a newer Node than the edge.
/// Platforms without such a package use their own.
fn node(packages: &Path) -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "x64"
    };
    let node = packages.join(format!("node-linux-{machine}/bin/node"));
    if node.is_file() { node } else { "node".into() }
}

/// Returns the package folder, which a machine's first caller installs and others await.
fn installed() -> PathBuf {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/mcp"));
    let pins = fs::read(here.join("package-lock.json")).expect("the lock file is readable");
    let digest = Sha256::digest(&pins);
    let version = hex::encode(&digest[..6]);
    let cache = ars_workerd::cache_dir().expect("there is a cache");
    let folder = cache.join(format!("npm-mcp-{version}"));
    let complete = folder.join("complete");
    fs::create_dir_all(&folder).expect("the cache is writable");
    let lock = File::create(cache.join("npm-mcp.lock")).expect("the cache is writable");
    lock.lock().expect("the cache can be locked");
    // The marker is written last, so that an interrupted installation is repeated.
    if !complete.exists() {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(here.join(file), folder.join(file)).expect("the cache is writable");
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&folder);
        ars_workerd::run_tool(npm, "npm", &|_| ()).expect("npm installs the packages");
        File::create(&complete).expect("the cache is writable");
    }
    folder.join("node_modules")
}
