//! Automatic attempts to mend a pull request's failed checks.
//!
//! Each attempt may push a commit whose checks fail again. One attempt per head and a limit per
//! pull request bound the runs for a check that fails forever.

use std::collections::BTreeMap;

use ars_types::{RepoSlug, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::diff::Commit;

/// Maximum heads per pull request for which failed checks start a run.
pub const MAX_CHECK_ATTEMPTS: usize = 3;
/// Maximum pull requests with remembered attempts: they fit a 256 KiB document.
const MAX_PULL_REQUESTS: usize = 200;

/// All attempts in an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckAttempts {
    #[serde(default)]
    pulls: BTreeMap<String, Attempts>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Attempts {
    /// Heads, each with the delivery that it was first reported by.
    heads: Vec<(String, String)>,
    at: UnixMillis,
}

/// Whether a failed check starts an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// A new attempt begins.
    Begins,
    /// Another failed check at this head began an attempt, which sees all of them.
    Begun,
    /// This pull request's attempts are used up.
    UsedUp,
}

impl CheckAttempts {
    /// Counts the attempt for a failed check. The same delivery may begin it again, because the
    /// process may end before the run begins.
    pub fn begin(
        &mut self,
        (repository, number): (&RepoSlug, u64),
        head: &Commit,
        delivery: &str,
        now: UnixMillis,
    ) -> Attempt {
        let attempts = self
            .pulls
            .entry(format!("{repository}#{number}"))
            .or_default();
        if let Some((_, first)) = attempts
            .heads
            .iter()
            .find(|(known, _)| known == head.as_str())
        {
            return if first == delivery {
                Attempt::Begins
            } else {
                Attempt::Begun
            };
        }
        if attempts.heads.len() >= MAX_CHECK_ATTEMPTS {
            return Attempt::UsedUp;
        }
        attempts.heads.push((head.to_string(), delivery.to_owned()));
        attempts.at = now;
        while self.pulls.len() > MAX_PULL_REQUESTS {
            let oldest = self
                .pulls
                .iter()
                .min_by_key(|(_, attempts)| attempts.at)
                .map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { break };
            self.pulls.remove(&oldest);
        }
        Attempt::Begins
    }

    /// Gives a delivery's attempt back, because no run began. The head's next failed check begins
    /// another.
    pub fn give_back(
        &mut self,
        (repository, number): (&RepoSlug, u64),
        head: &Commit,
        delivery: &str,
    ) {
        let key = format!("{repository}#{number}");
        let Some(attempts) = self.pulls.get_mut(&key) else {
            return;
        };
        attempts
            .heads
            .retain(|(known, first)| known != head.as_str() || first != delivery);
        if attempts.heads.is_empty() {
            self.pulls.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_fit_a_document() {
        let mut attempts = CheckAttempts::default();
        let repository =
            RepoSlug::parse(format!("{}/{}", "o".repeat(39), "n".repeat(100))).unwrap();
        for number in 0..=MAX_PULL_REQUESTS as u64 {
            for digit in ["a", "b", "c"] {
                let head = Commit::parse(&digit.repeat(64)).unwrap();
                let pull_request = (&repository, u64::MAX - number);
                attempts.begin(pull_request, &head, &"\"".repeat(100), 1_800_000_000_000);
            }
        }
        assert_eq!(attempts.pulls.len(), MAX_PULL_REQUESTS);
        assert!(serde_json::to_string(&attempts).unwrap().len() < 256 << 10);
    }

    #[test]
    fn attempts_of_a_pull_request_are_bounded() {
        let mut attempts = CheckAttempts::default();
        let repository = RepoSlug::parse("acme/app").unwrap();
        let mut begin = |number: u64, digit: &str, delivery: &str| {
            attempts.begin(
                (&repository, number),
                &Commit::parse(&digit.repeat(40)).unwrap(),
                delivery,
                0,
            )
        };
        assert_eq!(begin(1, "a", "d1"), Attempt::Begins);
        assert_eq!(begin(1, "a", "d2"), Attempt::Begun);
        assert_eq!(
            begin(1, "a", "d1"),
            Attempt::Begins,
            "the process ended before its run began"
        );
        assert_eq!(
            (begin(1, "b", "d3"), begin(1, "c", "d4")),
            (Attempt::Begins, Attempt::Begins)
        );
        assert_eq!(begin(1, "d", "d5"), Attempt::UsedUp);
        assert_eq!(begin(2, "d", "d6"), Attempt::Begins);
    }

    #[test]
    fn attempt_without_a_run_is_given_back() {
        let mut attempts = CheckAttempts::default();
        let repository = RepoSlug::parse("acme/app").unwrap();
        let (pull_request, head) = ((&repository, 1), Commit::parse(&"a".repeat(40)).unwrap());
        assert_eq!(
            attempts.begin(pull_request, &head, "d1", 0),
            Attempt::Begins
        );
        attempts.give_back(pull_request, &head, "d2");
        assert_eq!(attempts.begin(pull_request, &head, "d2", 0), Attempt::Begun);
        attempts.give_back(pull_request, &head, "d1");
        assert_eq!(attempts, CheckAttempts::default());
        assert_eq!(
            attempts.begin(pull_request, &head, "d2", 0),
            Attempt::Begins
        );
    }
}
