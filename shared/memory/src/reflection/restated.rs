//! Removes findings that memory already contains.
//!
//! A record that was shown to a run occurs in the conversation and then in the findings. Written
//! again it would look new, and written to another scope it would disclose a personal record to a
//! wider audience.

use ars_wire::memory::MemoryRecord;

use super::Findings;
use crate::normalize;

impl Findings {
    /// Drops findings that any of these records contains in the same words and order. A fact may
    /// repeat the record that it replaces.
    #[must_use]
    pub fn without_restated(mut self, known: &[MemoryRecord]) -> Self {
        let is_known = |text: &str, but: Option<&str>| {
            let text = Words::new(text);
            known
                .iter()
                .any(|record| Some(record.id.as_str()) != but && text.is_within(&record.text))
        };
        self.facts
            .retain(|fact| !is_known(&fact.text, fact.supersedes.as_deref()));
        self.summary = self.summary.filter(|summary| !is_known(summary, None));
        self
    }
}

/// The words in a text, lower-case letters and digits only, each between two spaces.
struct Words<'a> {
    text: &'a str,
    words: String,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        let mut words = String::from(" ");
        for word in normalize(text)
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            words.push_str(word);
            words.push(' ');
        }
        Self { text, words }
    }

    fn is_within(&self, other: &str) -> bool {
        if self.words == " " {
            // A text with symbols only would be contained in every text.
            return normalize(self.text) == normalize(other);
        }
        Words::new(other).words.contains(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scope, reflection::Fact, samples::record};

    fn fact(text: &str, supersedes: Option<&str>) -> Fact {
        Fact {
            text: text.into(),
            confidence: 0.9,
            keywords: vec![],
            audience: Scope::Org,
            supersedes: supersedes.map(Into::into),
        }
    }

    fn kept(text: &str, supersedes: Option<&str>) -> bool {
        let known = [
            record("user:ann", 0, "Ann prefers tabs, and short answers."),
            record("org:acme", 0, "CI runs nightly"),
            record("org:acme", 1, "✅"),
        ];
        let findings = Findings {
            facts: vec![fact(text, supersedes)],
            summary: Some(text.into()),
        };
        let left = findings.without_restated(&known);
        assert!(
            supersedes.is_some() || left.facts.is_empty() == left.summary.is_none(),
            "{text}"
        );
        !left.facts.is_empty()
    }

    #[test]
    fn restated_records_are_dropped() {
        for text in [
            "Ann prefers tabs, and short answers.",
            "ann PREFERS «tabs» and short\nanswers",
            "prefers tabs",
            "CI",
            "✅",
        ] {
            assert!(!kept(text, None), "{text}");
        }
    }

    #[test]
    fn new_content_is_kept() {
        for text in [
            "CI runs nightly at 2",
            "prefers spaces",
            "prefer tabs",
            "answers short and",
            "é",
            "🦀",
            "✅✅",
        ] {
            assert!(kept(text, None), "{text}");
        }
    }

    #[test]
    fn fact_may_restate_the_record_it_replaces() {
        assert!(kept("CI runs", Some("mem:org:acme:0")));
        assert!(!kept("Ann prefers tabs", Some("mem:org:acme:0")));
    }
}
