//! The official tools that come as npm packages, installed once per lock file and cached.

use std::{
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

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
    ars_workerd::cached_packages("mcp", here).expect("npm installs the packages")
}
