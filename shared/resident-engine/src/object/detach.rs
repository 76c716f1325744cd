//! `/detach`: removes a thread's tree unless that would lose work. `force` kills processes first.

use std::rc::Rc;

use ars_resident::daemon::StepInput;
use ars_resident::plan::kill;
use ars_resident::pool::PoolUser;
use ars_resident::refusal::{Refusal, Token};
use ars_resident::thread::{
    Binding, DetachDecision, DetachState, KILL_POLL_INTERVAL_MS, KILL_TIMEOUT_MS, decide_detach,
};
use ars_resident::wire::{DetachRequest, DetachResponse};
use ars_sql::Sql;
use futures::FutureExt as _;
use futures::channel::oneshot;

use super::engine::Engine;
use super::steps::Steps;
use crate::{Error, Fault, Host, HostError};

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Handles `/detach`. It ends although the caller leaves, which waits for a large tree only so
    /// long.
    pub(super) async fn detach(
        self: &Rc<Self>,
        request: DetachRequest,
    ) -> Result<DetachResponse, Error> {
        let (answer, answered) = oneshot::channel();
        let engine = Rc::clone(self);
        let task = async move {
            // The caller may have left.
            let _ = answer.send(engine.detach_now(&request).await);
        };
        self.host.spawn(task.boxed_local());
        answered
            .await
            .map_err(|oneshot::Canceled| Fault::Host(HostError::Replaced))?
    }

    async fn detach_now(self: &Rc<Self>, request: &DetachRequest) -> Result<DetachResponse, Error> {
        let _turn = self.lock_thread(&request.thread_key).await;
        let Some(binding) = self.store.binding(&request.thread_key)? else {
            return Err(Refusal::new(Token::NoBinding, "the thread was never attached").into());
        };
        let mut was_killed = false;
        loop {
            let tree = self.check_tree(&binding).await;
            let in_flight = self.in_flight_of(&request.thread_key);
            let state = DetachState {
                in_flight,
                tree: tree.check(),
                was_killed,
            };
            match decide_detach(&binding, state, request.force) {
                DetachDecision::Keep { reason } => {
                    return Ok(DetachResponse {
                        released: false,
                        reason: Some(reason),
                        user: binding.user,
                    });
                }
                DetachDecision::Kill(user) => {
                    self.kill_and_wait(&binding, user).await;
                    was_killed = true;
                }
                DetachDecision::Evict { .. } => {
                    let result = self.evict(&binding, tree, "detach").await;
                    self.measure_soon();
                    // The thread may have had the last user, or the spare tree's room.
                    self.make_spare_soon();
                    let reason = match result {
                        Ok(()) => None,
                        // Says nothing about the tree.
                        Err(error) if error.is_exhausted() => {
                            return Err(error.into_refusal(Token::NotServiceable).into());
                        }
                        Err(error) => {
                            let text =
                                ars_events::clean(&error.text(), super::call::TEXT_MAX_CHARS);
                            Some(format!(
                                "dirty: the tree could not be saved and removed: {text}"
                            ))
                        }
                    };
                    return Ok(DetachResponse {
                        released: reason.is_none(),
                        reason,
                        user: binding.user,
                    });
                }
            }
        }
    }

    /// Kills a thread's processes and waits until the operations ended.
    pub(super) async fn kill_and_wait(self: &Rc<Self>, binding: &Binding, user: PoolUser) {
        if self.host.runtime().await.is_some() {
            let mut steps = Steps::new(self);
            // Processes that survive keep their operations in flight, and the decision is made on these.
            drop(steps.run(kill(user), StepInput::None).await);
        }
        let deadline = self.host.now() + KILL_TIMEOUT_MS;
        while self.in_flight_of(&binding.thread_key) > 0 && self.host.now() < deadline {
            self.host.sleep(KILL_POLL_INTERVAL_MS).await;
        }
    }
}
