//! A cycle step: plan, run in the container, and result.

use std::rc::Rc;

use ars_resident::daemon::{Answer, Job, Materialised, StepInput, StepRequest, Transfer};
use ars_resident::lifecycle::{CycleKind, Failure, Input, Output, Resident, Step};
use ars_resident::names::{LockfileKey, RuntimeId, Sha};
use ars_resident::plan::{CycleContext, Operation, PlanStep, adopt_deps, cycle_step};
use ars_resident::registry::Record;
use ars_resident::snapshot::Stamp;
use ars_sql::Sql;
use ars_types::StrictRefName;
use futures::FutureExt as _;

use super::engine::Engine;
use crate::{Fault, Host, HostError, TokenUse};

/// Waits before repeating a transfer that failed.
const TRANSFER_WAITS_MS: [i64; 2] = [1_000, 5_000];

/// Why a cycle step has no output.
enum StepError {
    /// The step failed, which the lifecycle handles by kind.
    Failed(Failure),
    /// The engine itself failed.
    Fault(Fault),
}

impl StepError {
    fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Fault(fault) => failure(&fault.to_string()),
        }
    }
}

impl From<Failure> for StepError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl<E: Into<Fault>> From<E> for StepError {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Runs a cycle step and reports when it ends.
    pub(super) async fn run_cycle_step(self: &Rc<Self>, attempt: u64, step: Step, budget_ms: i64) {
        let result = self
            .cycle_step(attempt, step, budget_ms)
            .await
            .map_err(StepError::into_failure);
        {
            let mut live = self.live.borrow_mut();
            live.running = live.running.filter(|running| *running != attempt);
        }
        // A report that cannot be stored is lost, and the step's lease expires.
        let _ = self.feed(Input::StepEnded { attempt, result }).await;
    }

    async fn cycle_step(
        self: &Rc<Self>,
        attempt: u64,
        step: Step,
        budget_ms: i64,
    ) -> Result<Output, StepError> {
        let lifecycle = self.store.lifecycle()?;
        let Some(record) = self.store.record()? else {
            return Err(failure("the record is missing").into());
        };
        if step == Step::Mint {
            return Ok(self.mint_for_cycle(&record).await?);
        }
        let runtime = self.container_for(step).await?;
        let run = CycleRun {
            engine: self,
            attempt,
            lifecycle: &lifecycle,
            record: &record,
            budget_ms,
        };
        run.step(step, &runtime).await
    }

    async fn mint_for_cycle(&self, record: &Record) -> Result<Output, Failure> {
        self.live.borrow_mut().token = None;
        match self
            .host
            .mint(&record.resource, TokenUse::Fetch, true)
            .await
        {
            Ok(minted) => {
                self.live.borrow_mut().token = minted.map(|minted| minted.credential);
                Ok(Output::Done)
            }
            Err(error) => Err(failure(&error.to_string())),
        }
    }

    /// Starts the container. A later step in a cycle that meets another container was interrupted.
    async fn container_for(&self, step: Step) -> Result<RuntimeId, StepError> {
        let Ok(started) = self.start_container().await else {
            return Err(replaced().into());
        };
        let runtime = started.runtime;
        if matches!(step, Step::Inspect | Step::AwaitRestores) {
            self.store.save_cycle_runtime(runtime.as_str())?;
            return Ok(runtime);
        }
        let is_same = self
            .store
            .cycle_runtime()?
            .is_some_and(|first| first == runtime.as_str());
        if is_same {
            Ok(runtime)
        } else {
            Err(replaced().into())
        }
    }
}

/// A single run of a step.
struct CycleRun<'a, S, H> {
    engine: &'a Rc<Engine<S, H>>,
    attempt: u64,
    lifecycle: &'a Resident,
    record: &'a Record,
    budget_ms: i64,
}

impl<S: Sql + 'static, H: Host> CycleRun<'_, S, H> {
    async fn step(&self, step: Step, runtime: &RuntimeId) -> Result<Output, StepError> {
        if step == Step::DetectDefaultBranch {
            return self.detect_branch().await;
        }
        if step == Step::AdoptDeps {
            return self.adopt_deps().await;
        }
        let answers = self.plan(step, None, None).await?;
        self.output(step, answers, runtime).await
    }

