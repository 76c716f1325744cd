//! The bot as one static binary, for an image that holds nothing else.

use std::path::PathBuf;

use anyhow::Result;
use ars_workerd::{Progress, cargo, ensure_target, repo_root, run_tool, target_dir};

use crate::debian;

/// The compile target of the bot: the platform's only processor.
pub const MUSL_TARGET: &str = "x86_64-unknown-linux-musl";
/// The profile of the image, in the root manifest.
const PROFILE: &str = "image";
/// The bot's package and binary.
const BOT: &str = "ars";

/// Builds the bot and sets up the toolchain; the first time takes minutes.
pub fn bot_binary(progress: Progress<'_>) -> Result<PathBuf> {
    debian::ensure_packages(&debian::IMAGE, progress)?;
    ensure_target(MUSL_TARGET, progress)?;
    let mut build = cargo("build");
    build.args(["--package", BOT, "--bin", BOT, "--profile", PROFILE, "--target", MUSL_TARGET]);
    build.current_dir(repo_root());
    run_tool(build, "cargo", progress)?;
    Ok(target_dir(&repo_root())?.join(MUSL_TARGET).join(PROFILE).join(BOT))
}
