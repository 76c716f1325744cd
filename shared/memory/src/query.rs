//! How well a record answers a query (document 2 section 4.2, state-worker supplement section 2.4).
//!
//! Not here: which records are looked at. The store takes them from its full-text index by [`Query::chosen`].

use std::cmp::{Ordering, Reverse};

use ars_types::UnixMillis;

use crate::tokens;

/// Tokens that the full-text index is asked for (section 2.4).
const MAX_CHOSEN: usize = 24;
/// What a match of every token is worth (section 2.4).
const KEYWORD_WEIGHT: f64 = 0.7;
/// What having been used just now is worth (section 2.4).
const RECENCY_WEIGHT: f64 = 0.3;
/// In so long recency falls to 1/e: a week (section 2.4).
const TAU_MS: f64 = 604_800_000.0;

/// A query's tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The distinct ones, sorted by [`order`].
    distinct: Vec<Token>,
    /// How many there are, repeats included.
    total: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    text: String,
    /// The place in the query where it stands first.
    appeared: usize,
    /// How often it stands in the query.
    times: usize,
}

/// By length first: most tokens of a record are told from a query's without looking at a letter.
fn order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Query {
    /// Reads a query: any text, none of it is syntax.
    pub fn new(text: &str) -> Self {
        let mut all: Vec<_> = tokens(text).enumerate().collect();
        let total = all.len();
        all.sort_by(|(_, a), (_, b)| order(a, b));
        let mut distinct: Vec<Token> = Vec::new();
        // Stable: of equal tokens the first to appear comes first.
        for (appeared, token) in all {
            match distinct.last_mut() {
                Some(last) if last.text == *token => last.times += 1,
                _ => distinct.push(Token { text: token.into_owned(), appeared, times: 1 }),
            }
        }
        Self { distinct, total }
    }

    /// Whether there is nothing to look for, so that no record matches.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The distinct tokens; of more than 24 the longest, and among equally long ones those that came first.
    pub fn chosen(&self) -> Vec<&str> {
        let mut chosen: Vec<_> = self.distinct.iter().collect();
        chosen.sort_by_key(|token| token.appeared);
        if chosen.len() > MAX_CHOSEN {
            chosen.sort_by_key(|token| Reverse(token.text.len()));
            chosen.truncate(MAX_CHOSEN);
        }
        chosen.into_iter().map(|token| token.text.as_str()).collect()
    }

    /// What a record is worth that was last used, or else made, at `used_at`; its texts are its own and its keywords.
    /// `None`: the query does not match it.
    pub fn score<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
        used_at: UnixMillis,
        now: UnixMillis,
    ) -> Option<f64> {
        self.score_tokens(texts.into_iter().flat_map(tokens), used_at, now)
    }

    /// The same of a record's tokens.
    pub(crate) fn score_tokens<T: AsRef<str>>(
        &self,
        tokens: impl Iterator<Item = T>,
        used_at: UnixMillis,
        now: UnixMillis,
    ) -> Option<f64> {
        match self.hits(tokens) {
            0 => None,
            hits => Some(score(hits as f64 / self.total as f64, now.saturating_sub(used_at))),
        }
    }

    /// How many of the query's tokens, repeats counted, are among these.
    fn hits<T: AsRef<str>>(&self, tokens: impl Iterator<Item = T>) -> usize {
        let mut seen = vec![false; self.distinct.len()];
        let mut hits = 0;
        for token in tokens {
            if let Ok(place) = self.distinct.binary_search_by(|known| order(&known.text, token.as_ref()))
                && let (Some(known), Some(seen)) = (self.distinct.get(place), seen.get_mut(place))
                && !std::mem::replace(seen, true)
            {
                hits += known.times;
            }
        }
        hits
    }
}

/// A record of the future is as recent as one of just now.
fn score(keyword_match: f64, age_ms: i64) -> f64 {
    let recency = (-(age_ms.max(0) as f64) / TAU_MS).exp();
    KEYWORD_WEIGHT * keyword_match + RECENCY_WEIGHT * recency
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: i64 = 604_800_000;

    #[test]
    fn a_score_is_seven_parts_match_and_three_parts_recency() {
        for (keyword_match, age, expected) in [
            (1.0, 0, 1.0),
            (0.5, 0, 0.65),
            (1.0, WEEK, 0.7 + 0.3 / std::f64::consts::E),
            (0.25, 2 * WEEK, 0.175 + 0.3 / std::f64::consts::E.powi(2)),
            (1.0, -WEEK, 1.0),
            (1.0, i64::MAX, 0.7),
        ] {
            assert!((score(keyword_match, age) - expected).abs() < 1e-12, "{keyword_match} {age}");
        }
    }

    #[test]
    fn every_token_of_the_query_counts_and_each_place_it_may_stand_in() {
        let hits =
            |query: &str, texts: &[&str]| Query::new(query).hits(texts.iter().copied().flat_map(tokens));
        assert_eq!(hits("deploy the worker", &["Deploy by hand", "the"]), 2);
        assert_eq!(hits("ci ci ci lint", &["CI, ci and ci"]), 3);
        assert_eq!(hits("deploy", &["deploys", "redeploy"]), 0);
        assert_eq!(hits("deploy", &[]), 0);
        assert_eq!(hits("?!", &["?!"]), 0);
        let matched = Query::new("ci ci ci lint").score(["CI"], WEEK, WEEK);
        assert_eq!(matched, Some(score(0.75, 0)));
    }

    #[test]
    fn no_match_is_no_score_however_recent() {
        let query = Query::new("deploy");
        assert_eq!(query.score(["lint"], WEEK, WEEK), None);
        assert_eq!(query.score(["lint", "deploy"], WEEK, WEEK), Some(1.0));
        assert!(query.score(["deploy"], 0, WEEK) < query.score(["deploy"], 1, WEEK));
    }

    #[test]
    fn up_to_24_distinct_tokens_are_chosen_as_they_come() {
        let short: Vec<_> = (10..34).map(|n| n.to_string()).collect();
        let repeated = format!("{0} {0}", short.join(" "));
        assert_eq!(Query::new(&repeated).chosen(), short);
    }

    #[test]
    fn of_more_than_24_the_longest_are_chosen_and_equally_long_ones_by_first_appearance() {
        let words: Vec<_> = (10..40).map(|n| n.to_string()).collect();
        let query = Query::new(&format!("{} longest x longer", words.join(" ")));
        let chosen = query.chosen();
        assert_eq!(chosen[..2], ["longest", "longer"]);
        assert_eq!(chosen[2..], words[..22]);
        // The score still knows all of them.
        assert_eq!(query.hits(["x", "39"].iter()), 2);
    }

    #[test]
    fn a_query_without_tokens_is_empty() {
        for text in ["", " ", "?!", "éß", "\u{0}"] {
            let query = Query::new(text);
            assert!(query.is_empty() && query.chosen().is_empty(), "{text:?}");
        }
        assert!(!Query::new("a").is_empty());
    }
}
