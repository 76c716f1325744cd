//! Requests with their validation.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use ars_types::{RunId, StrictRefName};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::names::{
    CommandName, ExecCommand, Resource, RunBranch, Sha, StrictThreadKey, TableCommand, TreePath,
};
use crate::output::WRITE_MAX_CHARS;
use crate::plan::exec_timeout_ms;
use crate::refusal::{Refusal, Token};
use crate::registry::{CommandEffect, Record};

/// Largest budget on the disk.
const DISK_BUDGET_MAX_MB: u64 = 100_000;
/// Shortest budget for provisioning.
const PROVISIONING_TIMEOUT_MIN_MS: i64 = 10_000;
/// Longest budget for provisioning.
const PROVISIONING_TIMEOUT_MAX_MS: i64 = 1_800_000;
/// Provisioning budget when a request names none.
const PROVISIONING_TIMEOUT_DEFAULT_MS: i64 = 300_000;
/// Most days for which an unused tree stays.
const TREE_RETENTION_MAX_DAYS: u32 = 365;
/// Commands that every table has.
const REQUIRED: [&str; 2] = ["test", "build"];

/// Parses a body. A body that is no JSON object counts as empty, and then lacks the fields.
///
/// # Errors
/// 400 with the first invalid field's rule.
pub fn parse_body<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    T::deserialize(object_of(text)).map_err(invalid)
}

// These two are the same for all requests, so each is compiled once only.

#[inline(never)]
fn object_of(text: &str) -> Value {
    let value = serde_json::from_str::<Value>(text)
        .ok()
        .filter(Value::is_object);
    value.unwrap_or_else(|| Value::Object(Map::new()))
}

#[inline(never)]
#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn invalid(error: serde_json::Error) -> Refusal {
    let text = error.to_string();
    match text.strip_prefix(ESCAPE) {
        Some(rule) => Refusal::new(Token::PathEscape, rule),
        None => Refusal::new(Token::Invalid, &text),
    }
}

/// Starts the text about an invalid path, which has a separate token.
const ESCAPE: &str = "path-escape: ";

fn tree_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TreePath, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let path = value.as_str().ok_or("path must be text".to_owned());
    let path = path.and_then(|path| TreePath::parse(path).map_err(|error| format!("path {error}")));
    path.map_err(|rule| D::Error::custom(format_args!("{ESCAPE}{rule}")))
}

/// A command table with the required commands.
type Commands = BTreeMap<CommandName, TableCommand>;
type Effects = BTreeMap<CommandName, CommandEffect>;

/// Request for `POST /onboard`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OnboardRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Commands by their name.
    #[serde(deserialize_with = "commands")]
    pub commands: Commands,
    /// Name of the default branch.
    pub default_ref: StrictRefName,
    /// Effects of the commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// Budget on the disk.
    #[serde(
        default,
        deserialize_with = "disk_budget",
        skip_serializing_if = "Option::is_none"
    )]
    pub disk_budget_mb: Option<u64>,
    /// Provisioning budget in milliseconds.
    #[serde(
        default,
        deserialize_with = "provisioning_timeout",
        skip_serializing_if = "Option::is_none"
    )]
    pub provisioning_timeout_ms: Option<i64>,
    /// Days for which an unused tree stays.
    #[serde(
        default,
        deserialize_with = "tree_retention",
        skip_serializing_if = "Option::is_none"
    )]
    pub worktree_ttl_days: Option<u32>,
    /// Evict the coldest resident over the cap.
    #[serde(default)]
    pub evict_coldest: bool,
}

impl OnboardRequest {
    /// Returns the record to insert.
    pub fn record(self, now: i64) -> Record {
        Record {
            resource: self.resource,
            commands: self.commands,
            effects: self.effects.unwrap_or_default(),
            default_ref: self.default_ref,
            disk_budget_mb: self.disk_budget_mb,
            provisioning_timeout_ms: self
                .provisioning_timeout_ms
                .unwrap_or(PROVISIONING_TIMEOUT_DEFAULT_MS),
            worktree_ttl_days: self.worktree_ttl_days,
            onboarded_at: now,
            updated_at: now,
        }
    }
}

