//! Response bodies.

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

/// Response to `GET /healthz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Always true in this response.
    pub ok: bool,
    /// The build that responds.
    pub build: Build,
}

/// Identifies a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Build {
    /// Commit, or `unknown` without any.
    pub commit: String,
    /// When it was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_at: Option<String>,
}

/// `GET /status`: exactly two keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusResponse {
    /// The resident's state word.
    pub state: StateWord,
    /// Why the state was entered, or `null`.
    pub reason: Option<String>,
}

impl StatusResponse {
    /// Returns whether agents start on the resident. A degraded resident's reasons are an
    /// allow-list.
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

/// A step in an attach or an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// Name of the step.
    pub step: String,
    /// The step's duration in milliseconds.
    pub ms: i64,
}

/// A tree's credential.
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

/// Response to `POST /attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachResponse {
    /// Folder with the tree.
    pub workspace: String,
    /// The ref that is bound.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit of the tree.
    pub sha: Sha,
    /// The thread's pool user.
    pub user: PoolUser,
    /// The dependencies were adapted to other lockfiles.
    pub reconciled: bool,
    /// The tree was replaced.
    pub recreated: bool,
    /// How the tree got the dependencies.
    pub deps: Deps,
    /// The tree's credential state.
    pub credentials: CredentialState,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_error: Option<String>,
    /// The tree is read-only.
    pub readonly: bool,
    /// Wait for the mirror.
    pub mutex_wait_ms: i64,
    /// Duration in milliseconds, overall.
    pub attach_ms: i64,
    /// Steps that were performed.
    pub trace: Vec<TraceStep>,
}

/// Response to `POST /detach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetachResponse {
    /// The tree was removed.
    pub released: bool,
    /// Why it did not happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The thread's pool user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<PoolUser>,
}

/// Response to `POST /exec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecResponse {
    /// The command's standard output.
    pub stdout: String,
    /// Error output with notes.
    pub stderr: String,
    /// The command's exit code.
    pub exit_code: i32,
    /// A stream was cut.
    pub truncated: bool,
    /// Hosts that the command's proxy refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedHost>,
}

/// Response to `POST /read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadResponse {
    /// Content of the file.
    pub content: String,
    /// The content was cut.
    pub truncated: bool,
}

/// Response to `POST /write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteResponse {
    /// Always true in this response.
    pub ok: bool,
    /// Number of bytes written.
    pub bytes: u64,
}

/// Response to `POST /push`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushResponse {
    /// The branch at the code host has the commit.
    pub pushed: bool,
    /// Why the code host rejected it, in git's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Response to `POST /checkout`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckOutResponse {
    /// The tree's commit.
    pub sha: Sha,
}

/// Response to `POST /checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointResponse {
    /// The checkpoint. `None` if the tree has no work that the code host lacks.
    pub checkpoint: Option<SavedCheckpoint>,
}

/// Response to `POST /restore`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreResponse {
    /// The checkpoint's ref name.
    #[serde(rename = "ref")]
    pub git_ref: String,
    /// The commit that it names.
    pub sha: Sha,
}

/// `POST /op` with `test` or `build`. A failing command is a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpResponse {
    /// Whether the command succeeded.
    pub ok: bool,
    /// The operation that ran.
    pub op: super::OpName,
    /// The resident's resource id.
    pub resource: Resource,
    /// The ref it concerns.
    #[serde(rename = "ref")]
    pub git_ref: StrictRefName,
    /// Commit of the tree.
    pub sha: Sha,
    /// Summary in a single line.
    pub summary: String,
    /// The command's standard output.
    pub stdout: String,
    /// The command's error output.
    pub stderr: String,
    /// The command's exit code.
    pub exit_code: i32,
    /// A stream was cut.
    pub truncated: bool,
    /// How the checkout got the dependencies.
    pub deps: Deps,
    /// The dependencies were adapted to other lockfiles.
    pub reconciled: bool,
    /// Duration in milliseconds, overall.
    pub duration_ms: i64,
    /// Steps that were performed.
    pub trace: Vec<TraceStep>,
}

