//! Results from performed steps.

use serde::{Deserialize, Deserializer, Serialize};

use crate::document::{Fields, tagged, unknown_tag};
use crate::lifecycle::{Inspection, Markers, TreesState};
use crate::names::{BackupId, RuntimeId, Sha};
use crate::output::{Captured, TIMEOUT_EXIT};
use crate::thread::{CredentialFile, Deps, TreeCheck};

/// A step's result, by operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Answer {
    /// Returned by every operation without another result.
    Done,
    /// From `TableCommand` and `ExecCommand`, with any exit code. From `Git`, with exit code 0.
    Command(CommandEnd),
    /// The result of `LinkDeps`.
    Linked {
        /// How the tree got the dependencies.
        deps: Deps,
    },
    /// The result of `Install` and `AdoptDeps`.
    Materialised {
        /// Where the entry comes from.
        from: Materialised,
    },
    /// The result of `CheckTree`.
    Tree {
        /// The tree. `None` if it is not on the disk.
        check: Option<TreeCheck>,
    },
    /// The result of `CheckCredential`. The daemon does not know the expiry.
    Credential {
        /// State of the credential file.
        file: CredentialFile,
    },
    /// The result of `ReadFile`.
    File {
        /// The file's head. Replaces bytes that are no UTF-8.
        content: String,
        /// The file is longer.
        truncated: bool,
    },
    /// The result of `WriteFile` and `WriteCredential`.
    Written {
        /// Number of bytes written.
        bytes: u64,
    },
    /// The result of `Checkpoint`. `None` if the tree has no work that its branch lacks.
    Saved {
        /// The checkpoint that was saved.
        checkpoint: Option<SavedCheckpoint>,
    },
    /// The result of `KillUser` and `KillIn`.
    Killed {
        /// Processes that received the signal.
        processes: u32,
    },
    /// The result of `Inspect`.
    Inspected(DiskState),
    /// The result of `LockfileListing`.
    Listing {
        /// Lines from `git ls-tree`, the input for [`crate::names::LockfileKey::of_listing`].
        text: String,
    },
    /// The result of `Archive`.
    Archived {
        /// Archive id from the request.
        backup: BackupId,
        /// Archive size in bytes.
        bytes: u64,
        /// SHA-256 in hexadecimal digits.
        sha256: String,
    },
    /// The result of `Extract`.
    Extracted {
        /// Archive size in bytes.
        bytes: u64,
        /// SHA-256 in hexadecimal digits.
        sha256: String,
    },
    /// The result of `Mark`.
    Marked {
        /// The disk with the markers.
        runtime: RuntimeId,
    },
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer, "is", Self::read)
    }
}

impl Answer {
    fn read(tag: &str, mut fields: Fields) -> Result<Self, serde_json::Error> {
        Ok(match tag {
            "done" => Self::Done,
            "command" => Self::Command(fields.rest()?),
            "linked" => Self::Linked {
                deps: fields.take("deps")?,
            },
            "materialised" => Self::Materialised {
                from: fields.take("from")?,
            },
            "tree" => Self::Tree {
                check: fields.take("check")?,
            },
            "credential" => Self::Credential {
                file: fields.take("file")?,
            },
            "file" => Self::File {
                content: fields.take("content")?,
                truncated: fields.take("truncated")?,
            },
            "written" => Self::Written {
                bytes: fields.take("bytes")?,
            },
            "saved" => Self::Saved {
                checkpoint: fields.take("checkpoint")?,
            },
            "killed" => Self::Killed {
                processes: fields.take("processes")?,
            },
            "inspected" => Self::Inspected(fields.rest()?),
            "listing" => Self::Listing {
                text: fields.take("text")?,
            },
            "archived" => Self::Archived {
                backup: fields.take("backup")?,
                bytes: fields.take("bytes")?,
                sha256: fields.take("sha256")?,
            },
            "extracted" => Self::Extracted {
                bytes: fields.take("bytes")?,
                sha256: fields.take("sha256")?,
            },
            "marked" => Self::Marked {
                runtime: fields.take("runtime")?,
            },
            _ => return unknown_tag(tag),
        })
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// The output's head. Replaces bytes that are no UTF-8.
    pub stdout: String,
    /// The error output's head.
    pub stderr: String,
    /// Exit code: 124 after the timeout, 128 and the signal's number after a signal.
    pub exit_code: i32,
    /// The timeout ended it.
    pub timed_out: bool,
    /// Free space after a failure, if it could be read.
    #[serde(default)]
    pub free_kib: Option<u64>,
    /// Hosts that the proxy refused. An image without a proxy has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedHost>,
}

/// A host that a command could not reach, because the host list does not allow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedHost {
    /// Name of the refused host.
    pub host: String,
    /// Why it was refused.
    pub reason: String,
    /// The setting that allows it, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
}

impl CommandEnd {
    /// Returns the end for the output rules. `timeout_ms` is the step's timeout.
    pub fn captured(self, timeout_ms: i64) -> Captured {
        Captured {
            stdout: self.stdout.into_bytes(),
            stderr: self.stderr.into_bytes(),
            exit_code: if self.timed_out {
                TIMEOUT_EXIT
            } else {
                self.exit_code
            },
            timeout_ms: self.timed_out.then_some(timeout_ms),
        }
    }
}

/// Where a dependency store entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Materialised {
    /// It was in the store, or another step installed it at the same time.
    Store,
    /// The entry was installed.
    Install,
    /// It was restored from the archive.
    Archive,
    /// There is none, and no archive to restore.
    Missing,
}

/// A checkpoint in the mirror.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedCheckpoint {
    /// The checkpoint's ref, `refs/ars/<run>/<n>`.
    #[serde(rename = "ref")]
    pub git_ref: String,
    /// The commit that the ref names.
    pub sha: Sha,
    /// The ref was written now; otherwise the last ref has the same content.
    #[serde(rename = "isNew", alias = "is_new")]
    pub is_new: bool,
    /// Paths of files that lost text with a secret's shape, and of unsearched files.
    pub withheld: Vec<String>,
}

/// Markers, free space and trees on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskState {
    /// The disk. A new container has another disk.
    pub runtime: RuntimeId,
    /// The daemon's build stamp.
    pub build: String,
    /// Markers. The dependency key is absent if the store lacks the entry.
    pub markers: Markers,
    /// Free space, if it could be read.
    pub free_kib: Option<u64>,
    /// Unsaved work in the threads' trees.
    pub trees: TreesState,
}

impl DiskState {
    /// Returns the state for the lifecycle, with the values that only the engine knows.
    pub fn inspection(
        self,
        is_image_current: bool,
        in_flight: u32,
        last_attach_at: Option<ars_types::UnixMillis>,
        last_checkpoint_at: Option<ars_types::UnixMillis>,
    ) -> Inspection {
        let Self {
            runtime,
            build: _,
            markers,
            free_kib,
            trees,
        } = self;
        Inspection {
            runtime: Some(runtime),
            markers,
            is_image_current,
            free_kib,
            in_flight,
            last_attach_at,
            trees,
            last_checkpoint_at,
        }
    }
}
