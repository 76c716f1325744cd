//! The ingress token map: which bearer tokens exist and whom each stands for.
//!
//! One parser for the bot and the edge. Not here: the header (`bearer`) and what a scope allows (`gates`).
//! Implements document 1 sections 2.2 and 5.1, bot supplement section 1. Nothing in this file can say a token: the
//! map has no `Debug`, and a fault names only the shape that was found.

use serde_json::{Map, Value};

use crate::{Secret, gate::Credentials};

/// The scope that lets a token start runs.
const DISPATCH: &str = "dispatch";

/// The configured tokens.
#[derive(Clone, Default)]
pub struct TokenMap {
    entries: Vec<(Secret, TokenEntry)>,
}

/// Whom a token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEntry {
    /// The only identity the caller can assume.
    pub subject: String,
    /// Overrides whatever channel the caller names.
    pub channel: Option<String>,
    /// Grants, without repetitions, in the order given.
    pub scopes: Vec<String>,
}

/// What came of reading the configuration value.
pub struct ParsedTokens {
    /// The tokens; empty when the value was rejected.
    pub map: TokenMap,
    /// Why the whole value was rejected; for the start-up log.
    pub fault: Option<ShapeFault>,
}

/// Why a whole value was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeFault {
    /// It does not parse.
    #[error("not valid JSON")]
    NotJson,
    /// It is JSON of another kind.
    #[error("a JSON {0} instead of an object")]
    NotAnObject(&'static str),
}

impl TokenEntry {
    /// Whether the token holds exactly this scope. There are no wildcards among scopes.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }

    /// `None` when any field is malformed: an entry is skipped as a whole, never widened to a default.
    fn parse(value: &Value) -> Option<Self> {
        let entry = value.as_object()?;
        let subject = non_empty(entry.get("subject")?)?;
        let channel = match entry.get("channel") {
            None => None,
            Some(channel) => Some(channel.as_str()?.to_owned()),
        };
        let scopes = match entry.get("scopes") {
            None => vec![DISPATCH.to_owned()],
            Some(scopes) => parse_scopes(scopes)?,
        };
        Some(Self { subject, channel, scopes })
    }
}

impl TokenMap {
    /// Reads the value of `SERVICE_INGRESS_TOKENS`. Unset and blank are a success without tokens.
    ///
    /// A name that occurs twice, be it a token or a field, counts by its last occurrence, as JSON readers do;
    /// when that one is malformed the entry is skipped, although an earlier one was well-formed.
    pub fn parse(text: Option<&str>) -> ParsedTokens {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return ParsedTokens { map: Self::default(), fault: None };
        };
        let fault = match serde_json::from_str(text) {
            Ok(Value::Object(entries)) => return ParsedTokens { map: Self::of(entries), fault: None },
            Ok(Value::Array(_)) => ShapeFault::NotAnObject("array"),
            Ok(Value::Null) => ShapeFault::NotAnObject("null"),
            Ok(Value::Bool(_)) => ShapeFault::NotAnObject("boolean"),
            Ok(Value::Number(_)) => ShapeFault::NotAnObject("number"),
            Ok(Value::String(_)) => ShapeFault::NotAnObject("string"),
            Err(_) => ShapeFault::NotJson,
        };
        ParsedTokens { map: Self::default(), fault: Some(fault) }
    }

    /// Returns `true` if no token is configured. The endpoints are then disabled, never open.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entry of a presented token. Compares with every token, so that the time does not depend on which one
    /// matches.
    pub fn authenticate(&self, presented: &str) -> Option<&TokenEntry> {
        let mut matched = None;
        for (token, entry) in &self.entries {
            if token.matches(presented.as_bytes()) {
                matched = Some(entry);
            }
        }
        matched
    }

    /// The token of a subject, when exactly one entry has it: nothing is better than somebody else's.
    pub fn token_of_subject(&self, subject: &str) -> Option<&Secret> {
        let mut tokens =
            self.entries.iter().filter(|(_, entry)| entry.subject == subject).map(|(token, _)| token);
        tokens.next().filter(|_| tokens.next().is_none())
    }

    /// Every entry of a subject.
    pub fn entries_of<'m>(&'m self, subject: &'m str) -> impl Iterator<Item = &'m TokenEntry> {
        self.entries.iter().map(|(_, entry)| entry).filter(move |entry| entry.subject == subject)
    }

    /// Every token, so that shown text can be cleared of them.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.entries.iter().map(|(token, _)| token)
    }

    fn of(entries: Map<String, Value>) -> Self {
        let parse =
            |(token, entry): (String, Value)| Some((Secret::parse(Some(token))?, TokenEntry::parse(&entry)?));
        Self { entries: entries.into_iter().filter_map(parse).collect() }
    }
}

impl Credentials for TokenMap {
    type Holder = TokenEntry;

    fn is_configured(&self) -> bool {
        !self.is_empty()
    }

    fn authenticate<'a>(&'a self, presented: &'a str) -> Option<&'a TokenEntry> {
        // The inherent method.
        Self::authenticate(self, presented)
    }
}

fn parse_scopes(value: &Value) -> Option<Vec<String>> {
    let mut scopes = Vec::new();
    for scope in value.as_array()? {
        let scope = non_empty(scope)?;
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Some(scopes)
}

fn non_empty(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
