//! The service's programs as static binaries, for images with any libc.

use std::path::PathBuf;

use anyhow::Result;
use ars_workerd::{Progress, cargo, ensure_target, repo_root, run_tool, target_dir};

use crate::debian;

/// The bot's compile target: the platform's only processor.
pub const MUSL_TARGET: &str = "x86_64-unknown-linux-musl";
/// The image's profile, in the root manifest.
const PROFILE: &str = "image";
/// The bot's package and binary.
const BOT: &str = "ars";
/// The residents' daemon: package and binary name.
const SANDBOXD: &str = "ars-sandboxd";

/// Builds the bot and sets up the toolchain; the first time takes minutes.
pub fn bot_binary(progress: Progress<'_>) -> Result<PathBuf> {
    static_binary(BOT, progress)
}

/// Builds the residents' daemon and sets up the toolchain.
pub fn sandboxd_binary(progress: Progress<'_>) -> Result<PathBuf> {
    static_binary(SANDBOXD, progress)
}

fn static_binary(package: &str, progress: Progress<'_>) -> Result<PathBuf> {
    debian::ensure_packages(&debian::IMAGE, progress)?;
    ensure_target(MUSL_TARGET, progress)?;
    let mut build = cargo("build");
    // Both at once: alone, each has other features for the same crates.
    for package in [BOT, SANDBOXD] {
        build.args(["--package", package, "--bin", package]);
    }
    build.args(["--profile", PROFILE, "--target", MUSL_TARGET]);
    build.current_dir(repo_root());
    run_tool(build, "cargo", progress)?;
    Ok(target_dir(&repo_root())?
        .join(MUSL_TARGET)
        .join(PROFILE)
        .join(package))
}
