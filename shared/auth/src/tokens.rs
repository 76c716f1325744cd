//! The ingress token map: the bearer tokens and their subjects.
//!
//! The bot and the edge share this parser. The map has no `Debug` and faults name only the found
//! shape, so no token can be logged. Not here: the header (`bearer`) and what a scope permits
//! (`gates`).

use ars_types::{ChannelName, Platform};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::{Actor, Ingress, Secret, ShapeFault, TokenFault, gate::Credentials};

/// Scope that permits starting runs.
const DISPATCH: &str = "dispatch";

/// Separates token digests from other digests over the same bytes.
const DIGEST_DOMAIN: &[u8] = b"ars-ingress-token";
/// Size of a stored digest in bytes.
const DIGEST_BYTES: usize = 16;

/// A token's digest and subject, by which stored work finds the token again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenDigest(String);

impl TokenDigest {
    fn new(subject: &str, token: &Secret) -> Self {
        let mut hash = Sha256::new();
        for part in [DIGEST_DOMAIN, subject.as_bytes(), token.expose().as_bytes()] {
            // The length keeps the parts apart.
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        Self(
            hash.finalize()
                .iter()
                .take(DIGEST_BYTES)
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        )
    }
}

/// The tokens that are configured.
#[derive(Clone, Default)]
pub struct TokenMap {
    entries: Vec<(Secret, TokenEntry)>,
}

/// The identity and permissions that a token gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEntry {
    /// The only identity the caller can assume.
    pub subject: String,
    /// Overrides a request's channel.
    pub channel: Option<ChannelName>,
    /// Grants, without duplicates, in the given order.
    pub scopes: Vec<String>,
    /// The token's digest, for stored work.
    pub digest: TokenDigest,
}

/// What the configuration value contains.
pub struct ParsedTokens {
    /// The tokens, empty if the value was rejected.
    pub map: TokenMap,
    /// Why the whole value was rejected.
    pub fault: Option<ShapeFault>,
    /// Positions of skipped entries, from 1, and why each was skipped.
    pub skipped: Vec<(usize, TokenFault)>,
}

impl ParsedTokens {
    /// Returns whether every token in the value could be read.
    pub fn is_complete(&self) -> bool {
        self.fault.is_none() && self.skipped.is_empty()
    }
}

impl TokenEntry {
    /// Returns whether the token has exactly this scope. Scopes have no wildcards.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }

    /// Fails if any field is malformed: the whole entry is skipped, never widened to a default.
    fn parse(token: &Secret, value: &Value) -> Result<Self, TokenFault> {
        let entry = value.as_object().ok_or(TokenFault::Shape)?;
        let subject = entry
            .get("subject")
            .and_then(non_empty)
            .ok_or(TokenFault::Subject)?;
        if Platform::parse(&subject).is_some_and(|platform| platform.rules().is_key_subject) {
            return Err(TokenFault::Subject);
        }
        let parse_channel = |channel: &Value| ChannelName::parse(channel.as_str()?).ok();
        let channel = match entry.get("channel") {
            None => None,
            Some(channel) => Some(parse_channel(channel).ok_or(TokenFault::Channel)?),
        };
        let scopes = match entry.get("scopes") {
            None => vec![DISPATCH.to_owned()],
            Some(scopes) => parse_scopes(scopes).ok_or(TokenFault::Scopes)?,
        };
        let digest = TokenDigest::new(&subject, token);
        Ok(Self {
            subject,
            channel,
            scopes,
            digest,
        })
    }
}

impl TokenMap {
    /// Parses the `SERVICE_INGRESS_TOKENS` value. Unset and blank values are valid without tokens.
    ///
    /// The last of duplicate tokens or fields wins, as in JSON readers. If it is malformed, the
    /// entry is skipped even if an earlier duplicate was well-formed.
    pub fn parse(text: Option<&str>) -> ParsedTokens {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return ParsedTokens {
                map: Self::default(),
                fault: None,
                skipped: Vec::new(),
            };
        };
        let fault = match serde_json::from_str(text) {
            Ok(Value::Object(entries)) => {
                let (map, skipped) = Self::from_entries(entries);
                return ParsedTokens {
                    map,
                    fault: None,
                    skipped,
                };
            }
            Ok(Value::Array(_)) => ShapeFault::NotAnObject("array"),
            Ok(Value::Null) => ShapeFault::NotAnObject("null"),
            Ok(Value::Bool(_)) => ShapeFault::NotAnObject("boolean"),
            Ok(Value::Number(_)) => ShapeFault::NotAnObject("number"),
            Ok(Value::String(_)) => ShapeFault::NotAnObject("string"),
            Err(_) => ShapeFault::NotJson,
        };
        ParsedTokens {
            map: Self::default(),
            fault: Some(fault),
            skipped: Vec::new(),
        }
    }

    /// Returns `true` if no token is configured. The endpoints are then disabled, never open.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entry for a presented token. Compares with every token, so that the time does
    /// not depend on which matches.
    pub fn authenticate(&self, presented: &str) -> Option<&TokenEntry> {
        let mut matched = None;
        for (token, entry) in &self.entries {
            if token.matches(presented.as_bytes()) {
                matched = Some(entry);
            }
        }
        matched
    }

    /// Returns whether a token pins a channel.
    pub fn pins(&self, channel: &ChannelName) -> bool {
        self.entries
            .iter()
            .any(|(_, entry)| entry.channel.as_ref() == Some(channel))
    }

    /// Returns every entry with this subject.
    pub fn entries_of<'m>(&'m self, subject: &'m str) -> impl Iterator<Item = &'m TokenEntry> {
        self.entries
            .iter()
            .map(|(_, entry)| entry)
            .filter(move |entry| entry.subject == subject)
    }

    /// Returns who sent an earlier message to this channel, with the token's present grants.
    /// Returns `None` if the token is gone, has another subject or channel, or may no longer start
    /// runs.
    pub fn sender_now(&self, actor: &str, digest: &TokenDigest, channel: &str) -> Option<Actor> {
        let ingress = Ingress::of_actor(actor)?;
        let is_sender = |entry: &&TokenEntry| {
            let pinned = entry
                .channel
                .as_ref()
                .map(|name| ingress.platform().id(name));
            entry.digest == *digest
                && entry.has_scope(DISPATCH)
                && pinned.is_none_or(|pinned| pinned == channel)
        };
        let entry = self
            .entries
            .iter()
            .map(|(_, entry)| entry)
            .find(is_sender)?;
        Some(Actor::service(ingress, entry)).filter(|now| now.id == actor)
    }

    /// Returns every token, for redaction.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.entries.iter().map(|(token, _)| token)
    }

    /// Returns the valid entries, and the faults in the others with their positions.
    fn from_entries(entries: Map<String, Value>) -> (Self, Vec<(usize, TokenFault)>) {
        let (mut kept, mut skipped) = (Vec::new(), Vec::new());
        for (index, (token, entry)) in entries.into_iter().enumerate() {
            let token = Secret::parse(Some(token)).ok_or(TokenFault::Token);
            match token
                .and_then(|token| TokenEntry::parse(&token, &entry).map(|entry| (token, entry)))
            {
                Ok(entry) => kept.push(entry),
                Err(fault) => skipped.push((index + 1, fault)),
            }
        }
        (Self { entries: kept }, skipped)
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
    value
        .as_str()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
