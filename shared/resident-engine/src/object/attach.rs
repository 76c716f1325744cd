//! `/attach`: a thread gets a tree at its ref, a user, dependencies and a credential.

mod perform;

use std::rc::Rc;

use ars_resident::daemon::{Answer, StepInput};
use ars_resident::lifecycle::{Input, TreesState};
use ars_resident::names::{LockfileKey, RuntimeId, Sha};
use ars_resident::plan::{check, kill};
use ars_resident::pool::{Allocation, Holder, PoolUser};
use ars_resident::refusal::{Refusal, Token};
use ars_resident::registry::Record;
use ars_resident::thread::{
    Binding, TreeCheck, TreeDecision, decide_tree, expected_sha, resolve_ref,
};
use ars_resident::wire::{AttachRequest, AttachResponse, TraceStep};
use ars_resident::{disk::Arrival, lifecycle::REFRESH_INTERVAL_MS};
use ars_sql::Sql;
use ars_types::StrictRefName;

use super::deps::Installer;
use super::engine::Engine;
use super::ready::STREAMED_WAIT_MS;
use super::steps::{StepError, Steps};
use crate::{Error, Fault, Host, HostError, Minted, TokenUse};

/// Runs of an attach that its container interrupts.
const ATTEMPTS_MAX: u32 = 2;

/// A rejected attach, with the steps that ran.
pub(super) struct AttachError {
    pub error: Error,
    pub trace: Vec<TraceStep>,
}

impl<E: Into<Error>> From<E> for AttachError {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            trace: Vec::new(),
        }
    }
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Answers `/attach`.
    pub(super) async fn attach(
        self: &Rc<Self>,
        request: &AttachRequest,
        stale_after_s: Option<u32>,
    ) -> Result<AttachResponse, AttachError> {
        let started_at = self.host.now();
        let _turn = self.lock_thread(&request.thread_key).await;
        let _count = self.count(None);
        self.keep_alive().await;
        let mut attempt = 1;
        loop {
            let runtime = self.ready(STREAMED_WAIT_MS).await?;
            self.check_image(&runtime).await?;
            let mut steps = Steps::new(self);
            let result = self
                .attach_on(request, stale_after_s, started_at, &mut steps)
                .await;
            self.live.borrow_mut().admitted.remove(&request.thread_key);
            match result {
                Ok(answer) => {
                    self.feed(Input::Attached).await?;
                    self.measure_soon();
                    self.make_spare_soon();
                    return Ok(answer);
                }
                Err(Error::Refused(refusal))
                    if refusal.token() == Token::RuntimeReplaced && attempt < ATTEMPTS_MAX =>
                {
                    attempt += 1;
                }
                Err(error) => {
                    return Err(AttachError {
                        error,
                        trace: steps.trace,
                    });
                }
            }
        }
    }

    /// Replaces a container of an older image, unless something uses it.
    async fn check_image(self: &Rc<Self>, runtime: &RuntimeId) -> Result<(), Error> {
        if !self.knows_image(runtime) {
            // A new instance may meet the container of an older deployment. Without an answer the attach decides.
            drop(self.start_container().await);
        }
        // The caller itself counts as one.
        let is_idle = self.in_flight() <= 1 && self.live.borrow().running.is_none();
        if self.is_image_current(runtime)
            || !is_idle
            || self.trees_state().await != TreesState::Clean
        {
            return Ok(());
        }
        self.host.stop().await.map_err(Fault::from)?;
        self.feed(Input::Stopped).await?;
        let detail = "the container runs an older image and is being replaced; repeat the request";
        let refusal = Refusal::new(Token::ImageStale, detail);
        Err(refusal
            .in_state(ars_resident::lifecycle::StateWord::Restoring)
            .into())
    }

    async fn attach_on(
        self: &Rc<Self>,
        request: &AttachRequest,
        stale_after_s: Option<u32>,
        started_at: i64,
        steps: &mut Steps<'_, S, H>,
    ) -> Result<AttachResponse, Error> {
        let record = self.require_record()?;
        let bound = self.store.binding(&request.thread_key)?;
        let git_ref = resolve_ref(
            bound.as_ref(),
            request.ref_hint.as_ref(),
            &record.default_ref,
        )?;
        let preferred = self.spare_user(&git_ref);
        let holder = Holder::Thread(request.thread_key.clone());
        let Allocation { user, is_fresh } = self.allocate(&holder, preferred)?;
        // An override may only lower the limit.
        let stale_after_ms = stale_after_s.map_or(REFRESH_INTERVAL_MS, |floor| {
            (i64::from(floor) * 1_000).min(REFRESH_INTERVAL_MS)
        });
        let work = Attach {
            engine: self,
            request,
            record: &record,
            bound,
            git_ref,
            user,
            started_at,
            stale_after_ms,
        };
        let result = work.run(steps).await;
        if result.is_err() && is_fresh {
            // Nothing runs on as this user once another thread has it. A container that is gone has no processes.
            drop(Steps::new(self).run(kill(user), StepInput::None).await);
            self.give_back(&holder)?;
        }
        result
    }

    /// Allocates a user without an `await`.
    pub(super) fn allocate(
        &self,
        holder: &Holder,
        preferred: Option<PoolUser>,
    ) -> Result<Allocation, Error> {
        let mut pool = self.store.pool()?;
        let allocation = pool.allocate(holder, preferred)?;
        if allocation.is_fresh {
            self.store.save_pool(&pool)?;
        }
        Ok(allocation)
    }

    /// Returns a holder's user to the pool. A spare tree may have waited for a free one.
    pub(super) fn give_back(self: &Rc<Self>, holder: &Holder) -> Result<(), Fault> {
        self.release(holder)?;
        if self.live.borrow().spare.is_none() {
            self.make_spare_soon();
        }
        Ok(())
    }

    /// Returns a holder's user to the pool.
    pub(super) fn release(&self, holder: &Holder) -> Result<(), Fault> {
        let mut pool = self.store.pool()?;
        pool.release(holder);
        self.store.save_pool(&pool)
    }

    /// Returns the record, or rejects the call of a resident without one.
    pub(super) fn require_record(&self) -> Result<Record, Error> {
        let record = self.store.record()?;
        record.ok_or_else(|| {
            Refusal::new(Token::NotOnboarded, "this repository has no resident").into()
        })
    }
}

