//! Checks a candidate in a request (docs/reference/memory.md#candidates).

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use ars_store::{Refusal, json::number, request::is_short};

use crate::{normalize, tokens};

/// Maximum number of candidates in a request.
pub(crate) const MAX_CANDIDATES: usize = 50;
/// Maximum length of a text in characters.
pub(crate) const MAX_TEXT_CHARS: usize = 4000;
/// Maximum length of a thread key, a run id or a record id, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 200;
/// Maximum number of keywords per candidate.
const MAX_KEYWORDS: usize = 20;
/// Maximum length of a keyword in characters.
pub(crate) const MAX_KEYWORD_CHARS: usize = 64;

/// Maximum number of untrusted sources per candidate.
const MAX_TAINTS: usize = 8;
/// Maximum length of a source name in characters.
const MAX_TAINT_CHARS: usize = 32;

/// The kinds that a record can have.
const KINDS: [&str; 2] = ["fact", "summary"];

/// A candidate that was accepted.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    /// Normalized text, by which equal texts are found.
    pub(crate) normalized: String,
    /// The part that is stored.
    pub(crate) record: Record<'a>,
}

/// A record's immutable part. Unknown candidate fields are dropped.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record<'a> {
    kind: &'a str,
    text: &'a str,
    keywords: Vec<Keyword<'a>>,
    source_thread_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<&'a Json>,
    /// The empty text reads as `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) supersedes: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Json]>::is_empty")]
    taint: &'a [Json],
}

/// A given keyword, or a token in lower case.
type Keyword<'a> = Cow<'a, str>;

impl<'a> Candidate<'a> {
    /// Parses the candidates in a body. A single invalid candidate rejects them all.
    pub(crate) fn read_all(body: &'a Map<String, Json>) -> Result<Vec<Self>, Refusal> {
        let entries = body.get("records").and_then(Json::as_array);
        let Some(entries) = entries.filter(|entries| entries.len() <= MAX_CANDIDATES) else {
            return Err(Refusal::field(
                "records",
                "must be an array of at most 50 candidates",
            ));
        };
        entries
            .iter()
            .enumerate()
            .map(|(index, entry)| Self::read(entry, index))
            .collect()
    }

    fn read(entry: &'a Json, index: usize) -> Result<Self, Refusal> {
        let Json::Object(fields) = entry else {
            return Err(Refusal::field(
                format!("records[{index}]"),
                "must be an object",
            ));
        };
        let fields = Fields { fields, index };
        let kind = fields.required("kind", MAX_NAME_CHARS, "must be fact or summary", |kind| {
            KINDS.contains(&kind)
        })?;
        let normalized = fields
            .get("text")
            .and_then(Json::as_str)
            .map(normalize)
            .unwrap_or_default();
        let rule = "must be a string of at most 4000 characters, not blank";
        let text = fields.required("text", MAX_TEXT_CHARS, rule, |_| !normalized.is_empty())?;
        let rule = "must be a string of 1 to 200 characters";
        let source_thread_key =
            fields.required("sourceThreadKey", MAX_NAME_CHARS, rule, |key| {
                !key.is_empty()
            })?;
        let record = Record {
            kind,
            text,
            keywords: fields.keywords(text)?,
            source_thread_key,
            source_run_id: fields.name("sourceRunId")?,
            confidence: fields.confidence()?,
            supersedes: fields.name("supersedes")?.filter(|id| !id.is_empty()),
            taint: fields.taint()?,
        };
        Ok(Self { normalized, record })
    }

    /// Returns the searchable text: the text's tokens, then the keywords', separated by spaces.
    pub(crate) fn tokens(&self) -> String {
        let texts =
            std::iter::once(self.record.text).chain(self.record.keywords.iter().map(AsRef::as_ref));
        let mut joined = String::new();
        for token in texts.flat_map(tokens) {
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(&token);
        }
        joined
    }
}

