//! Inputs, actions, steps and their results.

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};

use super::reason::DownCause;
use crate::names::{BackupId, LockfileKey, RuntimeId, Sha};
use crate::snapshot::Snapshot;

/// Budget for a call that only reads or writes small files.
const SHORT_STEP_BUDGET_MS: i64 = 60_000;
/// Budget for minting a token.
const MINT_BUDGET_MS: i64 = 10_000;
/// Budget for a fetch, a build and a snapshot transfer.
const TRANSFER_BUDGET_MS: i64 = 300_000;
/// Budget for installing dependencies.
const INSTALL_BUDGET_MS: i64 = 600_000;
/// Deadline for a whole restore. Within it only arriving bytes are judged.
pub const RESTORE_DEADLINE_MS: i64 = 1_500_000;

/// Registry record settings that the lifecycle needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Name of the default branch.
    pub default_ref: StrictRefName,
    /// Provisioning budget in milliseconds.
    pub provisioning_timeout_ms: i64,
    /// The command table has `install`.
    pub has_install: bool,
}

/// A cycle step. Its word is part of failure reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Read runtime, markers, free space and trees.
    Inspect,
    /// Mint a code host token. A failure is recorded and otherwise ignored.
    Mint,
    /// Wait until no stream from an earlier restore writes.
    AwaitRestores,
    /// Remove an earlier restore's mounts.
    UnmountRestores,
    /// Set the mirror aside, and remove checkout and markers. Threads' trees stay.
    CleanWorkspace,
    /// Set the mirror aside and remove the checkout before archives are extracted. Threads' trees
    /// stay.
    CleanBeforeRestore,
    /// Create the state folder and git's settings.
    GitSetup,
    /// Clone the repository's mirror.
    Clone,
    /// Restrict the mirror's permissions.
    LockMirror,
    /// Bring the earlier mirror's checkpoints into the new mirror.
    AdoptCheckpoints,
    /// Find the default branch.
    DetectDefaultBranch,
    /// Fetch into the mirror.
    Fetch,
    /// Read the default branch's commit.
    RevParse,
    /// Compute the lockfile key at that commit.
    LockfileKey,
    /// Clone the checkout from the mirror.
    CheckoutClone,
    /// Remove the markers `built` and, with an install command, `deps-key`.
    Unmark,
    /// Install dependencies into the store.
    Install,
    /// Update the checkout to the commit.
    CheckoutUpdate,
    /// Link the store's view into the checkout.
    LinkDeps,
    /// Run the build command.
    Build,
    /// Archive and upload mirror and checkout.
    Snapshot,
    /// Download and extract the mirror.
    RestoreMirror,
    /// Download and extract the checkout.
    RestoreCheckout,
    /// Read the restored mirror's commit and lockfile key.
    Verify,
    /// Adopt or restore the dependencies. A failure costs time only.
    AdoptDeps,
    /// Write the markers to the disk.
    Mark,
}

impl Step {
    /// Returns the step's word.
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

/// Unsaved work in the threads' trees.
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
    /// The verified tree's commit.
    pub ready: Option<Sha>,
    /// The commit at the checkout's `HEAD`.
    pub head: Option<Sha>,
    /// Commit that was built.
    pub built: Option<Sha>,
    /// Key of the linked dependencies.
    pub deps_key: Option<LockfileKey>,
    /// Key of an installation that did not end.
    pub deps_installing: Option<LockfileKey>,
}

/// What the container shows before a refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The container. `None` if none could be started.
    pub runtime: Option<RuntimeId>,
    /// Markers found on the disk.
    pub markers: Markers,
    /// This deployment's image runs.
    pub is_image_current: bool,
    /// Free space, if it could be read.
    pub free_kib: Option<u64>,
    /// Operations in flight, without this cycle.
    pub in_flight: u32,
    /// When a thread last attached.
    pub last_attach_at: Option<UnixMillis>,
    /// Unsaved work in threads' trees.
    pub trees: TreesState,
    /// When a thread last made a checkpoint.
    pub last_checkpoint_at: Option<UnixMillis>,
}

