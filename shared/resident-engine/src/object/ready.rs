//! Readiness: a tree is served only after its container's marker was compared with the facts.

use std::rc::Rc;

use ars_resident::daemon::{Answer, StepInput};
use ars_resident::lifecycle::{Admission, Input, Step, TreesState};
use ars_resident::names::RuntimeId;
use ars_resident::plan::{CycleContext, cycle_step};
use ars_resident::refusal::Refusal;
use ars_sql::Sql;

use super::engine::Engine;
use super::steps::Steps;
use crate::sync::within;
use crate::{Error, Fault, Host, HostError, Started};

/// How long a streamed request waits for a restore: the deadline.
pub(super) const STREAMED_WAIT_MS: i64 = 1_500_000;
/// How long a plain request waits for a restore, below the idle limit for connections.
pub(super) const PLAIN_WAIT_MS: i64 = 60_000;
/// Time in which the container is compared with the facts.
const PROBE_TIMEOUT_MS: i64 = 60_000;

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Waits until the tree may be served, and returns the container.
    pub(super) async fn ready(self: &Rc<Self>, wait_ms: i64) -> Result<RuntimeId, Error> {
        let deadline = self.host.now() + wait_ms;
        loop {
            let changed = self.changed.changed();
            let running = self.host.runtime().await;
            let lifecycle = self.store.lifecycle()?;
            match lifecycle.admission(running.as_ref()) {
                Admission::Serve => {
                    if let Some(runtime) = running {
                        return Ok(runtime);
                    }
                }
                Admission::Reject(refusal) => return Err(refusal.into()),
                Admission::Verify => self.probe().await?,
                Admission::Wait => {
                    let left = deadline - self.host.now();
                    if left <= 0 || within(&self.host, left, changed).await.is_none() {
                        let (state, reason) = lifecycle.status();
                        return Err(
                            Refusal::not_serviceable(state, &reason.unwrap_or_default()).into()
                        );
                    }
                }
            }
        }
    }

    /// Compares the container with the facts, once for all requests that wait for it.
    async fn probe(self: &Rc<Self>) -> Result<(), Error> {
        let _guard = self.probing.lock().await;
        let running = self.host.runtime().await;
        if self.store.lifecycle()?.admission(running.as_ref()) != Admission::Verify {
            return Ok(());
        }
        let Ok(Started { runtime, .. }) = self.start_container().await else {
            // A container that does not start has no disk, and the restore repeats the start.
            let lost = Input::Probed {
                runtime: None,
                ready: None,
                trees: TreesState::Clean,
            };
            return Ok(self.feed(lost).await.map(drop)?);
        };
        let mut steps = Steps::new(self);
        let plan = cycle_step(Step::Inspect, &CycleContext::default(), PROBE_TIMEOUT_MS)
            .unwrap_or_default();
        for step in plan {
            match steps.run(step, StepInput::None).await {
                Ok(Answer::Inspected(disk)) => {
                    let (ready, trees) = (disk.markers.ready, disk.trees);
                    self.feed(Input::Probed {
                        runtime: Some(runtime.clone()),
                        ready,
                        trees,
                    })
                    .await?;
                }
                Ok(_) => {}
                Err(error) => {
                    let (state, _) = self.store.lifecycle()?.status();
                    let detail = format!("the container could not be inspected: {}", error.text());
                    return Err(Refusal::not_serviceable(state, &detail).into());
                }
            }
        }
        Ok(())
    }

    /// Starts the container unless it runs, and remembers whether the image is current.
    pub(super) async fn start_container(&self) -> Result<Started, HostError> {
        let started = self.host.start().await?;
        self.live.borrow_mut().image = Some((started.runtime.clone(), started.is_image_current));
        Ok(started)
    }

    /// Returns whether the container was asked for the image.
    pub(super) fn knows_image(&self, runtime: &RuntimeId) -> bool {
        self.live
            .borrow()
            .image
            .as_ref()
            .is_some_and(|(known, _)| known == runtime)
    }

    /// Returns whether a container runs this deployment's image. An unknown container counts as
    /// current.
    pub(super) fn is_image_current(&self, runtime: &RuntimeId) -> bool {
        self.live
            .borrow()
            .image
            .as_ref()
            .is_none_or(|(known, is_current)| known != runtime || *is_current)
    }

    /// Returns the state's word.
    pub(super) fn state(&self) -> Result<ars_resident::lifecycle::StateWord, Fault> {
        Ok(self.store.lifecycle()?.status().0)
    }
}
