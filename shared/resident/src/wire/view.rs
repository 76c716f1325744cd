//! The engine view and the resident list.

use std::cmp::Reverse;

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::Sample;
use crate::lifecycle::{LastRestore, Resident, StateWord, Step};
use crate::names::{LockfileKey, Resource, Sha, StrictThreadKey};
use crate::pool::PoolUser;
use crate::registry::{RESIDENTS_MAX, Record, sum_in_flight};
use crate::snapshot::Snapshot;
use crate::sorted::sorted_by_key;
use crate::thread::{Binding, Deps};

/// A resident as administrators see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineView {
    /// The resident's resource id.
    pub resource: Resource,
    /// The resident's state word.
    pub state: StateWord,
    /// Why the state was entered.
    pub reason: Option<String>,
    /// When the state last changed.
    pub updated_at: UnixMillis,
    /// Name of the default branch.
    pub default_ref: StrictRefName,
    /// Commit that is served.
    pub sha: Option<Sha>,
    /// Lockfile key at the commit.
    pub lockfile_hash: Option<LockfileKey>,
    /// When provisioning ended.
    pub provisioned_at: Option<UnixMillis>,
    /// When the last successful refresh ended.
    pub last_refresh_at: Option<UnixMillis>,
    /// The last refresh's error.
    pub last_refresh_error: Option<String>,
    /// The restore that came last.
    pub last_restore: Option<LastRestore>,
    /// When the idle time started.
    pub idle_since: Option<UnixMillis>,
    /// Snapshot that is stored.
    pub snapshot: Option<Snapshot>,
    /// Any thread's last checkpoint. An older object reports none.
    #[serde(default)]
    pub last_checkpoint_at: Option<UnixMillis>,
    /// How many schedules are pending.
    pub schedules: PendingSchedules,
    /// The cycle's current step. An older object reports none.
    #[serde(default)]
    pub step: Option<Step>,
    /// Number of operations in flight.
    pub in_flight: u32,
    /// Threads, newest attach first.
    pub threads: Vec<ThreadRow>,
    /// How long the last attaches took in milliseconds, newest first. An older object reports none.
    #[serde(default)]
    pub attach_ms: Vec<i64>,
    /// The next attach to the default branch finds a spare tree.
    #[serde(default)]
    pub has_spare: bool,
    /// The last disk sample.
    pub disk: Option<Sample>,
}

/// How many schedules are pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingSchedules {
    /// Number of pending refreshes.
    pub refresh: u8,
    /// Number of pending provisioning starts.
    pub provision_run: u8,
    /// Number of pending provisioning deadlines.
    pub provision_deadline: u8,
}

/// A thread. Its path stays internal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRow {
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// The ref that is bound.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit that is served.
    pub sha: Sha,
    /// The thread's pool user.
    pub user: Option<PoolUser>,
    /// How the tree got the dependencies.
    pub deps: Deps,
    /// When it first attached.
    pub bound_at: UnixMillis,
    /// When it last attached.
    pub last_attach_at: UnixMillis,
    /// The tree was removed.
    pub evicted: bool,
    /// When the tree was removed.
    pub evicted_at: Option<UnixMillis>,
    /// Why the tree was removed.
    pub evicted_why: Option<String>,
    /// Ref of the thread's last checkpoint, if there is any.
    #[serde(default)]
    pub checkpoint: Option<String>,
    /// The tree has unsaved work. `None` if no check since its last use is known.
    #[serde(default)]
    pub dirty: Option<bool>,
    /// Time from which that is not known.
    #[serde(default)]
    pub unchecked_since: Option<UnixMillis>,
}

impl From<&Binding> for ThreadRow {
    fn from(binding: &Binding) -> Self {
        Self {
            thread_key: binding.thread_key.clone(),
            git_ref: binding.git_ref.clone(),
            sha: binding.sha.clone(),
            user: binding.user,
            deps: binding.deps,
            bound_at: binding.bound_at,
            last_attach_at: binding.last_attach_at,
            evicted: binding.is_evicted(),
            evicted_at: binding.evicted_at,
            evicted_why: binding.evicted_why.clone(),
            checkpoint: None,
            dirty: None,
            unchecked_since: None,
        }
    }
}

/// Makes a resident's view.
pub fn engine_view(
    record: &Record,
    resident: &Resident,
    bindings: &[Binding],
    in_flight: u32,
    disk: Option<Sample>,
) -> EngineView {
    let (state, reason) = resident.status();
    let facts = resident.facts();
    let schedules = resident.schedules();
    let threads = bindings.iter().map(ThreadRow::from);
    let threads = sorted_by_key(threads, |thread| Reverse(thread.last_attach_at));
    EngineView {
        resource: record.resource.clone(),
        state,
        reason,
        updated_at: resident.updated_at(),
        default_ref: record.default_ref.clone(),
        sha: facts.map(|facts| facts.stamp.sha.clone()),
        lockfile_hash: facts.map(|facts| facts.stamp.lockfile_hash.clone()),
        provisioned_at: facts.map(|facts| facts.provisioned_at),
        last_refresh_at: facts.map(|facts| facts.last_refresh_at),
        last_refresh_error: resident.last_refresh_error().map(str::to_owned),
        last_restore: resident.last_restore(),
        idle_since: resident.idle_since(),
        snapshot: resident.snapshot().cloned(),
        last_checkpoint_at: None,
        schedules: PendingSchedules {
            refresh: schedules.refresh.is_some().into(),
            provision_run: schedules.provision_run.is_some().into(),
            provision_deadline: schedules.provision_deadline.is_some().into(),
        },
        step: resident.current_step(),
        in_flight,
        threads,
        attach_ms: Vec::new(),
        has_spare: false,
        disk,
    }
}

/// Response to `GET /residents`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResidentsResponse {
    /// The cap in force.
    pub cap: u32,
    /// The cap without overrides.
    pub cap_default: u32,
    /// The overrides in force, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_overrides: Option<Value>,
    /// Number of residents.
    pub count: u32,
    /// Operations in flight, or `null` if any resident did not respond.
    pub in_flight: Option<u32>,
    /// Residents that did not answer.
    pub in_flight_unknown: u32,
    /// A row per resident.
    pub residents: Vec<RegistryRow>,
}

/// A registry record with its object's view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryRow {
    /// The stored registry record.
    #[serde(flatten)]
    pub record: Record,
    /// The object's engine view.
    pub live: Live,
}

/// An object's view, or the error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Live {
    /// The object's engine view.
    View(Box<EngineView>),
    /// The object did not answer.
    Unreachable(Unreachable),
}

/// The error about an object that did not respond.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreachable {
    /// The error as text.
    pub error: String,
}

impl ResidentsResponse {
    /// Makes the answer. The rows are sorted by resource.
    pub fn new(residents: Vec<RegistryRow>, cap: u32, test_overrides: Option<Value>) -> Self {
        let residents = sorted_by_key(residents, |row| row.record.resource.clone());
        let counts = residents.iter().map(|row| match &row.live {
            Live::View(view) => Some(view.in_flight),
            Live::Unreachable(_) => None,
        });
        let unknown = residents
            .iter()
            .filter(|row| matches!(row.live, Live::Unreachable(_)))
            .count();
        Self {
            cap,
            cap_default: RESIDENTS_MAX,
            test_overrides,
            count: u32::try_from(residents.len()).unwrap_or(u32::MAX),
            in_flight: sum_in_flight(counts),
            in_flight_unknown: u32::try_from(unknown).unwrap_or(u32::MAX),
            residents,
        }
    }
}
