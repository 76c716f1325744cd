//! Entry names and markers. An entry is complete, or it does not exist.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ars_resident::layout::{DEPS, deps_entry};
use ars_resident::names::{LockfileKey, Sha};

use crate::{
    failure::{Context as _, Result},
    runtime::Runtime,
};

/// Marker in a complete entry, with the key.
pub(crate) const COMPLETE: &str = ".complete";
/// Marks the last use.
const USED: &str = ".used";
/// Prefix of an entry's name before the rename.
pub(crate) const STAGING: &str = ".staging-";
/// Prefix of a scratch checkout's name.
const SCRATCH: &str = ".scratch-";

/// Returns an entry's path in plans.
pub(crate) fn entry_path(key: &LockfileKey) -> String {
    deps_entry(key)
}

/// Returns the path of an entry's scratch checkout at a commit. Another commit has another path,
/// because the first commit's programs may have changed it.
pub(crate) fn scratch_path(key: &LockfileKey, sha: &Sha) -> String {
    format!("{DEPS}/{SCRATCH}{key}-{sha}")
}

/// Returns an entry's or scratch checkout's key by name, and whether it is a scratch checkout.
pub(crate) fn key_of(name: &str) -> Option<(LockfileKey, bool)> {
    let scratch = name
        .strip_prefix(SCRATCH)
        .map(|rest| rest.split_once('-').map_or(rest, |(key, _)| key));
    Some((
        LockfileKey::parse(scratch.unwrap_or(name)).ok()?,
        scratch.is_some(),
    ))
}

/// Returns an entry's path before the rename.
pub(crate) fn staging_path(key: &LockfileKey) -> String {
    format!("{DEPS}/{STAGING}{key}-{}", uuid::Uuid::new_v4())
}

/// Returns whether the store has an entry.
pub(crate) fn has_entry(runtime: &Runtime, key: &LockfileKey) -> bool {
    runtime
        .places
        .real(&entry_path(key))
        .is_ok_and(|path| path.join(COMPLETE).is_file())
}

/// Returns whether a folder has the whole content of a key's entry. An earlier version's marker
/// names no key, and counts as none.
pub(crate) fn is_entry_of(folder: &Path, key: &LockfileKey) -> bool {
    fs::read_to_string(folder.join(COMPLETE)).is_ok_and(|text| text == key.as_str())
}

/// Records that an entry was used.
pub(crate) fn touch(runtime: &Runtime, key: &LockfileKey) -> Result<()> {
    fs::write(used_path(runtime, key)?, "").context("deps")
}

/// Returns when an entry was last used.
pub(crate) fn used_at(runtime: &Runtime, key: &LockfileKey) -> Option<SystemTime> {
    fs::metadata(used_path(runtime, key).ok()?)
        .ok()?
        .modified()
        .ok()
}

fn used_path(runtime: &Runtime, key: &LockfileKey) -> Result<PathBuf> {
    Ok(runtime.places.real(&entry_path(key))?.join(USED))
}
