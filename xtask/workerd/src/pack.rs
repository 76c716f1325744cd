//! Packs a compiled Worker into the two modules that are deployed: `index.js` and `index_bg.wasm`.
//!
//! Bindings, then the Worker's own `src/entry.js` and the shared `runtime.js` bundled in front of them, then wasm-opt.
//! This takes the place of worker-build: its shim wraps every call in proxies and promises (docs/decisions/0006).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{CargoTools, NpmTools, Progress, command, repo_root};

/// The modules' names, which workerd's configuration repeats.
pub(crate) const MODULES: [&str; 2] = ["index.js", "index_bg.wasm"];
/// Modules between the bindings and the runtime, for every Worker; unused ones are left out of the bundle.
const RUNTIME: [&str; 4] = [
    "durable-objects/platform/js/runtime.js",
    "durable-objects/platform/js/bot.js",
    "durable-objects/platform/js/restart.js",
    "durable-objects/platform/js/container.js",
];
/// How wasm-bindgen imports the wasm.
const SOURCE_IMPORT: &str = "import source ";
/// A Worker's own, in its crate.
const ENTRY: &str = "src/entry.js";
/// Features that workerd's and the platform's engine support without a flag; wasm-opt needs the list.
const FEATURES: [&str; 6] = [
    "bulk-memory",
    "sign-ext",
    "mutable-globals",
    "nontrapping-float-to-int",
    "reference-types",
    "multivalue",
];

/// The JavaScript a Worker is packed with.
pub(crate) fn sources(crate_dir: &Path) -> Vec<PathBuf> {
    RUNTIME.iter().map(|path| repo_root().join(path)).chain([crate_dir.join(ENTRY)]).collect()
}

/// Packs `wasm` into `modules`.
pub(crate) fn pack(
    crate_dir: &Path,
    wasm: &Path,
    modules: &Path,
    tools: (&CargoTools, &NpmTools),
    progress: Progress<'_>,
) -> Result<()> {
    let (cargo_tools, npm_tools) = tools;
    let staging = modules.join("staging");
    fs::create_dir_all(&staging).with_context(|| format!("cannot create {}", staging.display()))?;
    let mut bindgen = Command::new(&cargo_tools.wasm_bindgen);
    bindgen
        .arg(wasm)
        .args(["--target", "module", "--no-typescript", "--experimental-reset-state-function"])
        .args(["--out-name", "index", "--out-dir"])
        .arg(&staging);
    command::run(bindgen, "wasm-bindgen", progress)?;
    default_import(&staging.join(MODULES[0]))?;
    for source in sources(crate_dir) {
        let name = source.file_name().context("a source without a name")?;
        fs::copy(&source, staging.join(name)).with_context(|| format!("cannot read {}", source.display()))?;
    }

    let mut bundle = Command::new(&npm_tools.esbuild);
    bundle
        .args(["entry.js", "--bundle", "--minify", "--format=esm", "--log-level=warning"])
        .args(["--external:./index_bg.wasm", "--external:cloudflare:*", "--allow-overwrite"])
        .arg(format!("--outfile={}", modules.join(MODULES[0]).display()))
        .current_dir(&staging);
    command::run(bundle, "esbuild", progress)?;

    let mut optimize = Command::new(&npm_tools.wasm_opt);
    optimize
        .arg(staging.join(MODULES[1]))
        .arg("-O2")
        .args(FEATURES.map(|feature| format!("--enable-{feature}")))
        .arg("-o")
        .arg(modules.join(MODULES[1]));
    command::run(optimize, "wasm-opt", progress)?;
    fs::remove_dir_all(&staging).with_context(|| format!("cannot remove {}", staging.display()))
}

/// Imports the wasm as Workers always could: wrangler's bundler does not know the newer word for it.
fn default_import(bindings: &Path) -> Result<()> {
    let text = fs::read_to_string(bindings).context("the bindings")?;
    let changed = text.replace(SOURCE_IMPORT, "import ");
    ensure!(changed != text, "wasm-bindgen imports the wasm in another way");
    fs::write(bindings, changed).context("the bindings")
}
