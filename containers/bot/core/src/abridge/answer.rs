//! Decides `review.abridge` calls and starts their jobs.

use std::sync::Arc;

use ars_bot_ports::CodeHost;
use ars_codehost::review::{
    AbridgeRefused, Abridgement, AbridgerParts, Decided, Provider, ReadingDiffSettings, ReviewRun,
    abridge,
};
use ars_runs::RunRecord;
use ars_types::{ModelRef, RepoSlug, RunId};
use tokio::sync::watch;

use super::{
    artifact::stored,
    job::{self, Work},
    target::{Target, target},
};
use crate::context::{Deps, JobState, RunContext};

/// A `review.abridge` call.
#[derive(Debug, Clone)]
pub(crate) struct AbridgeRequest {
    /// Overrides the configured model.
    pub(crate) model: Option<ModelRef>,
    /// A stored artifact is made anew.
    pub(crate) is_forced: bool,
    /// The answer waits for the job.
    pub(crate) waits: bool,
}

/// Why a call is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbridgeError {
    /// The run cannot be abridged.
    Refused(AbridgeRefused),
    /// The requester may not use the repository.
    Forbidden,
    /// No model is configured, or the provider is missing.
    NoModel,
    /// The installation has no code host.
    NoCodeHost,
}

/// Returns the model that abridges: the named, the configured, or the review model.
fn model_of(deps: &Deps, named: Option<&ModelRef>) -> Option<ModelRef> {
    let settings = &deps.settings;
    let configured = settings
        .reading_diff
        .model
        .as_deref()
        .and_then(|text| ModelRef::parse(text).ok());
    named
        .cloned()
        .or(configured)
        .or_else(|| settings.models.get(REVIEW).cloned())
        .or_else(|| settings.default_model.clone())
}

const REVIEW: &str = "review";

/// Returns the parts that abridging needs.
fn parts(deps: &Deps) -> AbridgerParts {
    AbridgerParts {
        // The abridger is a model call about the host's diff.
        has_abridger: deps.capabilities.code_host.is_some(),
        has_model_key: model_of(deps, None).is_some_and(|model| deps.models.client(&model).is_ok()),
        has_history: deps.store.keeps_records(),
    }
}

/// Returns whether the installation abridges on demand.
pub(crate) fn is_offered(deps: &Deps) -> bool {
    deps.settings.reading_diff.offers_abridging(parts(deps))
}

/// Returns whether reviews get a reading diff.
pub(crate) fn has_reading_diffs(settings: &ReadingDiffSettings) -> bool {
    settings.provider != Provider::Off
}

/// Answers a call about a stored record. Without a record the run has not ended.
pub(crate) async fn answer(
    context: &RunContext,
    record: &RunRecord,
    request: AbridgeRequest,
    may_use: impl FnOnce(&RepoSlug) -> bool,
) -> Result<Abridgement, AbridgeError> {
    let deps = context.deps();
    let host = deps
        .capabilities
        .code_host
        .clone()
        .ok_or(AbridgeError::NoCodeHost)?;
    let target = target(deps, &*host, record);
    let run = ReviewRun {
        is_review: is_review(record),
        is_finished: true,
        has_pull_request: target.is_some(),
    };
    let decided = {
        let mut jobs = context.abridge_jobs().lock();
        let decided = abridge(
            run,
            &jobs.job(&record.id),
            stored(&record.events),
            request.is_forced,
        );
        let decided = decided.map_err(AbridgeError::Refused)?;
        if let Some(target) = target.filter(|_| decided == Decided::Start) {
            if !may_use(&target.repository) {
                return Err(AbridgeError::Forbidden);
            }
            let work = work(deps, host, record, target, request.model.as_ref())?;
            spawn(context, jobs.start(&record.id, context.clock().now()), work);
        }
        decided
    };
    if let Decided::Reuse(artifact) = decided {
        return Ok(Abridgement::Done {
            reused: true,
            artifact,
        });
    }
    if request.waits {
        let finished = context.abridge_jobs().finished(&record.id);
        return Ok(finished.await);
    }
    Ok(context.abridge_jobs().state(&record.id))
}

/// Returns a run's job state.
pub(crate) fn state(context: &RunContext, id: &RunId) -> Abridgement {
    context.abridge_jobs().state(id)
}

/// Starts an ended review's job, if the configuration says so. Never delays or fails the run.
pub(crate) fn automatically(context: &RunContext, record: &RunRecord) {
    let deps = context.deps();
    if !is_review(record) || !deps.settings.reading_diff.is_automatic(parts(deps)) {
        return;
    }
    let Some(host) = deps.capabilities.code_host.clone() else {
        return;
    };
    let Some(target) = target(deps, &*host, record) else {
        return;
    };
    match work(deps, host, record, target, None) {
        Ok(work) => {
            let end = context
                .abridge_jobs()
                .lock()
                .start(&record.id, context.clock().now());
            spawn(context, end, work);
        }
        Err(error) => tracing::warn!(run = %record.id, ?error, "a review is not abridged"),
    }
}

/// Runs a job, which a drain awaits.
fn spawn(context: &RunContext, end: watch::Sender<JobState>, work: Work) {
    let (context, in_flight) = (context.clone(), context.enter());
    tokio::spawn(async move {
        let state = match job::run(&context, &work).await {
            Ok(artifact) => JobState::Done { artifact },
            Err(reason) => {
                tracing::warn!(run = %work.run, reason, "a review was not abridged");
                JobState::Failed {
                    reason,
                    at: context.clock().now(),
                }
            }
        };
        end.send_replace(state);
        drop(in_flight);
    });
}

fn work(
    deps: &Deps,
    host: Arc<dyn CodeHost>,
    record: &RunRecord,
    target: Target,
    named: Option<&ModelRef>,
) -> Result<Work, AbridgeError> {
    let model = model_of(deps, named).ok_or(AbridgeError::NoModel)?;
    let client = deps
        .models
        .client(&model)
        .map_err(|_| AbridgeError::NoModel)?;
    Ok(Work {
        run: record.id.clone(),
        host,
        target,
        model,
        client,
    })
}

fn is_review(record: &RunRecord) -> bool {
    let agent = record
        .agent
        .as_deref()
        .and_then(ars_bot_tools::agents::find);
    agent.is_some_and(|agent| agent.abilities.gives_verdict)
}
