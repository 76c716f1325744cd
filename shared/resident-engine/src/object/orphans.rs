//! Operations and attaches that an earlier instance did not end.
//!
//! Their processes may still run and their folders are on the disk, so both are removed before their users serve others.

use std::rc::Rc;

use ars_resident::daemon::StepInput;
use ars_resident::plan::{Operation, abandon};
use ars_resident::pool::{Holder, PoolUser};
use ars_sql::Sql;
use futures::FutureExt as _;

use super::engine::Engine;
use super::steps::{StepError, Steps};
use crate::{Fault, Host};

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Removes an earlier instance's work in the background, and returns the users to the pool.
    pub(super) fn clear_orphans(self: &Rc<Self>) -> Result<(), Fault> {
        let orphans = self.store.orphans()?;
        if orphans.is_empty() {
            return Ok(());
        }
        let engine = Rc::clone(self);
        let task = async move {
            for (user, holder) in orphans {
                // A storage that fails keeps the user until the next instance.
                drop(engine.clear_orphan(user, &holder).await);
            }
        };
        self.host.spawn(task.boxed_local());
        Ok(())
    }

    async fn clear_orphan(self: &Rc<Self>, user: PoolUser, holder: &Holder) -> Result<(), Fault> {
        let _turn = match holder {
            Holder::Thread(key) => Some(self.lock_thread(key).await),
            Holder::Op(_) => None,
        };
        // An attach in this instance may have bound the thread since.
        if !self
            .store
            .orphans()?
            .iter()
            .any(|(_, other)| other == holder)
        {
            return Ok(());
        }
        if self.host.runtime().await.is_some() {
            let mut steps = Steps::new(self);
            for step in abandon(user, holder) {
                let is_home = matches!(step.operation, Operation::CleanHome { .. });
                match steps.run(step, StepInput::None).await {
                    // A container that is gone has neither folders nor processes.
                    Err(StepError::Replaced) => break,
                    // The next holder would find the leftovers. The next instance tries again.
                    Err(_) if is_home => return Ok(()),
                    // A folder that stays costs space only.
                    Ok(_) | Err(_) => {}
                }
            }
        }
        self.release(holder)
    }
}
