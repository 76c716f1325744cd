//! Builds a Worker's crate into the two modules that are deployed: `index.js` and `index_bg.wasm`.
//!
//! Cargo decides which code to compile. The steps after it (bindings, bundling, wasm-opt: seconds each) are skipped
//! when cargo's output did not change, so a second start costs a hash.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cache::Lock;
use crate::pack::{MODULES, entry, pack, runtime};
use crate::{
    Progress, command, commit, edge, edge_worker_dir, ensure_cargo_tools, ensure_npm,
    ensure_rust_target, repo_root, resident_worker_dir, state_worker_dir, tools, wrangler,
};

/// Maximum compressed size of the state Worker, including JavaScript. Our own limit for the
/// start-up time, far below the platform's.
pub const STATE_WORKER_GZIP_LIMIT: u64 = 300_000;

/// The same for the resident Worker.
pub const RESIDENT_WORKER_GZIP_LIMIT: u64 = 450_000;

/// The cargo profile for Workers that name no other in their manifest. It is in the root manifest.
const PROFILE: &str = "worker";
/// Exports the stack pointer, which `runtime.js` resets after a trap.
const EXPORTED_STACK_POINTER: &str = "link-arg=--export=__stack_pointer";
/// The file with the digest that `build/` was packed from.
const STAMP: &str = ".ars-stamp";

/// The variable with the commit that a crate is compiled from.
const BUILD_COMMIT: &str = "ARS_BUILD_COMMIT";

/// A Worker, ready to run or deploy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The crate it came from.
    pub crate_dir: PathBuf,
    /// Deployment settings file.
    pub settings: PathBuf,
    /// Where the modules are.
    pub modules: PathBuf,
    /// The commit that the crate was compiled from, with `-dirty` if the checkout differed.
    pub commit: Option<String>,
    /// Compressed size in bytes.
    pub gzip_bytes: u64,
    /// Whether nothing had changed.
    pub reused: bool,
}

/// Builds the state Worker and sets up the tools it needs.
pub fn build_state_worker(progress: Progress<'_>) -> Result<Built> {
    build_worker(&state_worker_dir(), progress)
}

/// Builds the resident Worker and sets up the tools it needs.
pub fn build_resident_worker(progress: Progress<'_>) -> Result<Built> {
    build_worker(&resident_worker_dir(), progress)
}

/// Builds the edge Worker and sets up the tools it needs.
///
/// # Errors
/// The settings name a developer's bot, or a deployment would use another commit's image.
pub fn build_edge_worker(progress: Progress<'_>) -> Result<Built> {
    edge::refuse_dev_bot(&wrangler::path_of(&edge_worker_dir()))?;
    let command = std::env::var(edge::WRANGLER_COMMAND).ok();
    edge::refuse_stale_image(
        command.as_deref(),
        &repo_root().join(edge::IMAGE_STAMP),
        commit().as_deref(),
    )?;
    build_worker(&edge_worker_dir(), progress)
}

/// Builds the Worker from the crate in `crate_dir` and sets up the tools it needs.
pub fn build_worker(crate_dir: &Path, progress: Progress<'_>) -> Result<Built> {
    ensure_rust_target(progress)?;
    let cargo_tools = ensure_cargo_tools(progress)?;
    let npm_tools = ensure_npm(progress)?;
    let Package { name, profile } = Package::read(crate_dir)?;
    let modules = crate_dir.join("build");
    // Packing the same Worker twice would mix the outputs.
    let _lock = Lock::acquire(&modules)?;

    progress(&format!("{name}: compiling to wasm"));
    let commit = commit();
    compile(crate_dir, &profile, commit.as_deref(), progress)?;
    let wasm = target_dir(crate_dir)?
        .join(tools::WASM_TARGET)
        .join(&profile)
        .join(format!("{name}.wasm"));
    let settings = wrangler::path_of(crate_dir);
    let objects = wrangler::Wrangler::read(&settings)?.objects;
    let entry = entry(
        &objects
            .iter()
            .map(|object| object.class.as_str())
            .collect::<Vec<_>>(),
    );
    let stamp = stamp(&entry, &wasm)?;
    let stamp_path = modules.join(STAMP);
    let complete = MODULES.iter().all(|module| modules.join(module).is_file());
    let reused = complete && fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp);
    if !reused {
        progress(&format!("{name}: packing"));
        // Without a stamp an interrupted packing is done again.
        fs::write(&stamp_path, "")?;
        pack(
            &entry,
            &wasm,
            &modules,
            (&cargo_tools, &npm_tools),
            progress,
        )?;
        fs::write(&stamp_path, stamp)?;
    }
    let gzip_bytes = gzip_bytes(&modules)?;
    progress(&format!(
        "{name}: {:.0} kB compressed",
        gzip_bytes as f64 / 1000.0
    ));
    Ok(Built {
        crate_dir: crate_dir.to_owned(),
        settings,
        modules,
        commit,
        gzip_bytes,
        reused,
    })
}

