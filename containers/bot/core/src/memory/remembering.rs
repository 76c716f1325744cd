//! What one run has to do with memory: what it was told, and what it leaves (bot supplement section 12.1, stages 9, 13
//! and 18). A run that another process goes on with keeps what it was told, in its prompt, and its part in its state:
//! whoever ends the run reflects on it (section 14, "Resume").

use ars_agent::{Part, Turn};
use ars_auth::Actor;
use ars_bot_ports::IncomingMessage;
use ars_runs::RunRecord;
use ars_types::{ThreadKey, Visibility};
use ars_wire::memory::MemoryRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Place, Reflection, RunScopes, purse::OfRun};
use crate::{context::RunContext, history::COST, live::MEMORY, run::Assignment};

/// A run's part in memory; also as the run's state keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remembering {
    scopes: RunScopes,
    visibility: Visibility,
    thread: ThreadKey,
    recalled: Vec<MemoryRecord>,
    prior_turns: usize,
}

impl Remembering {
    /// What is remembered for a request: the run's part, and the block for its prompt. None where memory is off.
    pub(crate) async fn begin(
        context: &RunContext,
        message: &IncomingMessage,
        actor: &Actor,
        repository: Option<&str>,
        request: &str,
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
        let recalled = memory.recaller().recall(&scopes, request, &context.deps().redactor, now).await;
        let (block, recalled) = recalled.map(|recalled| (recalled.block, recalled.records)).unzip();
        let part = Self {
            scopes,
            visibility: message.visibility,
            thread: message.thread_key.clone(),
            recalled: recalled.unwrap_or_default(),
            prior_turns: 0,
        };
        Some((part, block))
    }

    /// So many turns were there before the request.
    pub(crate) fn after(self, prior_turns: usize) -> Self {
        Self { prior_turns, ..self }
    }

    /// As the run's state keeps it.
    pub(crate) fn to_state(&self) -> Option<Value> {
        // Texts and numbers always have a JSON form; were it ever not so, a resumed run would leave nothing.
        serde_json::to_value(self).ok()
    }

    /// What another process left of it; none where the run had no part, or of a version that kept it otherwise.
    pub(crate) fn of_state(state: &Map<String, Value>) -> Option<Self> {
        Self::deserialize(state.get(MEMORY)?).ok()
    }

    /// Reflects on the run that is over. Fails nothing. `tool_calls` are those that this process made.
    pub(crate) async fn reflect(
        &self,
        context: &RunContext,
        record: RunRecord,
        assignment: &Assignment,
        turns: &[Turn],
        tool_calls: u32,
    ) {
        let deps = context.deps();
        let Some(memory) = &deps.capabilities.memory else { return };
        let own = (&assignment.model.name, &assignment.model.client);
        let redactor = std::sync::Arc::clone(&deps.redactor);
        let Some(reflector) = memory.reflector(own, &*deps.models, &deps.settings, redactor) else { return };
        let reflection = Reflection {
            turns,
            prior_turns: self.prior_turns,
            tool_calls: tool_calls.max(calls_in(turns)),
            agent: assignment.agent,
            scopes: &self.scopes,
            visibility: self.visibility,
            recalled: &self.recalled,
            run: &record.id,
            thread: &self.thread,
        };
        let purse = OfRun::new(context, &record.id, record.extra.get(COST).and_then(Value::as_u64));
        let outcome = reflector.reflect(&reflection, &purse).await;
        tracing::debug!(run = %record.id, ?outcome, "reflected");
        let spent = purse.total();
        if spent > 0 {
            context.registry().reflected(&record.id, spent);
            context.history().add_reflection(record, spent).await;
        }
    }
}

/// Calls of tools in a conversation: also those of the processes before. What precedes a run are texts.
fn calls_in(turns: &[Turn]) -> u32 {
    let parts = turns.iter().flat_map(|turn| &turn.parts);
    let calls = parts.filter(|part| matches!(part, Part::ToolCall { .. })).count();
    u32::try_from(calls).unwrap_or(u32::MAX)
}
