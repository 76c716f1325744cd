//! A single request's steps: their trace, their wait for the mirror lock, and their failures.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;

use ars_resident::daemon::{
    Answer, FailureKind, GitCredential, Job, StepFailure, StepInput, StepRequest,
};
use ars_resident::lifecycle::{Input, Step, failure_text};
use ars_resident::names::{LockfileKey, Resource, Sha};
use ars_resident::plan::{CycleContext, Operation, PlanStep, TAKE_SPARE, cycle_step};
use ars_resident::refusal::{Refusal, Token};
use ars_resident::thread::KILL_POLL_INTERVAL_MS;
use ars_resident::wire::TraceStep;
use ars_sql::Sql;
use ars_types::StrictRefName;
use futures::future::{Either, select};

use super::engine::Engine;
use crate::{Error, Host, HostError, TokenUse};

/// How long a request waits for the mirror lock, over all steps.
const LOCK_WAIT_MAX_MS: i64 = 60_000;
/// Time in which a request fetches.
const REQUEST_FETCH_TIMEOUT_MS: i64 = 60_000;
/// Time in which a request reads the mirror.
const READ_TIMEOUT_MS: i64 = 60_000;

/// A request step that failed.
#[derive(Debug)]
pub(super) enum StepError {
    /// The container was replaced.
    Replaced,
    /// The host did not perform the step.
    Host(String),
    /// The step itself failed.
    Step {
        /// Name of the step.
        step: String,
        /// Why the step failed.
        failure: Box<StepFailure>,
    },
}

/// Runs the steps of a single request.
pub(super) struct Steps<'a, S, H> {
    pub engine: &'a Rc<Engine<S, H>>,
    pub job: Job,
    pub trace: Vec<TraceStep>,
    /// Time that the steps waited for the lock.
    pub lock_wait_ms: i64,
    /// Code host token, offered to root's git on the network.
    pub token: Option<GitCredential>,
    /// Token that the thread's tree gets.
    pub tree_token: Option<GitCredential>,
}

