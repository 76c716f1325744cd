//! Packs a compiled Worker into the two modules that are deployed: `index.js` and `index_bg.wasm`.
//!
//! wasm-bindgen makes the bindings, esbuild bundles them with `runtime.js` and an entry that
//! exports the classes in the Worker's settings, and wasm-opt shrinks the module. worker-build is
//! not used, because it downloads its tools (docs/decisions/0014-workers-in-rust.md).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{CargoTools, NpmTools, Progress, command, repo_root};

/// The modules' names, which workerd's configuration repeats.
pub(crate) const MODULES: [&str; 2] = ["index.js", "index_bg.wasm"];
/// The JavaScript between the platform and the bindings.
const RUNTIME: &str = "durable-objects/platform/js/runtime.js";
/// The start of wasm-bindgen's module import.
const SOURCE_IMPORT: &str = "import source ";
/// The globals that `runtime.js` replaces for each instance.
const PARAMETERS: &str = "{ queueMicrotask, trackTask }";
/// The global with the stack pointer, which the module exports by a linker flag (`build.rs`).
const STACK_POINTER: &str = "stackPointer: wasm.__stack_pointer";
/// Features that every supported engine has. Without them wasm-opt rejects the module.
const FEATURES: [&str; 6] = [
    "bulk-memory",
    "sign-ext",
    "mutable-globals",
    "nontrapping-float-to-int",
    "reference-types",
    "multivalue",
];

/// Returns the path to `runtime.js`.
pub(crate) fn runtime() -> PathBuf {
    repo_root().join(RUNTIME)
}

/// Returns the entry for a Worker with these Durable Object classes, which must be static exports.
pub(crate) fn entry(classes: &[&str]) -> String {
    let mut text =
        "import { handlers, objectClass } from \"./runtime.js\";\nexport default handlers;\n"
            .to_owned();
    for class in classes {
        text += &format!("export const {class} = objectClass(\"{class}\");\n");
    }
    text
}

/// Packs `wasm` into `modules`.
pub(crate) fn pack(
    entry: &str,
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
        .args(["--target", "module", "--no-typescript"])
        .args(["--out-name", "index", "--out-dir"])
        .arg(&staging);
    command::run(bindgen, "wasm-bindgen", progress)?;
    let bindings = staging.join(MODULES[0]);
    let text = fs::read_to_string(&bindings)
        .with_context(|| format!("cannot read {}", bindings.display()))?;
    fs::write(&bindings, instantiable(&text)?)?;
    fs::copy(runtime(), staging.join("runtime.js")).context("cannot read runtime.js")?;
    fs::write(staging.join("entry.js"), entry)?;

    let mut bundle = Command::new(&npm_tools.esbuild);
    bundle
        .args([
            "entry.js",
            "--bundle",
            "--minify",
            "--format=esm",
            "--log-level=warning",
        ])
        .args([
            "--external:./index_bg.wasm",
            "--external:cloudflare:*",
            "--allow-overwrite",
        ])
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

/// Turns the bindings into a function that returns a new instance with new bindings. The bindings
/// hold a single module instance. An instance that trapped can thus be replaced while its other
/// calls finish. The function's parameters replace globals that the module calls.
///
/// The module is imported as Workers always could: wrangler's bundler does not know source phase
/// imports.
fn instantiable(bindings: &str) -> Result<String> {
    ensure!(
        bindings.contains(SOURCE_IMPORT),
        "wasm-bindgen imports the module in another way"
    );
    let mut imports = String::new();
    let mut body = String::new();
    let mut exports = Vec::new();
    for line in bindings.lines() {
        if line.starts_with("import ") {
            imports += &line.replace(SOURCE_IMPORT, "import ");
            imports.push('\n');
            continue;
        }
        let declaration = line.strip_prefix("export ");
        if let Some(declaration) = declaration {
            let Some(export) = export(declaration) else {
                bail!("wasm-bindgen exports in another way: {line}");
            };
            exports.push(export);
            if declaration.starts_with('{') {
                continue;
            }
        }
        body += declaration.unwrap_or(line);
        body.push('\n');
    }
    exports.push(STACK_POINTER.to_owned());
    Ok(format!(
        "{imports}export default ({PARAMETERS}) => {{\n{body}return {{ {} }};\n}};\n",
        exports.join(", ")
    ))
}

/// Returns an exported declaration as a property, `name` or `name: local`.
fn export(declaration: &str) -> Option<String> {
    // A local name differs where an import has the same name.
    if let Some(aliased) = declaration.strip_prefix("{ ") {
        let (local, name) = aliased
            .trim_end_matches(['}', ';', ' '])
            .split_once(" as ")?;
        return Some(format!("{name}: {local}"));
    }
    let keywords = ["async function ", "function ", "class "];
    let rest = keywords
        .iter()
        .find_map(|keyword| declaration.strip_prefix(keyword))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))?;
    Some(rest[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_become_a_function_over_their_exports() {
        let bindings = "import { state } from './snippets/a.js';\nimport source wasmModule from \"./index_bg.wasm\";\n\
            export class Store {\n}\nexport function answer (a) {\n}\n\
            function fetch2() {\n}\nexport { fetch2 as fetch }\nlet wasm = 1;\n";
        let expected = "import { state } from './snippets/a.js';\nimport wasmModule from \"./index_bg.wasm\";\n\
            export default ({ queueMicrotask, trackTask }) => {\nclass Store {\n}\nfunction answer (a) {\n}\n\
            function fetch2() {\n}\nlet wasm = 1;\nreturn { Store, answer, fetch: fetch2, stackPointer: wasm.__stack_pointer };\n};\n";
        assert_eq!(instantiable(bindings).unwrap(), expected);
        for other in ["export { a };\n", "export const a = 1;\n"] {
            assert!(
                instantiable(&format!("{bindings}{other}")).is_err(),
                "{other}"
            );
        }
        assert!(instantiable("let wasm = 1;\n").is_err());
    }

    #[test]
    fn entry_exports_each_class() {
        let entry = entry(&["RunStore", "Schedules"]);
        assert!(
            entry.contains("export const RunStore = objectClass(\"RunStore\");\n"),
            "{entry}"
        );
        assert!(
            entry.ends_with("export const Schedules = objectClass(\"Schedules\");\n"),
            "{entry}"
        );
    }
}
