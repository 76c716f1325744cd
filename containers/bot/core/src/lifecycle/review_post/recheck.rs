//! Compares the head again behind the model's last answer, and has the same run review other changes.

use ars_agent::RunOutcome;
use ars_bot_ports::CodeHost;
use ars_codehost::{diff::Commit, review::Action};
use ars_types::{RunId, RunStatus};
use async_trait::async_trait;

use super::ReviewStage;
use crate::lifecycle::review_target::check_out;
use crate::{
    context::RunContext,
    run::{Recheck, ReviewTarget},
};

#[async_trait]
impl Recheck for ReviewStage<'_> {
    async fn recheck(&self, outcome: &RunOutcome) -> Option<String> {
        if outcome.answer.is_none() || outcome.status != RunStatus::Completed {
            return None;
        }
        self.active.bounded(self.end_of_review()).await.flatten()
    }

    async fn proceed(&self) -> bool {
        let next = match &self.lock().next {
            Some(Action::ReviewAgain { head }) => head.clone(),
            _ => return false,
        };
        let target = self.target().again(&next);
        let stored = serde_json::to_value(&target).ok();
        let Some(workspace) = self.prepared.workspace.as_deref() else {
            return false;
        };
        if !self.active.may_write(|state| state.review = stored).await {
            return false;
        }
        let stop = self.active.run.stops().hard;
        let attached = check_out(workspace, target.number, &next, &stop).await;
        if attached.ok().as_ref() != Some(&next) {
            return false;
        }
        self.slot.clear();
        let mut state = self.lock();
        state.target = target;
        state.next = None;
        true
    }
}

/// Returns whether a run ended. One that may be live in another process did not.
pub(super) async fn is_ended(context: &RunContext, run: &RunId) -> bool {
    if let Some(local) = context.registry().get(run) {
        return local.finished.is_some();
    }
    let Some(live) = context.live() else {
        return false;
    };
    let rows = live.rows(context.clock()).await;
    !rows.is_unavailable && rows.find(run).is_none()
}

/// Returns whether both heads have the same changes against the base; `None` if that is unknown.
pub(super) async fn has_same_changes(
    host: &dyn CodeHost,
    target: &ReviewTarget,
    read: &Commit,
    head: &Commit,
) -> Option<bool> {
    let changes = async |head: &Commit| {
        let compared = host
            .compare(&target.repository, &target.base, head.as_str())
            .await
            .ok()?;
        let is_whole = !compared.files.truncated
            && compared.files.files.iter().all(|file| file.patch.is_some());
        is_whole.then_some(compared.files.files)
    };
    Some(changes(read).await? == changes(head).await?)
}
