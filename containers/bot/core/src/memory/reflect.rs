//! Reflection after a run: the records worth remembering (docs/reference/memory.md#in-a-run).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ars_agent::{ModelTurn, Role, Turn, Usage, context::estimate_text, money::Price};
use ars_bot_ports::{
    Memory, ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest, Written, metrics,
};
use ars_bot_tools::agents::AgentSpec;
use ars_events::Redactor;
use ars_memory::reflection::{Batch, Ended, Findings, MAX_SHOWN, Origin, place, request, system};
use ars_types::{ModelRef, RunId, StoreKey, ThreadKey, Visibility};
use ars_wire::memory::{MemoryRecord, Taint};
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::{RunScopes, SpendGuard, recall::cleaned, transcript};

/// The call's output limit in tokens.
const MAX_OUTPUT_TOKENS: u32 = 1024;
/// Timeout for the call, which delays a drain.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// Reflects on ended runs.
pub struct Reflector {
    /// Stores for every memory scope.
    pub store: Arc<dyn Memory>,
    /// The model that reflects.
    pub model: ModelRef,
    /// Client for that model.
    pub client: Arc<dyn ModelClient>,
    /// The model's price, if known.
    pub price: Option<Price>,
    /// Redacts the call and the response.
    pub redactor: Arc<Redactor>,
}

/// An ended run to reflect on.
#[derive(Debug, Clone, Copy)]
pub struct Reflection<'a> {
    /// The conversation, including the answer.
    pub turns: &'a [Turn],
    /// Number of turns before the request.
    pub prior_turns: usize,
    /// Number of tool calls.
    pub tool_calls: u32,
    /// The agent that ran.
    pub agent: &'a AgentSpec,
    /// Memory scopes of the run.
    pub scopes: &'a RunScopes,
    /// Who may see the run's channel.
    pub visibility: Visibility,
    /// The untrusted sources that it had read.
    pub taint: &'a [Taint],
    /// The memory block in the prompt.
    pub recalled: &'a [MemoryRecord],
    /// Id of the run.
    pub run: &'a RunId,
    /// Thread of the run.
    pub thread: &'a ThreadKey,
}

/// How a reflection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The run has no conversation or scope, or is not reflected on. No model was called.
    NotDue,
    /// The call could exceed the run's or the day's budget. No model was called.
    TooDear,
    /// The model call failed.
    NoAnswer,
    /// The model's answer could not be parsed.
    Unreadable,
    /// The findings, if any, are written.
    Kept(Kept),
}

/// Findings that were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// Totals from the stores that wrote them.
    pub written: Written,
    /// Scopes with a failed store.
    pub failed_scopes: usize,
}

impl Reflector {
    /// Makes at most one model call, then at most one write per scope; never fails. If the model
    /// has a price, `guard` authorizes the call's maximum cost first and records the actual cost.
    pub async fn reflect(&self, run: &Reflection<'_>, guard: &dyn SpendGuard) -> Outcome {
        let Reflection {
            prior_turns,
            tool_calls,
            agent,
            ..
        } = *run;
        let ended = Ended {
            tool_calls,
            prior_turns,
            is_review: agent.abilities.gives_verdict,
        };
        let is_empty = run.turns.is_empty() || run.scopes.view().keys().is_empty();
        if is_empty || !ended.is_worth_reflecting() {
            return Outcome::NotDue;
        }
        let shown = self.shown(run).await;
        let question = request(
            &shown,
            transcript::utterances(run.turns, run.recalled, &self.redactor),
            run.taint,
        );
        let most = self.price.map(|price| price.cost(most_usage(&question)));
        if let Some(most) = most
            && !guard.may_spend(most).await
        {
            tracing::info!(run = %run.run, model = %self.model, "no reflection: its cost exceeds the budget");
            return Outcome::TooDear;
        }
        let answer = match self.ask(question).await {
            Ok(turn) => {
                if let Some(price) = self.price {
                    guard.spent(price.cost(turn.usage));
                }
                turn.parts
                    .iter()
                    .filter_map(transcript::prose)
                    .collect::<String>()
            }
            Err(error) => {
                // A failed call's cost is unknown, so the maximum is recorded.
                guard.spent(most.unwrap_or_default());
                tracing::warn!(run = %run.run, model = %self.model, error = %error.kind, "no reflection: the model failed");
                return Outcome::NoAnswer;
            }
        };
        let clean = |text: &str| self.redactor.clean(text, usize::MAX);
        let Some(findings) = Findings::read(&answer, &shown, clean) else {
            tracing::info!(run = %run.run, model = %self.model, "no reflection: the model's answer could not be parsed");
            return Outcome::Unreadable;
        };
        let known: Vec<_> = shown.iter().chain(run.recalled).cloned().collect();
        let origin = Origin {
            scopes: run.scopes.view(),
            visibility: run.visibility,
            thread_key: run.thread.as_str(),
            run_id: run.run.as_str(),
            taint: run.taint,
        };
        if !run.taint.is_empty() {
            tracing::info!(run = %run.run, taint = ?run.taint, "findings are kept for the user only: untrusted sources were read");
        }
        let batches = place(findings.without_restated(&known), &shown, &origin);
        Outcome::Kept(self.write(run.run, &batches).await)
    }

