//! Threads of a resident: bindings, reuse of trees, cleanliness, release, eviction, credentials.
//!
//! Not here: the commands that create and remove trees (`plan`), and room on the disk (`disk`).

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::names::{LockfileKey, Sha, StrictThreadKey};
use crate::pool::PoolUser;
use crate::refusal::{Refusal, Token};

/// Idle time from which a clean tree may be evicted to make room.
pub const EVICTION_IDLE_MIN_MS: i64 = 600_000;
/// Idle time from which the hourly sweep evicts a clean tree.
const SWEEP_IDLE_MIN_MS: i64 = 3_600_000;
/// Interval of the sweep.
pub const SWEEP_INTERVAL_MS: i64 = 3_600_000;
/// Days after which a tree is evicted, unless the record names another number.
pub const TREE_RETENTION_DAYS: u32 = 7;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Validity that a token must have left: the longest command, and a reserve.
pub const TOKEN_VALIDITY_MIN_MS: i64 = 1_500_000;
/// Age from which a token of unknown expiry is replaced.
const TOKEN_AGE_MAX_MS: i64 = 2_700_000;
/// Time in which operations in flight may end after their processes were killed.
pub const KILL_TIMEOUT_MS: i64 = 6_000;
/// Interval at which operations in flight are counted during that time.
pub const KILL_POLL_INTERVAL_MS: i64 = 250;

/// How a tree got its dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deps {
    /// Hard links to the store.
    Hardlink,
    /// Copies, because links were not possible.
    Copy,
    /// The tree was reused, or has no dependencies.
    None,
}

/// A thread's binding. The ref is kept after an eviction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// The thread.
    pub thread_key: StrictThreadKey,
    /// Its ref, for life.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit at the last attach.
    pub sha: Sha,
    /// Its user, while it has a tree.
    pub user: Option<PoolUser>,
    /// How the tree got its dependencies.
    pub deps: Deps,
    /// Key of the dependencies.
    pub deps_key: Option<LockfileKey>,
    /// A binding of an older version counts as writable.
    #[serde(default)]
    pub readonly: bool,
    /// First attach.
    pub bound_at: UnixMillis,
    /// Last attach.
    pub last_attach_at: UnixMillis,
    /// Time of the eviction.
    pub evicted_at: Option<UnixMillis>,
    /// Reason of the eviction.
    pub evicted_why: Option<String>,
}

impl Binding {
    /// Returns whether the thread has no tree.
    pub const fn is_evicted(&self) -> bool {
        self.evicted_at.is_some()
    }
}

/// Determines the ref of an attach: the bound one, else the requested one.
pub fn resolve_ref(
    bound: Option<&Binding>,
    hint: Option<&StrictRefName>,
    default_ref: &StrictRefName,
) -> Result<StrictRefName, Refusal> {
    match (bound, hint) {
        (Some(binding), _) => Ok(binding.git_ref.clone()),
        (None, Some(hint)) => Ok(hint.clone()),
        (None, None) => Err(Refusal::needs_ref(default_ref.clone())),
    }
}

/// Returns the commit that an attach expects. It counts only for the ref for which it was resolved.
pub fn expected_sha<'a>(
    sha: Option<&'a Sha>,
    hint: Option<&StrictRefName>,
    git_ref: &StrictRefName,
) -> Option<&'a Sha> {
    sha.filter(|_| hint.is_none_or(|hint| hint == git_ref))
}

/// Observation of a thread's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeCheck {
    /// Git can read the tree as the thread's user.
    pub is_readable: bool,
    /// Tracked files have changes.
    pub has_tracked_changes: bool,
    /// There are untracked files, or tracked ones that git does not compare.
    pub has_untracked: bool,
    /// There are commits that no remote-tracking ref contains.
    pub has_unpushed: bool,
    /// `HEAD` is the tip of the mirror's ref, or a descendant of it.
    pub has_tip: bool,
}

impl TreeCheck {
    /// A tree that is not on the disk: a removal loses nothing.
    pub const MISSING: Self = Self {
        is_readable: true,
        has_tracked_changes: false,
        has_untracked: false,
        has_unpushed: false,
        has_tip: false,
    };

    /// Returns whether a removal of the tree loses work. A tree that cannot be read may have some.
    pub const fn has_unsaved(self) -> bool {
        !self.is_readable || self.has_tracked_changes || self.has_untracked || self.has_unpushed
    }
}

/// A decision about the tree of an attach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeDecision {
    /// There is no tree.
    Create,
    /// The tree is used as it was left.
    Reuse,
    /// The tree is replaced.
    Replace {
        /// A checkpoint of the tree must succeed before it is removed.
        needs_checkpoint: bool,
    },
}

