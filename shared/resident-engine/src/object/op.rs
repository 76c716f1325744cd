//! `/op`: a command from the table in a separate checkout, or the stored facts.

use std::rc::Rc;

use ars_resident::daemon::{Answer, CommandEnd, StepInput};
use ars_resident::lifecycle::StateWord;
use ars_resident::names::{LockfileKey, Sha, TableCommand};
use ars_resident::output::streams;
use ars_resident::plan::{OP_TIMEOUT_MS, Operation, clean_home, kill, op};
use ars_resident::pool::{Holder, PoolUser};
use ars_resident::refusal::{Refusal, Token};
use ars_resident::registry::Record;
use ars_resident::thread::Deps;
use ars_resident::wire::{OpName, OpRequest, OpResponse, OpStatus, TraceStep};
use ars_sql::Sql;
use ars_types::StrictRefName;

use super::deps::Installer;
use super::engine::Engine;
use super::ready::STREAMED_WAIT_MS;
use super::steps::{StepError, Steps};
use crate::{Error, Fault, Host, TokenUse};

/// A rejected operation, with the steps that ran.
pub(super) struct OpError {
    pub error: Error,
    pub trace: Vec<TraceStep>,
}

impl<E: Into<Error>> From<E> for OpError {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            trace: Vec::new(),
        }
    }
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Answers `/op` with `test` or `build`. A failing command is a result.
    pub(super) async fn op(self: &Rc<Self>, request: &OpRequest) -> Result<OpResponse, OpError> {
        let started_at = self.host.now();
        let record = self.require_record()?;
        let command = request.op.resolve(&record)?.clone();
        let number = self.store.next_operation()?;
        let holder = Holder::Op(number);
        let user = self.allocate(&holder, None)?.user;
        let _count = self.count(None);
        self.keep_alive().await;
        let mut steps = Steps::new(self);
        let run = OpRun {
            engine: self,
            record: &record,
            command: &command,
            number,
            user,
        };
        let result = run.run(request, started_at, &mut steps).await;
        // Otherwise this instance's orphan, which the next instance clears.
        if self.clean_home(user).await {
            self.give_back(&holder).map_err(Error::from)?;
        }
        result.map_err(|error| OpError {
            error,
            trace: steps.trace,
        })
    }

    /// Replaces the home of a user that will be free. Returns whether nothing from the last holder
    /// is left.
    async fn clean_home(self: &Rc<Self>, user: PoolUser) -> bool {
        let cleaned = Steps::new(self)
            .run(clean_home(user), StepInput::None)
            .await;
        // A container that is gone has no homes.
        matches!(cleaned, Ok(_) | Err(StepError::Replaced))
    }

    /// Answers `/op` with `status`, from stored facts.
    pub(super) fn op_status(&self, record: &Record) -> Result<OpStatus, Fault> {
        let lifecycle = self.store.lifecycle()?;
        let (state, reason) = lifecycle.status();
        let facts = lifecycle.facts();
        let summary = match (&reason, facts) {
            (Some(reason), _) => format!("{}: {reason}", state.as_str()),
            (None, Some(facts)) => {
                let sha: String = facts.stamp.sha.as_str().chars().take(7).collect();
                format!("{} at {}@{sha}", state.as_str(), facts.stamp.git_ref)
            }
            (None, None) => state.as_str().to_owned(),
        };
        Ok(OpStatus {
            ok: state != StateWord::Down,
            op: OpName::Status,
            resource: record.resource.clone(),
            state,
            reason,
            git_ref: Some(record.default_ref.clone()),
            sha: facts.map(|facts| facts.stamp.sha.clone()),
            last_refresh_at: facts.map(|facts| facts.last_refresh_at),
            last_restore: lifecycle.last_restore(),
            summary,
        })
    }
}

/// A single operation's run.
struct OpRun<'a, S, H> {
    engine: &'a Rc<Engine<S, H>>,
    record: &'a Record,
    command: &'a TableCommand,
    number: u64,
    user: PoolUser,
}

