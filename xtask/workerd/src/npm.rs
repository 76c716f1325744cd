//! The tools that come as npm packages, installed from the committed lockfile.
//!
//! Packages' install scripts are not run: nothing here needs them, because the platform's own binaries are
//! addressed directly instead of through the packages' launchers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::cache::{Lock, cache_dir};
use crate::{Progress, command, repo_root};

/// Names the lockfile that `node_modules` was made from.
const STAMP: &str = ".ars-lockfile";

/// Paths to the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmTools {
    /// The edge runtime's binary.
    pub workerd: PathBuf,
    /// The edge runtime that starts containers, which is wrangler's own and older.
    /// Newer ones need a side image that no available registry has (docs/platform.md).
    pub container_workerd: PathBuf,
    /// The deployment tool for Workers, run by Node.
    pub wrangler: PathBuf,
    /// Bundles a Worker's JavaScript glue.
    pub esbuild: PathBuf,
    /// Shrinks a Worker's wasm.
    pub wasm_opt: PathBuf,
    /// The platform's own service simulation; only the object storage is used.
    pub simulators: PathBuf,
    /// The package folder, for tools this crate does not know.
    pub node_modules: PathBuf,
}

/// Runs `npm ci` when the lockfile differs from the last installed lockfile.
pub fn ensure_npm(progress: Progress<'_>) -> Result<NpmTools> {
    let root = repo_root();
    let lockfile = root.join("package-lock.json");
    let text =
        fs::read(&lockfile).with_context(|| format!("cannot read {}", lockfile.display()))?;
    let wanted = hex::encode(Sha256::digest(&text));
    let stamp = root.join("node_modules").join(STAMP);
    let installed = || fs::read_to_string(&stamp).is_ok_and(|found| found == wanted);
    if !installed() {
        let _lock = Lock::acquire(&root.join("target"))?;
        if !installed() {
            progress("npm: installing the packages of package-lock.json");
            let mut npm = Command::new("npm");
            npm.args(["ci", "--ignore-scripts"]).current_dir(&root);
            command::run(npm, "npm", progress).context("npm ci (Node 20 or newer is needed)")?;
            fs::write(&stamp, &wanted)?;
        }
    }
    tools(&root.join("node_modules"))
}

/// Returns the package folder of another manifest, installed into the cache once per lock file.
///
/// Other callers on this machine await the installation. `manifest` is the folder with
/// `package.json` and `package-lock.json`.
pub fn cached_packages(name: &str, manifest: &Path) -> Result<PathBuf> {
    let lockfile = manifest.join("package-lock.json");
    let text =
        fs::read(&lockfile).with_context(|| format!("cannot read {}", lockfile.display()))?;
    let version = hex::encode(&Sha256::digest(&text)[..6]);
    let folder = cache_dir()?.join(format!("npm-{name}-{version}"));
    let complete = folder.join("complete");
    let _lock = Lock::acquire(&folder)?;
    // The marker is written last, so that an interrupted installation is repeated.
    if !complete.exists() {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(manifest.join(file), folder.join(file))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&folder);
        command::run(npm, "npm", &|_| ()).context("npm ci (Node 20 or newer is needed)")?;
        fs::write(&complete, [])?;
    }
    Ok(folder.join("node_modules"))
}

fn tools(node_modules: &Path) -> Result<NpmTools> {
    let (workerd, esbuild) = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => ("workerd-linux-64", "linux-x64"),
        ("linux", "aarch64") => ("workerd-linux-arm64", "linux-arm64"),
        ("macos", "x86_64") => ("workerd-darwin-64", "darwin-x64"),
        ("macos", "aarch64") => ("workerd-darwin-arm64", "darwin-arm64"),
        (os, arch) => bail!("workerd is not published for {os} on {arch}; use --store embedded"),
    };
    let found = NpmTools {
        workerd: node_modules
            .join("@cloudflare")
            .join(workerd)
            .join("bin/workerd"),
        container_workerd: node_modules
            .join("wrangler/node_modules/@cloudflare")
            .join(workerd)
            .join("bin/workerd"),
        wrangler: node_modules.join("wrangler/bin/wrangler.js"),
        esbuild: node_modules
            .join("@esbuild")
            .join(esbuild)
            .join("bin/esbuild"),
        wasm_opt: node_modules.join("binaryen/bin/wasm-opt"),
        simulators: node_modules.join("miniflare/dist/src/workers"),
        node_modules: node_modules.to_owned(),
    };
    let files = [
        &found.workerd,
        &found.container_workerd,
        &found.wrangler,
        &found.esbuild,
        &found.wasm_opt,
    ];
    for path in files {
        ensure!(path.is_file(), "{} is missing after npm ci", path.display());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lockfile_names_no_host() {
        let lock = fs::read_to_string(repo_root().join("package-lock.json")).unwrap();
        assert!(
            !lock.contains("\"resolved\"") && !lock.contains("://"),
            "npm recorded where packages came from, or whom to fund: take `resolved` and `funding` out"
        );
    }

    #[test]
    fn the_manifest_pins_exact_versions() {
        let text = fs::read_to_string(repo_root().join("package.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (name, version) in manifest["devDependencies"].as_object().unwrap() {
            let version = version.as_str().unwrap();
            assert!(
                version.starts_with(|c: char| c.is_ascii_digit()),
                "{name} {version} is a range"
            );
        }
    }
}
