//! A reflection's findings, parsed from the model's answer.
//!
//! The answer is untrusted: invalid parts are dropped, and without an envelope the answer is
//! `None`.

use ars_wire::memory::MemoryRecord;
use serde_json::{Map, Value as Json};

use crate::{Scope, candidate, normalize};

/// Maximum number of facts in an answer.
const MAX_FACTS: usize = 5;
/// Maximum number of keywords per fact.
const MAX_KEYWORDS: usize = 10;
/// Valid confidence range for a fact.
const CONFIDENCE: std::ops::RangeInclusive<f64> = 0.6..=1.0;
/// Maximum size of a parsed answer in bytes: far more than the call's output limit allows.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Parsed findings; may be empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// Facts that the answer states.
    pub facts: Vec<Fact>,
    /// Summary of the whole conversation.
    pub summary: Option<String>,
}

/// A single fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The fact as text.
    pub text: String,
    /// Confidence from 0.6 to 1.
    pub confidence: f64,
    /// Keywords; may be empty.
    pub keywords: Vec<String>,
    /// Who the fact is for.
    pub audience: Scope,
    /// Id of the shown record that it replaces.
    pub supersedes: Option<String>,
}

impl Findings {
    /// Parses an answer; `None` if it is not a JSON object or `facts` is not an array.
    /// `shown` are the records that facts may replace; `clean` removes secrets and control sequences from each text.
    pub fn read(
        answer: &str,
        shown: &[MemoryRecord],
        clean: impl Fn(&str) -> String,
    ) -> Option<Self> {
        let answer = without_code_block(answer);
        if answer.len() > MAX_ANSWER_BYTES {
            return None;
        }
        let envelope: Map<String, Json> = serde_json::from_str(answer).ok()?;
        let Some(Json::Array(facts)) = envelope.get("facts") else {
            return None;
        };
        let facts = facts
            .iter()
            .filter_map(|fact| read_fact(fact, shown, &clean))
            .take(MAX_FACTS)
            .collect();
        let summary = envelope
            .get("summary")
            .and_then(|summary| storable(summary, &clean));
        Some(Self { facts, summary })
    }
}

fn read_fact(fact: &Json, shown: &[MemoryRecord], clean: &impl Fn(&str) -> String) -> Option<Fact> {
    let confidence = fact
        .get("confidence")?
        .as_f64()
        .filter(|confidence| CONFIDENCE.contains(confidence))?;
    let text = storable(fact.get("text")?, clean)?;
    let audience = fact
        .get("audience")
        .and_then(Json::as_str)
        .and_then(Scope::named)
        .unwrap_or(Scope::Org);
    let supersedes = fact.get("supersedes").and_then(Json::as_str);
    let supersedes = supersedes
        .filter(|id| shown.iter().any(|record| record.id == *id))
        .map(str::to_owned);
    Some(Fact {
        text,
        confidence,
        keywords: keywords(fact.get("keywords"), clean),
        audience,
        supersedes,
    })
}

/// Returns the trimmed text if the store accepts it.
fn storable(text: &Json, clean: &impl Fn(&str) -> String) -> Option<String> {
    let text = clean(text.as_str()?);
    let text = text.trim();
    let is_storable =
        !normalize(text).is_empty() && text.chars().nth(candidate::MAX_TEXT_CHARS).is_none();
    is_storable.then(|| text.to_owned())
}

/// Returns the distinct lower-case keywords that the store accepts.
fn keywords(keywords: Option<&Json>, clean: &impl Fn(&str) -> String) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for keyword in keywords
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
    {
        // Cleaned twice: lower-casing may hide a secret from the redactor, or turn text into a
        // secret.
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

/// Returns the answer without the Markdown code block that models like to put around it.
fn without_code_block(answer: &str) -> &str {
    let answer = answer.trim();
    let inside = answer
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    inside.map_or(answer, |inside| {
        inside.strip_prefix("json").unwrap_or(inside).trim()
    })
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
