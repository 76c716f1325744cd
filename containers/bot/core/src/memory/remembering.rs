//! A run's part in memory: the memory block, and the reflection.
//!
//! A resumed run has the block in the prompt, and the part in the run's state, so that any owner
//! can reflect on it.

use std::collections::BTreeSet;

use ars_agent::{Part, Turn};
use ars_auth::Actor;
use ars_bot_ports::IncomingMessage;
use ars_runs::RunRecord;
use ars_types::{ThreadKey, Visibility};
use ars_wire::memory::{MemoryRecord, Taint};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Place, Reflection, RunScopes, Successor,
    run_spend_guard::RunSpendGuard,
    taint::{self, KnownSources},
    thread_taint,
};
use crate::{context::RunContext, history::COST, run::Assignment};

/// A run's part in memory, as the run's state stores it too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remembering {
    scopes: RunScopes,
    visibility: Visibility,
    thread: ThreadKey,
    recalled: Vec<MemoryRecord>,
    prior_turns: usize,
    /// It works on a repository that the configuration does not name.
    #[serde(default)]
    has_foreign_repository: bool,
    /// The prompt contains a pull request under review, or text from the code host's event. A state
    /// from an earlier release does not know it.
    #[serde(default = "unknown")]
    has_host_text: bool,
    /// The thread's earlier runs may have left strangers' text. A state from an earlier release
    /// does not know it.
    #[serde(default = "unknown")]
    has_tainted_thread: bool,
}

const fn unknown() -> bool {
    true
}

/// An ended run's conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conversation<'a> {
    /// The turns, as last shown to the model.
    pub(crate) turns: &'a [Turn],
    /// Names of the called tools, including those that earlier processes called.
    pub(crate) tools: &'a BTreeSet<String>,
    /// Number of calls in this process.
    pub(crate) tool_calls: u32,
}

impl Remembering {
    /// Recalls for a request: returns the run's part and prompt block, or `None` where memory is
    /// off. `successor` is present if the run reads what the thread's earlier runs left.
    pub(crate) async fn begin(
        context: &RunContext,
        message: &IncomingMessage,
        actor: &Actor,
        repository: Option<&str>,
        request: &str,
        successor: Option<Successor<'_>>,
    ) -> Option<(Self, Option<String>)> {
        let memory = context.deps().capabilities.memory.as_ref()?;
        let place = Place {
            organization: memory.organization.as_deref(),
            repository,
            channel: &message.channel_id,
            visibility: message.visibility,
        };
        let scopes = RunScopes::permitted(&place, actor);
        let now = context.clock().now();
        let inherited = async {
            match successor {
                Some(successor) => thread_taint::is_inherited(context, successor).await,
                None => false,
            }
        };
        let recaller = memory.recaller();
        let (recalled, has_tainted_thread) = tokio::join!(
            recaller.recall(&scopes, request, &context.deps().redactor, now),
            inherited
        );
        let (block, recalled) = recalled
            .map(|recalled| (recalled.block, recalled.records))
            .unzip();
        let part = Self {
            scopes,
            visibility: message.visibility,
            thread: message.thread_key.clone(),
            recalled: recalled.unwrap_or_default(),
            prior_turns: 0,
            has_foreign_repository: repository.is_some_and(|name| !is_configured(context, name)),
            has_host_text: false,
            has_tainted_thread,
        };
        Some((part, block))
    }

    /// Sets the number of turns before the request.
    pub(crate) fn after(self, prior_turns: usize) -> Self {
        Self {
            prior_turns,
            ..self
        }
    }

    /// Sets whether the prompt contains code host text.
    pub(crate) fn with_host_text(self, has_host_text: bool) -> Self {
        Self {
            has_host_text,
            ..self
        }
    }

    /// Converts it to the run state's form.
    pub(crate) fn to_state(&self) -> Option<Value> {
        // Texts and numbers always serialize. If they did not, a resumed run would not reflect.
        serde_json::to_value(self).ok()
    }

    /// Reads the run's part from the stored state; `None` if absent, or in another version's form.
    pub(crate) fn of_state(memory: Option<&Value>) -> Option<Self> {
        Self::deserialize(memory?).ok()
    }

    /// Returns the untrusted sources that the run had read. The record keeps them for the thread's
    /// next run.
    pub(crate) fn taint(&self, tools: &BTreeSet<String>) -> Vec<Taint> {
        let known = KnownSources {
            has_foreign_repository: self.has_foreign_repository,
            recalled: &self.recalled,
            has_host_text: self.has_host_text,
            is_inherited: self.has_tainted_thread,
        };
        taint::of_run(tools, known)
    }

    /// Reflects on the ended run. Never fails.
    pub(crate) async fn reflect(
        &self,
        context: &RunContext,
        record: &RunRecord,
        assignment: &Assignment,
        conversation: Conversation<'_>,
    ) {
        let Conversation {
            turns,
            tools,
            tool_calls,
        } = conversation;
        let deps = context.deps();
        let Some(memory) = &deps.capabilities.memory else {
            return;
        };
        let own = (&assignment.model.name, &assignment.model.client);
        let redactor = std::sync::Arc::clone(&deps.redactor);
        let Some(reflector) = memory.reflector(own, &*deps.models, &deps.settings, redactor) else {
            return;
        };
        let taint = self.taint(tools);
        let user = deps.settings.people.main_account(&record.user_id);
        let scopes = self.scopes.written_as(user);
        let reflection = Reflection {
            taint: &taint,
            turns,
            prior_turns: self.prior_turns,
            tool_calls: tool_calls.max(calls_in(turns)),
            agent: assignment.agent,
            scopes: &scopes,
            visibility: self.visibility,
            recalled: &self.recalled,
            run: &record.id,
            thread: &self.thread,
        };
        let guard = RunSpendGuard::new(
            context,
            &record.id,
            record.extra.get(COST).and_then(Value::as_u64),
        );
        let outcome = reflector.reflect(&reflection, &guard).await;
        tracing::debug!(run = %record.id, ?outcome, "reflected");
        let spent = guard.total();
        if spent > 0 {
            context.registry().reflected(&record.id, spent);
            context.history().add_reflection(record, spent).await;
        }
    }
}

fn is_configured(context: &RunContext, repository: &str) -> bool {
    context
        .settings()
        .repositories
        .iter()
        .any(|known| known.name == repository)
}

/// Returns the number of tool calls in a conversation, including earlier processes' calls. Turns
/// before a run are texts.
fn calls_in(turns: &[Turn]) -> u32 {
    let parts = turns.iter().flat_map(|turn| &turn.parts);
    let calls = parts
        .filter(|part| matches!(part, Part::ToolCall { .. }))
        .count();
    u32::try_from(calls).unwrap_or(u32::MAX)
}
