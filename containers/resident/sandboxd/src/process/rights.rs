//! Landlock: the rights that a thread's program gives up beside those that its user lacks.
//!
//! It reads the system and its own folders, changes its own folders only, and signals no other
//! command's program. Not here: users, which keep threads apart on a kernel without Landlock too,
//! and the network, which is the container's.

use std::{io, path::Path};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::confine::Place;

/// The newest version whose rights are given up. Older kernels lack some of them.
const NEWEST: ABI = ABI::V10;
/// Programs, libraries and their settings. The image has no secret among them.
const SYSTEM: [&str; 10] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/etc",
    "/sys/devices/system/cpu",
];
/// Devices that hold no state.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Returns whether the kernel has Landlock.
#[must_use]
pub fn has_landlock() -> bool {
    let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    strict.handle_access(AccessFs::from_all(ABI::V1)).is_ok()
}

/// Restricts this thread to a program's folders, if the kernel has Landlock.
///
/// `streams` has its output files. Their folder is root's, so a program opens only those that it
/// has.
pub(super) fn restrict(place: &Place, streams: &Path) -> io::Result<()> {
    rules(place, streams).map(drop).map_err(io::Error::other)
}

fn rules(place: &Place, streams: &Path) -> Result<RulesetStatus, RulesetError> {
    let looked_at: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let opened = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let created = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(DEVICES, opened))?
        .add_rules(path_beneath_rules(["/proc"], looked_at))?
        .add_rules(path_beneath_rules([streams], opened))?
        .add_rules(path_beneath_rules(&place.readable, looked_at))?
        .add_rules(path_beneath_rules(
            &place.writable,
            AccessFs::from_all(NEWEST),
        ))?;
    Ok(created.restrict_self()?.ruleset)
}
