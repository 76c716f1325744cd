//! What scopes remember in the bench: short facts of common and rare words, the same every time.

use serde_json::{Value, json};

use crate::bench::load::{Ask, Source};

/// Candidates of one request, at most (state-worker supplement section 2.1).
const BATCH: usize = 50;
/// Records wanted of a retrieval: what a bot asks each scope for.
const LIMIT: usize = 8;
/// Active records that a scope can be asked to keep (state-worker supplement section 2.1).
const MAX_CAP: usize = 10_000;
/// Words of a fact.
const FACT_WORDS: usize = 18;
/// Words of a query.
const QUERY_WORDS: usize = 8;
/// Words that facts are made of; the later ones are rarer.
const WORDS: u64 = 2000;
/// Different queries that a client asks by turns.
const QUERIES: usize = 100;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    /// From 0 up to `below`, small ones oftener.
    fn skewed(&mut self, below: u64) -> u64 {
        // Knuth's multiplier for 64 bits; the upper half is what looks random.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (self.0 >> 33) as f64 / f64::from(1u32 << 31);
        (share * share * share * below as f64) as u64
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| word(self.skewed(WORDS))).collect::<Vec<_>>().join(" ")
    }
}

/// A word of letters for each number.
fn word(mut number: u64) -> String {
    let mut word = String::from("w");
    loop {
        word.push(char::from(b"aeioulnrst"[(number % 10) as usize]));
        number /= 10;
        if number == 0 {
            return word;
        }
    }
}

/// The writes that fill a scope with so many records. Of more than a scope keeps active, the older ones are evicted.
pub fn fill(scope: &str, records: usize) -> Vec<Ask> {
    let mut dice = Dice(records as u64);
    let batch = |first: usize| {
        let candidates: Vec<_> =
            (first..records.min(first + BATCH)).map(|nth| candidate(&mut dice, nth)).collect();
        write(scope, &candidates, records.min(MAX_CAP))
    };
    (0..records).step_by(BATCH).map(batch).collect()
}

/// Retrievals of different queries.
pub fn retrievals(scope: &str) -> Source {
    let mut dice = Dice(7);
    let asks: Vec<_> = (0..QUERIES)
        .map(|_| {
            let query = dice.words(QUERY_WORDS);
            Ask::json("/retrieve", &json!({ "scopeKey": scope, "query": query, "limit": LIMIT }))
        })
        .collect();
    let mut turns = asks.into_iter().cycle();
    Box::new(move || turns.next().unwrap_or_else(|| Ask::get("/healthz")))
}

/// Writes of a few new facts each, as a run's reflection makes them, to a scope that is full.
pub fn writes(scope: &'static str, cap: usize) -> Source {
    let (mut dice, mut nth) = (Dice(99), 1_000_000);
    Box::new(move || {
        let candidates: Vec<_> = (0..5)
            .map(|_| {
                nth += 1;
                candidate(&mut dice, nth)
            })
            .collect();
        write(scope, &candidates, cap)
    })
}

fn write(scope: &str, candidates: &[Value], cap: usize) -> Ask {
    Ask::json("/write", &json!({ "scopeKey": scope, "records": candidates, "cap": cap }))
}

fn candidate(dice: &mut Dice, nth: usize) -> Value {
    json!({
        "kind": if nth.is_multiple_of(7) { "summary" } else { "fact" },
        "text": format!("Fact {nth}: {}.", dice.words(FACT_WORDS)),
        "keywords": [word(dice.skewed(WORDS)), word(dice.skewed(WORDS)), word(dice.skewed(WORDS))],
        "sourceThreadKey": format!("slack:C001:{nth}"), "sourceRunId": format!("run-{nth}"), "confidence": 0.8,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_the_same_every_time_and_each_is_another() {
        let texts = |asks: Vec<Ask>| {
            let bodies = asks.into_iter().map(|ask| ask.body.unwrap());
            let bodies = bodies.map(|body| serde_json::from_str::<Value>(&body).unwrap());
            bodies.flat_map(|body| body["records"].as_array().unwrap().clone()).collect::<Vec<_>>()
        };
        let (first, again) = (texts(fill("s", 120)), texts(fill("s", 120)));
        assert_eq!((first.len(), &first), (120, &again));
        let different: std::collections::HashSet<_> =
            first.iter().map(|record| record["text"].to_string()).collect();
        assert_eq!(different.len(), 120);
    }

    #[test]
    fn queries_find_words_that_facts_have() {
        let query: Value = serde_json::from_str(&retrievals("s")().body.unwrap()).unwrap();
        let facts: String = fill("s", 500).into_iter().filter_map(|ask| ask.body).collect();
        let words = query["query"].as_str().unwrap().split(' ');
        assert!(words.filter(|word| facts.contains(&format!(" {word} "))).count() >= QUERY_WORDS / 2);
    }
}
