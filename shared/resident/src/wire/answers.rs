//! Answers.

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::daemon::{RefusedHost, SavedCheckpoint};
use crate::lifecycle::{DegradedCause, LastRestore, StateWord};
use crate::names::{Resource, Sha};
use crate::output::ERROR_EXIT;
use crate::pool::PoolUser;
use crate::refusal::Refusal;
use crate::registry::Record;
use crate::snapshot::Snapshot;
use crate::thread::Deps;

/// `GET /healthz`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Always true.
    pub ok: bool,
    /// The build.
    pub build: Build,
}

/// A build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Build {
    /// Commit, or `unknown`.
    pub commit: String,
    /// Time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_at: Option<String>,
}

/// `GET /status`: exactly two keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// State.
    pub state: StateWord,
    /// Reason, or `null`.
    pub reason: Option<String>,
}

impl StatusAnswer {
    /// Returns whether agents start on the resident. The reasons of a degraded one are an allow-list.
    pub fn is_serviceable(&self) -> bool {
        let cause = self
            .reason
            .as_deref()
            .and_then(|reason| Some(reason.split_once(':')?.0));
        let is_allowed = |cause| {
            DegradedCause::SERVICEABLE
                .iter()
                .any(|allowed| allowed.to_string() == cause)
        };
        match self.state {
            StateWord::Warm | StateWord::Refreshing => true,
            StateWord::Degraded => cause.is_some_and(is_allowed),
            StateWord::Onboarding | StateWord::Restoring | StateWord::Down => false,
        }
    }
}

/// A step of an attach or an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// Name.
    pub step: String,
    /// Duration.
    pub ms: i64,
}

/// The credential of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialState {
    /// The tree has a token.
    Ok,
    /// No token could be minted.
    Unavailable,
    /// A read-only tree gets none.
    None,
}

/// `POST /attach`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachAnswer {
    /// Folder of the tree.
    pub workspace: String,
    /// Bound ref.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit.
    pub sha: Sha,
    /// User.
    pub user: PoolUser,
    /// The dependencies were adapted to other lockfiles.
    pub reconciled: bool,
    /// The tree was replaced.
    pub recreated: bool,
    /// How the tree got its dependencies.
    pub deps: Deps,
    /// Credential.
    pub credentials: CredentialState,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_error: Option<String>,
    /// The tree is read-only.
    pub readonly: bool,
    /// Wait for the mirror.
    pub mutex_wait_ms: i64,
    /// Duration.
    pub attach_ms: i64,
    /// Steps.
    pub trace: Vec<TraceStep>,
}

/// `POST /detach`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetachAnswer {
    /// The tree was removed.
    pub released: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// User of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<PoolUser>,
}

/// `POST /exec`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecAnswer {
    /// Output.
    pub stdout: String,
    /// Error output with notes.
    pub stderr: String,
    /// Exit code.
    pub exit_code: i32,
    /// A stream was cut.
    pub truncated: bool,
    /// Hosts that the proxy of the command refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedHost>,
}

/// `POST /read`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadAnswer {
    /// Content.
    pub content: String,
    /// It was cut.
    pub truncated: bool,
}

/// `POST /write`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteAnswer {
    /// Always true.
    pub ok: bool,
    /// Written bytes.
    pub bytes: u64,
}

/// `POST /push`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushAnswer {
    /// The branch at the code host has the commit.
    pub pushed: bool,
    /// Why the code host rejected it, in git's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `POST /checkout`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckOutAnswer {
    /// The commit of the tree.
    pub sha: Sha,
}

/// `POST /checkpoint`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointAnswer {
    /// The checkpoint. `None` if the tree has no work that the code host lacks.
    pub checkpoint: Option<SavedCheckpoint>,
}

/// `POST /restore`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreAnswer {
    /// The name of the checkpoint.
    #[serde(rename = "ref")]
    pub git_ref: String,
    /// Its commit.
    pub sha: Sha,
}

/// `POST /op` with `test` or `build`. A failing command is a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpAnswer {
    /// The command succeeded.
    pub ok: bool,
    /// The operation.
    pub op: super::OpName,
    /// The resource.
    pub resource: Resource,
    /// Ref.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit.
    pub sha: Sha,
    /// One line.
    pub summary: String,
    /// Output.
    pub stdout: String,
    /// Error output.
    pub stderr: String,
    /// Exit code.
    pub exit_code: i32,
    /// A stream was cut.
    pub truncated: bool,
    /// How the checkout got its dependencies.
    pub deps: Deps,
    /// The dependencies were adapted to other lockfiles.
    pub reconciled: bool,
    /// Duration.
    pub duration_ms: i64,
    /// Steps.
    pub trace: Vec<TraceStep>,
}

