//! What a model found worth remembering, read from its answer (state-worker supplement section 12, row "output").
//!
//! The answer is untrusted: what breaks a rule is left out, and what is no envelope at all is nothing.

use ars_wire::memory::MemoryRecord;
use serde_json::{Map, Value as Json};

use crate::{Scope, candidate, normalize};

/// Facts that are kept of one answer.
const MAX_FACTS: usize = 5;
/// Keywords of a fact.
const MAX_KEYWORDS: usize = 10;
/// The least and the most confidence of a fact.
const CONFIDENCE: std::ops::RangeInclusive<f64> = 0.6..=1.0;
/// Bytes of an answer that are looked at: far more than the call's output limit lets a model say.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What is worth remembering; perhaps nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// What holds.
    pub facts: Vec<Fact>,
    /// What the conversation came to.
    pub summary: Option<String>,
}

/// Something that holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// What.
    pub text: String,
    /// From 0.6 to 1.
    pub confidence: f64,
    /// What it is found by; perhaps nothing but its text.
    pub keywords: Vec<String>,
    /// For whom.
    pub audience: Scope,
    /// The id of the shown record that it takes the place of.
    pub supersedes: Option<String>,
}

impl Findings {
    /// Reads an answer. `shown` are the records that it may replace; `clean` removes secrets and control sequences,
    /// from each text as a whole. `None` when it is no JSON object, or its `facts` are no array.
    pub fn read(answer: &str, shown: &[MemoryRecord], clean: impl Fn(&str) -> String) -> Option<Self> {
        let answer = unfenced(answer);
        if answer.len() > MAX_ANSWER_BYTES {
            return None;
        }
        let envelope: Map<String, Json> = serde_json::from_str(answer).ok()?;
        let Some(Json::Array(facts)) = envelope.get("facts") else { return None };
        let facts = facts.iter().filter_map(|fact| read_fact(fact, shown, &clean)).take(MAX_FACTS).collect();
        let summary = envelope.get("summary").and_then(|summary| storable(summary, &clean));
        Some(Self { facts, summary })
    }
}

fn read_fact(fact: &Json, shown: &[MemoryRecord], clean: &impl Fn(&str) -> String) -> Option<Fact> {
    let confidence = fact.get("confidence")?.as_f64().filter(|confidence| CONFIDENCE.contains(confidence))?;
    let text = storable(fact.get("text")?, clean)?;
    let audience = fact.get("audience").and_then(Json::as_str).and_then(Scope::named).unwrap_or(Scope::Org);
    let supersedes = fact.get("supersedes").and_then(Json::as_str);
    let supersedes = supersedes.filter(|id| shown.iter().any(|record| record.id == *id)).map(str::to_owned);
    Some(Fact { text, confidence, keywords: keywords(fact.get("keywords"), clean), audience, supersedes })
}

/// A text that the store takes, without its margins.
fn storable(text: &Json, clean: &impl Fn(&str) -> String) -> Option<String> {
    let text = clean(text.as_str()?);
    let text = text.trim();
    let is_storable = !normalize(text).is_empty() && text.chars().nth(candidate::MAX_TEXT_CHARS).is_none();
    is_storable.then(|| text.to_owned())
}

/// The keywords that the store takes, in lower case, each once.
fn keywords(keywords: Option<&Json>, clean: &impl Fn(&str) -> String) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for keyword in keywords.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str) {
        // Cleaned twice: in lower case a secret may no longer be known, and what was none may have become one.
        let keyword = clean(&normalize(&clean(keyword)));
        let is_short = keyword.chars().nth(candidate::MAX_KEYWORD_CHARS).is_none();
        if is_short && !keyword.is_empty() && !kept.contains(&keyword) {
            kept.push(keyword);
        }
        if kept.len() == MAX_KEYWORDS {
            break;
        }
    }
    kept
}

/// The answer without the code fence that models like to put around all of it.
fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let inside = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside.map_or(answer, |inside| inside.strip_prefix("json").unwrap_or(inside).trim())
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
