//! Paths in the container. Each is derived from validated names.

use sha2::{Digest, Sha256};

use ars_types::StrictRefName;

use crate::names::{LockfileKey, StrictThreadKey, hex};
use crate::pool::PoolUser;

/// Root folder for the resident.
pub const WORKSPACE: &str = "/workspace";
/// Parent folder for users' homes.
pub const HOMES: &str = "/home";
/// The bare mirror. Thread users cannot enter it.
pub const MIRROR: &str = "/workspace/mirror";
/// Mirrors from earlier attempts, until their checkpoints are in the new mirror.
pub const EARLIER_MIRRORS: &str = "/workspace/.resident/earlier-mirrors";
/// The default branch's checkout.
pub const CHECKOUT: &str = "/workspace/checkout";
/// Folder for the dependency store.
pub const DEPS: &str = "/workspace/deps";
/// Folder for threads' trees.
pub const THREADS: &str = "/workspace/threads";
/// The spare tree's folder. Only root can enter it.
pub const SPARES: &str = "/workspace/spares";
/// Path of the spare tree.
pub const SPARE: &str = "/workspace/spares/tree";
/// Folder for operations' checkouts.
pub const OPS: &str = "/workspace/ops";
/// Folders for temporary files, one per user.
pub const TEMPORARIES: &str = "/workspace/tmp";
/// Markers and credentials, readable for root only.
pub const STATE: &str = "/workspace/.resident";
/// Git's one-shot credential file.
pub const CREDENTIALS: &str = "/workspace/.resident/git-credentials";
/// Removed trees on their way to deletion.
pub const TRASH: &str = "/workspace/.resident/trash";
/// Marks the verified commit.
pub const READY: &str = "/workspace/.resident/ready";
/// Marks the commit that was built.
pub const BUILT: &str = "/workspace/.resident/built";
/// Marks the key of the linked dependencies.
pub const DEPS_KEY: &str = "/workspace/.resident/deps-key";
/// Marks an installation that did not end.
pub const DEPS_INSTALLING: &str = "/workspace/.resident/deps-installing";
/// File that holds this disk's id.
pub const RUNTIME: &str = "/workspace/.resident/runtime";
/// Archives on their way.
pub const TRANSFERS: &str = "/workspace/.resident/transfers";
/// Folder for running commands' streams.
pub const STREAMS: &str = "/workspace/.resident/streams";
/// Maximum length of the readable part in a folder name, in characters.
const SLUG_MAX_CHARS: usize = 60;
/// Digest bytes in a folder name.
const DIGEST_BYTES: usize = 4;

/// Returns a thread's folder. The digest keeps apart keys with equal readable parts.
pub fn thread_dir(key: &StrictThreadKey) -> String {
    let digest = hex(&Sha256::digest(key.as_str())[..DIGEST_BYTES]);
    format!("{THREADS}/{}-{digest}", slug(key.as_str()))
}

/// Returns a thread's tree at a ref.
pub fn tree(key: &StrictThreadKey, git_ref: &StrictRefName) -> String {
    format!("{}/{}", thread_dir(key), slug(git_ref.as_str()))
}

/// Returns an operation's folder.
pub fn op_dir(op: u64) -> String {
    format!("{OPS}/{op}")
}

/// Returns an operation's checkout path.
pub fn op_checkout(op: u64) -> String {
    format!("{}/checkout", op_dir(op))
}

/// Returns the path of a dependency store entry.
pub fn deps_entry(key: &LockfileKey) -> String {
    format!("{DEPS}/{key}")
}

/// Returns a user's home folder.
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