    /// Runs a step's commands. The last answers come from the last commands.
    async fn plan(
        &self,
        step: Step,
        git_ref: Option<&StrictRefName>,
        sha: Option<&Sha>,
    ) -> Result<Vec<Answer>, StepError> {
        let cycle = self.lifecycle.cycle();
        let (stamp, key) = (self.stamp(), self.key());
        let facts = self.lifecycle.facts();
        let origin = self.engine.host.origin(&self.record.resource);
        let context = CycleContext {
            origin: &origin,
            has_token: self.engine.live.borrow().token.is_some(),
            git_ref: git_ref
                .or_else(|| cycle.and_then(|cycle| cycle.git_ref()))
                .or(stamp.map(|stamp| &stamp.git_ref)),
            sha: sha.or_else(|| cycle.and_then(|cycle| cycle.sha())),
            key,
            snapshot: self.lifecycle.snapshot(),
            install: self.record.command("install"),
            build: self.record.command("build"),
            keeps_deps: key.is_some() && key == facts.map(|facts| &facts.stamp.lockfile_hash),
        };
        let Some(steps) = cycle_step(step, &context, self.budget_ms) else {
            return Err(failure("an earlier step found no value").into());
        };
        let mut answers = Vec::with_capacity(steps.len());
        for step in steps {
            answers.push(self.run(step).await?);
        }
        Ok(answers)
    }

    /// Returns the stamp of the snapshot that the cycle restores.
    fn stamp(&self) -> Option<&Stamp> {
        let cycle = self
            .lifecycle
            .cycle()
            .filter(|cycle| cycle.kind() == CycleKind::Restore);
        cycle
            .and(self.lifecycle.snapshot())
            .map(|snapshot| &snapshot.stamp)
    }

    /// Returns the lockfile key, if known.
    fn key(&self) -> Option<&LockfileKey> {
        let found = self
            .lifecycle
            .cycle()
            .and_then(|cycle| cycle.lockfile_key());
        found.or(self.stamp().map(|stamp| &stamp.lockfile_hash))
    }

    /// Uses the store entry, else the archive. Without both it is installed when it is needed.
    async fn adopt_deps(&self) -> Result<Output, StepError> {
        let answers = self.plan(Step::AdoptDeps, None, None).await?;
        let is_missing = matches!(
            answers.last(),
            Some(Answer::Materialised {
                from: Materialised::Missing
            })
        );
        let Some(key) = self.key().filter(|_| is_missing) else {
            return Ok(Output::Done);
        };
        let Some(backup) = self.engine.store.deps_archive(key)? else {
            return Ok(Output::Done);
        };
        self.run(adopt_deps(key, Some(backup))).await?;
        Ok(Output::Done)
    }

    /// Runs a command. A transfer that fails is repeated, because object storage fails for moments.
    async fn run(&self, step: PlanStep) -> Result<Answer, StepError> {
        let is_transfer = matches!(
            step.operation,
            Operation::Archive { .. }
                | Operation::Extract { .. }
                | Operation::AdoptDeps {
                    backup: Some(_),
                    ..
                }
        );
        let waits = if is_transfer {
            &TRANSFER_WAITS_MS[..]
        } else {
            &[]
        };
        for wait in waits {
            match self.run_once(step.clone()).await {
                Err(StepError::Failed(failure))
                    if !failure.runtime_replaced && !failure.timed_out =>
                {
                    self.engine.host.sleep(*wait).await;
                }
                ended => return ended,
            }
        }
        self.run_once(step).await
    }

    async fn run_once(&self, step: PlanStep) -> Result<Answer, StepError> {
        let input = self.input(&step)?;
        let request = StepRequest {
            job: Job::Cycle {
                attempt: self.attempt,
            },
            step,
            input,
            lock_wait_ms: None,
        };
        let progress = |bytes| self.report(bytes);
        match self.engine.host.run(request, &progress).await {
            Ok(end) => {
                let answer = end.for_cycle()?;
                if let Answer::Archived { backup, sha256, .. } = &answer {
                    self.engine.store.add_backup(backup, sha256)?;
                }
                Ok(answer)
            }
            Err(HostError::Replaced) => Err(replaced().into()),
            Err(HostError::Failed(text)) => Err(failure(&text).into()),
        }
    }

    fn input(&self, step: &PlanStep) -> Result<StepInput, Fault> {
        Ok(match &step.operation {
            Operation::Git {
                has_credential: true,
                ..
            } => {
                let token = self.engine.live.borrow().token.clone();
                token.map_or(StepInput::None, StepInput::Credential)
            }
            Operation::Archive { .. } => {
                let backup = self.engine.host.new_backup();
                // Known before the bytes move, so that an upload without a response can be deleted.
                self.engine.store.begin_backup(&backup)?;
                StepInput::Upload {
                    backup,
                    to: Transfer::Engine,
                }
            }
            Operation::Extract { backup, .. }
            | Operation::AdoptDeps {
                backup: Some(backup),
                ..
            } => {
                let sha256 = self.engine.store.backup_digest(backup)?;
                StepInput::Download {
                    from: Transfer::Engine,
                    sha256,
                }
            }
            _ => StepInput::None,
        })
    }

