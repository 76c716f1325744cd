//! Run outcomes per repository and agent, from the facts in their records.

use std::collections::BTreeMap;

use crate::{PostedReviewFact, PullRequestFact, PullRequestState};

/// A single run's facts.
#[derive(Debug, Clone, Default)]
pub struct OutcomeRun {
    /// The run's agent, if known.
    pub agent: Option<String>,
    /// The run's cost in millionths of a dollar, if known.
    pub cost: Option<u64>,
    /// The run's pull request, if any.
    pub pull_request: Option<PullRequestFact>,
    /// The review that the run posted.
    pub review: Option<PostedReviewFact>,
}

/// An agent's outcomes in a single repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Repository as `owner/name`.
    pub repo: String,
    /// Name of the agent.
    pub agent: String,
    /// Pull requests that the agent's runs opened.
    pub opened: u64,
    /// How many of them were merged.
    pub merged: u64,
    /// How many of them were closed without a merge.
    pub closed: u64,
    /// Mean time from the opening to the merge in milliseconds.
    pub merge_ms: Option<i64>,
    /// Mean cost of all runs on a merged pull request in millionths of a dollar, if each is known.
    pub merged_microusd: Option<u64>,
    /// Reviews that the agent's runs posted.
    pub reviews: u64,
    /// Findings that the agent's runs resolved.
    pub resolved: u64,
}

/// A pull request with all runs on it.
#[derive(Default)]
struct Pull {
    /// The fact from the run that opened it, with the run's agent.
    opened: Option<(PullRequestFact, String)>,
    /// The cost over all runs, `None` once any is unknown.
    cost: Option<u64>,
}

/// A merged pull request.
struct Merge {
    ms: i64,
    cost: Option<u64>,
}

/// Returns the outcomes for these runs, ordered by repository and agent.
///
/// A pull request counts for the agent that opened it, and only if its opening run is among the
/// runs.
pub fn outcomes(runs: impl IntoIterator<Item = OutcomeRun>) -> Vec<Outcomes> {
    let mut rows: BTreeMap<(String, String), Outcomes> = BTreeMap::new();
    let mut pulls: BTreeMap<(String, u64), Pull> = BTreeMap::new();
    for run in runs {
        let agent = run.agent.unwrap_or_else(|| "unknown".to_owned());
        if let Some(review) = run.review {
            let row = row(&mut rows, &review.repo, &agent);
            row.reviews += 1;
            row.resolved += review.resolved;
        }
        let Some(fact) = run.pull_request else {
            continue;
        };
        let pull = pulls
            .entry((fact.repo.clone(), fact.number))
            .or_insert_with(|| Pull {
                opened: None,
                cost: Some(0),
            });
        pull.cost = pull
            .cost
            .zip(run.cost)
            .map(|(sum, cost)| sum.saturating_add(cost));
        if fact.created {
            pull.opened = Some((fact, agent));
        }
    }
    let mut merges: BTreeMap<(String, String), Vec<Merge>> = BTreeMap::new();
    for Pull { opened, cost } in pulls.into_values() {
        let Some((fact, agent)) = opened else {
            continue;
        };
        let row = row(&mut rows, &fact.repo, &agent);
        row.opened += 1;
        match fact.state {
            PullRequestState::Open => {}
            PullRequestState::Closed => row.closed += 1,
            PullRequestState::Merged => {
                row.merged += 1;
                let ms = fact
                    .ended_at
                    .unwrap_or(fact.at)
                    .saturating_sub(fact.at)
                    .max(0);
                merges
                    .entry((fact.repo, agent))
                    .or_default()
                    .push(Merge { ms, cost });
            }
        }
    }
    for (key, merged) in merges {
        let Some(row) = rows.get_mut(&key) else {
            continue;
        };
        let count = merged.len() as u64;
        row.merge_ms = merged
            .iter()
            .map(|merge| merge.ms)
            .sum::<i64>()
            .checked_div(count.cast_signed());
        let costs: Option<Vec<u64>> = merged.iter().map(|merge| merge.cost).collect();
        row.merged_microusd = costs.and_then(|costs| costs.iter().sum::<u64>().checked_div(count));
    }
    rows.into_values().collect()
}

fn row<'a>(
    rows: &'a mut BTreeMap<(String, String), Outcomes>,
    repo: &str,
    agent: &str,
) -> &'a mut Outcomes {
    let key = (repo.to_owned(), agent.to_owned());
    let empty = || Outcomes {
        repo: repo.to_owned(),
        agent: agent.to_owned(),
        ..Outcomes::default()
    };
    rows.entry(key).or_insert_with(empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(
        number: u64,
        created: bool,
        state: PullRequestState,
        ended_at: Option<i64>,
    ) -> PullRequestFact {
        PullRequestFact {
            repo: "acme/app".into(),
            number,
            created,
            at: 1_000,
            state,
            ended_at,
        }
    }

    fn run(agent: &str, cost: Option<u64>, pull_request: PullRequestFact) -> OutcomeRun {
        OutcomeRun {
            agent: Some(agent.into()),
            cost,
            pull_request: Some(pull_request),
            review: None,
        }
    }

    fn review(resolved: u64) -> OutcomeRun {
        let review = PostedReviewFact {
            repo: "acme/app".into(),
            number: 1,
            at: 0,
            resolved,
        };
        OutcomeRun {
            agent: Some("review".into()),
            review: Some(review),
            ..OutcomeRun::default()
        }
    }

    #[test]
    fn totals_count_each_pull_request_once() {
        use PullRequestState::{Closed, Merged, Open};
        let found = outcomes([
            run("coding", Some(30), pull(1, false, Open, None)),
            run("coding", Some(10), pull(1, true, Merged, Some(5_000))),
            run("coding", Some(20), pull(2, true, Merged, Some(3_000))),
            run("coding", None, pull(3, true, Closed, Some(2_000))),
            run("coding", Some(1), pull(4, true, Open, None)),
            run("other", Some(1), pull(5, false, Open, None)),
            review(2),
            review(0),
            OutcomeRun::default(),
        ]);
        let coding = Outcomes {
            repo: "acme/app".into(),
            agent: "coding".into(),
            opened: 4,
            merged: 2,
            closed: 1,
            merge_ms: Some(3_000),
            merged_microusd: Some(30),
            ..Outcomes::default()
        };
        let reviews = Outcomes {
            reviews: 2,
            resolved: 2,
            agent: "review".into(),
            ..empty()
        };
        assert_eq!(found, [coding, reviews]);
    }

    fn empty() -> Outcomes {
        Outcomes {
            repo: "acme/app".into(),
            ..Outcomes::default()
        }
    }

    #[test]
    fn unknown_cost_makes_the_mean_unknown() {
        let merged = |number, cost| {
            run(
                "coding",
                cost,
                pull(number, true, PullRequestState::Merged, Some(1_001)),
            )
        };
        let found = outcomes([merged(1, Some(5)), merged(2, None)]);
        assert_eq!(
            (found[0].merged, found[0].merge_ms, found[0].merged_microusd),
            (2, Some(1), None)
        );
    }
}
