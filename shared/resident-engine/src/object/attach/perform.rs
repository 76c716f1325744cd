//! Performs an attach: runs the plan of its steps, and binds the thread to the tree.

use ars_resident::daemon::{Answer, StepInput};
use ars_resident::layout;
use ars_resident::plan::{AttachContext, Operation, attach};
use ars_resident::thread::{Binding, Deps, TreeDecision};
use ars_resident::wire::{AttachResponse, CredentialState};
use ars_sql::Sql;
use futures::FutureExt as _;

use super::{Attach, Target};
use crate::object::spare::Spare;
use crate::object::steps::{StepError, Steps};
use crate::store::StoredCredential;
use crate::{Error, Host, HostError, Minted};

impl<S: Sql + 'static, H: Host> Attach<'_, S, H> {
    /// Performs the plan, with the spare tree if there is one of the same content.
    pub(super) async fn perform(
        &self,
        steps: &mut Steps<'_, S, H>,
        decision: TreeDecision,
        target: &mut Target,
    ) -> Result<Deps, StepError> {
        let mut decision = decision;
        // Not while another one is made: that takes as long as a clone.
        if decision != TreeDecision::Reuse
            && let Some(_place) = self.engine.spare_place.lock().now_or_never()
            && let Some(spare) = self.take_spare(target)
        {
            match self.perform_plan(steps, decision, target, true).await {
                Ok(_) => return Ok(spare.deps),
                // The disk was lost or cleaned since.
                Err(error) if error.is_missing_spare() => {}
                Err(error) => return Err(error),
            }
            if let TreeDecision::Replace { needs_checkpoint } = &mut decision {
                // The plan saved and removed the tree before it moved the spare one.
                *needs_checkpoint = false;
            }
        }
        self.perform_plan(steps, decision, target, false).await
    }

    /// Takes the spare tree if it has the ref, the commit, the dependencies and the user of this attach.
    fn take_spare(&self, target: &Target) -> Option<Spare> {
        let is_same = |spare: &mut Spare| {
            spare.git_ref == self.git_ref
                && spare.sha == target.sha
                && spare.key == target.key
                && spare.user == self.user
        };
        self.engine.live.borrow_mut().spare.take_if(is_same)
    }

    /// Performs the plan. A failed checkpoint ends it before the tree is removed.
    async fn perform_plan(
        &self,
        steps: &mut Steps<'_, S, H>,
        decision: TreeDecision,
        target: &mut Target,
        takes_spare: bool,
    ) -> Result<Deps, StepError> {
        let origin = self.engine.host.origin(&self.record.resource);
        let plan = attach(&AttachContext {
            thread: &self.request.thread_key,
            git_ref: &self.git_ref,
            user: self.user,
            tree: decision,
            takes_spare,
            needs_fetch: false,
            has_token: steps.tree_token.is_some(),
            readonly: self.request.readonly,
            deps: target.key.as_ref(),
            origin: &origin,
        });
        let mut deps = Deps::None;
        for mut step in plan {
            let is_link = matches!(step.operation, Operation::LinkDeps { .. });
            let input = crate::object::evict::checkpoint_input(&step);
            let answer = match steps.run(step.clone(), input).await {
                // The store lost the entry, for example in a restore whose archive failed.
                Err(error) if is_link && error.is_not_found() => {
                    self.install(steps, target).await?;
                    if let (Operation::LinkDeps { key, .. }, Some(installed)) =
                        (&mut step.operation, &target.key)
                    {
                        key.clone_from(installed);
                    }
                    steps.run(step, StepInput::None).await?
                }
                result => result?,
            };
            match answer {
                Answer::Linked { deps: linked } => deps = linked,
                Answer::Saved {
                    checkpoint: Some(saved),
                } => {
                    let now = self.engine.host.now();
                    let stored =
                        self.engine
                            .store
                            .add_checkpoint(&self.request.thread_key, &saved, now);
                    stored.map_err(|fault| StepError::Host(fault.to_string()))?;
                }
                _ => {}
            }
        }
        Ok(deps)
    }

    /// Writes the binding and the answer.
    pub(super) fn bind(
        &self,
        steps: &Steps<'_, S, H>,
        decision: TreeDecision,
        target: &Target,
        deps: Deps,
        minted: Result<Option<Minted>, HostError>,
    ) -> Result<AttachResponse, Error> {
        let now = self.engine.host.now();
        let readonly = self.request.readonly;
        let (credentials, credentials_error, credential) = match minted {
            _ if readonly => (CredentialState::None, None, None),
            Ok(Some(minted)) => {
                let stored = StoredCredential {
                    written_at: now,
                    expires_at: minted.expires_at,
                };
                (CredentialState::Ok, None, Some(stored))
            }
            Ok(None) => {
                let text = "no credentials of a code host are configured".to_owned();
                (CredentialState::Unavailable, Some(text), None)
            }
            Err(error) => {
                let text =
                    ars_events::clean(&error.to_string(), crate::object::call::TEXT_MAX_CHARS);
                (CredentialState::Unavailable, Some(text), None)
            }
        };
        let binding = Binding {
            thread_key: self.request.thread_key.clone(),
            git_ref: self.git_ref.clone(),
            sha: target.sha.clone(),
            user: Some(self.user),
            deps: match (decision, &self.bound) {
                (TreeDecision::Reuse, Some(bound)) => bound.deps,
                _ => deps,
            },
            deps_key: target.key.clone(),
            readonly,
            bound_at: self.bound.as_ref().map_or(now, |bound| bound.bound_at),
            last_attach_at: now,
            evicted_at: None,
            evicted_why: None,
        };
        let attach_ms = now - self.started_at;
        let store = &self.engine.store;
        store.atomically(|| {
            store.save_binding(&binding, credential)?;
            store.add_attach(now, attach_ms)?;
            if store.sweep_at()?.is_none() {
                store.save_sweep_at(Some(now + ars_resident::thread::SWEEP_INTERVAL_MS))?;
            }
            Ok(())
        })?;
        Ok(AttachResponse {
            workspace: layout::tree(&self.request.thread_key, &self.git_ref),
            git_ref: self.git_ref.clone(),
            sha: target.sha.clone(),
            user: self.user,
            reconciled: target.is_diverged && decision != TreeDecision::Reuse,
            recreated: matches!(decision, TreeDecision::Replace { .. }),
            deps,
            credentials,
            credentials_error,
            readonly,
            mutex_wait_ms: steps.lock_wait_ms,
            attach_ms,
            trace: steps.trace.clone(),
        })
    }
}
