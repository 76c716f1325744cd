//! Snapshots of a resident and the stamp by which a restored tree is verified.

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::names::{BackupId, LockfileKey, Sha};

/// Commit and dependencies that a tree or a snapshot was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stamp {
    /// Branch.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit.
    pub sha: Sha,
    /// Key of the lockfiles at that commit, never of the working directory.
    pub lockfile_hash: LockfileKey,
}

impl Stamp {
    /// Returns the difference to a restored tree as text, or `None` if the tree may be served.
    pub fn mismatch(&self, sha: &Sha, key: &LockfileKey) -> Option<String> {
        if self.sha != *sha {
            return Some(format!(
                "the mirror is at {sha}, the snapshot at {}",
                self.sha
            ));
        }
        (self.lockfile_hash != *key).then(|| {
            format!(
                "the lockfile key is {key}, that of the snapshot {}",
                self.lockfile_hash
            )
        })
    }
}

/// A stored snapshot: an archive of the mirror and one of the checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Stamp of both archives.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// Start of the upload.
    pub created_at: UnixMillis,
    /// Archive of the mirror.
    pub mirror_backup_id: BackupId,
    /// Archive of the checkout, without the dependency folder.
    pub checkout_backup_id: BackupId,
}

impl Snapshot {
    /// Returns the ids of both archives.
    pub fn backups(&self) -> [BackupId; 2] {
        [
            self.mirror_backup_id.clone(),
            self.checkout_backup_id.clone(),
        ]
    }
}