/// `POST /op` with `status`, from stored facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpStatus {
    /// False only for `down`.
    pub ok: bool,
    /// The operation.
    pub op: super::OpName,
    /// The resource.
    pub resource: Resource,
    /// State.
    pub state: StateWord,
    /// Reason.
    pub reason: Option<String>,
    /// Default branch.
    #[serde(rename = "ref")]
    pub git_ref: Option<StrictRefName>,
    /// Commit.
    pub sha: Option<Sha>,
    /// End of the last refresh.
    pub last_refresh_at: Option<UnixMillis>,
    /// The last restore.
    pub last_restore: Option<LastRestore>,
    /// One line.
    pub summary: String,
}

/// `POST /onboard`, 202
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnboardAnswer {
    /// The resource.
    pub resource: Resource,
    /// Always `onboarding`.
    pub state: StateWord,
    /// Membership was not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The resident that made room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evicted: Option<Evicted>,
}

/// A resident that made room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evicted {
    /// Its last use.
    pub last_activity_at: UnixMillis,
    /// Its teardown.
    #[serde(flatten)]
    pub report: OffboardReport,
}

/// `POST /offboard`. A part that failed is an entry of `errors`, never a 500.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OffboardReport {
    /// The resource.
    pub resource: Resource,
    /// The registry row was removed.
    pub registry_removed: bool,
    /// Cancelled schedules.
    pub schedules_cancelled: u32,
    /// The container was stopped.
    pub container_stopped: bool,
    /// The object's storage was deleted.
    pub storage_cleared: bool,
    /// Deleted objects of backups.
    pub backup_objects_deleted: u32,
    /// Deleted objects below the prefix of the resource.
    pub r2_objects_deleted: u32,
    /// Parts that failed.
    pub errors: Vec<String>,
}

/// `POST /offboard` with `dryRun`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OffboardPlan {
    /// The resource.
    pub resource: Resource,
    /// Always true.
    pub dry_run: bool,
    /// What would be removed: counts, the state of the container, and ids of backups.
    pub would_remove: Value,
}

/// `POST /reconfigure`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconfigureAnswer {
    /// The resource.
    pub resource: Resource,
    /// The new record.
    pub record: Record,
}

/// `POST /rebuild`: the plan, and for a real one its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildPlan {
    /// The resource.
    pub resource: Resource,
    /// Only a plan.
    pub dry_run: bool,
    /// State before.
    pub from: StatusAnswer,
    /// Discarded snapshot and the number of its objects.
    pub discards: Discards,
    /// How it is provisioned.
    pub reprovision: Reprovision,
    /// What stays.
    pub keeps: Keeps,
    /// Deleted objects, of a real rebuild.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_objects_deleted: Option<u32>,
    /// `onboarding`, of a real rebuild.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateWord>,
}

/// What a rebuild discards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discards {
    /// The snapshot.
    pub snapshot: Option<Snapshot>,
    /// Number of its objects.
    pub backup_objects: u32,
}

/// How a rebuild provisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reprovision {
    /// Default branch.
    pub default_ref: StrictRefName,
    /// Budget.
    pub provisioning_timeout_ms: i64,
}

/// What a rebuild keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Keeps {
    /// Always true.
    pub registry_record: bool,
    /// Bindings.
    pub thread_bindings: u32,
    /// Checkpoints, as far as the container still has the mirror with them. An older object reports none.
    #[serde(default)]
    pub checkpoints: u32,
}

/// Returns the document of a rejected attach.
/// The stream's HTTP status is 200, so the status is in the body.
pub fn attach_refusal(refusal: &Refusal, trace: &[TraceStep]) -> Value {
    let mut body = op_refusal(refusal, trace);
    body["status"] = json!(refusal.status());
    body
}

/// Returns the document of a rejected operation.
pub fn op_refusal(refusal: &Refusal, trace: &[TraceStep]) -> Value {
    let mut body = json!(refusal);
    body["trace"] = json!(trace);
    body
}

/// Returns the document of a rejected command. The error text is never empty.
pub fn exec_refusal(refusal: &Refusal) -> Value {
    let mut body = json!(refusal);
    body["stdout"] = json!("");
    body["stderr"] = json!(refusal.error());
    body["exitCode"] = json!(ERROR_EXIT);
    body
}
