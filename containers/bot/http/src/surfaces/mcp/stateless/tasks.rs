//! Tasks: the runs that a token dispatched, by their ids (docs/reference/mcp.md#tasks).

use ars_auth::{Actor, Ingress, TokenEntry, Viewer};
use ars_bot_core::{
    queries::{OwnRun, QueryError, Reader},
    time::iso,
};
use ars_bot_ports::texts;
use ars_types::{RunId, RunStatus};
use ars_wire::ErrorCode as Code;
use rmcp::model::{
    CreateTaskResult, DetailedTask, ErrorData, GetTaskResult, Task, TaskAckResult, TaskPayload,
    TaskStatus,
};
use serde_json::{Map, Value, json};

use super::{
    answer::{internal, result},
    call::of_answer,
    metadata::Client,
};
use crate::{
    auth::gate::may_dispatch,
    state::HttpState,
    surfaces::mcp::{call::invoke, envelope::object},
};

/// Milliseconds that clients should wait between two task reads.
const TASK_POLL_INTERVAL_MS: u64 = 2_000;
/// The command that stops a run.
const STOP: &str = "runs_stop";
/// Name for these reads in the audit log.
const ROUTE: &str = "mcp tasks";

/// Returns the task for a run that was created just now.
pub(super) async fn created(
    state: &HttpState,
    entry: &TokenEntry,
    run: &RunId,
) -> Result<Value, ErrorData> {
    let own = find(state, entry, run).await?;
    result(&CreateTaskResult::new(task(&own, TaskStatus::Working)))
}

/// `tasks/get`, `tasks/update` or `tasks/cancel`.
pub(super) async fn answer(
    state: &HttpState,
    entry: &TokenEntry,
    method: &str,
    params: &Map<String, Value>,
    client: &Client,
) -> Result<Value, ErrorData> {
    client.require_tasks()?;
    let own = named(state, entry, params).await?;
    match method {
        "tasks/get" => {
            let page = state.core.settings().run_url(&own.run.summary.id);
            result(&GetTaskResult::new(detailed(&own, &page)))
        }
        "tasks/cancel" => cancel(state, entry, &own).await,
        // No task requests input, so there is nothing to update.
        _ => acknowledged(),
    }
}

/// Requests a soft stop, with the `runs.stop` command's permission.
async fn cancel(state: &HttpState, entry: &TokenEntry, own: &OwnRun) -> Result<Value, ErrorData> {
    let commands = state.core.commands();
    let Some(stop) = commands
        .registry()
        .tool(STOP)
        .filter(|_| own.run.summary.finished.is_none())
    else {
        return acknowledged();
    };
    let arguments = object(Some(json!({ "id": own.run.summary.id, "mode": "soft" })));
    match invoke(state, entry, stop, arguments).await {
        Ok(_) => acknowledged(),
        Err(failure) => match failure.code {
            // It ended in the meantime.
            Code::Conflict => acknowledged(),
            Code::Unauthorized | Code::NotFound => {
                let data = json!({ "code": Code::Unauthorized });
                Err(ErrorData::invalid_params(
                    "the token may not stop the run of this task",
                    Some(data),
                ))
            }
            _ => Err(internal()),
        },
    }
}

fn acknowledged() -> Result<Value, ErrorData> {
    result(&TaskAckResult::new())
}

/// Finds the task that the parameters name.
async fn named(
    state: &HttpState,
    entry: &TokenEntry,
    params: &Map<String, Value>,
) -> Result<OwnRun, ErrorData> {
    let id = params
        .get("taskId")
        .and_then(Value::as_str)
        .and_then(|id| RunId::parse(id).ok());
    match id {
        Some(id) if may_dispatch(entry) => find(state, entry, &id).await,
        _ => Err(unknown()),
    }
}

/// Finds a run that this token's subject dispatched, in the channel that the token pins.
async fn find(state: &HttpState, entry: &TokenEntry, id: &RunId) -> Result<OwnRun, ErrorData> {
    let actor = Actor::service(Ingress::Mcp, entry);
    let viewer = Viewer::new(state.core.settings().identify(&actor));
    let reader = Reader {
        viewer: &viewer,
        token: "",
        route: ROUTE,
    };
    let own = state
        .core
        .queries()
        .own(&reader, id)
        .await
        .map_err(|error| match error {
            QueryError::NotFound | QueryError::Denied(_) | QueryError::AlreadyFinished => unknown(),
            QueryError::Unavailable => ErrorData::internal_error(error.to_string(), None),
        })?;
    let pinned = entry
        .channel
        .as_ref()
        .map(|channel| Ingress::Mcp.platform().id(channel));
    match pinned {
        Some(channel) if channel != own.run.summary.channel_id => Err(unknown()),
        _ => Ok(own),
    }
}

/// Another subject's task is as unknown as a task that never existed.
fn unknown() -> ErrorData {
    ErrorData::invalid_params("the task is unknown", None)
}

/// Returns a task with the result. For a run without an answer the result names the run's page.
fn detailed(own: &OwnRun, page: &str) -> DetailedTask {
    let answer = || {
        own.answer
            .clone()
            .unwrap_or_else(|| texts::run_without_answer(page))
    };
    let payload = match own.run.summary.finished.map(|(_, status)| status) {
        None => TaskPayload::Working,
        Some(status @ (RunStatus::Completed | RunStatus::Failed)) => {
            let has_failed = status == RunStatus::Failed;
            let called = serde_json::to_value(of_answer(answer(), has_failed));
            TaskPayload::Completed {
                result: object(called.ok()),
            }
        }
        Some(RunStatus::StoppedSoft | RunStatus::StoppedHard) => TaskPayload::Cancelled,
        Some(RunStatus::Interrupted) => {
            let error = ErrorData::internal_error("the run was interrupted", None);
            TaskPayload::Failed {
                error: object(serde_json::to_value(error).ok()),
            }
        }
    };
    DetailedTask::new(task(own, payload.status()), payload)
}

fn task(own: &OwnRun, status: TaskStatus) -> Task {
    let (created_at, updated_at) = (iso(own.run.summary.started_at), iso(own.updated_at));
    let task = Task::new(
        own.run.summary.id.to_string(),
        status,
        created_at,
        updated_at,
    )
    .with_poll_interval_ms(TASK_POLL_INTERVAL_MS);
    match message(own, status) {
        Some(message) => task.with_status_message(message),
        None => task,
    }
}

/// Returns a working task's progress, and a cancelled task's last answer, which has no result.
fn message(own: &OwnRun, status: TaskStatus) -> Option<String> {
    match status {
        TaskStatus::Working => {
            let tool = own
                .tool
                .as_ref()
                .map_or_else(String::new, |tool| format!(", last tool {tool}"));
            let stopping = if own.run.summary.stop.is_some() {
                ", stopping"
            } else {
                ""
            };
            Some(format!("{} events{tool}{stopping}", own.events))
        }
        TaskStatus::Cancelled => Some(own.answer.clone().unwrap_or_else(|| "stopped".to_owned())),
        _ => None,
    }
}