fn compile(
    crate_dir: &Path,
    profile: &str,
    commit: Option<&str>,
    progress: Progress<'_>,
) -> Result<()> {
    let mut cargo = command::cargo("rustc");
    cargo
        .args([
            "--lib",
            "--profile",
            profile,
            "--target",
            tools::WASM_TARGET,
            "--",
            "-C",
            EXPORTED_STACK_POINTER,
        ])
        .current_dir(crate_dir)
        // Bindings to futures come from js-sys, as the `worker` crate expects.
        .env("WASM_BINDGEN_USE_JS_SYS", "1");
    // It tells the edge whether the running container is its own.
    if let Some(commit) = commit {
        cargo.env(BUILD_COMMIT, commit);
    }
    command::run(cargo, "cargo", progress)
}

/// The part of a Worker's manifest that names the module.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    /// Name of the library.
    name: String,
    /// The cargo profile, from `package.metadata.worker`.
    profile: String,
}

impl Package {
    fn read(crate_dir: &Path) -> Result<Self> {
        let path = crate_dir.join("Cargo.toml");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text)
    }

    fn parse(manifest: &str) -> Result<Self> {
        let manifest: Value = toml::from_str(manifest)?;
        let package = &manifest["package"];
        let name = package["name"]
            .as_str()
            .context("a crate without a name")?
            .replace('-', "_");
        let profile = package["metadata"]["worker"]["profile"]
            .as_str()
            .unwrap_or(PROFILE)
            .to_owned();
        Ok(Self { name, profile })
    }
}

/// Returns cargo's target directory, which environment and configuration can change.
pub fn target_dir(crate_dir: &Path) -> Result<PathBuf> {
    let mut cargo = command::cargo("metadata");
    cargo
        .args(["--no-deps", "--offline", "--format-version", "1"])
        .current_dir(crate_dir);
    let output = cargo.output().context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    Ok(metadata["target_directory"]
        .as_str()
        .context("cargo metadata")?
        .into())
}

/// Returns a digest over all packing inputs: the module, its JavaScript and the tools.
fn stamp(entry: &str, wasm: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(entry);
    for path in [wasm, &runtime(), &repo_root().join("package-lock.json")] {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        hash.update(Sha256::digest(&bytes));
    }
    hash.update(tools::pins());
    Ok(hex::encode(hash.finalize()))
}

fn gzip_bytes(modules: &Path) -> Result<u64> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for module in MODULES {
        encoder.write_all(&fs::read(modules.join(module))?)?;
    }
    Ok(encoder.finish()?.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_may_name_another_profile() {
        let read = |manifest| {
            Package::parse(manifest)
                .map(|package| (package.name, package.profile))
                .ok()
        };
        let named = |profile: &str| Some(("a_worker".to_owned(), profile.to_owned()));
        assert_eq!(read("[package]\nname = 'a-worker'"), named(PROFILE));
        let small =
            "[package]\nname = 'a-worker'\n[package.metadata.worker]\nprofile = 'worker-small'";
        assert_eq!(read(small), named("worker-small"));
        assert_eq!(read("[workspace]"), None);
    }
}
