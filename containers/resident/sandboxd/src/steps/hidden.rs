//! Files that git does not compare, by a flag "assume unchanged" or "skip worktree" in the index.
//!
//! A status and a commit leave their changes out, so that these would be lost with the tree.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use ars_resident::plan::User;
use cap_std::fs::Dir;

use super::secrets;
use crate::{
    failure::{Result, invalid},
    git::GitCall,
    runtime::Runtime,
    step::StepContext,
    stop::Stop,
};

/// Arguments that list an index.
const LIST: [&str; 3] = ["ls-files", "-v", "-z"];
/// Maximum bytes of an index list: more than the largest index leads to.
const LISTED_MAX_BYTES: usize = 128 << 20;

/// Returns whether a tree's index has such files.
pub(super) async fn has_hidden(
    runtime: &Runtime,
    user: User,
    tree: &Path,
    stop: &Stop,
) -> Result<bool> {
    let call = GitCall::in_tree(user, tree, LIST);
    Ok(!hidden(&listed(runtime, call, stop).await?).is_empty())
}

/// Lists a checkpoint's index, with the files' flags.
pub(super) async fn list(
    step: &StepContext<'_>,
    user: User,
    tree: &Path,
    index: &Path,
) -> Result<Vec<u8>> {
    let call = GitCall::in_tree(user, tree, LIST).with_index(index);
    listed(step.runtime, call, &step.stop).await
}

async fn listed(runtime: &Runtime, call: GitCall<'_>, stop: &Stop) -> Result<Vec<u8>> {
    let (ended, streams) = call.run_streams(runtime, stop).await?;
    let list = streams.heads(LISTED_MAX_BYTES).stdout;
    if ended.exit_code != 0 || list.len() >= LISTED_MAX_BYTES {
        return Err(invalid("the files of the index cannot be listed"));
    }
    Ok(list)
}

/// Clears the flags in a checkpoint's index. Returns whether there were any.
///
/// A file that is missing because the tree is sparse keeps the flag, and is no deletion.
pub(super) async fn unhide(
    step: &StepContext<'_>,
    user: User,
    tree: &str,
    real: &Path,
    index: &Path,
    list: &[u8],
) -> Result<bool> {
    let files = hidden(list);
    if files.is_empty() {
        return Ok(false);
    }
    let folder = Dir::from(step.runtime.places.open_dir(tree)?);
    let is_there = |path: &[u8]| folder.symlink_metadata(OsStr::from_bytes(path)).is_ok();
    let assumed = files.iter().filter(|(tag, _)| tag.is_ascii_lowercase());
    let skipped = files
        .iter()
        .filter(|(tag, path)| tag.eq_ignore_ascii_case(&b'S') && is_there(path));
    let flags = [
        (
            "--no-assume-unchanged",
            assumed.map(|file| file.1).collect::<Vec<_>>(),
        ),
        ("--no-skip-worktree", skipped.map(|file| file.1).collect()),
    ];
    // Git takes a single flag at a time.
    for (flag, paths) in flags.into_iter().filter(|(_, paths)| !paths.is_empty()) {
        let names = secrets::input(step, paths.join(&0))?;
        let call =
            GitCall::in_tree(user, real, ["update-index", flag, "-z", "--stdin"]).with_index(index);
        call.with_input(names)
            .run(step.runtime, &step.stop)
            .await?
            .succeeded(step.runtime)?;
    }
    Ok(true)
}

/// Returns the tags and paths of hidden files in a list.
///
/// `H` is a plain file, and `M` a file in conflict.
fn hidden(list: &[u8]) -> Vec<(u8, &[u8])> {
    let parts = list
        .split(|byte| *byte == 0)
        .filter_map(|line| Some((*line.first()?, line.get(2..)?)));
    parts
        .filter(|(tag, _)| matches!(tag, b'h' | b's' | b'S'))
        .collect()
}
