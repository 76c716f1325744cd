//! A resident's snapshots and the stamp by which a restored tree is verified.

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::names::{BackupId, LockfileKey, Sha};

/// Commit and dependencies that a tree or a snapshot was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stamp {
    /// Name of the branch.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit that was archived.
    pub sha: Sha,
    /// Lockfile key at that commit, never from the working directory.
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

/// A stored snapshot: an archive of the mirror and another of the checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Stamp for both archives.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// When the upload started.
    pub created_at: UnixMillis,
    /// Id of the mirror's archive.
    pub mirror_backup_id: BackupId,
    /// The checkout's archive, without the dependency folder.
    pub checkout_backup_id: BackupId,
}

impl Snapshot {
    /// Returns both archive ids.
    pub fn backups(&self) -> [BackupId; 2] {
        [
            self.mirror_backup_id.clone(),
            self.checkout_backup_id.clone(),
        ]
    }
}
