//! A naive store model: a row list that every request scans.
//!
//! The oracle for the property tests. It shares no code with the store.

use serde_json::{Map, Value, json};

use crate::support::SCOPE;

/// Constants in FTS5's bm25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

pub struct Model {
    rows: Vec<Row>,
}

struct Row {
    is_active: bool,
    created_at: i64,
    last_used_at: Option<i64>,
    use_count: i64,
    /// The candidate with the keywords.
    candidate: Map<String, Value>,
}

impl Row {
    fn text(&self) -> &str {
        self.candidate["text"].as_str().unwrap()
    }

    /// Returns the tokens in text and keywords.
    fn tokens(&self) -> Vec<String> {
        let keywords: Vec<_> = self.candidate["keywords"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        tokens(&format!("{} {}", self.text(), keywords.join(" ")))
    }

    fn used_at(&self) -> i64 {
        self.last_used_at.unwrap_or(self.created_at)
    }
}

impl Model {
    pub fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// Returns the counts inserted, deduped, superseded, evicted.
    pub fn write(&mut self, candidates: &[Value], cap: Option<i64>, now: i64) -> [i64; 4] {
        let [mut inserted, mut deduped, mut superseded, mut evicted] = [0; 4];
        for candidate in candidates {
            let target = candidate
                .get("supersedes")
                .and_then(Value::as_str)
                .filter(|id| !id.is_empty());
            let says = normalized(candidate["text"].as_str().unwrap());
            let equal = |row: &Row| normalized(row.text()) == says;
            let known = match target {
                None => self.rows.iter().position(|row| row.is_active && equal(row)),
                Some(id) => {
                    let named = (0..self.rows.len()).find(|n| id == format!("mem:{SCOPE}:{n}"));
                    let named = named.filter(|&n| self.rows[n].is_active);
                    match named {
                        Some(n) if !equal(&self.rows[n]) => {
                            self.rows[n].is_active = false;
                            superseded += 1;
                            None
                        }
                        other => other,
                    }
                }
            };
            match known {
                Some(n) => {
                    self.rows[n].use_count += 1;
                    deduped += 1;
                }
                None => {
                    self.insert(candidate, now);
                    inserted += 1;
                }
            }
        }
        let cap = cap.unwrap_or(500) as usize;
        while self.active().count() > cap {
            let stalest = self.active().min_by_key(|&n| {
                let row = &self.rows[n];
                (row.used_at(), row.created_at, n)
            });
            self.rows[stalest.unwrap()].is_active = false;
            evicted += 1;
        }
        [inserted, deduped, superseded, evicted]
    }

    fn insert(&mut self, candidate: &Value, now: i64) {
        let fields = [
            "kind",
            "text",
            "sourceThreadKey",
            "keywords",
            "sourceRunId",
            "confidence",
            "supersedes",
        ];
        let mut candidate = candidate.as_object().unwrap().clone();
        candidate.retain(|name, _| fields.contains(&name.as_str()));
        if candidate.get("supersedes") == Some(&json!("")) {
            candidate.remove("supersedes");
        }
        if candidate
            .get("keywords")
            .is_none_or(|keywords| keywords == &json!([]))
        {
            let keywords = tokens(candidate["text"].as_str().unwrap());
            candidate.insert("keywords".into(), json!(keywords));
        }
        self.rows.push(Row {
            is_active: true,
            created_at: now,
            last_used_at: None,
            use_count: 0,
            candidate,
        });
    }

    pub fn retrieve(&mut self, query: &str, limit: usize, now: i64) -> Vec<Value> {
        let wanted = tokens(query);
        let mut candidates = self.ranked(&chosen(query));
        candidates.truncate((5 * limit).max(50));
        let score = |n: usize| {
            let row = &self.rows[n];
            let has = row.tokens();
            let hits = wanted.iter().filter(|token| has.contains(token)).count();
            let age = (now - row.used_at()).max(0) as f64;
            0.7 * (hits as f64 / wanted.len() as f64) + 0.3 * (-age / 604_800_000.0).exp()
        };
        let mut scored: Vec<_> = candidates.into_iter().map(|n| (n, score(n))).collect();
        scored.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap());
        scored.truncate(limit);
        for &(n, _) in &scored {
            self.rows[n].last_used_at = Some(now);
            self.rows[n].use_count += 1;
        }
        scored
            .into_iter()
            .map(|(n, _)| self.travelling(n))
            .collect()
    }