/// What a successful step reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The step has nothing to report.
    Done,
    /// The result of [`Step::Inspect`].
    Inspected(Box<Inspection>),
    /// The result of [`Step::DetectDefaultBranch`].
    Branch(StrictRefName),
    /// The result of [`Step::RevParse`].
    Commit(Sha),
    /// The result of [`Step::LockfileKey`].
    Key(LockfileKey),
    /// The result of [`Step::Snapshot`].
    Uploaded {
        /// Id of the mirror's archive.
        mirror: BackupId,
        /// Id of the checkout's archive.
        checkout: BackupId,
    },
    /// The result of [`Step::Verify`].
    Verified {
        /// The default branch's commit in the mirror.
        sha: Sha,
        /// The lockfile key at that commit.
        key: LockfileKey,
    },
    /// The result of [`Step::Mark`].
    Marked {
        /// The container with the markers on its disk.
        runtime: RuntimeId,
    },
}

/// How a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// Exit code, if the command ended.
    pub exit_code: Option<i32>,
    /// The step's own budget killed it.
    pub timed_out: bool,
    /// The container was replaced while the step ran.
    pub runtime_replaced: bool,
    /// Free space after the failure, if it could be read.
    pub free_kib: Option<u64>,
    /// The command's standard output.
    pub stdout: String,
    /// The command's error output.
    pub stderr: String,
}

/// A teardown part that may fail and is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeardownPart {
    /// Stop the resident's container.
    Container,
    /// Delete all objects stored for the resource.
    Objects,
    /// Delete the object's storage. It is the last part.
    Storage,
}

/// An event for the lifecycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The registry inserted the record.
    Onboard(Config),
    /// The registry record changed.
    Reconfigure(Config),
    /// The object started anew: no step from its earlier instance runs.
    Woke,
    /// The object's alarm fired.
    AlarmFired,
    /// A step has ended.
    StepEnded {
        /// The step's attempt.
        attempt: u64,
        /// How the step ended.
        result: Result<Output, Failure>,
    },
    /// Bytes in an archive and in the target so far.
    Progress {
        /// The step's attempt.
        attempt: u64,
        /// Number of bytes so far.
        bytes: u64,
    },
    /// The running container was compared with the facts, before a request is served.
    Probed {
        /// The container. `None` if it is dead.
        runtime: Option<RuntimeId>,
        /// Marker on the disk for the verified tree.
        ready: Option<Sha>,
        /// Unsaved work on the disk.
        trees: TreesState,
    },
    /// A thread has attached.
    Attached,
    /// The mirror has a thread's new checkpoint.
    CheckpointMade,
    /// The container was stopped on purpose.
    Stopped,
    /// The watchdog passes by.
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
        /// Why it goes down.
        cause: DownCause,
        /// Text that explains the cause.
        detail: String,
    },
    /// The registry row was removed.
    Offboard,
    /// A teardown part ended.
    TornDown {
        /// The part that ended.
        part: TeardownPart,
        /// Whether it succeeded.
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
    /// Run a step and report when it ends.
    RunStep {
        /// Attempt, which fences results and streams.
        attempt: u64,
        /// The step to run.
        step: Step,
        /// Time after which the step is killed.
        budget_ms: i64,
    },
    /// Kill the processes and streams of this attempt and all older attempts.
    CancelSteps {
        /// The newest attempt to cancel.
        attempt: u64,
    },
    /// Stop the container. Its disk is lost.
    StopContainer,
    /// Delete backups and report it.
    DeleteObjects(Vec<BackupId>),
    /// Remove the registry row and report it.
    ReleaseSlot,
    /// Perform a teardown part and report it.
    TearDown(TeardownPart),
    /// Measure the disk, evict threads on finished refs, remove unused store entries.
    Housekeep,
    /// Set the object's alarm.
    SetAlarm {
        /// Milliseconds since the epoch.
        at: UnixMillis,
    },
}

/// What a watchdog pass found for a single resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// There was nothing to do.
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
