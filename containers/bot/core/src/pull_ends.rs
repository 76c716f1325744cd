//! The end of a pull request, as a fact of the record of the run that opened it.

use ars_bot_ports::StoreError;
use ars_codehost::webhook::EndedPullRequest;
use ars_runs::{PULL_REQUEST, PullRequestFact, PullRequestState, RunRecord, fact};
use ars_types::UnixMillis;

use crate::context::RunContext;

/// Records the end of a pull request. One that is not the run's has no effect.
pub(crate) async fn record(context: &RunContext, ended: &EndedPullRequest) -> Result<(), StoreError> {
    let now = context.clock().now();
    context.history().amend(&ended.run, |record| apply(record, ended, now)).await.map(drop)
}

fn apply(record: &mut RunRecord, ended: &EndedPullRequest, now: UnixMillis) {
    let Some(known) = fact::<PullRequestFact>(record.extra.get(PULL_REQUEST)) else { return };
    let is_same = known.repo == ended.repository.as_str() && known.number == ended.number && known.created;
    // A merge is final, and a repeated event keeps the first time.
    if !is_same || known.state == PullRequestState::Merged {
        return;
    }
    let state = if ended.is_merged { PullRequestState::Merged } else { PullRequestState::Closed };
    let changed = PullRequestFact { state, ended_at: Some(now), ..known };
    if let Ok(value) = serde_json::to_value(changed) {
        record.extra.insert(PULL_REQUEST.to_owned(), value);
    }
}
