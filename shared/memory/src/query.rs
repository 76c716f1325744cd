//! Scores a record for a query (docs/reference/memory.md#retrieval).
//!
//! Not here: choosing candidates, for which the store searches the full-text index for
//! [`Query::chosen`].

use std::cmp::{Ordering, Reverse};

use ars_types::UnixMillis;

use crate::tokens;

/// Maximum tokens for which the full-text index is searched.
const MAX_CHOSEN: usize = 24;
/// Weight for the share of matched tokens.
const KEYWORD_WEIGHT: f64 = 0.7;
/// Weight for how recent a record is.
const RECENCY_WEIGHT: f64 = 0.3;
/// Time constant for recency: after a week it is 1/e.
const TAU_MS: f64 = 604_800_000.0;

/// The tokens in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Distinct tokens, sorted by [`order`].
    distinct: Vec<Token>,
    /// Number of tokens, repeats included.
    total: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    text: String,
    /// Where the token first occurs.
    appeared: usize,
    /// How often the token occurs.
    times: usize,
}

/// Compares by length first, which distinguishes most tokens without reading a letter.
fn order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Query {
    /// Parses a query. Any text is valid; there is no syntax.
    pub fn new(text: &str) -> Self {
        let mut all: Vec<_> = tokens(text).enumerate().collect();
        let total = all.len();
        all.sort_by(|(_, a), (_, b)| order(a, b));
        let mut distinct: Vec<Token> = Vec::new();
        // Stable: among equal tokens the first occurrence comes first.
        for (appeared, token) in all {
            match distinct.last_mut() {
                Some(last) if last.text == *token => last.times += 1,
                _ => distinct.push(Token {
                    text: token.into_owned(),
                    appeared,
                    times: 1,
                }),
            }
        }
        Self { distinct, total }
    }

    /// Returns whether it has no tokens, so that no record matches.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the distinct tokens: if more than 24, the longest, and among equal lengths the
    /// first.
    pub fn chosen(&self) -> Vec<&str> {
        let mut chosen: Vec<_> = self.distinct.iter().collect();
        chosen.sort_by_key(|token| token.appeared);
        if chosen.len() > MAX_CHOSEN {
            chosen.sort_by_key(|token| Reverse(token.text.len()));
            chosen.truncate(MAX_CHOSEN);
        }
        chosen
            .into_iter()
            .map(|token| token.text.as_str())
            .collect()
    }

    /// Returns a record's score by text and keywords; `None` without a match. `used_at` is the time
    /// when the record was last used, or else created.
    pub fn score<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
        used_at: UnixMillis,
        now: UnixMillis,
    ) -> Option<f64> {
        self.score_tokens(texts.into_iter().flat_map(tokens), used_at, now)
    }

    /// Returns the score for a record with these tokens.
    pub(crate) fn score_tokens<T: AsRef<str>>(
        &self,
        tokens: impl Iterator<Item = T>,
        used_at: UnixMillis,
        now: UnixMillis,
    ) -> Option<f64> {
        match self.hits(tokens) {
            0 => None,
            hits => Some(score(
                hits as f64 / self.total as f64,
                now.saturating_sub(used_at),
            )),
        }
    }

    /// Returns how many query tokens, repeats counted, are among these.
    fn hits<T: AsRef<str>>(&self, tokens: impl Iterator<Item = T>) -> usize {
        let mut seen = vec![false; self.distinct.len()];
        let mut hits = 0;
        for token in tokens {
            if let Ok(place) = self
                .distinct
                .binary_search_by(|known| order(&known.text, token.as_ref()))
                && let (Some(known), Some(seen)) = (self.distinct.get(place), seen.get_mut(place))
                && !std::mem::replace(seen, true)
            {
                hits += known.times;
            }
        }
        hits
    }
}

/// Computes the score. A future record counts as used now.
fn score(keyword_match: f64, age_ms: i64) -> f64 {
    let recency = (-(age_ms.max(0) as f64) / TAU_MS).exp();
    KEYWORD_WEIGHT * keyword_match + RECENCY_WEIGHT * recency
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: i64 = 604_800_000;

    #[test]
    fn score_weighs_match_seven_to_three() {
        for (keyword_match, age, expected) in [
            (1.0, 0, 1.0),
            (0.5, 0, 0.65),
            (1.0, WEEK, 0.7 + 0.3 / std::f64::consts::E),
            (0.25, 2 * WEEK, 0.175 + 0.3 / std::f64::consts::E.powi(2)),
            (1.0, -WEEK, 1.0),
            (1.0, i64::MAX, 0.7),
        ] {
            assert!(
                (score(keyword_match, age) - expected).abs() < 1e-12,
                "{keyword_match} {age}"
            );
        }
    }

    #[test]
    fn repeated_query_tokens_count() {
        let hits = |query: &str, texts: &[&str]| {
            Query::new(query).hits(texts.iter().copied().flat_map(tokens))
        };
        assert_eq!(hits("deploy the worker", &["Deploy by hand", "the"]), 2);
        assert_eq!(hits("ci ci ci lint", &["CI, ci and ci"]), 3);
        assert_eq!(hits("deploy", &["deploys", "redeploy"]), 0);
        assert_eq!(hits("deploy", &[]), 0);
        assert_eq!(hits("?!", &["?!"]), 0);
        let matched = Query::new("ci ci ci lint").score(["CI"], WEEK, WEEK);
        assert_eq!(matched, Some(score(0.75, 0)));
    }

    #[test]
    fn unmatched_record_has_no_score() {
        let query = Query::new("deploy");
        assert_eq!(query.score(["lint"], WEEK, WEEK), None);
        assert_eq!(query.score(["lint", "deploy"], WEEK, WEEK), Some(1.0));
        assert!(query.score(["deploy"], 0, WEEK) < query.score(["deploy"], 1, WEEK));
    }

    #[test]
    fn up_to_24_tokens_keep_their_order() {
        let short: Vec<_> = (10..34).map(|n| n.to_string()).collect();
        let repeated = format!("{0} {0}", short.join(" "));
        assert_eq!(Query::new(&repeated).chosen(), short);
    }

    #[test]
    fn longest_24_tokens_are_chosen() {
        let words: Vec<_> = (10..40).map(|n| n.to_string()).collect();
        let query = Query::new(&format!("{} longest x longer", words.join(" ")));
        let chosen = query.chosen();
        assert_eq!(chosen[..2], ["longest", "longer"]);
        assert_eq!(chosen[2..], words[..22]);
        // The score still uses all tokens.
        assert_eq!(query.hits(["x", "39"].iter()), 2);
    }

    #[test]
    fn query_without_tokens_is_empty() {
        for text in ["", " ", "?!", "éß", "\u{0}"] {
            let query = Query::new(text);
            assert!(query.is_empty() && query.chosen().is_empty(), "{text:?}");
        }
        assert!(!Query::new("a").is_empty());
    }
}