/// Decides about the tree of an attach. `tree` is `None` if there is none on the disk.
pub fn decide_tree(
    bound: Option<&Binding>,
    tree: Option<TreeCheck>,
    readonly: bool,
) -> TreeDecision {
    let Some(tree) = tree else {
        return TreeDecision::Create;
    };
    let has_mode =
        bound.is_some_and(|binding| binding.is_evicted() || binding.readonly == readonly);
    if has_mode && tree.is_readable && !tree.has_tracked_changes && tree.has_tip {
        return TreeDecision::Reuse;
    }
    TreeDecision::Replace {
        needs_checkpoint: tree.has_unsaved(),
    }
}

/// State of a thread at a detach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetachState {
    /// Operations of the thread in flight.
    pub in_flight: u32,
    /// The tree. `None` if it is missing: there is nothing to lose then.
    pub tree: Option<TreeCheck>,
    /// The processes of the user were killed, and the time to end is over.
    pub was_killed: bool,
}

/// A decision about a detach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetachDecision {
    /// Remove the tree, keep the binding.
    Evict {
        /// A checkpoint of the tree must succeed before it is removed.
        needs_checkpoint: bool,
    },
    /// Kill the processes of this user, wait, and decide again.
    Kill(PoolUser),
    /// The tree stays.
    Keep {
        /// Reason.
        reason: String,
    },
}

/// Decides about a detach.
pub fn decide_detach(binding: &Binding, state: DetachState, force: bool) -> DetachDecision {
    let keep = |reason: &str| DetachDecision::Keep {
        reason: reason.to_owned(),
    };
    if binding.is_evicted() {
        return keep("already-evicted");
    }
    let has_unsaved = state.tree.is_some_and(TreeCheck::has_unsaved);
    match (force, state.in_flight) {
        (false, 1..) => keep("busy: operations of the thread are in flight"),
        (false, 0) => match state.tree {
            Some(tree) if !tree.is_readable => keep("dirty: the tree could not be checked"),
            Some(_) if has_unsaved => keep("dirty: the tree has uncommitted or unpushed work"),
            _ => DetachDecision::Evict {
                needs_checkpoint: false,
            },
        },
        (true, 1..) if state.was_killed => {
            keep("busy after kill: operations of the thread are still in flight")
        }
        // A binding names pool users only, so no other user's processes can be meant.
        (true, 0) if state.was_killed => DetachDecision::Evict {
            needs_checkpoint: has_unsaved,
        },
        (true, _) => match binding.user {
            Some(user) => DetachDecision::Kill(user),
            None => keep("refusing to kill: the thread has no pool user"),
        },
    }
}

/// State of a thread at the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepState {
    /// Operations in flight.
    pub in_flight: u32,
    /// The container runs. A sleeping one is not started, and its disk is gone.
    pub is_awake: bool,
    /// The tree, if it was checked.
    pub tree: Option<TreeCheck>,
    /// The branch does not exist any more, or its pull request ended.
    pub is_finished: bool,
}

/// Returns why the sweep evicts a thread's tree, or `None` if the tree stays.
/// A tree with unsaved work stays until it is too old. Then a checkpoint precedes the removal.
pub fn sweep(
    binding: &Binding,
    state: SweepState,
    retention_days: u32,
    now: UnixMillis,
) -> Option<&'static str> {
    if binding.is_evicted() || state.in_flight > 0 {
        return None;
    }
    let idle = now - binding.last_attach_at;
    if !state.is_awake {
        return (idle >= SWEEP_IDLE_MIN_MS).then_some("gone");
    }
    if idle >= i64::from(retention_days) * DAY_MS {
        return Some("ttl");
    }
    let is_clean = state.tree.is_some_and(|tree| !tree.has_unsaved());
    match (is_clean, state.is_finished) {
        (true, true) if idle >= EVICTION_IDLE_MIN_MS => Some("finished"),
        (true, _) if idle >= SWEEP_IDLE_MIN_MS => Some("clean-idle"),
        _ => None,
    }
}

/// The credential file of a tree, as one call of `stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum CredentialFile {
    /// It does not exist.
    Missing,
    /// Git erased it after a 401.
    Empty,
    /// It has a token.
    Present {
        /// Time of the last write.
        written_at: UnixMillis,
        /// Expiry of the token, if known.
        expires_at: Option<UnixMillis>,
    },
}

/// A decision about the credential before a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialDecision {
    /// It stays.
    Keep,
    /// Write a token. A cached one is good enough.
    Write,
    /// Mint another token, because the cached one was rejected.
    MintAnew,
}

