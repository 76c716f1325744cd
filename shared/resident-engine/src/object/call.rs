//! A resident's calls, and their replies. Both cross objects as JSON.

use std::rc::Rc;

use ars_resident::document::{Fields, tagged, unknown_tag, value_of};
use ars_resident::names::{KeyNamespace, StrictThreadKey};
use ars_resident::refusal::{Refusal, Token};
use ars_resident::registry::Record;
use ars_resident::wire::{
    AttachRequest, CheckOutRequest, CheckpointRequest, DebugOp, DetachRequest, ExecRequest, OpName,
    OpRequest, PushRequest, ReadRequest, WriteRequest, attach_refusal, exec_refusal, op_refusal,
};
use ars_sql::Sql;
use futures::FutureExt as _;
use futures::future::pending;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::engine::Engine;
use crate::{Error, Fault, Host};

/// Maximum length of an error text beside the token, in characters.
pub(super) const TEXT_MAX_CHARS: usize = 400;

/// A call. The fields are validated already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "call",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Call {
    /// Start provisioning. The registry has the row.
    Onboard {
        /// The resident's registry record.
        record: Box<Record>,
    },
    /// Remove everything, or plan that. Before a real removal, the registry row is removed already.
    Offboard {
        /// The record that the registry had.
        record: Box<Record>,
        /// Plan only and remove nothing.
        dry_run: bool,
    },
    /// Use the changed record.
    Reconfigure {
        /// The resident's registry record.
        record: Box<Record>,
    },
    /// Discard the snapshot and provision anew, or plan that.
    Rebuild {
        /// Plan only and remove nothing.
        dry_run: bool,
    },
    /// Return the engine view.
    Info,
    /// Return the last use, for selecting the coldest resident.
    Activity,
    /// Return state and reason.
    Status,
    /// Attach a thread (`/attach`).
    Attach {
        /// The request after validation.
        request: AttachRequest,
        /// The test override for the age from which the attach fetches.
        #[serde(skip_serializing_if = "Option::is_none")]
        stale_after_s: Option<u32>,
    },
    /// Detach a thread (`/detach`).
    Detach {
        /// The request after validation.
        request: DetachRequest,
    },
    /// Perform an operation (`/op`).
    Op {
        /// The request after validation.
        request: OpRequest,
    },
    /// Run a command (`/exec`).
    Exec {
        /// The request after validation.
        request: ExecRequest,
    },
    /// Read a file (`/read`).
    Read {
        /// The request after validation.
        request: ReadRequest,
    },
    /// Write a file (`/write`).
    Write {
        /// The request after validation.
        request: WriteRequest,
    },
    /// Push a branch (`/push`).
    Push {
        /// The request after validation.
        request: PushRequest,
    },
    /// Check out a commit (`/checkout`).
    CheckOut {
        /// The request after validation.
        request: CheckOutRequest,
    },
    /// Save a checkpoint (`/checkpoint`).
    Checkpoint {
        /// The request after validation.
        request: CheckpointRequest,
    },
    /// Restore a checkpoint (`/restore`).
    Restore {
        /// The request after validation.
        request: CheckpointRequest,
    },
    /// A debug operation without parameters.
    Debug {
        /// The operation to perform.
        op: DebugOp,
    },
    /// Force the resident down (`force-down`).
    ForceDown {
        /// Text for the reason.
        reason: Option<String>,
    },
    /// Backdate a thread's attach (`backdate-thread`).
    Backdate {
        /// The thread to backdate.
        thread_key: StrictThreadKey,
        /// By how many days.
        days: u32,
    },
    /// Purge a namespace's bindings (`purge-bindings`).
    Purge {
        /// The namespace to purge.
        prefix: KeyNamespace,
    },
    /// Perform a watchdog pass.
    Watchdog,
}

impl<'de> Deserialize<'de> for Call {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer, "call", Self::read)
    }
}