impl<S: Sql + 'static, H: Host> OpRun<'_, S, H> {
    async fn run(
        &self,
        request: &OpRequest,
        started_at: i64,
        steps: &mut Steps<'_, S, H>,
    ) -> Result<OpResponse, Error> {
        self.engine.ready(STREAMED_WAIT_MS).await?;
        let git_ref = request
            .git_ref
            .clone()
            .unwrap_or_else(|| self.record.default_ref.clone());
        let sha = self.commit(&git_ref, steps).await?;
        let failed = |error: StepError| error.into_refusal(Token::OpFailed);
        let (key, is_diverged) = self.deps(&git_ref, &sha, steps).await?;
        let result = self.perform(&sha, key.as_ref(), steps).await;
        let (end, deps) = result.map_err(failed)?;
        let streams = streams(&end.captured(OP_TIMEOUT_MS), None);
        let ok = streams.exit_code == 0;
        let name = request.op.as_str();
        let summary = match ok {
            true => format!("{name} succeeded on {git_ref}"),
            false => format!(
                "{name} failed on {git_ref} with exit code {}",
                streams.exit_code
            ),
        };
        Ok(OpResponse {
            ok,
            op: request.op,
            resource: self.record.resource.clone(),
            git_ref,
            sha,
            summary,
            stdout: streams.stdout,
            stderr: streams.stderr,
            exit_code: streams.exit_code,
            truncated: streams.truncated,
            deps,
            reconciled: is_diverged,
            duration_ms: self.engine.host.now() - started_at,
            trace: steps.trace.clone(),
        })
    }

    async fn commit(
        &self,
        git_ref: &StrictRefName,
        steps: &mut Steps<'_, S, H>,
    ) -> Result<Sha, Error> {
        let failed = |error: StepError| error.into_refusal(Token::OpFailed);
        if let Some(sha) = steps.tip(git_ref).await.map_err(failed)? {
            return Ok(sha);
        }
        steps
            .mint_token(&self.record.resource, TokenUse::Fetch, true)
            .await;
        // Without an answer from the code host the branch stays unknown.
        drop(
            steps
                .fetch(&self.engine.host.origin(&self.record.resource))
                .await,
        );
        let detail = format!("the repository has no branch {git_ref}");
        let tip = steps.tip(git_ref).await.map_err(failed)?;
        tip.ok_or_else(|| Refusal::new(Token::UnknownRef, &detail).into())
    }

    /// Returns the commit's dependencies, installed if the store lacks them.
    async fn deps(
        &self,
        git_ref: &StrictRefName,
        sha: &Sha,
        steps: &mut Steps<'_, S, H>,
    ) -> Result<(Option<LockfileKey>, bool), Error> {
        let Some(command) = self.record.command("install") else {
            return Ok((None, false));
        };
        let failed = |error: StepError| error.into_refusal(Token::OpFailed);
        let stamp = self
            .engine
            .store
            .lifecycle()?
            .facts()
            .map(|facts| facts.stamp.clone());
        let key = match &stamp {
            Some(stamp) if stamp.sha == *sha => Some(stamp.lockfile_hash.clone()),
            _ => steps.lockfile_key(sha).await.map_err(failed)?,
        };
        let is_diverged = key.as_ref() != stamp.as_ref().map(|stamp| &stamp.lockfile_hash);
        let Some(key) = key else {
            return Ok((None, is_diverged));
        };
        // An existing store entry is used unchanged.
        let installer = Installer::for_ref(self.record, git_ref);
        let key = steps
            .materialise(&key, sha, command, installer)
            .await
            .map_err(failed)?;
        Ok((Some(key), is_diverged))
    }

    /// Performs the plan. The checkout is removed in any case.
    async fn perform(
        &self,
        sha: &Sha,
        key: Option<&LockfileKey>,
        steps: &mut Steps<'_, S, H>,
    ) -> Result<(CommandEnd, Deps), StepError> {
        let (mut end, mut deps, mut failed) = (None, Deps::None, None);
        for step in op(self.number, sha, self.user, self.command, key) {
            let is_cleanup = matches!(step.operation, Operation::DiscardTree { .. });
            let is_run = matches!(step.operation, Operation::TableCommand { .. });
            if failed.is_some() && !is_cleanup {
                continue;
            }
            if is_cleanup {
                // Processes that the command left would fill the folder again.
                drop(steps.run(kill(self.user), StepInput::None).await);
            }
            match steps.run(step, StepInput::None).await {
                Ok(Answer::Command(ended)) if is_run => end = Some(ended),
                Ok(Answer::Linked { deps: linked }) => deps = linked,
                Ok(_) => {}
                // A checkout that stays costs space only; its number is never used again.
                Err(_) if is_cleanup => {}
                Err(error) => failed = Some(error),
            }
        }
        match (failed, end) {
            (Some(error), _) => Err(error),
            (None, Some(end)) => Ok((end, deps)),
            (None, None) => Err(StepError::Host("the command has no result".to_owned())),
        }
    }
}
