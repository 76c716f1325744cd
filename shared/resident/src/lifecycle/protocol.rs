//! Inputs, actions, steps and their results.

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};

use super::reason::DownCause;
use crate::names::{BackupId, LockfileKey, RuntimeId, Sha};
use crate::snapshot::Snapshot;

/// Budget of a call that only reads or writes small files.
const SHORT_STEP_BUDGET_MS: i64 = 60_000;
/// Budget of the mint of a token.
const MINT_BUDGET_MS: i64 = 10_000;
/// Budget of a fetch, a build and the transfer of a snapshot.
const TRANSFER_BUDGET_MS: i64 = 300_000;
/// Budget of an installation of dependencies.
const INSTALL_BUDGET_MS: i64 = 600_000;
/// Deadline of a whole restore. Within it only arriving bytes are judged.
pub const RESTORE_DEADLINE_MS: i64 = 1_500_000;

/// Settings of the registry record that the lifecycle needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Default branch.
    pub default_ref: StrictRefName,
    /// Budget of provisioning, in milliseconds.
    pub provisioning_timeout_ms: i64,
    /// The command table has `install`.
    pub has_install: bool,
}

/// A step of a cycle. Its word is part of the reasons of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Read runtime, markers, free space and trees.
    Inspect,
    /// Mint a token of the code host. A failure is recorded and otherwise ignored.
    Mint,
    /// Wait until no stream of an earlier restore writes.
    AwaitRestores,
    /// Remove mounts of an earlier restore.
    UnmountRestores,
    /// Set the mirror aside, and remove checkout and markers. Trees of threads stay.
    CleanWorkspace,
    /// Set the mirror aside and remove the checkout before archives are extracted. Trees of threads stay.
    CleanBeforeRestore,
    /// Create the state folder and the settings of git.
    GitSetup,
    /// Clone the mirror.
    Clone,
    /// Restrict the permissions of the mirror.
    LockMirror,
    /// Bring the checkpoints of the earlier mirror into the new one.
    AdoptCheckpoints,
    /// Find the default branch.
    DetectDefaultBranch,
    /// Fetch into the mirror.
    Fetch,
    /// Read the commit of the default branch.
    RevParse,
    /// Compute the key of the lockfiles at that commit.
    LockfileKey,
    /// Clone the checkout from the mirror.
    CheckoutClone,
    /// Remove the markers `built` and, with an install command, `deps-key`.
    Unmark,
    /// Install dependencies into the store.
    Install,
    /// Update the checkout to the commit.
    CheckoutUpdate,
    /// Link the view of the store into the checkout.
    LinkDeps,
    /// Run the build command.
    Build,
    /// Archive and upload mirror and checkout.
    Snapshot,
    /// Download and extract the mirror.
    RestoreMirror,
    /// Download and extract the checkout.
    RestoreCheckout,
    /// Read commit and lockfile key of the restored mirror.
    Verify,
    /// Adopt or restore the dependencies. A failure costs time only.
    AdoptDeps,
    /// Write the markers.
    Mark,
}

