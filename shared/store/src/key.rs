//! Selects the store that a body addresses.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use ars_types::{RunId, StoreKey};
use ars_wire::state::Key;

use crate::Refusal;

/// Store name when the kind has a single store.
const SINGLE: &str = "default";

/// Returns the name of the store that a body addresses.
/// The shell selects the store by it, so the rest of the body is not parsed here.
pub fn key_of(body: &str, key: Key) -> Result<StoreKey, Refusal> {
    let (field, rule) = match key {
        Key::Named(field) => (
            field,
            "must be 1 to 200 characters without white space or control characters",
        ),
        Key::Run(field) => (field, "must be 1 to 64 letters, digits, `_` or `-`"),
        Key::Slug(field) => (field, "must be 1 to 64 lowercase letters, digits or `-`"),
        Key::Single => {
            return StoreKey::parse(SINGLE).map_err(|_| Refusal::field("key", "must be valid"));
        }
    };
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let found = deserializer.deserialize_map(KeyOnly(field));
    let found = found.and_then(|found| deserializer.end().map(|()| found));
    let found = found.map_err(|_| Refusal::field("body", "must be a JSON object"))?;
    let allowed = |name: &String| match key {
        Key::Run(_) => RunId::parse(name.as_str()).is_ok(),
        Key::Slug(_) => is_slug(name),
        Key::Named(_) | Key::Single => true,
    };
    let name = found
        .filter(allowed)
        .and_then(|name| StoreKey::parse(name).ok());
    name.ok_or_else(|| Refusal::field(field, rule))
}

/// Maximum length of a slug.
const MAX_SLUG: usize = 64;

fn is_slug(name: &str) -> bool {
    (1..=MAX_SLUG).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Reads a single key from an object and skips the others.
struct KeyOnly(&'static str);

impl<'de> Visitor<'de> for KeyOnly {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Name(self.0))? {
            if is_it {
                let value: &serde_json::value::RawValue = map.next_value()?;
                // A value with another type counts as absent. A later duplicate key wins.
                found = serde_json::from_str(value.get()).ok();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares an object's key as bytes: a key may contain a lone surrogate, which a string cannot.
struct Name(&'static str);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Name {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<bool, E> {
        Ok(key == self.0.as_bytes())
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: Key = Key::Named("storeKey");

    #[test]
    fn key_is_found_at_any_position() {
        for body in [
            r#"{"storeKey":"runs:default"}"#,
            r#" {"record":{"storeKey":"other","deep":[[[{}]]]},"storeKey":"runs:default"} "#,
            r#"{"storeKey":"first","storeKey":"runs:default"}"#,
            r#"{"storeKey":1,"storeKey":"runs:default","x\ud800":"\ud800"}"#,
            r#"{"store\u004bey":"runs:default"}"#,
        ] {
            assert_eq!(
                key_of(body, STORE).unwrap().as_str(),
                "runs:default",
                "{body}"
            );
        }
    }

    #[test]
    fn missing_key_and_invalid_body_are_rejected() {
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
            let refusal = key_of(body, STORE).unwrap_err();
            assert!(
                refusal.to_string().starts_with(named) && refusal.status() == 400,
                "{body}: {refusal}"
            );
        }
    }

    #[test]
    fn run_id_names_the_store() {
        let run = |body| key_of(body, Key::Run("runId"));
        assert_eq!(run(r#"{"runId":"r-1"}"#).unwrap().as_str(), "r-1");
        assert!(
            run(r#"{"runId":"r:1"}"#)
                .unwrap_err()
                .to_string()
                .starts_with("runId ")
        );
        assert_eq!(key_of("[]", Key::Single).unwrap().as_str(), "default");
    }

    #[test]
    fn a_slug_is_lower_case_and_short() {
        let slug = |key: &str| key_of(&format!(r#"{{"key":"{key}"}}"#), Key::Slug("key"));
        for good in ["overrides", "a-1", &"x".repeat(64)] {
            assert_eq!(slug(good).unwrap().as_str(), good);
        }
        for bad in ["", "Overrides", "a_b", "a:b", "a.b", "é", &"x".repeat(65)] {
            assert!(
                slug(bad).unwrap_err().to_string().starts_with("key "),
                "{bad}"
            );
        }
    }
}