/// `POST /op` with `status`, from stored facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpStatus {
    /// False only for `down`.
    pub ok: bool,
    /// The operation that ran.
    pub op: super::OpName,
    /// The resident's resource id.
    pub resource: Resource,
    /// The resident's state word.
    pub state: StateWord,
    /// Why the state was entered.
    pub reason: Option<String>,
    /// Name of the default branch.
    #[serde(rename = "ref")]
    pub git_ref: Option<StrictRefName>,
    /// Commit of the tree.
    pub sha: Option<Sha>,
    /// When the last refresh ended.
    pub last_refresh_at: Option<UnixMillis>,
    /// The restore that came last.
    pub last_restore: Option<LastRestore>,
    /// Summary in a single line.
    pub summary: String,
}

/// Response 202 to `POST /onboard`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnboardResponse {
    /// The resident's resource id.
    pub resource: Resource,
    /// Always `onboarding` in this response.
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
    /// When it was last used.
    pub last_activity_at: UnixMillis,
    /// How its teardown went.
    #[serde(flatten)]
    pub report: OffboardReport,
}

/// Response to `POST /offboard`. A part that failed is an entry in `errors`, never a 500.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OffboardReport {
    /// The resident's resource id.
    pub resource: Resource,
    /// The registry row was removed.
    pub registry_removed: bool,
    /// Number of cancelled schedules.
    pub schedules_cancelled: u32,
    /// The container was stopped.
    pub container_stopped: bool,
    /// The object's storage was deleted.
    pub storage_cleared: bool,
    /// Number of deleted backup objects.
    pub backup_objects_deleted: u32,
    /// Number of objects deleted below the resource's prefix.
    pub r2_objects_deleted: u32,
    /// Parts that failed, as text.
    pub errors: Vec<String>,
}

/// `POST /offboard` with `dryRun`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OffboardPlan {
    /// The resident's resource id.
    pub resource: Resource,
    /// Always true in this response.
    pub dry_run: bool,
    /// Everything that would be removed: counts, the container's state, and backup ids.
    pub would_remove: Value,
}

/// Response to `POST /reconfigure`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconfigureResponse {
    /// The resident's resource id.
    pub resource: Resource,
    /// The record after the change.
    pub record: Record,
}

/// Response to `POST /rebuild`: the plan, and for a real rebuild the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildPlan {
    /// The resident's resource id.
    pub resource: Resource,
    /// Whether it is only a plan.
    pub dry_run: bool,
    /// State before the rebuild.
    pub from: StatusResponse,
    /// The discarded snapshot and how many objects it has.
    pub discards: Discards,
    /// How it is provisioned.
    pub reprovision: Reprovision,
    /// Everything that stays.
    pub keeps: Keeps,
    /// Number of objects that a real rebuild deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_objects_deleted: Option<u32>,
    /// `onboarding`, for a real rebuild.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateWord>,
}

/// What a rebuild discards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discards {
    /// The snapshot that is discarded.
    pub snapshot: Option<Snapshot>,
    /// Number of the snapshot's objects.
    pub backup_objects: u32,
}

/// How a rebuild provisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reprovision {
    /// Name of the default branch.
    pub default_ref: StrictRefName,
    /// Provisioning budget in milliseconds.
    pub provisioning_timeout_ms: i64,
}

/// What a rebuild keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Keeps {
    /// Always true in this response.
    pub registry_record: bool,
    /// Number of thread bindings.
    pub thread_bindings: u32,
    /// Checkpoints, as far as the container still has the mirror with them. An older object reports none.
    #[serde(default)]
    pub checkpoints: u32,
}

/// Returns a rejected attach's document. The stream's HTTP status is 200, so the status is in the
/// body.
pub fn attach_refusal(refusal: &Refusal, trace: &[TraceStep]) -> Value {
    let mut body = op_refusal(refusal, trace);
    body["status"] = json!(refusal.status());
    body
}

/// Returns a rejected operation's document.
pub fn op_refusal(refusal: &Refusal, trace: &[TraceStep]) -> Value {
    let mut body = json!(refusal);
    body["trace"] = json!(trace);
    body
}

/// Returns a rejected command's document. The error text is never empty.
pub fn exec_refusal(refusal: &Refusal) -> Value {
    let mut body = json!(refusal);
    body["stdout"] = json!("");
    body["stderr"] = json!(refusal.error());
    body["exitCode"] = json!(ERROR_EXIT);
    body
}
