//! Review claims: when several runs reviewed a head, only the claim's owner posts.
//!
//! The host lists a review only a moment after submission, so two runs could both find none. A
//! claim is stored by compare-and-swap before each submission. A run that certainly posted nothing
//! releases it, and the claim of a run that ended otherwise is free a moment later, once the host
//! lists no review for the head. It expires in any case.

use std::collections::BTreeMap;

use ars_types::{RepoSlug, RunId, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::diff::Commit;

/// Maximum number of claims kept, newest first: they fit a 256 KiB document. An old claim only
/// names the run behind a posted review.
const MAX_CLAIMS: usize = 600;
/// Maximum age of a live claim in milliseconds, longer than all of a run's writes to the host may
/// take.
const MAX_CLAIM_AGE_MS: i64 = 600_000;
/// Time in milliseconds after which the host lists a submitted review. An ended run's claim is then
/// free without a review.
const MAX_LISTING_DELAY_MS: i64 = 60_000;

/// All claims in an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewClaims {
    #[serde(default)]
    claims: BTreeMap<String, Claim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claim {
    run: RunId,
    at: UnixMillis,
}

/// How a claim ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The run owns the head's review, and posts it.
    Own,
    /// Another run owns it.
    Other(RunId),
}

impl ReviewClaims {
    /// Claims a head's review for a run, or renews the run's claim.
    pub fn claim(&mut self, key: &str, run: &RunId, now: UnixMillis) -> Claimed {
        self.claim_behind(key, run, None, now)
    }

    /// Claims the review of a head when the owner ended and the host lists no review.
    pub fn claim_of_ended(
        &mut self,
        key: &str,
        run: &RunId,
        ended: &RunId,
        now: UnixMillis,
    ) -> Claimed {
        self.claim_behind(key, run, Some(ended), now)
    }

    fn claim_behind(
        &mut self,
        key: &str,
        run: &RunId,
        ended: Option<&RunId>,
        now: UnixMillis,
    ) -> Claimed {
        let is_live = |claim: &&Claim| {
            let max_age = if ended == Some(&claim.run) {
                MAX_LISTING_DELAY_MS
            } else {
                MAX_CLAIM_AGE_MS
            };
            now.saturating_sub(claim.at) < max_age
        };
        if let Some(claim) = self
            .claims
            .get(key)
            .filter(is_live)
            .filter(|claim| claim.run != *run)
        {
            return Claimed::Other(claim.run.clone());
        }
        self.claims.insert(
            key.to_owned(),
            Claim {
                run: run.clone(),
                at: now,
            },
        );
        while self.claims.len() > MAX_CLAIMS {
            let oldest = self
                .claims
                .iter()
                .min_by_key(|(_, claim)| claim.at)
                .map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { break };
            self.claims.remove(&oldest);
        }
        Claimed::Own
    }

    /// Releases a run's claim if it posted no review of the head. Another run's claim stays.
    pub fn release(&mut self, key: &str, run: &RunId) {
        if self.owner(key) == Some(run) {
            self.claims.remove(key);
        }
    }

    /// Returns the run that last claimed a head's review.
    pub fn owner(&self, key: &str) -> Option<&RunId> {
        self.claims.get(key).map(|claim| &claim.run)
    }
}

/// Returns the key for a head's review.
pub fn claim_key(repository: &RepoSlug, number: u64, head: &Commit) -> String {
    format!("{repository}#{number}@{head}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str) -> RunId {
        RunId::parse(id).unwrap()
    }

    #[test]
    fn one_run_owns_the_review_of_a_head() {
        let mut claims = ReviewClaims::default();
        assert_eq!(claims.claim("a", &run("r1"), 0), Claimed::Own);
        assert_eq!(
            claims.claim("a", &run("r2"), MAX_CLAIM_AGE_MS - 1),
            Claimed::Other(run("r1"))
        );
        assert_eq!(claims.claim("b", &run("r2"), 0), Claimed::Own);
        // The owner renews it, so it expires later.
        assert_eq!(claims.claim("a", &run("r1"), 5), Claimed::Own);
        assert_eq!(
            claims.claim("a", &run("r2"), MAX_CLAIM_AGE_MS),
            Claimed::Other(run("r1"))
        );
        assert_eq!(
            claims.claim("a", &run("r2"), MAX_CLAIM_AGE_MS + 5),
            Claimed::Own
        );
        assert_eq!(
            claims.claim("a", &run("r1"), MAX_CLAIM_AGE_MS + 6),
            Claimed::Other(run("r2"))
        );
        assert_eq!(claims.owner("a"), Some(&run("r2")));
    }

    #[test]
    fn released_claim_is_free() {
        let mut claims = ReviewClaims::default();
        claims.claim("a", &run("r1"), 0);
        claims.release("a", &run("r2"));
        assert_eq!(claims.claim("a", &run("r2"), 1), Claimed::Other(run("r1")));
        claims.release("a", &run("r1"));
        assert_eq!(claims.claim("a", &run("r2"), 1), Claimed::Own);
    }

    /// The host may list the review of a run that ended just now a moment later.
    #[test]
    fn claim_of_an_ended_run_is_free_a_moment_later() {
        let mut claims = ReviewClaims::default();
        claims.claim("a", &run("r1"), 0);
        let mut claim = |ended: &str, now| claims.claim_of_ended("a", &run("r2"), &run(ended), now);
        assert_eq!(
            claim("r1", MAX_LISTING_DELAY_MS - 1),
            Claimed::Other(run("r1"))
        );
        assert_eq!(
            claim("r3", MAX_LISTING_DELAY_MS),
            Claimed::Other(run("r1")),
            "another run ended"
        );
        assert_eq!(claim("r1", MAX_LISTING_DELAY_MS), Claimed::Own);
    }

    #[test]
    fn claims_fit_a_document() {
        let mut claims = ReviewClaims::default();
        let repository =
            RepoSlug::parse(format!("{}/{}", "o".repeat(39), "n".repeat(100))).unwrap();
        for number in 0..MAX_CLAIMS as u64 {
            let key = claim_key(
                &repository,
                u64::MAX - number,
                &Commit::parse(&"a".repeat(64)).unwrap(),
            );
            claims.claim(&key, &run(&"r".repeat(64)), 1_800_000_000_000);
        }
        assert!(serde_json::to_string(&claims).unwrap().len() < 256 << 10);
    }

    #[test]
    fn oldest_claims_are_evicted() {
        let mut claims = ReviewClaims::default();
        for at in 0..=MAX_CLAIMS {
            claims.claim(&at.to_string(), &run("r1"), i64::try_from(at).unwrap());
        }
        assert_eq!(
            (claims.claims.len(), claims.owner("0"), claims.owner("1")),
            (MAX_CLAIMS, None, Some(&run("r1")))
        );
    }
}
