//! Retention for stored runs: the policy, the bounds, and the rule as a pure function.
//!
//! Not here: the SQL that applies the rule to a store (`store::trim`). Tests compare it with this
//! function.

/// Milliseconds in a day.
pub const DAY_MS: f64 = 86_400_000.0;

/// How much history a store keeps. Values are always within their bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    retention_days: i64,
    max_runs: i64,
    max_bytes: i64,
}

/// A field's default and bounds.
struct Bounds {
    default: i64,
    least: i64,
    most: i64,
}

const DAYS: Bounds = Bounds {
    default: 30,
    least: 1,
    most: 365,
};
const RUNS: Bounds = Bounds {
    default: 5000,
    least: 1,
    most: 20_000,
};
const BYTES: Bounds = Bounds {
    default: 2 << 30,
    least: 16 << 20,
    most: 8 << 30,
};

impl Bounds {
    /// Returns the default for a missing or non-finite value. Others are floored, then clamped.
    fn fill(&self, value: Option<f64>) -> i64 {
        let value = value.filter(|value| value.is_finite()).map(f64::floor);
        value.map_or(self.default, |value| {
            value.clamp(self.least as f64, self.most as f64) as i64
        })
    }
}

impl Policy {
    /// Fills in missing values and clamps the others. No value is rejected.
    pub fn fill(
        retention_days: Option<f64>,
        max_runs: Option<f64>,
        max_bytes: Option<f64>,
    ) -> Self {
        Self {
            retention_days: DAYS.fill(retention_days),
            max_runs: RUNS.fill(max_runs),
            max_bytes: BYTES.fill(max_bytes),
        }
    }

    /// Returns how many days a run is kept after it finished.
    pub fn retention_days(&self) -> i64 {
        self.retention_days
    }

    /// Returns the maximum number of runs.
    pub fn max_runs(&self) -> i64 {
        self.max_runs
    }

    /// Returns the maximum total size in bytes.
    pub fn max_bytes(&self) -> i64 {
        self.max_bytes
    }

    /// Returns the earliest finish time that is kept.
    pub fn cutoff(&self, now: i64) -> f64 {
        now as f64 - self.retention_days as f64 * DAY_MS
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::fill(None, None, None)
    }
}

/// The rule's input for a single run.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Id of the run.
    pub id: String,
    /// When the run finished.
    pub finished_at: f64,
    /// The stored record's size in bytes.
    pub bytes: i64,
}

/// Returns the rows that the policy keeps, newest first.
///
/// Every limit drops from the oldest end, so the kept rows are always the newest and a single
/// position in (finish, id) order separates them from the hidden rows.
pub fn kept(mut rows: Vec<Row>, policy: &Policy, now: i64) -> Vec<Row> {
    rows.retain(|row| row.finished_at >= policy.cutoff(now));
    rows.sort_by(|a, b| {
        b.finished_at
            .total_cmp(&a.finished_at)
            .then_with(|| b.id.cmp(&a.id))
    });
    rows.truncate(usize::try_from(policy.max_runs).unwrap_or(usize::MAX));
    let mut total = 0;
    let fitting = rows.iter().take_while(|row| {
        total += row.bytes;
        total <= policy.max_bytes
    });
    let fitting = fitting.count();
    rows.truncate(fitting);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: i64 = 1 << 20;

    fn row(id: &str, finished_at: f64, bytes: i64) -> Row {
        Row {
            id: id.into(),
            finished_at,
            bytes,
        }
    }

    fn ids(rows: Vec<Row>, policy: &Policy, now: i64) -> Vec<String> {
        kept(rows, policy, now)
            .into_iter()
            .map(|row| row.id)
            .collect()
    }

    #[test]
    fn policy_is_filled_floored_and_clamped() {
        for (given, expected) in [
            ((None, None, None), (30, 5000, 2048 * MIB)),
            ((Some(7.9), Some(1.0), Some(f64::NAN)), (7, 1, 2048 * MIB)),
            ((Some(0.0), Some(-5.0), Some(1.0)), (1, 1, 16 * MIB)),
            (
                (Some(1e9), Some(f64::INFINITY), Some(1e18)),
                (365, 5000, 8192 * MIB),
            ),
            (
                (Some(365.0), Some(20_001.0), Some(16.0 * 1048576.0)),
                (365, 20_000, 16 * MIB),
            ),
        ] {
            let policy = Policy::fill(given.0, given.1, given.2);
            let found = (
                policy.retention_days(),
                policy.max_runs(),
                policy.max_bytes(),
            );
            assert_eq!(found, expected, "{given:?}");
        }
    }

    #[test]
    fn run_at_the_age_limit_is_kept() {
        let policy = Policy::fill(Some(1.0), None, None);
        let now = 200_000_000;
        let cutoff = now as f64 - DAY_MS;
        assert_eq!(
            ids(
                vec![row("a", cutoff, 1), row("b", cutoff - 0.5, 1)],
                &policy,
                now
            ),
            ["a"]
        );
    }

    #[test]
    fn newest_are_kept_and_ids_break_ties() {
        let policy = Policy::fill(None, Some(2.0), None);
        let rows = vec![row("a", 5.0, 1), row("c", 5.0, 1), row("b", 5.0, 1)];
        assert_eq!(ids(rows, &policy, 5), ["c", "b"]);
    }

    #[test]
    fn byte_limit_keeps_no_smaller_older_rows() {
        let policy = Policy::fill(None, None, Some((16 * MIB) as f64));
        let rows = vec![
            row("new", 3.0, 10 * MIB),
            row("big", 2.0, 7 * MIB),
            row("small", 1.0, 1),
        ];
        assert_eq!(ids(rows, &policy, 3), ["new"]);
        let exact = vec![
            row("new", 3.0, 10 * MIB),
            row("fits", 2.0, 6 * MIB),
            row("none", 1.0, 0),
            row("x", 0.0, 1),
        ];
        assert_eq!(ids(exact, &policy, 3), ["new", "fits", "none"]);
    }
}
