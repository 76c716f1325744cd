//! A pull request's end, recorded as a fact on the run that opened it.
//!
//! A webhook reports it. Without webhooks the host is asked about the pull requests without a known
//! end.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use ars_auth::{Actor, Viewer};
use ars_bot_ports::{CodeHost, StoreError, code_host::PullRequestFacts};
use ars_codehost::{parse_slug, review, webhook::EndedPullRequest};
use ars_runs::{PULL_REQUEST, PullRequestFact, PullRequestState, RunRecord, fact};
use ars_types::{RunId, UnixMillis};
use tokio_util::sync::CancellationToken;

use crate::{context::RunContext, queries::Queries, time};

/// Newest runs with followed pull requests.
const MAX_FOLLOWED_RUNS: usize = 5_000;
/// Pull requests that the host is asked about at a time.
const MAX_ASKED_PULL_REQUESTS: usize = 50;
/// Time for which the host is asked about a closed pull request, because a person may open it again.
const MAX_REOPENING_AGE_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Unreadable repositories after which a pass ends.
const MAX_FAILED_REPOSITORIES: usize = 3;
/// Interval at which the host is asked.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Records a pull request's end. It has no effect unless the pull request is the run's. An event
/// may be late, so the host's time counts; without a readable time it ended now.
pub(crate) async fn record(
    context: &RunContext,
    ended: &EndedPullRequest,
) -> Result<(), StoreError> {
    let at = ended
        .ended_at
        .as_deref()
        .and_then(time::parsed)
        .unwrap_or_else(|| context.clock().now());
    let end = End {
        repository: ended.repository.as_str(),
        number: ended.number,
        state: if ended.is_merged {
            PullRequestState::Merged
        } else {
            PullRequestState::Closed
        },
        at: Some(at),
    };
    context
        .history()
        .amend(&ended.run, |record| end.apply(record))
        .await
        .map(drop)
}

/// A pull request's end, or that it is open again.
struct End<'a> {
    repository: &'a str,
    number: u64,
    state: PullRequestState,
    at: Option<UnixMillis>,
}

impl End<'_> {
    fn apply(&self, record: &mut RunRecord) {
        let Some(known) = fact::<PullRequestFact>(record.extra.get(PULL_REQUEST)) else {
            return;
        };
        let is_same = known.repo == self.repository && known.number == self.number && known.created;
        // A merge is final, and a repeated event keeps the first time.
        if !is_same || known.state == PullRequestState::Merged {
            return;
        }
        let changed = PullRequestFact {
            state: self.state,
            ended_at: self.at,
            ..known
        };
        if let Ok(value) = serde_json::to_value(changed) {
            record.extra.insert(PULL_REQUEST.to_owned(), value);
        }
    }
}

/// Asks the host about runs' pull requests without a known end. Recently closed ones are included,
/// because a person may open them again.
pub struct PullRequestFollower {
    context: RunContext,
    host: Arc<dyn CodeHost>,
    /// Where the next request begins, so that every pull request gets a turn. Not a run: it may
    /// leave the list.
    next: usize,
}

impl PullRequestFollower {
    /// Returns a process's follower, or `None` without a code host or a run history.
    pub(crate) fn new(context: &RunContext) -> Option<Self> {
        let host = context.deps().capabilities.code_host.clone()?;
        context.store().keeps_records().then(|| Self {
            context: context.clone(),
            host,
            next: 0,
        })
    }

    /// Asks every hour until `end` fires.
    pub async fn run(mut self, end: CancellationToken) {
        loop {
            tokio::select! {
                () = end.cancelled() => return,
                () = self.ask() => {}
            }
            tokio::select! {
                () = end.cancelled() => return,
                () = tokio::time::sleep(FOLLOW_INTERVAL) => {}
            }
        }
    }

    /// Asks about some pull requests, and records how they ended.
    pub async fn ask(&mut self) {
        let open = match self.open().await {
            Ok(open) => open,
            Err(error) => {
                tracing::warn!(%error, "pull requests of runs not followed");
                return;
            }
        };
        // Begins behind the last, and goes round.
        let start = if self.next < open.len() { self.next } else { 0 };
        let turn = open
            .iter()
            .enumerate()
            .cycle()
            .skip(start)
            .take(open.len().min(MAX_ASKED_PULL_REQUESTS));
        let (mut failed, mut leaving) = (BTreeSet::new(), Vec::new());
        for (place, (run, known)) in turn {
            // The repository's next ones would fail as well. Those in others may not.
            if failed.len() >= MAX_FAILED_REPOSITORIES {
                return;
            }
            self.next = next_place(place, &leaving);
            if failed.contains(&known.repo) {
                continue;
            }
            let Some(repository) = parse_slug(&known.repo) else {
                continue;
            };
            let read = self.host.pull_request(&repository, known.number).await;
            if let Err(error) = &read {
                tracing::debug!(%error, %run, "pull request not read");
                if error.is_passing() {
                    failed.insert(known.repo.clone());
                }
            }
            let Some((state, at)) = read.ok().as_ref().and_then(state_of) else {
                continue;
            };
            if state == known.state {
                continue;
            }
            if state == PullRequestState::Merged {
                leaving.push(place);
                self.next = next_place(place, &leaving);
            }
            let end = End {
                repository: &known.repo,
                number: known.number,
                state,
                at,
            };
            let amended = self
                .context
                .history()
                .amend(run, |record| end.apply(record))
                .await;
            if let Err(error) = amended {
                tracing::warn!(%error, %run, "end of a pull request not recorded");
            }
        }
    }

    /// Returns the runs' pull requests that are open as far as is known, or were closed recently.
    async fn open(&self) -> Result<Vec<(RunId, PullRequestFact)>, StoreError> {
        let everyone = Viewer::new(Actor::cli_local());
        let queries = Queries::new(self.context.clone());
        let runs = queries
            .finished_facts(&everyone, None, MAX_FOLLOWED_RUNS)
            .await?;
        let now = self.context.clock().now();
        let open = |fact: &PullRequestFact| {
            let is_followed = match fact.state {
                PullRequestState::Open => true,
                PullRequestState::Closed => fact
                    .ended_at
                    .is_some_and(|at| now.saturating_sub(at) < MAX_REOPENING_AGE_MS),
                PullRequestState::Merged => false,
            };
            fact.created && is_followed
        };
        let pull_requests = runs.into_iter().filter_map(|run| {
            let fact = run.detail.pull_request.filter(|fact| open(fact))?;
            Some((run.summary.id, fact))
        });
        Ok(pull_requests.collect())
    }
}

/// Returns the place behind this place, in the list without those that leave it.
fn next_place(place: usize, leaving: &[usize]) -> usize {
    let before = leaving.iter().filter(|left| **left <= place).count();
    (place + 1).saturating_sub(before)
}

/// Returns a pull request's state, and when it ended, if it did.
fn state_of(facts: &PullRequestFacts) -> Option<(PullRequestState, Option<UnixMillis>)> {
    match facts.pull_request.state {
        review::PullRequestState::Open => Some((PullRequestState::Open, None)),
        review::PullRequestState::Closed => {
            Some((PullRequestState::Closed, Some(facts.closed_at?)))
        }
        review::PullRequestState::Merged => Some((
            PullRequestState::Merged,
            Some(facts.merged_at.or(facts.closed_at)?),
        )),
    }
}