impl Step {
    /// Returns the word of the step.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inspect => "inspect",
            Self::Mint => "mint",
            Self::AwaitRestores => "await-restores",
            Self::UnmountRestores => "unmount-restores",
            Self::CleanWorkspace => "clean-workspace",
            Self::CleanBeforeRestore => "clean-before-restore",
            Self::GitSetup => "git-setup",
            Self::Clone => "clone",
            Self::LockMirror => "lock-mirror",
            Self::AdoptCheckpoints => "adopt-checkpoints",
            Self::DetectDefaultBranch => "detect-default-branch",
            Self::Fetch => "fetch",
            Self::RevParse => "rev-parse",
            Self::LockfileKey => "lockfile-key",
            Self::CheckoutClone => "checkout-clone",
            Self::Unmark => "unmark",
            Self::Install => "install",
            Self::CheckoutUpdate => "checkout-update",
            Self::LinkDeps => "link-deps",
            Self::Build => "build",
            Self::Snapshot => "snapshot",
            Self::RestoreMirror => "restore-mirror",
            Self::RestoreCheckout => "restore-checkout",
            Self::Verify => "verify",
            Self::AdoptDeps => "adopt-deps",
            Self::Mark => "mark",
        }
    }

    /// Returns the time after which the step is killed.
    pub const fn budget_ms(self, provisioning_timeout_ms: i64) -> i64 {
        match self {
            Self::Mint => MINT_BUDGET_MS,
            Self::Clone | Self::CheckoutClone => provisioning_timeout_ms,
            Self::Fetch
            | Self::Build
            | Self::Snapshot
            | Self::CheckoutUpdate
            | Self::AdoptCheckpoints => TRANSFER_BUDGET_MS,
            Self::Install | Self::AdoptDeps => INSTALL_BUDGET_MS,
            // The deadline and the arriving bytes judge these.
            Self::AwaitRestores | Self::RestoreMirror | Self::RestoreCheckout => {
                RESTORE_DEADLINE_MS
            }
            Self::Inspect
            | Self::UnmountRestores
            | Self::CleanWorkspace
            | Self::CleanBeforeRestore
            | Self::GitSetup
            | Self::LockMirror
            | Self::DetectDefaultBranch
            | Self::RevParse
            | Self::LockfileKey
            | Self::Unmark
            | Self::LinkDeps
            | Self::Verify
            | Self::Mark => SHORT_STEP_BUDGET_MS,
        }
    }

    /// Returns whether the step receives an archive, so that arriving bytes are observed.
    pub const fn is_transfer(self) -> bool {
        matches!(
            self,
            Self::RestoreMirror | Self::RestoreCheckout | Self::AdoptDeps
        )
    }
}

/// Unsaved work in the trees of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreesState {
    /// No tree has unsaved work.
    Clean,
    /// At least one tree has unsaved work.
    Dirty,
    /// At least one tree could not be read. It counts as dirty.
    Unknown,
}

/// Markers on the container's disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Markers {
    /// Commit of the verified tree.
    pub ready: Option<Sha>,
    /// Commit of the checkout's `HEAD`.
    pub head: Option<Sha>,
    /// Commit that was built.
    pub built: Option<Sha>,
    /// Key of the linked dependencies.
    pub deps_key: Option<LockfileKey>,
    /// Key of an installation that did not end.
    pub deps_installing: Option<LockfileKey>,
}

/// Observation of the container before a refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The container. `None` if none could be started.
    pub runtime: Option<RuntimeId>,
    /// Markers on its disk.
    pub markers: Markers,
    /// The image of this deployment runs.
    pub is_image_current: bool,
    /// Free space, if it could be read.
    pub free_kib: Option<u64>,
    /// Operations in flight, without this cycle.
    pub in_flight: u32,
    /// Time of the last attach.
    pub last_attach_at: Option<UnixMillis>,
    /// Unsaved work.
    pub trees: TreesState,
    /// Time of the last checkpoint of a thread.
    pub last_checkpoint_at: Option<UnixMillis>,
}

/// Result of a step that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Nothing to report.
    Done,
    /// Of [`Step::Inspect`].
    Inspected(Box<Inspection>),
    /// Of [`Step::DetectDefaultBranch`].
    Branch(StrictRefName),
    /// Of [`Step::RevParse`].
    Commit(Sha),
    /// Of [`Step::LockfileKey`].
    Key(LockfileKey),
    /// Of [`Step::Snapshot`].
    Uploaded {
        /// Archive of the mirror.
        mirror: BackupId,
        /// Archive of the checkout.
        checkout: BackupId,
    },
    /// Of [`Step::Verify`].
    Verified {
        /// Commit of the default branch in the mirror.
        sha: Sha,
        /// Key of the lockfiles at that commit.
        key: LockfileKey,
    },
    /// Of [`Step::Mark`].
    Marked {
        /// The container with the markers on its disk.
        runtime: RuntimeId,
    },
}