impl Call {
    /// Whether headers are sent at once, line feeds while the work runs, and then one document.
    pub const fn is_streamed(&self) -> bool {
        match self {
            Self::Attach { .. }
            | Self::Exec { .. }
            | Self::Push { .. }
            | Self::CheckOut { .. }
            | Self::Checkpoint { .. }
            | Self::Restore { .. } => true,
            Self::Op { request } => !matches!(request.op, OpName::Status),
            Self::Onboard { .. }
            | Self::Offboard { .. }
            | Self::Reconfigure { .. }
            | Self::Rebuild { .. }
            | Self::Info
            | Self::Activity
            | Self::Status
            | Self::Detach { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Debug { .. }
            | Self::ForceDown { .. }
            | Self::Backdate { .. }
            | Self::Purge { .. }
            | Self::Watchdog => false,
        }
    }

    fn read(tag: &str, mut fields: Fields) -> Result<Self, serde_json::Error> {
        Ok(match tag {
            "onboard" => Self::Onboard {
                record: fields.take("record")?,
            },
            "offboard" => Self::Offboard {
                record: fields.take("record")?,
                dry_run: fields.take("dryRun")?,
            },
            "reconfigure" => Self::Reconfigure {
                record: fields.take("record")?,
            },
            "rebuild" => Self::Rebuild {
                dry_run: fields.take("dryRun")?,
            },
            "info" => Self::Info,
            "activity" => Self::Activity,
            "status" => Self::Status,
            "attach" => Self::Attach {
                request: fields.take("request")?,
                stale_after_s: fields.take("staleAfterS")?,
            },
            "detach" => Self::Detach {
                request: fields.take("request")?,
            },
            "op" => Self::Op {
                request: fields.take("request")?,
            },
            "exec" => Self::Exec {
                request: fields.take("request")?,
            },
            "read" => Self::Read {
                request: fields.take("request")?,
            },
            "write" => Self::Write {
                request: fields.take("request")?,
            },
            "push" => Self::Push {
                request: fields.take("request")?,
            },
            "check-out" => Self::CheckOut {
                request: fields.take("request")?,
            },
            "checkpoint" => Self::Checkpoint {
                request: fields.take("request")?,
            },
            "restore" => Self::Restore {
                request: fields.take("request")?,
            },
            "debug" => Self::Debug {
                op: fields.take("op")?,
            },
            "force-down" => Self::ForceDown {
                reason: fields.take("reason")?,
            },
            "backdate" => Self::Backdate {
                thread_key: fields.take("threadKey")?,
                days: fields.take("days")?,
            },
            "purge" => Self::Purge {
                prefix: fields.take("prefix")?,
            },
            "watchdog" => Self::Watchdog,
            _ => return unknown_tag(tag),
        })
    }
}

/// A reply: the HTTP response's status and body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Status. A streamed route sends 200, and the body has the status.
    pub status: u16,
    /// The body as a document.
    pub body: Value,
}

impl Reply {
    /// Makes a reply with status 200.
    pub(crate) fn ok(body: &impl Serialize) -> Result<Self, Error> {
        Self::json(200, body)
    }

    /// Makes a reply with this status.
    pub(crate) fn json(status: u16, body: &impl Serialize) -> Result<Self, Error> {
        Self::of_document(status, value_of(body))
    }

    /// The part that is the same for all bodies, compiled once only.
    #[inline(never)]
    fn of_document(status: u16, body: Result<Value, serde_json::Error>) -> Result<Self, Error> {
        Ok(Self {
            status,
            body: body.map_err(Fault::from)?,
        })
    }

    /// Makes the reply for an error.
    pub fn rejected(error: Error) -> Self {
        let refusal = error.into_refusal();
        Self {
            status: refusal.status(),
            body: json!(refusal),
        }
    }
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Answers a call whose caller stays. An error is a reply too; a fault becomes status 500
    /// without internals.
    pub async fn answer(self: &Rc<Self>, call: Call) -> Reply {
        self.answer_while(call, pending()).await
    }

