//! Results of steps that were performed.

use serde::{Deserialize, Deserializer, Serialize};

use crate::document::{Fields, tagged, unknown_tag};
use crate::lifecycle::{Inspection, Markers, TreesState};
use crate::names::{BackupId, RuntimeId, Sha};
use crate::output::{Captured, TIMEOUT_EXIT};
use crate::thread::{CredentialFile, Deps, TreeCheck};

/// Result of a step, by operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Answer {
    /// Of every operation without another result.
    Done,
    /// Of `TableCommand` and `ExecCommand`, with any exit code. Of `Git`, with exit code 0.
    Command(CommandEnd),
    /// Of `LinkDeps`.
    Linked {
        /// How the tree got its dependencies.
        deps: Deps,
    },
    /// Of `Install` and `AdoptDeps`.
    Materialised {
        /// Where the entry comes from.
        from: Materialised,
    },
    /// Of `CheckTree`.
    Tree {
        /// The tree. `None` if it is not on the disk.
        check: Option<TreeCheck>,
    },
    /// Of `CheckCredential`. The daemon does not know the expiry.
    Credential {
        /// The file.
        file: CredentialFile,
    },
    /// Of `ReadFile`.
    File {
        /// Head of the file. Bytes that are no UTF-8 are replaced.
        content: String,
        /// The file is longer.
        truncated: bool,
    },
    /// Of `WriteFile` and `WriteCredential`.
    Written {
        /// Bytes.
        bytes: u64,
    },
    /// Of `Checkpoint`. `None` if the tree has no work that its branch lacks.
    Saved {
        /// The checkpoint.
        checkpoint: Option<SavedCheckpoint>,
    },
    /// Of `KillUser` and `KillIn`.
    Killed {
        /// Processes that received the signal.
        processes: u32,
    },
    /// Of `Inspect`.
    Inspected(DiskState),
    /// Of `LockfileListing`.
    Listing {
        /// Lines of `git ls-tree`, the input of [`crate::names::LockfileKey::of_listing`].
        text: String,
    },
    /// Of `Archive`.
    Archived {
        /// Id of the request.
        backup: BackupId,
        /// Size.
        bytes: u64,
        /// SHA-256 in hexadecimal digits.
        sha256: String,
    },
    /// Of `Extract`.
    Extracted {
        /// Size of the archive.
        bytes: u64,
        /// SHA-256 in hexadecimal digits.
        sha256: String,
    },
    /// Of `Mark`.
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

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// Head of the output. Bytes that are no UTF-8 are replaced.
    pub stdout: String,
    /// Head of the error output.
    pub stderr: String,
    /// Exit code: 124 after the timeout, 128 and the signal's number after a signal.
    pub exit_code: i32,
    /// The timeout ended it.
    pub timed_out: bool,
    /// Free space after a failure, if it could be read.
    #[serde(default)]
    pub free_kib: Option<u64>,
    /// Hosts that its proxy refused. An image without a proxy has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedHost>,
}

/// A host that a command could not reach, because the list of hosts does not allow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedHost {
    /// The host.
    pub host: String,
    /// The reason.
    pub reason: String,
    /// The setting that allows it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
}

impl CommandEnd {
    /// Returns the end for the output rules. `timeout_ms` is that of the step.
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

/// Where an entry of the dependency store comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Materialised {
    /// It was in the store, or another step installed it at the same time.
    Store,
    /// It was installed.
    Install,
    /// It was restored from its archive.
    Archive,
    /// There is none, and no archive to restore.
    Missing,
}

/// A checkpoint in the mirror.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedCheckpoint {
    /// Its ref, `refs/ars/<run>/<n>`.
    #[serde(rename = "ref")]
    pub git_ref: String,
    /// Its commit.
    pub sha: Sha,
    /// The ref was written now; otherwise the last one has the same content.
    #[serde(rename = "isNew", alias = "is_new")]
    pub is_new: bool,
    /// Paths of files that lost text with the shape of a secret, and of unsearched files.
    pub withheld: Vec<String>,
}

/// Markers, free space and trees on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskState {
    /// The disk. A new container has another one.
    pub runtime: RuntimeId,
    /// Build stamp of the daemon.
    pub build: String,
    /// Markers. The key of the dependencies is absent if the store lacks their entry.
    pub markers: Markers,
    /// Free space, if it could be read.
    pub free_kib: Option<u64>,
    /// Unsaved work in the trees of threads.
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