impl<'a, S: Sql + 'static, H: Host> Steps<'a, S, H> {
    pub(super) fn new(engine: &'a Rc<Engine<S, H>>) -> Self {
        Self {
            engine,
            job: engine.job(),
            trace: Vec::new(),
            lock_wait_ms: 0,
            token: None,
            tree_token: None,
        }
    }

    /// Mints the token for the following git steps. Without a token they are anonymous, and the
    /// reason is returned.
    pub(super) async fn mint_token(
        &mut self,
        resource: &Resource,
        usage: TokenUse,
        may_be_cached: bool,
    ) -> Option<String> {
        let minted = self.engine.host.mint(resource, usage, may_be_cached).await;
        let reason = minted.as_ref().err().map(ToString::to_string);
        self.token = minted.ok().flatten().map(|minted| minted.credential);
        reason
    }

    /// Performs a single step.
    pub(super) async fn run(
        &mut self,
        step: PlanStep,
        input: StepInput,
    ) -> Result<Answer, StepError> {
        let name = step.name.clone();
        let lock_wait_ms = step
            .needs_lock
            .then(|| (LOCK_WAIT_MAX_MS - self.lock_wait_ms).max(0));
        let token = match &step.operation {
            Operation::Git {
                has_credential: true,
                ..
            } => self.token.as_ref(),
            Operation::WriteCredential { .. } => self.tree_token.as_ref(),
            _ => None,
        };
        let input = token.map_or(input, |token| StepInput::Credential(token.clone()));
        let request = StepRequest {
            job: self.job,
            step,
            input,
            lock_wait_ms,
        };
        let end = match self.engine.host.run(request, &|_| {}).await {
            Ok(end) => end,
            Err(HostError::Replaced) => return Err(StepError::Replaced),
            Err(HostError::Failed(text)) => return Err(StepError::Host(text)),
        };
        self.lock_wait_ms += end.lock_wait_ms;
        self.trace.push(TraceStep {
            step: name.clone(),
            ms: end.duration_ms,
        });
        if let Ok(Answer::Saved {
            checkpoint: Some(saved),
        }) = &end.result
            && saved.is_new
        {
            let fed = self.engine.feed(Input::CheckpointMade).await;
            fed.map_err(|fault| StepError::Host(fault.to_string()))?;
        }
        end.result.map_err(|failure| StepError::Step {
            step: name,
            failure: Box::new(failure),
        })
    }

    /// Performs a step without input, and cancels it once `left` is ready.
    ///
    /// Awaits the end nevertheless: until then the processes may use the tree, and the thread stays
    /// busy.
    pub(super) async fn run_while(
        &mut self,
        step: PlanStep,
        left: impl Future<Output = ()>,
    ) -> Result<Answer, StepError> {
        let (engine, job) = (self.engine, self.job);
        let has_left = Cell::new(false);
        let cancellation = async {
            left.await;
            has_left.set(true);
            // A cancellation that overtook the step, or that was lost, has no effect.
            loop {
                drop(engine.host.cancel(job).await);
                engine.host.sleep(KILL_POLL_INTERVAL_MS).await;
            }
        };
        match select(pin!(self.run(step, StepInput::None)), pin!(cancellation)).await {
            Either::Left((Err(_), _)) if has_left.get() => {
                Err(StepError::Host("the caller left".into()))
            }
            Either::Left((result, _)) => result,
            Either::Right((never, _)) => never,
        }
    }

    /// Returns a branch's commit in the mirror, or `None` if it has no such branch.
    pub(super) async fn tip(&mut self, git_ref: &StrictRefName) -> Result<Option<Sha>, StepError> {
        let context = CycleContext {
            git_ref: Some(git_ref),
            ..CycleContext::default()
        };
        match self.mirror(Step::RevParse, &context, READ_TIMEOUT_MS).await {
            Ok(Some(Answer::Command(end))) => Ok(Sha::parse(end.stdout.trim()).ok()),
            Ok(_) => Ok(None),
            Err(StepError::Step { failure, .. })
                if matches!(failure.kind, FailureKind::Exit | FailureKind::NotFound) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Fetches into the mirror.
    pub(super) async fn fetch(&mut self, origin: &str) -> Result<(), StepError> {
        let has_token = self.token.is_some();
        let context = CycleContext {
            origin,
            has_token,
            ..CycleContext::default()
        };
        self.mirror(Step::Fetch, &context, REQUEST_FETCH_TIMEOUT_MS)
            .await
            .map(drop)
    }

    /// Returns the lockfile key at a commit.
    pub(super) async fn lockfile_key(
        &mut self,
        sha: &Sha,
    ) -> Result<Option<LockfileKey>, StepError> {
        let known = self.engine.live.borrow().keys.get(sha).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let context = CycleContext {
            sha: Some(sha),
            ..CycleContext::default()
        };
        let Some(Answer::Listing { text }) = self
            .mirror(Step::LockfileKey, &context, READ_TIMEOUT_MS)
            .await?
        else {
            return Ok(None);
        };
        let key = LockfileKey::of_listing(&text);
        self.engine.remember_key(sha, &key);
        Ok(Some(key))
    }

    async fn mirror(
        &mut self,
        step: Step,
        context: &CycleContext<'_>,
        timeout_ms: i64,
    ) -> Result<Option<Answer>, StepError> {
        let mut last = None;
        for step in cycle_step(step, context, timeout_ms).unwrap_or_default() {
            last = Some(self.run(step, StepInput::None).await?);
        }
        Ok(last)
    }
}

impl StepError {
    /// Returns a request's rejection. A step that waited for the mirror too long is `mirror-busy`.
    pub(super) fn into_refusal(self, token: Token) -> Refusal {
        match self {
            Self::Replaced => Refusal::new(Token::RuntimeReplaced, "the container was replaced"),
            Self::Host(text) => Refusal::new(token, &text),
            Self::Step { failure, .. } if failure.kind == FailureKind::LockTimeout => Refusal::new(
                Token::MirrorBusy,
                "another operation uses the mirror; repeat the request",
            ),
            // The engine cancels steps in cycles, and for callers who left. Here the daemon ended
            // with the container.
            Self::Step { failure, .. } if failure.kind == FailureKind::Cancelled => {
                Refusal::new(Token::RuntimeReplaced, "the container ended")
            }
            Self::Step { step, failure } if failure.kind == FailureKind::Exhausted => {
                let text =
                    format!("the container is short of resources at {step}; repeat the request");
                Refusal::new(Token::NotServiceable, &text)
            }
            Self::Step { step, failure } => {
                let kind = failure.kind;
                let text = failure_text(&(*failure).into());
                let text = if kind == FailureKind::NoSpace {
                    format!("the disk is full; {text}")
                } else {
                    text
                };
                Refusal::new(token, &format!("at {step}: {text}"))
            }
        }
    }

    /// Returns whether the spare tree is not on the disk.
    pub(super) fn is_missing_spare(&self) -> bool {
        self.is_not_found() && matches!(self, Self::Step { step, .. } if step == TAKE_SPARE)
    }

    /// Returns whether a step failed because something is not on the disk.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Step { failure, .. } if failure.kind == FailureKind::NotFound)
    }

    /// Returns whether the container was short of file descriptors, processes or memory.
    pub(super) fn is_exhausted(&self) -> bool {
        matches!(self, Self::Step { failure, .. } if failure.kind == FailureKind::Exhausted)
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Replaced => "the container was replaced".to_owned(),
            Self::Host(text) => text.clone(),
            Self::Step { step, failure } => {
                format!("{step}: {}", failure_text(&(**failure).clone().into()))
            }
        }
    }

    /// Makes the error for a call on a thread's tree.
    pub(super) fn into_error(self, token: Token) -> Error {
        if self.is_not_found() && token != Token::ReadFailed {
            return Refusal::new(
                Token::WorktreeMissing,
                "the tree is not on the disk; attach the thread",
            )
            .into();
        }
        self.into_refusal(token).into()
    }
}