    pub fn list(&self, query: Option<&str>, limit: usize) -> Vec<Value> {
        let matches = |n: &usize| match query {
            None => true,
            Some(query) => {
                let has = self.rows[*n].tokens();
                chosen(query).iter().any(|token| has.contains(token))
            }
        };
        let mut found: Vec<_> = self.active().filter(matches).collect();
        found.reverse();
        found
            .into_iter()
            .take(limit)
            .map(|n| self.travelling(n))
            .collect()
    }

    pub fn forget(&mut self, id: &str) -> bool {
        let found = self.active().find(|n| id == format!("mem:{SCOPE}:{n}"));
        found.inspect(|&n| self.rows[n].is_active = false).is_some()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns every distinct token in the active rows, in order.
    pub fn vocabulary(&self) -> Vec<String> {
        let mut all: Vec<_> = self.active().flat_map(|n| self.rows[n].tokens()).collect();
        all.sort();
        all.dedup();
        all
    }

    fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len()).filter(|&n| self.rows[n].is_active)
    }

    fn travelling(&self, n: usize) -> Value {
        let row = &self.rows[n];
        let mut record = row.candidate.clone();
        record.insert("id".into(), json!(format!("mem:{SCOPE}:{n}")));
        record.insert("scopeKey".into(), json!(SCOPE));
        record.insert("createdAt".into(), json!(row.created_at));
        record.insert("useCount".into(), json!(row.use_count));
        record.insert("status".into(), json!("active"));
        if let Some(at) = row.last_used_at {
            record.insert("lastUsedAt".into(), json!(at));
        }
        Value::Object(record)
    }

    /// Returns active rows with any of the tokens, by bm25 as SQLite documents it, then by age.
    fn ranked(&self, tokens: &[String]) -> Vec<usize> {
        let bodies: Vec<_> = self.active().map(|n| (n, self.rows[n].tokens())).collect();
        let rows = bodies.len() as f64;
        let average = bodies.iter().map(|(_, body)| body.len()).sum::<usize>() as f64 / rows;
        let times = |body: &[String], token: &String| {
            body.iter().filter(|word| *word == token).count() as f64
        };
        let idf = |token: &String| {
            let hits = bodies
                .iter()
                .filter(|(_, body)| body.contains(token))
                .count() as f64;
            let idf = ((rows - hits + 0.5) / (hits + 0.5)).ln();
            if idf <= 0.0 { 1e-6 } else { idf }
        };
        let idfs: Vec<_> = tokens.iter().map(idf).collect();
        let rank = |body: &[String]| {
            let length = body.len() as f64;
            let mut score = 0.0;
            for (token, idf) in tokens.iter().zip(&idfs) {
                let often = times(body, token);
                score +=
                    idf * ((often * (K1 + 1.0)) / (often + K1 * (1.0 - B + B * length / average)));
            }
            -score
        };
        let any = |body: &[String]| tokens.iter().any(|token| body.contains(token));
        let mut found: Vec<_> = bodies
            .iter()
            .filter(|(_, body)| any(body))
            .map(|(n, body)| (*n, rank(body)))
            .collect();
        found.sort_by(|(_, a), (_, b)| a.partial_cmp(b).unwrap());
        found.into_iter().map(|(n, _)| n).collect()
    }
}

fn tokens(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for c in text.chars() {
        match c {
            'a'..='z' | '0'..='9' => found.last_mut().unwrap().push(c),
            'A'..='Z' => found.last_mut().unwrap().push(c.to_ascii_lowercase()),
            _ => found.push(String::new()),
        }
    }
    found.retain(|token| !token.is_empty());
    found
}

fn chosen(query: &str) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for token in tokens(query) {
        if !distinct.contains(&token) {
            distinct.push(token);
        }
    }
    if distinct.len() <= 24 {
        return distinct;
    }
    let mut chosen = Vec::new();
    while chosen.len() < 24 {
        let longest = distinct.iter().map(String::len).max().unwrap();
        let first = distinct
            .iter()
            .position(|token| token.len() == longest)
            .unwrap();
        chosen.push(distinct.remove(first));
    }
    chosen
}

fn normalized(text: &str) -> String {
    let mut found = String::new();
    for c in text.trim().chars() {
        match c.is_whitespace() {
            true if found.ends_with(' ') => {}
            true => found.push(' '),
            false => found.extend(c.to_lowercase()),
        }
    }
    found
}
