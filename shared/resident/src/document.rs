//! JSON documents, each type read in a single way and written in a single way.
//!
//! A type is read from a parsed value and written as text. Any further way, such as reading from
//! bytes, compiles all types once more, which makes the resident Worker a fifth larger.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize as _, Deserializer, Serialize};
use serde_json::{Error, Map, Value};

/// Reads a document.
///
/// # Errors
/// The text is no JSON, or has another shape.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    T::deserialize(parsed(text)?)
}

/// Reads a document from bytes.
///
/// # Errors
/// The bytes are no JSON, or have another shape.
pub fn read_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    read(std::str::from_utf8(bytes).map_err(Error::custom)?)
}

/// Returns a document as a parsed value.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn value_of(value: &impl Serialize) -> Result<Value, Error> {
    parsed_again(serde_json::to_string(value))
}

/// A tagged enum's fields. The derived form would read each field in a second way, from a serde
/// buffer.
pub struct Fields(Map<String, Value>);

impl Fields {
    /// Reads a field. An absent field is like `null`.
    ///
    /// # Errors
    /// The field has another shape.
    pub fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, Error> {
        T::deserialize(self.value(name))
    }

    /// Reads the fields of a variant with a single unnamed struct.
    ///
    /// # Errors
    /// The fields have another shape.
    pub fn rest<T: DeserializeOwned>(self) -> Result<T, Error> {
        T::deserialize(Value::Object(self.0))
    }

    #[inline(never)]
    fn value(&mut self, name: &str) -> Value {
        self.0.remove(name).unwrap_or_default()
    }
}

/// Reads an enum with an inner tag. `read` receives the tag and the other fields, and rejects an
/// unknown tag.
///
/// # Errors
/// The document is no object, the tag is unknown, or a field has another shape.
pub fn tagged<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    tag: &'static str,
    read: fn(&str, Fields) -> Result<T, Error>,
) -> Result<T, D::Error> {
    let mut fields = Fields(Map::deserialize(deserializer)?);
    let Value::String(name) = fields.value(tag) else {
        return Err(D::Error::missing_field(tag));
    };
    read(&name, fields).map_err(D::Error::custom)
}

/// Returns the error for an unknown tag.
///
/// # Errors
/// Always.
pub fn unknown_tag<T>(name: &str) -> Result<T, Error> {
    Err(Error::custom(format_args!("unknown tag `{name}`")))
}

// These are the same for all types, so each is compiled once only.

#[inline(never)]
fn parsed_again(text: Result<String, Error>) -> Result<Value, Error> {
    parsed(&text?)
}

#[inline(never)]
fn parsed(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Serialize)]
    #[serde(tag = "is", rename_all = "lowercase")]
    enum Tagged {
        None,
        Some { inner: Inner },
        All(Inner),
    }

    impl<'de> Deserialize<'de> for Tagged {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            tagged(deserializer, "is", |tag, mut fields| match tag {
                "none" => Ok(Self::None),
                "some" => Ok(Self::Some {
                    inner: fields.take("inner")?,
                }),
                "all" => Ok(Self::All(fields.rest()?)),
                _ => unknown_tag(tag),
            })
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        count: u64,
        share: f64,
        name: Option<String>,
    }

    fn inner() -> Inner {
        Inner {
            count: u64::MAX,
            share: 0.1,
            name: None,
        }
    }

    #[test]
    fn documents_round_trip() {
        let inner_text = r#""count":18446744073709551615,"share":0.1,"name":null"#;
        for (value, text) in [
            (Tagged::None, r#"{"is":"none"}"#.to_owned()),
            (
                Tagged::Some { inner: inner() },
                format!(r#"{{"is":"some","inner":{{{inner_text}}}}}"#),
            ),
            (
                Tagged::All(inner()),
                format!(r#"{{"is":"all",{inner_text}}}"#),
            ),
        ] {
            assert_eq!(serde_json::to_string(&value).unwrap(), text);
            assert_eq!(value_of(&value).unwrap().to_string(), text);
            assert_eq!(read::<Tagged>(&text).unwrap(), value);
            assert_eq!(read_bytes::<Tagged>(text.as_bytes()).unwrap(), value);
        }
    }

    #[test]
    fn invalid_documents_are_rejected() {
        assert!(read::<Inner>("{").is_err() && read::<Inner>("[]").is_err());
        assert!(read_bytes::<Value>(b"\"\xff\"").is_err());
        let without_count = json!({ "share": 1.0 });
        for (document, cause) in [
            (
                json!({ "is": "some", "inner": without_count }),
                "missing field `count`",
            ),
            (json!({ "is": "some" }), "invalid type: null"),
            (json!({ "is": "many" }), "unknown tag `many`"),
            (json!({ "inner": 1 }), "missing field `is`"),
            (json!([]), "expected a map"),
        ] {
            let error = read::<Tagged>(&document.to_string())
                .unwrap_err()
                .to_string();
            assert!(error.contains(cause), "{error}");
        }
    }
}
