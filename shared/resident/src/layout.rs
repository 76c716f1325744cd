//! Paths in the container. Each one is derived from validated names.

use sha2::{Digest, Sha256};

use ars_types::StrictRefName;

use crate::names::{LockfileKey, StrictThreadKey, hex};
use crate::pool::PoolUser;

/// Everything of the resident.
pub const WORKSPACE: &str = "/workspace";
/// Homes of users.
pub const HOMES: &str = "/home";
/// The bare mirror. Users of threads cannot enter it.
pub const MIRROR: &str = "/workspace/mirror";
/// Mirrors of earlier attempts, until their checkpoints are in the new one.
pub const EARLIER_MIRRORS: &str = "/workspace/.resident/earlier-mirrors";
/// The checkout of the default branch.
pub const CHECKOUT: &str = "/workspace/checkout";
/// The dependency store.
pub const DEPS: &str = "/workspace/deps";
/// Trees of threads.
pub const THREADS: &str = "/workspace/threads";
/// The folder of the spare tree. Only root can enter it.
pub const SPARES: &str = "/workspace/spares";
/// The spare tree.
pub const SPARE: &str = "/workspace/spares/tree";
/// Checkouts of operations.
pub const OPS: &str = "/workspace/ops";
/// Folders for temporary files, one for each user.
pub const TEMPORARIES: &str = "/workspace/tmp";
/// Markers and credentials, readable for root only.
pub const STATE: &str = "/workspace/.resident";
/// The one-shot credential file of git.
pub const CREDENTIALS: &str = "/workspace/.resident/git-credentials";
/// Removed trees on their way to deletion.
pub const TRASH: &str = "/workspace/.resident/trash";
/// Marker of the verified commit.
pub const READY: &str = "/workspace/.resident/ready";
/// Marker of the commit that was built.
pub const BUILT: &str = "/workspace/.resident/built";
/// Marker of the key of the linked dependencies.
pub const DEPS_KEY: &str = "/workspace/.resident/deps-key";
/// Marker of an installation that did not end.
pub const DEPS_INSTALLING: &str = "/workspace/.resident/deps-installing";
/// Id of this disk.
pub const RUNTIME: &str = "/workspace/.resident/runtime";
/// Archives on their way.
pub const TRANSFERS: &str = "/workspace/.resident/transfers";
/// Streams of commands in progress.
pub const STREAMS: &str = "/workspace/.resident/streams";
/// Maximum characters of the readable part of a folder's name.
const SLUG_MAX_CHARS: usize = 60;
/// Bytes of the digest in a folder's name.
const DIGEST_BYTES: usize = 4;

/// Returns the folder of a thread. The digest keeps apart keys with equal readable parts.
pub fn thread_dir(key: &StrictThreadKey) -> String {
    let digest = hex(&Sha256::digest(key.as_str())[..DIGEST_BYTES]);
    format!("{THREADS}/{}-{digest}", slug(key.as_str()))
}

/// Returns the tree of a thread at a ref.
pub fn tree(key: &StrictThreadKey, git_ref: &StrictRefName) -> String {
    format!("{}/{}", thread_dir(key), slug(git_ref.as_str()))
}

/// Returns the folder of an operation.
pub fn op_dir(op: u64) -> String {
    format!("{OPS}/{op}")
}

/// Returns the checkout of an operation.
pub fn op_checkout(op: u64) -> String {
    format!("{}/checkout", op_dir(op))
}

/// Returns an entry of the dependency store.
pub fn deps_entry(key: &LockfileKey) -> String {
    format!("{DEPS}/{key}")
}

/// Returns the home of a user.
pub fn home(user: PoolUser) -> String {
    format!("/home/{user}")
}

fn slug(text: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    text.chars().take(SLUG_MAX_CHARS).map(keep).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_with_equal_slugs_have_distinct_folders() {
        let [colon, dash] =
            ["a:b:c", "a:b-c"].map(|key| thread_dir(&StrictThreadKey::parse(key).unwrap()));
        assert_ne!(colon, dash);
        assert!(colon.starts_with("/workspace/threads/a-b-c-"));
    }

    proptest! {
        #[test]
        fn folders_stay_below_threads(key in "[a-z]{1,4}:[A-Za-z0-9._:-]{1,128}", git_ref in "[a-z][a-z/.]{0,80}") {
            let Ok(key) = StrictThreadKey::parse(key) else { return Ok(()) };
            let Ok(git_ref) = StrictRefName::parse(git_ref) else { return Ok(()) };
            let tree = tree(&key, &git_ref);
            let parts: Vec<&str> = tree.split('/').collect();
            prop_assert_eq!(parts.len(), 5);
            prop_assert!(parts[3..].iter().all(|part| *part != "." && *part != ".." && part.len() <= 80));
        }
    }
}