    /// Returns the records in the model's prompt, per scope. Those that the run was shown precede
    /// the newest that match the request.
    async fn shown(&self, run: &Reflection<'_>) -> Vec<MemoryRecord> {
        let user_text =
            transcript::user_text(run.turns.get(run.prior_turns..).unwrap_or(run.turns));
        let request = self.redactor.clean(&user_text, usize::MAX);
        let keys = run.scopes.view().keys();
        let of_scope = |key| self.shown_of(key, &request, run);
        join_all(keys.iter().map(of_scope))
            .await
            .into_iter()
            .flatten()
            .collect()
    }

    async fn shown_of(
        &self,
        key: &StoreKey,
        request: &str,
        run: &Reflection<'_>,
    ) -> Vec<MemoryRecord> {
        let mut shown: Vec<_> = run
            .recalled
            .iter()
            .filter(|record| record.scope_key == *key)
            .cloned()
            .collect();
        let listed = self.store.list(key, Some(request), MAX_SHOWN as u32).await.unwrap_or_else(|error| {
            tracing::warn!(run = %run.run, error = %error, "memory not listed for the reflection");
            Vec::new()
        });
        for record in listed
            .into_iter()
            .filter_map(|record| cleaned(record, &self.redactor))
        {
            if !shown.iter().any(|known| known.id == record.id) {
                shown.push(record);
            }
        }
        shown.truncate(MAX_SHOWN);
        shown
    }

    /// Makes a single call. A busy model is not retried.
    async fn ask(&self, question: String) -> Result<ModelTurn, ModelError> {
        let turns = [Turn::text(Role::User, question)];
        let request = ModelRequest {
            model: self.model.model(),
            system: system(),
            tools: &[],
            may_call_tools: false,
            turns: &turns,
            max_tokens: MAX_OUTPUT_TOKENS,
            effort: None,
        };
        let cancel = CancellationToken::new();
        let once = |delta| match delta {
            ModelDelta::Retrying { .. } => cancel.cancel(),
            ModelDelta::Text(_) | ModelDelta::Usage(_) => {}
        };
        let began = Instant::now();
        let answer =
            tokio::time::timeout(CALL_LIMIT, self.client.turn(request, &once, &cancel)).await;
        let answer = answer.unwrap_or_else(|_elapsed| {
            Err(ModelError {
                kind: ModelErrorKind::Unreachable,
                message: "no answer in time".into(),
            })
        });
        let provider = self.model.provider();
        metrics::model_turn(
            provider,
            metrics::Outcome::from_result(&answer),
            began.elapsed(),
        );
        if let Ok(turn) = &answer {
            metrics::model_usage(
                provider,
                turn.usage,
                self.price.map(|price| price.cost(turn.usage)),
            );
        }
        answer
    }

    async fn write(&self, run: &RunId, batches: &[Batch]) -> Kept {
        let writes = batches
            .iter()
            .map(|batch| self.store.write(&batch.scope, &batch.candidates));
        let mut kept = Kept::default();
        for outcome in join_all(writes).await {
            match outcome {
                Ok(Written {
                    inserted,
                    deduped,
                    superseded,
                    evicted,
                }) => {
                    kept.written.inserted += inserted;
                    kept.written.deduped += deduped;
                    kept.written.superseded += superseded;
                    kept.written.evicted += evicted;
                }
                Err(error) => {
                    tracing::warn!(run = %run, error = %error, "memory not written");
                    kept.failed_scopes += 1;
                }
            }
        }
        let Written {
            inserted,
            deduped,
            superseded,
            ..
        } = kept.written;
        tracing::info!(run = %run, inserted, deduped, superseded, failed_scopes = kept.failed_scopes, "reflected on");
        kept
    }
}

/// Returns a call's maximum cost. Input is estimated like a run's.
fn most_usage(question: &str) -> Usage {
    let input_tokens = estimate_text(system()).saturating_add(estimate_text(question));
    Usage {
        input_tokens,
        output_tokens: MAX_OUTPUT_TOKENS.into(),
        ..Usage::default()
    }
}
