//! Limits the memory in a prompt.

use ars_wire::memory::MemoryRecord;

use super::block::bullet;

/// Assumed number of characters per token.
const CHARS_PER_TOKEN: usize = 4;

/// Limits for a single prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of records.
    pub limit: usize,
    /// Maximum number of tokens over all lines.
    pub max_tokens: usize,
}

impl Default for Budget {
    /// Returns the limits when an installation configures none.
    fn default() -> Self {
        Self {
            limit: 8,
            max_tokens: 800,
        }
    }
}

/// Returns the leading records that fit the budget. The first record is always kept, so that the
/// best match is never lost because of the length. When a record does not fit, all later records
/// are dropped, however short.
pub fn within(mut records: Vec<MemoryRecord>, budget: Budget) -> Vec<MemoryRecord> {
    let mut cost = 0_usize;
    let mut fits = |(index, record): (usize, &MemoryRecord)| {
        cost = cost.saturating_add(tokens(&bullet(record)));
        index < budget.limit && (index == 0 || cost <= budget.max_tokens)
    };
    let kept = records
        .iter()
        .enumerate()
        .take_while(|entry| fits(*entry))
        .count();
    records.truncate(kept);
    records
}

fn tokens(bullet: &str) -> usize {
    bullet.chars().count().div_ceil(CHARS_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::record;

    fn records(texts: &[&str]) -> Vec<MemoryRecord> {
        texts
            .iter()
            .zip(0..)
            .map(|(text, n)| record("org:acme", n, text))
            .collect()
    }

    #[test]
    fn cost_rounds_up_per_four_characters() {
        assert_eq!(
            ["", "abcd", "abcde", "éééé", "🦀🦀🦀🦀🦀"].map(tokens),
            [0, 1, 2, 1, 2]
        );
    }

    #[test]
    fn either_limit_ends_the_list() {
        let all = records(&["aaaa", "bbbb", "cccc"]);
        let one = tokens(&bullet(&all[0]));
        let kept = |limit, max_tokens| within(all.clone(), Budget { limit, max_tokens }).len();
        assert_eq!(
            [
                kept(8, 800),
                kept(2, 800),
                kept(8, 2 * one),
                kept(8, 2 * one - 1)
            ],
            [3, 2, 2, 1]
        );
        assert_eq!(kept(0, 800), 0);
    }

    #[test]
    fn first_record_is_always_kept() {
        let all = records(&["short", &"long ".repeat(700), "tiny"]);
        assert_eq!(
            within(
                all.clone(),
                Budget {
                    limit: 8,
                    max_tokens: 20
                }
            )
            .len(),
            1
        );
        let long_first = vec![all[1].clone(), all[2].clone()];
        assert_eq!(
            within(
                long_first,
                Budget {
                    limit: 8,
                    max_tokens: 20
                }
            ),
            [all[1].clone()]
        );
    }

    proptest! {
        #[test]
        fn kept_records_are_an_affordable_prefix(
            texts in prop::collection::vec("\\PC{0,80}", 0..20),
            limit in 0_usize..12,
            max_tokens in 0_usize..120,
        ) {
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            let all = records(&texts);
            let kept = within(all.clone(), Budget { limit, max_tokens });
            prop_assert_eq!(&kept[..], &all[..kept.len()]);
            let cost = |records: &[MemoryRecord]| records.iter().map(|r| tokens(&bullet(r))).sum::<usize>();
            prop_assert!(kept.len() <= limit);
            prop_assert!(kept.len() <= 1 || cost(&kept) <= max_tokens);
            prop_assert!(limit == 0 || all.is_empty() || !kept.is_empty());
            // A limit ended the list.
            if let Some(next) = all.get(kept.len()) {
                prop_assert!(kept.len() == limit || cost(&kept) + tokens(&bullet(next)) > max_tokens);
            }
        }
    }
}
