//! The ingress token map: the bearer tokens and their subjects.
//!
//! The bot and the edge share this parser. The map has no `Debug` and faults name only the found shape, so no token can
//! be logged. Not here: the header (`bearer`) and the permissions of a scope (`gates`).

use ars_types::ChannelName;
use serde_json::{Map, Value};

use crate::{Secret, ShapeFault, gate::Credentials};

/// Scope that permits starting runs.
const DISPATCH: &str = "dispatch";

/// The configured tokens.
#[derive(Clone, Default)]
pub struct TokenMap {
    entries: Vec<(Secret, TokenEntry)>,
}

/// Identity and permissions of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEntry {
    /// The only identity the caller can assume.
    pub subject: String,
    /// Overrides the channel of a request.
    pub channel: Option<ChannelName>,
    /// Grants, without duplicates, in the given order.
    pub scopes: Vec<String>,
}

/// Result of parsing the configuration value.
pub struct ParsedTokens {
    /// The tokens, empty if the value was rejected.
    pub map: TokenMap,
    /// Why the whole value was rejected, for the start-up log.
    pub fault: Option<ShapeFault>,
}

impl TokenEntry {
    /// Returns whether the token has exactly this scope. Scopes have no wildcards.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }

    /// Returns `None` if any field is malformed: the whole entry is skipped, never widened to a default.
    fn parse(value: &Value) -> Option<Self> {
        let entry = value.as_object()?;
        let subject = non_empty(entry.get("subject")?)?;
        let channel = match entry.get("channel") {
            None => None,
            Some(channel) => Some(ChannelName::parse(channel.as_str()?).ok()?),
        };
        let scopes = match entry.get("scopes") {
            None => vec![DISPATCH.to_owned()],
            Some(scopes) => parse_scopes(scopes)?,
        };
        Some(Self { subject, channel, scopes })
    }
}

impl TokenMap {
    /// Parses the value of `SERVICE_INGRESS_TOKENS`. Unset and blank values are valid without tokens.
    ///
    /// The last of duplicate tokens or fields wins, as in JSON readers. If it is malformed, the entry is skipped even
    /// if an earlier one was well-formed.
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

    /// Returns the entry of a presented token.
    /// Compares with every token, so that the time does not depend on which one matches.
    pub fn authenticate(&self, presented: &str) -> Option<&TokenEntry> {
        let mut matched = None;
        for (token, entry) in &self.entries {
            if token.matches(presented.as_bytes()) {
                matched = Some(entry);
            }
        }
        matched
    }

    /// Returns every entry of a subject.
    pub fn entries_of<'m>(&'m self, subject: &'m str) -> impl Iterator<Item = &'m TokenEntry> {
        self.entries.iter().map(|(_, entry)| entry).filter(move |entry| entry.subject == subject)
    }

    /// Returns every token, for redaction.
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
