//! A plain user for the measured bot: as root it refuses to run commands without a sandbox.
//!
//! Not here: the measurement (`scale::sandbox`).

use std::fs;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::process::geteuid;

/// The user without rights, by system convention.
pub const NOBODY: u32 = 65_534;

/// Gives a directory and a copy of the bot to the plain user, and returns the copy. `None` if this
/// process is a plain user itself.
///
/// # Errors
/// The copy or an owner change.
pub fn hand_over(ars: &Path, place: &Path) -> Result<Option<PathBuf>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    // The build directory may be closed to other users.
    let copy = place.join("ars");
    fs::copy(ars, &copy).with_context(|| format!("cannot copy {}", ars.display()))?;
    give(place)?;
    Ok(Some(copy))
}

fn give(path: &Path) -> Result<()> {
    lchown(path, Some(NOBODY), Some(NOBODY))?;
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path())?;
        }
    }
    Ok(())
}
