//! Restores the owner's rights in a tree, which a command can remove.
//!
//! Without them no later command could start there, not even to restore them.

use std::path::Path;

use ars_bot_ports::WorkspaceError;
use rustix::{
    fs::{AtFlags, FileType, Mode, chmodat, statat},
    io::Errno,
};

use super::{in_use::InUse, programs::Programs, tool};

/// Restores the owner's rights in a tree, through a program that is confined to the workspace.
/// Other owners' files keep theirs.
pub(super) async fn restore(programs: &Programs, place: &Path) -> Result<(), WorkspaceError> {
    tracing::info!(place = %place.display(), "the rights of a tree were taken away, and are given back");
    tool::run(programs, "chmod", place, &["-R", "u+rwX", "--", "tree"])
        .await
        .map(drop)
}

/// Lets the owner open a workspace's tree.
/// Commands cannot replace the folder, because it is in the workspace's own.
pub(super) fn let_open(place: &InUse) -> Result<(), Errno> {
    let tree = statat(place, "tree", AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(tree.st_mode) {
        FileType::Directory => {
            let mode = Mode::from_raw_mode(tree.st_mode) | Mode::RWXU;
            chmodat(place, "tree", mode, AtFlags::empty())
        }
        _ => Ok(()),
    }
}
