//! Fields of request bodies, each with its own refusal (state-worker supplement section 5.2).
//!
//! A field that is null is not absent.

use std::fmt;

use ars_types::{RunId, StoreKey};
use serde::{
    Deserializer as _,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::{
    json::{number, whole},
    refusal::Refusal,
};

/// Longest `agent` and `channel` filter (section 5.2).
const MAX_FILTER_CHARS: usize = 200;

/// The store a body is for, without reading the rest: the shell picks the store by it, the store reads the body.
pub fn store_key_of(body: &str) -> Result<StoreKey, Refusal> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let found = deserializer.deserialize_map(KeyOnly).and_then(|found| deserializer.end().map(|()| found));
    let key = found.map_err(|_| Refusal::field("body", "must be a JSON object"))?;
    let refused = || {
        Refusal::field("storeKey", "must be 1 to 200 characters without white space or control characters")
    };
    key.and_then(|key| StoreKey::parse(key).ok()).ok_or_else(refused)
}

/// Keeps one key of an object and skips the rest.
struct KeyOnly;

impl<'de> Visitor<'de> for KeyOnly {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Name>()? {
            if key.0 {
                let value: &serde_json::value::RawValue = map.next_value()?;
                // A key of another type is no key; a later one of the same name counts instead.
                found = serde_json::from_str(value.get()).ok();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether an object's key is `storeKey`. Read as bytes: a key may hold half a surrogate pair, which no text can.
struct Name(bool);

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_bytes<E>(self, key: &[u8]) -> Result<Name, E> {
                Ok(Name(key == b"storeKey"))
            }

            fn visit_str<E>(self, key: &str) -> Result<Name, E> {
                Ok(Name(key == "storeKey"))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

pub(super) fn run_id(body: &Map<String, Value>, name: &str) -> Result<Option<RunId>, Refusal> {
    let parse = |value: &Value| value.as_str().and_then(|id| RunId::parse(id).ok());
    optional(body, name, parse, "must be 1 to 64 letters, digits, `_` or `-`")
}

pub(super) fn required_run_id(body: &Map<String, Value>, name: &str) -> Result<RunId, Refusal> {
    let missing = || Refusal::field(name, "must be 1 to 64 letters, digits, `_` or `-`");
    run_id(body, name)?.ok_or_else(missing)
}

pub(super) fn finite(body: &Map<String, Value>, name: &str) -> Result<Option<f64>, Refusal> {
    optional(body, name, number, "must be a finite number")
}

pub(super) fn filter_text(body: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    let parse = |value: &Value| {
        value.as_str().filter(|text| text.chars().count() <= MAX_FILTER_CHARS).map(str::to_owned)
    };
    optional(body, name, parse, "must be a string of at most 200 characters")
}

/// An integer of at least `least`; `rule` says so, and more if the caller checks more.
pub(super) fn integer(
    body: &Map<String, Value>,
    name: &str,
    allowed: std::ops::RangeInclusive<i64>,
    rule: &str,
) -> Result<Option<i64>, Refusal> {
    optional(body, name, |value| whole(value).filter(|number| allowed.contains(number)), rule)
}

fn optional<T>(
    body: &Map<String, Value>,
    name: &str,
    parse: impl Fn(&Value) -> Option<T>,
    rule: &str,
) -> Result<Option<T>, Refusal> {
    match body.get(name) {
        None => Ok(None),
        Some(value) => parse(value).map(Some).ok_or_else(|| Refusal::field(name, rule)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_found_wherever_it_stands() {
        for body in [
            r#"{"storeKey":"runs:default"}"#,
            r#" {"record":{"storeKey":"other","deep":[[[{}]]]},"storeKey":"runs:default"} "#,
            r#"{"storeKey":"first","storeKey":"runs:default"}"#,
            r#"{"storeKey":1,"storeKey":"runs:default","x\ud800":"\ud800"}"#,
            r#"{"store\u004bey":"runs:default"}"#,
        ] {
            assert_eq!(store_key_of(body).unwrap().as_str(), "runs:default", "{body}");
        }
    }

    #[test]
    fn a_missing_or_malformed_key_is_named_and_a_broken_body_is_said_to_be_one() {
        for (body, named) in [
            ("{}", "storeKey "),
            (r#"{"storeKey":null}"#, "storeKey "),
            (r#"{"storeKey":""}"#, "storeKey "),
            (r#"{"storeKey":"a b"}"#, "storeKey "),
            (r#"{"storeKey":"a\u0000"}"#, "storeKey "),
            (r#"{"storeKey":"a","storeKey":2}"#, "storeKey "),
            ("", "body "),
            (r#"["runs:default"]"#, "body "),
            (r#""runs:default""#, "body "),
            (r#"{"storeKey":"a"} x"#, "body "),
            (r#"{"storeKey":"a",}"#, "body "),
        ] {
            let refusal = store_key_of(body).unwrap_err();
            assert!(refusal.message.starts_with(named) && refusal.status == 400, "{body}: {refusal}");
        }
    }
}
