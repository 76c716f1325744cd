//! The engine view and the list of residents.

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
    /// The resource.
    pub resource: Resource,
    /// State.
    pub state: StateWord,
    /// Reason.
    pub reason: Option<String>,
    /// Last change of the state.
    pub updated_at: UnixMillis,
    /// Default branch.
    pub default_ref: StrictRefName,
    /// Commit.
    pub sha: Option<Sha>,
    /// Key of the lockfiles.
    pub lockfile_hash: Option<LockfileKey>,
    /// End of provisioning.
    pub provisioned_at: Option<UnixMillis>,
    /// End of the last refresh that succeeded.
    pub last_refresh_at: Option<UnixMillis>,
    /// Last error.
    pub last_refresh_error: Option<String>,
    /// Last restore.
    pub last_restore: Option<LastRestore>,
    /// Start of the idle time.
    pub idle_since: Option<UnixMillis>,
    /// Snapshot.
    pub snapshot: Option<Snapshot>,
    /// Last checkpoint of any thread. An older object reports none.
    #[serde(default)]
    pub last_checkpoint_at: Option<UnixMillis>,
    /// Numbers of pending schedules.
    pub schedules: PendingSchedules,
    /// Current step of the cycle. An older object reports none.
    #[serde(default)]
    pub step: Option<Step>,
    /// Operations in flight.
    pub in_flight: u32,
    /// Threads, newest attach first.
    pub threads: Vec<ThreadRow>,
    /// Durations of the last attaches in milliseconds, newest first. An older object reports none.
    #[serde(default)]
    pub attach_ms: Vec<i64>,
    /// The next attach of the default branch finds a spare tree.
    #[serde(default)]
    pub has_spare: bool,
    /// Last disk sample.
    pub disk: Option<Sample>,
}

/// Numbers of pending schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingSchedules {
    /// Refreshes.
    pub refresh: u8,
    /// Starts of provisioning.
    pub provision_run: u8,
    /// Deadlines of provisioning.
    pub provision_deadline: u8,
}

/// A thread. Its path stays internal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRow {
    /// The thread.
    pub thread_key: StrictThreadKey,
    /// Ref.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit.
    pub sha: Sha,
    /// User.
    pub user: Option<PoolUser>,
    /// How the tree got its dependencies.
    pub deps: Deps,
    /// First attach.
    pub bound_at: UnixMillis,
    /// Last attach.
    pub last_attach_at: UnixMillis,
    /// The tree was removed.
    pub evicted: bool,
    /// Time of the removal.
    pub evicted_at: Option<UnixMillis>,
    /// Reason of the removal.
    pub evicted_why: Option<String>,
    /// Ref of the last checkpoint of its work, if there is one.
    #[serde(default)]
    pub checkpoint: Option<String>,
    /// The tree has unsaved work. `None` if no check of it is known since its last use.
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

/// Makes the view of a resident.
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

/// `GET /residents`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResidentsAnswer {
    /// Cap in force.
    pub cap: u32,
    /// Cap without overrides.
    pub cap_default: u32,
    /// Overrides in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_overrides: Option<Value>,
    /// Residents.
    pub count: u32,
    /// Operations in flight, or `null` if one resident did not answer.
    pub in_flight: Option<u32>,
    /// Residents that did not answer.
    pub in_flight_unknown: u32,
    /// Rows.
    pub residents: Vec<RegistryRow>,
}

/// A registry record with the view of its object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryRow {
    /// The record.
    #[serde(flatten)]
    pub record: Record,
    /// The view.
    pub live: Live,
}

/// The view of an object, or its error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Live {
    /// The view.
    View(Box<EngineView>),
    /// The object did not answer.
    Unreachable(Unreachable),
}

/// The error of an object that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreachable {
    /// Text.
    pub error: String,
}

impl ResidentsAnswer {
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