/// Request for `POST /offboard`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OffboardRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Report only and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// Request for `POST /rebuild`.
pub type RebuildRequest = OffboardRequest;

/// Request for `POST /reconfigure`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconfigureRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Replaces the whole table.
    #[serde(
        default,
        deserialize_with = "optional_commands",
        skip_serializing_if = "Option::is_none"
    )]
    pub commands: Option<Commands>,
    /// Replaces all command effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// Name of the default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_ref: Option<StrictRefName>,
    /// Budget on the disk.
    #[serde(
        default,
        deserialize_with = "disk_budget",
        skip_serializing_if = "Option::is_none"
    )]
    pub disk_budget_mb: Option<u64>,
    /// Provisioning budget in milliseconds.
    #[serde(
        default,
        deserialize_with = "provisioning_timeout",
        skip_serializing_if = "Option::is_none"
    )]
    pub provisioning_timeout_ms: Option<i64>,
    /// Days for which an unused tree stays.
    #[serde(
        default,
        deserialize_with = "tree_retention",
        skip_serializing_if = "Option::is_none"
    )]
    pub worktree_ttl_days: Option<u32>,
}

impl ReconfigureRequest {
    /// Applies the request to a record.
    ///
    /// # Errors
    /// 400 if the request changes no field.
    pub fn apply(self, record: &Record, now: i64) -> Result<Record, Refusal> {
        let is_empty = self.commands.is_none()
            && self.effects.is_none()
            && self.default_ref.is_none()
            && self.disk_budget_mb.is_none()
            && self.provisioning_timeout_ms.is_none()
            && self.worktree_ttl_days.is_none();
        if is_empty {
            let fields = "commands, effects, defaultRef, diskBudgetMb, provisioningTimeoutMs, worktreeTtlDays";
            return Err(Refusal::new(
                Token::Invalid,
                &format!("name at least one of {fields}"),
            ));
        }
        let mut changed = record.clone();
        changed.commands = self.commands.unwrap_or(changed.commands);
        changed.effects = self.effects.unwrap_or(changed.effects);
        changed.default_ref = self.default_ref.unwrap_or(changed.default_ref);
        changed.disk_budget_mb = self.disk_budget_mb.or(changed.disk_budget_mb);
        changed.provisioning_timeout_ms = self
            .provisioning_timeout_ms
            .unwrap_or(changed.provisioning_timeout_ms);
        changed.worktree_ttl_days = self.worktree_ttl_days.or(changed.worktree_ttl_days);
        if changed != *record {
            changed.updated_at = now;
        }
        Ok(changed)
    }
}

/// Request for `GET /status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRequest {
    /// The resident's resource id.
    pub resource: Resource,
}

/// Request for `POST /attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// Ref for the first attach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ref_hint: Option<StrictRefName>,
    /// The tree gets no token.
    #[serde(default)]
    pub readonly: bool,
    /// The ref's expected commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha: Option<Sha>,
}

/// Request for `POST /detach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DetachRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// Kill processes, and evict a tree with unsaved work after a checkpoint.
    #[serde(default)]
    pub force: bool,
}

/// Request for `POST /exec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// The command to run.
    pub command: ExecCommand,
    /// Timeout, clamped. A value with another type counts as absent.
    #[serde(default = "default_timeout", deserialize_with = "timeout")]
    pub timeout_ms: i64,
}

/// Request for `POST /read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// Path of the file.
    #[serde(deserialize_with = "tree_path")]
    pub path: TreePath,
}

/// Request for `POST /write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// Path of the file.
    #[serde(deserialize_with = "tree_path")]
    pub path: TreePath,
    /// Content to write.
    #[serde(deserialize_with = "content")]
    pub content: String,
}