    /// Answers a call. `left` is ready once the caller has left, which ends a command; any other
    /// call runs to completion.
    pub async fn answer_while(
        self: &Rc<Self>,
        call: Call,
        left: impl Future<Output = ()> + 'static,
    ) -> Reply {
        if let Err(fault) = self.wake().await {
            return Reply::rejected(fault.into());
        }
        match call {
            Call::Attach {
                request,
                stale_after_s,
            } => match self.attach(&request, stale_after_s).await {
                Ok(answer) => streamed(&answer),
                Err(failed) => {
                    let refusal = self.explained(failed.error);
                    streamed(&attach_refusal(&refusal, &failed.trace))
                }
            },
            Call::Op { request } if request.op == OpName::Status => {
                let record = self.require_record();
                plain(record.and_then(|record| Ok(self.op_status(&record)?)))
            }
            Call::Op { request } => match self.op(&request).await {
                Ok(answer) => streamed(&answer),
                Err(failed) => {
                    let refusal = self.explained(failed.error);
                    streamed(&op_refusal(&refusal, &failed.trace))
                }
            },
            Call::Exec { request } => match self.exec(request, left.boxed_local().shared()).await {
                Ok(answer) => streamed(&answer),
                Err(error) => streamed(&exec_refusal(&error.into_refusal())),
            },
            Call::Push { request } => self.streamed(self.push(&request).await),
            Call::CheckOut { request } => self.streamed(self.check_out(&request).await),
            Call::Checkpoint { request } => self.streamed(self.checkpoint(&request).await),
            Call::Restore { request } => self.streamed(self.restore(&request).await),
            Call::Onboard { record } => {
                plain(self.onboard(&record).await.and_then(|_| self.status()))
            }
            Call::Offboard { record, dry_run } => {
                if dry_run {
                    plain(self.offboard_plan(&record).await)
                } else {
                    plain(self.offboard(&record).await)
                }
            }
            Call::Reconfigure { record } => {
                plain(self.reconfigure(&record).await.and_then(|_| self.status()))
            }
            Call::Rebuild { dry_run } => {
                let status = if dry_run { 200 } else { 202 };
                let plan = self.rebuild(dry_run).await;
                plan.and_then(|plan| Reply::json(status, &plan))
                    .unwrap_or_else(Reply::rejected)
            }
            Call::Info => plain(self.view()),
            Call::Activity => plain(self.activity().await),
            Call::Status => plain(self.status()),
            Call::Detach { request } => plain(self.detach(request).await),
            Call::Read { request } => plain(self.read(request).await),
            Call::Write { request } => plain(self.write(request).await),
            Call::Debug { op } => plain(self.debug(op).await),
            Call::ForceDown { reason } => plain(self.force_down(reason).await),
            Call::Backdate { thread_key, days } => plain(self.backdate(&thread_key, days)),
            Call::Purge { prefix } => plain(self.purge(&prefix).await),
            Call::Watchdog => plain(self.watchdog().await),
        }
    }

    fn streamed(&self, body: Result<impl Serialize, Error>) -> Reply {
        match body {
            Ok(body) => streamed(&body),
            Err(error) => streamed(&self.explained(error)),
        }
    }

    /// Returns an error's refusal. A busy mirror's refusal has the state, in which the mirror may
    /// be used for long.
    fn explained(&self, error: Error) -> Refusal {
        let refusal = error.into_refusal();
        match self.state() {
            Ok(state) if refusal.token() == Token::MirrorBusy => refusal.in_state(state),
            Ok(_) | Err(_) => refusal,
        }
    }
}

/// Makes a document from a value.
pub(super) fn document(value: &impl Serialize) -> Result<Value, Error> {
    Ok(value_of(value).map_err(Fault::from)?)
}

/// Makes the reply of a route that is not streamed.
fn plain(body: Result<impl Serialize, impl Into<Error>>) -> Reply {
    body.map_err(Into::into)
        .and_then(|body| Reply::ok(&body))
        .unwrap_or_else(Reply::rejected)
}

/// Makes the reply of a streamed route. The status of a rejection is in its body.
fn streamed(body: &impl Serialize) -> Reply {
    Reply::ok(body).unwrap_or_else(Reply::rejected)
}
