//! Builds a Worker's crate into the two modules that are deployed: `index.js` and `index_bg.wasm`.
//!
//! Cargo decides what to compile. What follows it (bindings, wasm-opt, bundling: seconds each) is skipped when
//! cargo's output is the one that was packed last, so a second start costs a hash.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::{Compression, write::GzEncoder};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::cache::Lock;
use crate::pack::{MODULES, pack, sources};
use crate::{
    Progress, command, ensure_cargo_tools, ensure_npm, ensure_rust_target, npm, repo_root, state_worker_dir,
    tools,
};

/// Most a Worker may weigh, compressed, its glue included: our own bound for start-up time, far under the
/// platform's.
pub const WORKER_GZIP_LIMIT: u64 = 300_000;

/// The cargo profile of Workers, in the root manifest.
const PROFILE: &str = "worker";
/// Names what `build/` was packed from.
const STAMP: &str = ".ars-stamp";

/// A Worker, ready to run or deploy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The crate it came from.
    pub crate_dir: PathBuf,
    /// Where the modules are.
    pub modules: PathBuf,
    /// Their compressed size.
    pub gzip_bytes: u64,
    /// Nothing had changed.
    pub reused: bool,
}

/// Builds the state Worker, setting up what that takes.
pub fn build_state_worker(progress: Progress<'_>) -> Result<Built> {
    build_worker(&state_worker_dir(), progress)
}

/// Builds the Worker whose crate is in `crate_dir`, setting up what that takes.
pub fn build_worker(crate_dir: &Path, progress: Progress<'_>) -> Result<Built> {
    ensure_rust_target(progress)?;
    let cargo_tools = ensure_cargo_tools(progress)?;
    let npm_tools = ensure_npm(progress)?;
    let name = library_name(crate_dir)?;
    let modules = crate_dir.join("build");
    // Two packings of one Worker would mix their outputs.
    let _lock = Lock::acquire(&modules)?;

    progress(&format!("{name}: compiling to wasm"));
    compile(crate_dir, progress)?;
    let wasm = target_dir(crate_dir)?.join(tools::WASM_TARGET).join(PROFILE).join(format!("{name}.wasm"));
    let stamp = stamp(crate_dir, &wasm)?;
    let stamp_path = modules.join(STAMP);
    let complete = MODULES.iter().all(|module| modules.join(module).is_file());
    let reused = complete && fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp);
    if !reused {
        progress(&format!("{name}: packing"));
        // Without a stamp an interrupted packing is done again.
        fs::write(&stamp_path, "")?;
        pack(crate_dir, &wasm, &modules, (&cargo_tools, &npm_tools), progress)?;
        fs::write(&stamp_path, stamp)?;
    }
    let gzip_bytes = gzip_bytes(&modules)?;
    progress(&format!("{name}: {:.0} kB compressed", gzip_bytes as f64 / 1000.0));
    Ok(Built { crate_dir: crate_dir.to_owned(), modules, gzip_bytes, reused })
}

fn compile(crate_dir: &Path, progress: Progress<'_>) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--lib", "--profile", PROFILE, "--target", tools::WASM_TARGET])
        .current_dir(crate_dir)
        // Bindings to futures come from js-sys, as the `worker` crate expects.
        .env("WASM_BINDGEN_USE_JS_SYS", "1");
    command::run(own_environment(cargo), "cargo", progress)
}

/// Drops what an outer cargo sets for the program it runs: a nested cargo would take it for its own settings.
fn own_environment(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "CARGO_CRATE_NAME"
        {
            command.env_remove(&name);
        }
    }
    command
}

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

fn library_name(crate_dir: &Path) -> Result<String> {
    let path = crate_dir.join("Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(toml::from_str::<Manifest>(&text)?.package.name.replace('-', "_"))
}

#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
}

/// Where cargo puts what it builds: the environment and its configuration may say.
fn target_dir(crate_dir: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(crate_dir);
    let output = own_environment(cargo).output().context("cargo cannot be started")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(serde_json::from_slice::<Metadata>(&output.stdout).context("cargo metadata")?.target_directory)
}

/// Everything the packing depends on: the wasm, the JavaScript in front of it, and the tools' versions.
fn stamp(crate_dir: &Path, wasm: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let [runtime, entry] = sources(crate_dir);
    for path in [wasm, &runtime, &entry, &repo_root().join("package-lock.json")] {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        hash.update(Sha256::digest(&bytes));
    }
    hash.update(tools::pins());
    Ok(npm::hex(&hash.finalize()))
}

fn gzip_bytes(modules: &Path) -> Result<u64> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for module in MODULES {
        encoder.write_all(&fs::read(modules.join(module))?)?;
    }
    Ok(encoder.finish()?.len() as u64)
}