/// Request for `POST /push`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// The commit, which the thread's tree has.
    pub sha: Sha,
    /// The branch at the code host. It is never forced.
    pub branch: RunBranch,
}

/// Request for `POST /checkout`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckOutRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// The commit to check out.
    pub sha: Sha,
    /// The ref at the code host that contains it.
    pub from: CheckOutFrom,
}

/// `POST /checkpoint` and `POST /restore`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// Key of the thread.
    pub thread_key: StrictThreadKey,
    /// The run that the checkpoint is named after.
    pub run: RunId,
}

/// A ref at the code host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckOutFrom {
    /// A pull request's head. The tree has no branch then.
    PullRequest(NonZeroU64),
    /// A run's branch. The tree's branch moves to the commit.
    Branch(RunBranch),
}

/// An operation without a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpName {
    /// Run the test command.
    Test,
    /// Run the build command.
    Build,
    /// Stored facts, without the container.
    Status,
}

impl OpName {
    /// Returns the name, which the command in the table also has.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Build => "build",
            Self::Status => "status",
        }
    }

    /// Resolves the operation in the command table.
    ///
    /// # Errors
    /// 409 for a command that changes something, and for a command that the table lacks.
    pub fn resolve(self, record: &Record) -> Result<&TableCommand, Refusal> {
        let name = self.as_str();
        if !record.is_readonly(name) {
            return Err(Refusal::new(
                Token::OpRefused,
                &format!("{name} is not read-only; ask an agent to run it"),
            ));
        }
        let missing = || {
            Refusal::new(
                Token::OpUnavailable,
                &format!("the command table has no {name}"),
            )
        };
        record.command(name).ok_or_else(missing)
    }
}

/// Request for `POST /op`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpRequest {
    /// The resident's resource id.
    pub resource: Resource,
    /// The operation to perform.
    pub op: OpName,
    /// The ref. The default branch if absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<StrictRefName>,
}

fn commands<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Commands, D::Error> {
    let commands = Commands::deserialize(deserializer)?;
    match REQUIRED
        .iter()
        .find(|name| !commands.keys().any(|key| key.as_str() == **name))
    {
        Some(missing) => Err(D::Error::custom(format!(
            "commands must contain `{missing}`"
        ))),
        None => Ok(commands),
    }
}

fn optional_commands<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Commands>, D::Error> {
    commands(deserializer).map(Some)
}

fn bounded<'de, D, T>(deserializer: D, name: &str, min: T, max: T) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Copy + Deserialize<'de> + PartialOrd + std::fmt::Display,
{
    let rule = format!("{name} must be an integer from {min} to {max}");
    let value = Option::<T>::deserialize(deserializer).map_err(|_| D::Error::custom(&rule))?;
    match value {
        Some(value) if value < min || value > max => Err(D::Error::custom(rule)),
        value => Ok(value),
    }
}

fn disk_budget<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    bounded(deserializer, "diskBudgetMb", 1, DISK_BUDGET_MAX_MB)
}

fn provisioning_timeout<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i64>, D::Error> {
    let (min, max) = (PROVISIONING_TIMEOUT_MIN_MS, PROVISIONING_TIMEOUT_MAX_MS);
    bounded(deserializer, "provisioningTimeoutMs", min, max)
}

fn tree_retention<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    bounded(deserializer, "worktreeTtlDays", 1, TREE_RETENTION_MAX_DAYS)
}

fn default_timeout() -> i64 {
    exec_timeout_ms(None)
}

fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(exec_timeout_ms(value.as_f64()))
}

fn content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let content = String::deserialize(deserializer)?;
    if content.chars().count() > WRITE_MAX_CHARS {
        return Err(D::Error::custom(format!(
            "content must have at most {WRITE_MAX_CHARS} characters"
        )));
    }
    Ok(content)
}
