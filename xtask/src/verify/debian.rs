//! Installs the tests' missing Debian packages.
//!
//! They are a browser with its fonts, Python's `venv`, and the sandbox. Not here: the packages for
//! containers (`ars_engine`).

use anyhow::Result;
use ars_engine::debian::{Need, SANDBOX, ensure_packages};

use crate::terminal::Step;

/// A thing the tests start, how to see whether it is there, and the package that brings it.
const NEEDS: [Need<'_>; 5] = [
    (&["/usr/bin/chromium", "--version"], "chromium"),
    (&["/usr/bin/chromedriver", "--version"], "chromium-driver"),
    (
        &["test", "-d", "/usr/share/fonts/truetype/dejavu"],
        "fonts-dejavu-core",
    ),
    (&["python3", "-c", "import ensurepip, venv"], "python3-venv"),
    SANDBOX,
];

/// Installs the missing packages.
pub fn ensure() -> Result<()> {
    let step = Step::begin("Debian packages");
    let installed = ensure_packages(&NEEDS, &|line| step.update(line))?;
    step.done(&installed.join(" "));
    Ok(())
}