    /// Reports arriving bytes, which the stalled-restore deadline needs.
    fn report(&self, bytes: u64) {
        if std::mem::replace(&mut self.engine.live.borrow_mut().bytes, bytes) == bytes {
            return;
        }
        let (engine, attempt) = (Rc::clone(self.engine), self.attempt);
        let report = async move { drop(engine.feed(Input::Progress { attempt, bytes }).await) };
        self.engine.host.spawn(report.boxed_local());
    }

    /// Returns the configured branch if the mirror has it, else the code host's branch.
    async fn detect_branch(&self) -> Result<Output, StepError> {
        let configured = &self.record.default_ref;
        match self.plan(Step::RevParse, Some(configured), None).await {
            Ok(_) => return Ok(Output::Branch(configured.clone())),
            Err(StepError::Failed(_)) => {}
            Err(fault @ StepError::Fault(_)) => return Err(fault),
        }
        let answers = self.plan(Step::DetectDefaultBranch, None, None).await?;
        let Some(name) = text(&answers).and_then(|name| StrictRefName::parse(name).ok()) else {
            return Err(failure("the repository has no default branch").into());
        };
        // Later cycles follow the branch that was found.
        let record = Record {
            default_ref: name.clone(),
            ..self.record.clone()
        };
        self.engine.reconfigure(&record).await?;
        Ok(Output::Branch(name))
    }

    async fn output(
        &self,
        step: Step,
        answers: Vec<Answer>,
        runtime: &RuntimeId,
    ) -> Result<Output, StepError> {
        Ok(match step {
            Step::Inspect => self.inspected(answers, runtime)?,
            Step::RevParse => Output::Commit(commit(&answers)?),
            Step::LockfileKey => Output::Key(listing(&answers)?),
            Step::Verify => {
                let sha = commit(&answers)?;
                let answers = self.plan(Step::LockfileKey, None, Some(&sha)).await?;
                let key = listing(&answers)?;
                Output::Verified { sha, key }
            }
            Step::Snapshot => {
                let mut backups = answers.into_iter().filter_map(|answer| match answer {
                    Answer::Archived { backup, .. } => Some(backup),
                    _ => None,
                });
                match (backups.next(), backups.next()) {
                    (Some(mirror), Some(checkout)) => Output::Uploaded { mirror, checkout },
                    _ => return Err(failure("the archives were not stored").into()),
                }
            }
            Step::Install => {
                if let Some(key) = self.key() {
                    self.engine.note_installed(key, answers.last())?;
                }
                Output::Done
            }
            Step::Mark => match answers.into_iter().next_back() {
                Some(Answer::Marked { runtime }) => Output::Marked { runtime },
                _ => return Err(failure("the markers were not written").into()),
            },
            _ => Output::Done,
        })
    }

    fn inspected(&self, answers: Vec<Answer>, runtime: &RuntimeId) -> Result<Output, StepError> {
        let Some(Answer::Inspected(disk)) = answers.into_iter().next_back() else {
            return Err(failure("the container could not be inspected").into());
        };
        let last = self
            .engine
            .store
            .bindings()?
            .first()
            .map(|binding| binding.last_attach_at);
        let is_current = self.engine.is_image_current(runtime);
        let saved = self.engine.store.last_checkpoint_at()?;
        let inspection = disk.inspection(is_current, self.engine.in_flight(), last, saved);
        Ok(Output::Inspected(Box::new(inspection)))
    }
}

fn replaced() -> Failure {
    Failure {
        runtime_replaced: true,
        ..Failure::default()
    }
}

fn failure(text: &str) -> Failure {
    Failure {
        stderr: text.to_owned(),
        ..Failure::default()
    }
}

fn text(answers: &[Answer]) -> Option<&str> {
    match answers.last() {
        Some(Answer::Command(end)) => Some(end.stdout.trim()),
        _ => None,
    }
}

fn commit(answers: &[Answer]) -> Result<Sha, Failure> {
    text(answers)
        .and_then(|sha| Sha::parse(sha).ok())
        .ok_or_else(|| failure("git named no commit"))
}

fn listing(answers: &[Answer]) -> Result<LockfileKey, Failure> {
    match answers.last() {
        Some(Answer::Listing { text }) => Ok(LockfileKey::of_listing(text)),
        _ => Err(failure("the lockfiles could not be listed")),
    }
}
