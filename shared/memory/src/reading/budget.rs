//! How much of memory one request may take (document 2 section 8, "Memory per request").

use ars_wire::memory::MemoryRecord;

use super::block::bullet;

/// Characters that count as a token (state-worker supplement section 12).
const CHARS_PER_TOKEN: usize = 4;

/// The most that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Records.
    pub limit: usize,
    /// What their bullets may cost together, in tokens.
    pub max_tokens: usize,
}

impl Default for Budget {
    /// That of document 2 section 2.2.
    fn default() -> Self {
        Self { limit: 8, max_tokens: 800 }
    }
}

/// The first records that the budget holds. The first of all is kept whatever it costs, so that what fits best is never
/// lost to its length; what follows one that does not fit is left out, however short.
pub fn within(mut records: Vec<MemoryRecord>, budget: Budget) -> Vec<MemoryRecord> {
    let mut cost = 0_usize;
    let mut fits = |(index, record): (usize, &MemoryRecord)| {
        cost = cost.saturating_add(tokens(&bullet(record)));
        index < budget.limit && (index == 0 || cost <= budget.max_tokens)
    };
    let kept = records.iter().enumerate().take_while(|entry| fits(*entry)).count();
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
        texts.iter().zip(0..).map(|(text, n)| record("org:acme", n, text)).collect()
    }

    #[test]
    fn a_bullet_costs_a_token_for_every_four_characters_begun() {
        assert_eq!(["", "abcd", "abcde", "éééé", "🦀🦀🦀🦀🦀"].map(tokens), [0, 1, 2, 1, 2]);
    }

    #[test]
    fn the_limit_and_the_cost_each_end_the_list() {
        let all = records(&["aaaa", "bbbb", "cccc"]);
        let one = tokens(&bullet(&all[0]));
        let kept = |limit, max_tokens| within(all.clone(), Budget { limit, max_tokens }).len();
        assert_eq!([kept(8, 800), kept(2, 800), kept(8, 2 * one), kept(8, 2 * one - 1)], [3, 2, 2, 1]);
        assert_eq!(kept(0, 800), 0);
    }

    #[test]
    fn the_first_is_kept_whatever_it_costs_and_nothing_after_it_slips_by() {
        let all = records(&["short", &"long ".repeat(700), "tiny"]);
        assert_eq!(within(all.clone(), Budget { limit: 8, max_tokens: 20 }).len(), 1);
        let long_first = vec![all[1].clone(), all[2].clone()];
        assert_eq!(within(long_first, Budget { limit: 8, max_tokens: 20 }), [all[1].clone()]);
    }

    proptest! {
        #[test]
        fn what_is_kept_is_a_beginning_that_costs_no_more_than_allowed(
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
            // It ends for a reason.
            if let Some(next) = all.get(kept.len()) {
                prop_assert!(kept.len() == limit || cost(&kept) + tokens(&bullet(next)) > max_tokens);
            }
        }
    }
}