/// A failed step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// Exit code, if the command ended.
    pub exit_code: Option<i32>,
    /// The step was killed by its own budget.
    pub timed_out: bool,
    /// The container was replaced while the step ran.
    pub runtime_replaced: bool,
    /// Free space after the failure, if it could be read.
    pub free_kib: Option<u64>,
    /// Output.
    pub stdout: String,
    /// Error output.
    pub stderr: String,
}

/// A part of a teardown that may fail and is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeardownPart {
    /// Stop the container.
    Container,
    /// Delete all stored objects of the resource.
    Objects,
    /// Delete the object's storage. It is the last part.
    Storage,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The registry inserted the record.
    Onboard(Config),
    /// The record changed.
    Reconfigure(Config),
    /// The object started anew: no step of its earlier instance runs.
    Woke,
    /// The alarm fired.
    AlarmFired,
    /// A step ended.
    StepEnded {
        /// Attempt of the step.
        attempt: u64,
        /// Result.
        result: Result<Output, Failure>,
    },
    /// Bytes of an archive and of its target so far.
    Progress {
        /// Attempt of the step.
        attempt: u64,
        /// Bytes.
        bytes: u64,
    },
    /// The running container was compared with the facts, before a request is served.
    Probed {
        /// The container. `None` if it is dead.
        runtime: Option<RuntimeId>,
        /// Marker of the verified tree on its disk.
        ready: Option<Sha>,
        /// Unsaved work on its disk.
        trees: TreesState,
    },
    /// A thread attached.
    Attached,
    /// The mirror has a new checkpoint of a thread.
    CheckpointMade,
    /// The container was stopped on purpose.
    Stopped,
    /// A pass of the watchdog.
    Watchdog {
        /// A step runs in this instance of the object.
        is_running: bool,
    },
    /// An administrator requests a rebuild. Ignored while a cycle runs.
    Rebuild,
    /// An administrator requests a refresh now.
    RefreshNow,
    /// An administrator cancels the refresh schedule (fault injection).
    KillRefresh,
    /// An administrator sets the state (fault injection).
    ForceOnboarding,
    /// An administrator sets the state (fault injection).
    ForceDown {
        /// Cause.
        cause: DownCause,
        /// Text.
        detail: String,
    },
    /// The registry row was removed.
    Offboard,
    /// A part of the teardown ended.
    TornDown {
        /// The part.
        part: TeardownPart,
        /// It succeeded.
        ok: bool,
    },
    /// These backups do not exist any more.
    ObjectsDeleted(Vec<BackupId>),
    /// The registry row was removed after a timeout.
    SlotReleased,
}

/// An action. Actions are performed in order, after the state was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Run a step and report its end.
    RunStep {
        /// Attempt, which fences results and streams.
        attempt: u64,
        /// The step.
        step: Step,
        /// Time after which the step is killed.
        budget_ms: i64,
    },
    /// Kill the processes and streams of this attempt and all older ones.
    CancelSteps {
        /// The newest attempt.
        attempt: u64,
    },
    /// Stop the container. Its disk is lost.
    StopContainer,
    /// Delete backups and report it.
    DeleteObjects(Vec<BackupId>),
    /// Remove the registry row and report it.
    ReleaseSlot,
    /// Perform a part of the teardown and report it.
    TearDown(TeardownPart),
    /// Measure the disk, evict threads of finished refs, remove unused store entries.
    Housekeep,
    /// Set the object's alarm.
    SetAlarm {
        /// Milliseconds since the epoch.
        at: UnixMillis,
    },
}

/// Result of a watchdog pass for one resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Nothing to do.
    None,
    /// A schedule was set again.
    Rearmed,
    /// Provisioning was past its budget.
    ProvisionTimedOut,
    /// The resident is rebuilt.
    AutoRebuilt,
}

/// Values that a cycle found so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Found {
    pub git_ref: Option<StrictRefName>,
    pub sha: Option<Sha>,
    pub key: Option<LockfileKey>,
    pub snapshot: Option<Snapshot>,
    pub markers: Markers,
    pub mint_error: Option<String>,
    /// The snapshot lacks a checkpoint. An earlier version did not store this.
    #[serde(default)]
    pub has_new_checkpoint: bool,
}