/// One attach.
struct Attach<'a, S, H> {
    engine: &'a Rc<Engine<S, H>>,
    request: &'a AttachRequest,
    record: &'a Record,
    bound: Option<Binding>,
    git_ref: StrictRefName,
    user: PoolUser,
    started_at: i64,
    /// Age of the last refresh from which the attach fetches.
    stale_after_ms: i64,
}

/// The commit of an attach and the dependencies at it.
struct Target {
    sha: Sha,
    key: Option<LockfileKey>,
    /// The lockfiles are not those of the checkout.
    is_diverged: bool,
}

impl<S: Sql + 'static, H: Host> Attach<'_, S, H> {
    async fn run(&self, steps: &mut Steps<'_, S, H>) -> Result<AttachResponse, Error> {
        let minted = self.mint().await;
        steps.tree_token = minted
            .as_ref()
            .ok()
            .and_then(|minted| Some(minted.as_ref()?.credential.clone()));
        steps.token = steps.tree_token.clone();
        let failed = |error: StepError| error.into_refusal(Token::AttachFailed);
        let mut target = self.target(steps, minted.is_err()).await?;
        let decision = self.decide(steps, &target.sha).await?;
        let arrival = match decision {
            TreeDecision::Reuse => Arrival::Reuse,
            TreeDecision::Create | TreeDecision::Replace { .. } if target.is_diverged => {
                Arrival::Diverged
            }
            TreeDecision::Create | TreeDecision::Replace { .. } => Arrival::Linked,
        };
        self.engine
            .make_room(&self.request.thread_key, self.record, arrival)
            .await?;
        if arrival == Arrival::Diverged {
            self.install(steps, &mut target).await.map_err(failed)?;
        }
        let deps = self
            .perform(steps, decision, &mut target)
            .await
            .map_err(failed)?;
        self.bind(steps, decision, &target, deps, minted)
    }

    /// Mints the token of a writable tree. Without one the attach continues.
    async fn mint(&self) -> Result<Option<Minted>, HostError> {
        if self.request.readonly {
            return Ok(None);
        }
        self.engine
            .host
            .mint(&self.record.resource, TokenUse::Tree, true)
            .await
    }

