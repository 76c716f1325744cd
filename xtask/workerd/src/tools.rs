//! The tools that come from crates, each kept under the cache by name and version.
//!
//! They are compiled once per machine (minutes) and found again by path, so updating a pin never
//! meets a stale binary, and two checkouts with different pins do not fight.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::cache::{Lock, cache_dir};
use crate::{Progress, command, repo_root};

/// Must be the `wasm-bindgen` crate's version: the two share a private format.
const WASM_BINDGEN: &str = "0.2.130";

/// Checks dependencies and licences by `deny.toml`.
const CARGO_DENY: &str = "0.20.2";

/// Cargo settings that halve the time to build a tool, which then runs for seconds.
const QUICK_BUILD: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// The Workers' compile target.
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// Paths to the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CargoTools {
    /// Path to `wasm-bindgen`.
    pub wasm_bindgen: PathBuf,
}

/// Installs the missing tools; the first time on a machine takes minutes.
pub fn ensure_cargo_tools(progress: Progress<'_>) -> Result<CargoTools> {
    let cache = cache_dir()?;
    Ok(CargoTools {
        wasm_bindgen: ensure(
            &cache,
            "wasm-bindgen-cli",
            WASM_BINDGEN,
            "wasm-bindgen",
            progress,
        )?,
    })
}

/// Installs cargo-deny if it is missing, and returns the path.
pub fn ensure_cargo_deny(progress: Progress<'_>) -> Result<PathBuf> {
    ensure(
        &cache_dir()?,
        "cargo-deny",
        CARGO_DENY,
        "cargo-deny",
        progress,
    )
}

/// Adds the Workers target's standard library to the pinned toolchain.
pub fn ensure_rust_target(progress: Progress<'_>) -> Result<()> {
    ensure_target(WASM_TARGET, progress)
}

/// Adds a target's standard library to the pinned toolchain.
pub fn ensure_target(target: &str, progress: Progress<'_>) -> Result<()> {
    let out = Command::new("rustc")
        .args(["--target", target, "--print", "target-libdir"])
        .current_dir(repo_root())
        .stderr(Stdio::null())
        .output()
        .context("rustc cannot be started")?;
    if Path::new(String::from_utf8_lossy(&out.stdout).trim()).is_dir() {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    add.args(["target", "add", target]).current_dir(repo_root());
    command::run(add, "rust target", progress)
}

/// The versions that shape a build's output.
pub(crate) fn pins() -> String {
    format!("wasm-bindgen {WASM_BINDGEN}, instantiable bindings")
}

fn ensure(
    cache: &Path,
    krate: &str,
    version: &str,
    binary: &str,
    progress: Progress<'_>,
) -> Result<PathBuf> {
    let home = cache.join("tools").join(format!("{krate}-{version}"));
    let path = home.join("bin").join(binary);
    if path.is_file() {
        return Ok(path);
    }
    let _lock = Lock::acquire(&cache.join("tools"))?;
    if path.is_file() {
        return Ok(path);
    }
    progress(&format!(
        "{krate} {version}: installing (minutes, once per machine)"
    ));
    // Built aside and renamed, so that an interrupted installation is never taken for a finished one.
    let unfinished = cache
        .join("tools")
        .join(format!(".unfinished-{krate}-{version}"));
    discard(&unfinished)?;
    let install = |locked: &[&str]| {
        let mut install = Command::new("cargo");
        install
            .args(["install", krate, "--version", &format!("={version}")])
            .args(locked)
            .arg("--root")
            .arg(&unfinished)
            .arg("--target-dir")
            .arg(cache.join("tools-target"))
            .envs(QUICK_BUILD)
            .current_dir(repo_root());
        command::run(install, krate, progress)
    };
    // The tool's own lockfile is what it was released with; where that is not available, the newest
    // of everything may do.
    install(&["--locked"]).or_else(|_| install(&[]))?;
    discard(&home)?;
    fs::rename(&unfinished, &home)
        .with_context(|| format!("cannot keep {krate} in {}", home.display()))?;
    Ok(path)
}

fn discard(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_tool_is_found_by_its_version() {
        let cache = tempfile::tempdir().unwrap();
        let bin = cache.path().join("tools/some-tool-1.2.3/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("tool"), "").unwrap();
        let found = ensure(cache.path(), "some-tool", "1.2.3", "tool", &|line| {
            panic!("{line}")
        })
        .unwrap();
        assert_eq!(found, bin.join("tool"));
    }

    #[test]
    fn wasm_bindgen_pin_equals_the_lockfile() {
        let lock = fs::read_to_string(repo_root().join("Cargo.lock")).unwrap();
        assert!(lock.contains(&format!(
            "name = \"wasm-bindgen\"\nversion = \"{WASM_BINDGEN}\""
        )));
    }
}