/// A candidate's fields, and the name in refusals.
struct Fields<'a> {
    fields: &'a Map<String, Json>,
    index: usize,
}

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a Json> {
        self.fields.get(name)
    }

    fn refuse(&self, name: &str, rule: &str) -> Refusal {
        Refusal::field(format!("records[{}].{name}", self.index), rule)
    }

    fn required(
        &self,
        name: &str,
        max_chars: usize,
        rule: &str,
        is_valid: impl Fn(&str) -> bool,
    ) -> Result<&'a str, Refusal> {
        let text = self
            .get(name)
            .filter(|value| is_short(value, max_chars))
            .and_then(Json::as_str);
        text.filter(|text| is_valid(text))
            .ok_or_else(|| self.refuse(name, rule))
    }

    /// Returns an optional name, which may be empty.
    fn name(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        if self.get(name).is_none() {
            return Ok(None);
        }
        let rule = "must be a string of at most 200 characters when present";
        self.required(name, MAX_NAME_CHARS, rule, |_| true)
            .map(Some)
    }

    fn confidence(&self) -> Result<Option<&'a Json>, Refusal> {
        let is_valid =
            |value: &Json| number(value).is_some_and(|number| (0.0..=1.0).contains(&number));
        match self.get("confidence") {
            Some(value) if !is_valid(value) => {
                Err(self.refuse("confidence", "must be a number from 0 to 1 when present"))
            }
            valid => Ok(valid),
        }
    }

    fn taint(&self) -> Result<&'a [Json], Refusal> {
        let is_name = |value: &Json| {
            value.as_str().is_some_and(|text| !text.is_empty()) && is_short(value, MAX_TAINT_CHARS)
        };
        match self.get("taint") {
            None => Ok(&[]),
            Some(Json::Array(given)) if given.len() <= MAX_TAINTS && given.iter().all(is_name) => {
                Ok(given)
            }
            Some(_) => Err(self.refuse(
                "taint",
                "must be an array of at most 8 strings of 1 to 32 characters when present",
            )),
        }
    }

    /// Returns the keywords, or the text's tokens if there are none.
    fn keywords(&self, text: &'a str) -> Result<Vec<Keyword<'a>>, Refusal> {
        let rule = "must be an array of at most 20 strings of 1 to 64 characters when present";
        let refuse = || self.refuse("keywords", rule);
        let given = match self.get("keywords") {
            None => &[][..],
            Some(Json::Array(given)) if given.len() <= MAX_KEYWORDS => given,
            Some(_) => return Err(refuse()),
        };
        let read = |value: &'a Json| {
            let keyword = value
                .as_str()
                .filter(|text| !text.is_empty() && is_short(value, MAX_KEYWORD_CHARS));
            keyword.map(Keyword::Borrowed).ok_or_else(refuse)
        };
        let keywords: Vec<_> = given.iter().map(read).collect::<Result<_, _>>()?;
        Ok(if keywords.is_empty() {
            tokens(text).collect()
        } else {
            keywords
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a candidate's record, or the refusal text.
    fn read(candidate: &Json) -> Result<Json, String> {
        let body = json!({ "records": [candidate] });
        let read = Candidate::read_all(body.as_object().unwrap());
        read.map(|read| serde_json::to_value(&read[0].record).unwrap())
            .map_err(|refusal| refusal.to_string())
    }

    fn with(field: &str, value: Json) -> Json {
        let mut candidate = json!({ "kind": "fact", "text": "Deploys run on Fridays", "sourceThreadKey": "t:C1:1" });
        candidate[field] = value;
        candidate
    }

    #[test]
    fn record_keeps_known_fields_only() {
        let whole = json!({
            "kind": "summary", "text": "  Deploys\nrun ", "keywords": ["CI time", "é"], "sourceThreadKey": "t:C1:1",
            "sourceRunId": "", "confidence": 0.75, "supersedes": "mem:org:acme:3", "taint": ["web"],
        });
        let mut more = whole.clone();
        more["status"] = json!("superseded");
        more["useCount"] = json!(7);
        assert_eq!(read(&more), Ok(whole));
    }

    #[test]
    fn keywords_default_to_text_tokens() {
        let expected = json!(["deploys", "run", "on", "fridays"]);
        assert_eq!(
            read(&with("kind", json!("fact"))).unwrap()["keywords"],
            expected
        );
        assert_eq!(
            read(&with("keywords", json!([]))).unwrap()["keywords"],
            expected
        );
        assert_eq!(
            read(&with("text", json!("A b, a!"))).unwrap()["keywords"],
            json!(["a", "b", "a"])
        );
    }

    #[test]
    fn empty_supersedes_is_none() {
        assert_eq!(
            read(&with("supersedes", json!("")))
                .unwrap()
                .get("supersedes"),
            None
        );
    }

    #[test]
    fn searchable_text_is_text_then_keywords() {
        let body = json!({ "records": [with("keywords", json!(["CI time", "ünï"]))] });
        let read = Candidate::read_all(body.as_object().unwrap()).unwrap();
        assert_eq!(read[0].tokens(), "deploys run on fridays ci time n");
        assert_eq!(read[0].normalized, "deploys run on fridays");
    }

    #[test]
    fn one_invalid_candidate_rejects_all() {
        let read = |records: Json| {
            let body = json!({ "records": records });
            Candidate::read_all(body.as_object().unwrap())
                .map(|read| read.len())
                .map_err(|refusal| refusal.to_string())
        };
        let good = with("kind", json!("fact"));
        assert_eq!(read(json!([])), Ok(0));
        assert_eq!(read(json!(vec![&good; 50])), Ok(50));
        for records in [json!(vec![&good; 51]), json!(null), json!({}), json!("x")] {
            assert!(read(records).unwrap_err().starts_with("records must "));
        }
        assert!(
            Candidate::read_all(&Map::new())
                .unwrap_err()
                .to_string()
                .starts_with("records must ")
        );
        let refusal = read(json!([good, good, with("kind", json!("rumour"))])).unwrap_err();
        assert!(refusal.starts_with("records[2].kind "), "{refusal}");
    }
}