    /// Finds the commit, with a fetch if the mirror may lack it.
    async fn target(
        &self,
        steps: &mut Steps<'_, S, H>,
        is_mint_failed: bool,
    ) -> Result<Target, Error> {
        let failed = |error: StepError| error.into_refusal(Token::AttachFailed);
        let expected = expected_sha(
            self.request.sha.as_ref(),
            self.request.ref_hint.as_ref(),
            &self.git_ref,
        );
        let facts = self.engine.store.lifecycle()?.facts().cloned();
        let age = facts
            .as_ref()
            .map(|facts| self.engine.host.now() - facts.last_refresh_at);
        let mut tip = steps.tip(&self.git_ref).await.map_err(failed)?;
        let is_current = tip.is_some() && expected.is_none_or(|sha| Some(sha) == tip.as_ref());
        if !is_current || age.is_none_or(|age| age > self.stale_after_ms) {
            if steps.token.is_none() && !is_mint_failed {
                steps
                    .mint_token(&self.record.resource, TokenUse::Fetch, true)
                    .await;
            }
            // A fetch that fails does not block: the mirror may have the ref.
            let origin = self.engine.host.origin(&self.record.resource);
            match steps.fetch(&origin).await {
                Err(StepError::Replaced) => return Err(failed(StepError::Replaced).into()),
                Ok(()) | Err(_) => tip = steps.tip(&self.git_ref).await.map_err(failed)?,
            }
        }
        let Some(sha) = tip else {
            let detail = format!("the repository has no branch {}", self.git_ref);
            return Err(Refusal::new(Token::UnknownRef, &detail).into());
        };
        if self.record.command("install").is_none() {
            return Ok(Target {
                sha,
                key: None,
                is_diverged: false,
            });
        }
        let stamp = facts.map(|facts| facts.stamp);
        let key = match &stamp {
            Some(stamp) if stamp.sha == sha => Some(stamp.lockfile_hash.clone()),
            _ => steps.lockfile_key(&sha).await.map_err(failed)?,
        };
        let is_diverged = key.as_ref() != stamp.as_ref().map(|stamp| &stamp.lockfile_hash);
        Ok(Target {
            sha,
            key,
            is_diverged,
        })
    }

    /// Decides about the tree. Commands in a tree that is to be replaced end first.
    async fn decide(&self, steps: &mut Steps<'_, S, H>, tip: &Sha) -> Result<TreeDecision, Error> {
        let failed = |error: StepError| error.into_refusal(Token::AttachFailed);
        let tree = self.tree(steps, tip).await.map_err(failed)?;
        let decision = decide_tree(self.bound.as_ref(), tree, self.request.readonly);
        let in_flight = || self.engine.in_flight_of(&self.request.thread_key);
        let (TreeDecision::Replace { .. }, Some(bound), 1..) = (decision, &self.bound, in_flight())
        else {
            return Ok(decision);
        };
        self.engine.kill_and_wait(bound, self.user).await;
        if in_flight() > 0 {
            let detail = "busy after kill: operations of the thread are still in flight";
            return Err(Refusal::new(Token::AttachFailed, detail).into());
        }
        // They may have changed the tree since.
        let tree = self.tree(steps, tip).await.map_err(failed)?;
        Ok(decide_tree(
            self.bound.as_ref(),
            tree,
            self.request.readonly,
        ))
    }

    /// Observes the tree of a thread that has one.
    async fn tree(
        &self,
        steps: &mut Steps<'_, S, H>,
        tip: &Sha,
    ) -> Result<Option<TreeCheck>, StepError> {
        let Some(user) = self
            .bound
            .as_ref()
            .filter(|bound| !bound.is_evicted())
            .and_then(|bound| bound.user)
        else {
            return Ok(None);
        };
        let step = check(&self.request.thread_key, &self.git_ref, user, Some(tip));
        match steps.run(step, StepInput::None).await? {
            Answer::Tree { check } => Ok(check),
            _ => Ok(None),
        }
    }

    /// Makes the store have the dependencies. They may get a key of the commit's own.
    async fn install(
        &self,
        steps: &mut Steps<'_, S, H>,
        target: &mut Target,
    ) -> Result<(), StepError> {
        let (Some(key), Some(command)) = (&target.key, self.record.command("install")) else {
            return Ok(());
        };
        let installer = Installer::for_ref(self.record, &self.git_ref);
        target.key = Some(
            steps
                .materialise(key, &target.sha, command, installer)
                .await?,
        );
        Ok(())
    }
}