/// Decides about the credential of a writable tree by the expiry of its token.
pub fn decide_credential(file: CredentialFile, now: UnixMillis) -> CredentialDecision {
    match file {
        CredentialFile::Missing => CredentialDecision::Write,
        CredentialFile::Empty => CredentialDecision::MintAnew,
        CredentialFile::Present {
            written_at,
            expires_at,
        } => {
            let is_valid = match expires_at {
                Some(at) => at - now > TOKEN_VALIDITY_MIN_MS,
                None => now - written_at <= TOKEN_AGE_MAX_MS,
            };
            if is_valid {
                CredentialDecision::Keep
            } else {
                CredentialDecision::Write
            }
        }
    }
}

/// Rejects a file or command call of a thread without a tree.
pub fn require_tree(binding: Option<&Binding>) -> Result<(&Binding, PoolUser), Refusal> {
    let Some(binding) = binding else {
        return Err(Refusal::new(Token::NotAttached, "attach the thread first"));
    };
    match binding.user.filter(|_| !binding.is_evicted()) {
        Some(user) => Ok((binding, user)),
        None => {
            let why = binding.evicted_why.as_deref().unwrap_or("released");
            Err(Refusal::new(
                Token::Evicted,
                &format!("the tree was removed ({why}); attach the thread again"),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLEAN: TreeCheck = TreeCheck {
        is_readable: true,
        has_tracked_changes: false,
        has_untracked: false,
        has_unpushed: false,
        has_tip: true,
    };

    fn binding() -> Binding {
        Binding {
            thread_key: StrictThreadKey::parse("load:1").unwrap(),
            git_ref: StrictRefName::parse("feature").unwrap(),
            sha: Sha::parse("a".repeat(40)).unwrap(),
            user: PoolUser::parse("worker2"),
            deps: Deps::Hardlink,
            deps_key: None,
            readonly: false,
            bound_at: 0,
            last_attach_at: 0,
            evicted_at: None,
            evicted_why: None,
        }
    }

    #[test]
    fn bound_ref_wins() {
        let [main, other] = ["main", "other"].map(|name| StrictRefName::parse(name).unwrap());
        assert_eq!(
            resolve_ref(Some(&binding()), Some(&other), &main)
                .unwrap()
                .as_str(),
            "feature"
        );
        assert_eq!(resolve_ref(None, Some(&other), &main).unwrap(), other);
        assert_eq!(resolve_ref(None, None, &main).unwrap_err().status(), 409);
        let sha = binding().sha;
        assert_eq!(
            expected_sha(Some(&sha), Some(&other), &main),
            None,
            "the commit was resolved for another ref"
        );
        assert_eq!(expected_sha(Some(&sha), Some(&main), &main), Some(&sha));
    }

    #[test]
    fn tree_is_reused_only_in_the_same_mode() {
        assert_eq!(
            decide_tree(Some(&binding()), Some(CLEAN), false),
            TreeDecision::Reuse
        );
        let untracked = TreeCheck {
            has_untracked: true,
            ..CLEAN
        };
        assert_eq!(
            decide_tree(Some(&binding()), Some(untracked), false),
            TreeDecision::Reuse
        );
        assert_eq!(
            decide_tree(Some(&binding()), Some(untracked), true),
            TreeDecision::Replace {
                needs_checkpoint: true
            }
        );
        let evicted = Binding {
            evicted_at: Some(1),
            readonly: true,
            ..binding()
        };
        assert_eq!(
            decide_tree(Some(&evicted), Some(CLEAN), false),
            TreeDecision::Reuse
        );
        assert_eq!(decide_tree(None, None, false), TreeDecision::Create);
    }

    #[test]
    fn detach_keeps_busy_and_dirty_trees() {
        let state = DetachState {
            in_flight: 0,
            tree: Some(CLEAN),
            was_killed: false,
        };
        let reason = |state, force| match decide_detach(&binding(), state, force) {
            DetachDecision::Keep { reason } => reason,
            other => format!("{other:?}"),
        };
        assert!(
            reason(
                DetachState {
                    in_flight: 1,
                    ..state
                },
                false
            )
            .starts_with("busy: ")
        );
        let unread = TreeCheck {
            is_readable: false,
            ..CLEAN
        };
        for tree in [
            unread,
            TreeCheck {
                has_untracked: true,
                ..CLEAN
            },
            TreeCheck {
                has_unpushed: true,
                ..CLEAN
            },
        ] {
            assert!(
                reason(
                    DetachState {
                        tree: Some(tree),
                        ..state
                    },
                    false
                )
                .starts_with("dirty: ")
            );
        }
        let missing = DetachState {
            tree: None,
            ..state
        };
        assert_eq!(
            decide_detach(&binding(), missing, false),
            DetachDecision::Evict {
                needs_checkpoint: false
            }
        );
    }

    #[test]
    fn forced_detach_kills_before_it_evicts() {
        let dirty = TreeCheck {
            has_tracked_changes: true,
            ..CLEAN
        };
        let state = DetachState {
            in_flight: 2,
            tree: Some(dirty),
            was_killed: false,
        };
        let user = PoolUser::parse("worker2").unwrap();
        assert_eq!(
            decide_detach(&binding(), state, true),
            DetachDecision::Kill(user)
        );
        let killed = DetachState {
            was_killed: true,
            ..state
        };
        assert!(
            matches!(decide_detach(&binding(), killed, true), DetachDecision::Keep { reason } if reason.starts_with("busy after kill"))
        );
        let ended = DetachState {
            in_flight: 0,
            ..killed
        };
        assert_eq!(
            decide_detach(&binding(), ended, true),
            DetachDecision::Evict {
                needs_checkpoint: true
            }
        );
        let without = Binding {
            user: None,
            ..binding()
        };
        assert!(
            matches!(decide_detach(&without, state, true), DetachDecision::Keep { reason } if reason.starts_with("refusing to kill"))
        );
    }

    #[test]
    fn sweep_keeps_recent_busy_and_dirty_trees() {
        let state = SweepState {
            in_flight: 0,
            is_awake: true,
            tree: Some(CLEAN),
            is_finished: false,
        };
        let at = |state, now| sweep(&binding(), state, TREE_RETENTION_DAYS, now);
        assert_eq!(at(state, SWEEP_IDLE_MIN_MS), Some("clean-idle"));
        assert_eq!(at(state, SWEEP_IDLE_MIN_MS - 1), None);
        assert_eq!(
            at(
                SweepState {
                    is_finished: true,
                    ..state
                },
                EVICTION_IDLE_MIN_MS
            ),
            Some("finished")
        );
        assert_eq!(
            at(
                SweepState {
                    in_flight: 1,
                    ..state
                },
                9 * DAY_MS
            ),
            None
        );
        let dirty = SweepState {
            tree: Some(TreeCheck {
                has_untracked: true,
                ..CLEAN
            }),
            ..state
        };
        assert_eq!(at(dirty, 6 * DAY_MS), None);
        assert_eq!(at(dirty, 7 * DAY_MS), Some("ttl"));
        assert_eq!(
            at(
                SweepState {
                    is_awake: false,
                    tree: None,
                    ..state
                },
                SWEEP_IDLE_MIN_MS
            ),
            Some("gone")
        );
    }

    #[test]
    fn credential_follows_the_expiry_of_its_token() {
        let present = |expires_at| CredentialFile::Present {
            written_at: 0,
            expires_at,
        };
        assert_eq!(
            decide_credential(present(Some(TOKEN_VALIDITY_MIN_MS + 1)), 0),
            CredentialDecision::Keep
        );
        assert_eq!(
            decide_credential(present(Some(TOKEN_VALIDITY_MIN_MS)), 0),
            CredentialDecision::Write
        );
        assert_eq!(
            decide_credential(present(None), TOKEN_AGE_MAX_MS),
            CredentialDecision::Keep
        );
        assert_eq!(
            decide_credential(present(None), TOKEN_AGE_MAX_MS + 1),
            CredentialDecision::Write
        );
        assert_eq!(
            decide_credential(CredentialFile::Empty, 0),
            CredentialDecision::MintAnew
        );
    }

    proptest! {
        /// A tree with unsaved work is never replaced or evicted without a checkpoint.
        #[test]
        fn unsaved_work_is_checkpointed(flags in any::<[bool; 8]>()) {
            let [is_readable, has_tracked_changes, has_untracked, has_unpushed, has_tip, readonly, force, killed] = flags;
            let tree = TreeCheck { is_readable, has_tracked_changes, has_untracked, has_unpushed, has_tip };
            let replaces = decide_tree(Some(&binding()), Some(tree), readonly);
            let loses = TreeDecision::Replace { needs_checkpoint: false };
            prop_assert!(!tree.has_unsaved() || replaces != loses);
            let state = DetachState { in_flight: 0, tree: Some(tree), was_killed: killed };
            let evicts = decide_detach(&binding(), state, force);
            let loses = DetachDecision::Evict { needs_checkpoint: false };
            prop_assert!(!tree.has_unsaved() || evicts != loses);
        }
    }
}
