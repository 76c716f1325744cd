//! Ranks records from several scopes as a single list.

use std::cmp::Ordering;

use ars_types::UnixMillis;
use ars_wire::memory::MemoryRecord;

use crate::Query;

/// Ranks the records, best first, and drops those that do not match the query. Among equal scores
/// the earlier scope's record comes first, and within a scope the store's order holds.
pub fn union(
    of_scopes: impl IntoIterator<Item = Vec<MemoryRecord>>,
    query: &Query,
    now: UnixMillis,
) -> Vec<MemoryRecord> {
    let scored = |record: MemoryRecord| {
        let texts = record
            .keywords
            .iter()
            .chain([&record.text])
            .map(String::as_str);
        query
            .score(texts, record.last_used_at.unwrap_or(record.created_at), now)
            .map(|score| (score, record))
    };
    let mut all: Vec<_> = of_scopes.into_iter().flatten().filter_map(scored).collect();
    all.sort_by(by_score);
    all.into_iter().map(|(_, record)| record).collect()
}

fn by_score<T>((a, _): &(f64, T), (b, _): &(f64, T)) -> Ordering {
    b.total_cmp(a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::record;

    const NOW: UnixMillis = 1_700_000_000_000;
    const WEEK: i64 = 604_800_000;

    fn ids(records: &[MemoryRecord]) -> Vec<&str> {
        records.iter().map(|record| record.id.as_str()).collect()
    }

    fn used(record: MemoryRecord, at: UnixMillis) -> MemoryRecord {
        MemoryRecord {
            last_used_at: Some(at),
            ..record
        }
    }

    #[test]
    fn better_match_of_later_scope_wins() {
        let org = vec![used(record("org:acme", 0, "deploys are slow"), NOW)];
        let user = vec![used(record("user:ann", 0, "deploys run on friday"), NOW)];
        let ranked = union([org, user], &Query::new("deploys friday"), NOW);
        assert_eq!(ids(&ranked), ["mem:user:ann:0", "mem:org:acme:0"]);
    }

    #[test]
    fn equal_scores_keep_scope_order() {
        let of = |scope: &str| {
            (0..3)
                .map(|n| used(record(scope, n, "ci"), NOW))
                .collect::<Vec<_>>()
        };
        let ranked = union(
            [of("org:acme"), of("repo:a/b"), of("user:ann")],
            &Query::new("ci"),
            NOW,
        );
        let expected: Vec<_> = ["org:acme", "repo:a/b", "user:ann"]
            .iter()
            .flat_map(|scope| (0..3).map(move |n| format!("mem:{scope}:{n}")))
            .collect();
        assert_eq!(ids(&ranked), expected);
    }

    #[test]
    fn recency_counts_from_last_use() {
        let old = MemoryRecord {
            created_at: NOW - 4 * WEEK,
            ..record("org:acme", 0, "ci")
        };
        let made = MemoryRecord {
            created_at: NOW - WEEK,
            ..record("org:acme", 1, "ci")
        };
        let again = used(
            MemoryRecord {
                created_at: NOW - 4 * WEEK,
                ..record("org:acme", 2, "ci")
            },
            NOW,
        );
        let ranked = union([vec![old, made, again]], &Query::new("ci"), NOW);
        assert_eq!(
            ids(&ranked),
            ["mem:org:acme:2", "mem:org:acme:1", "mem:org:acme:0"]
        );
    }

    #[test]
    fn unmatched_records_are_dropped() {
        let keyworded = MemoryRecord {
            keywords: vec!["lint".into()],
            ..record("org:acme", 0, "clippy")
        };
        let other = record("org:acme", 1, "of something else");
        assert_eq!(
            ids(&union([vec![other, keyworded]], &Query::new("lint"), NOW)),
            ["mem:org:acme:0"]
        );
    }
}
