//! Splits a body that consists mostly of a single long list, without parsing the list's entries.
//!
//! Parsing an event list into a tree costs more than all other work on it. Here each entry stays a
//! borrowed text. `None` means that the body cannot be read this way (lone surrogates, numbers
//! beyond a double), and the caller parses it as a tree.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, value::RawValue};

/// A body separated from the list.
pub struct SplitBody<'a> {
    /// The body with an empty list.
    pub rest: Map<String, Value>,
    /// The list's entries, unparsed.
    pub list: Vec<&'a RawValue>,
}

/// Splits a body at the list at `path` (keys); `None` if there is none or it needs a tree.
pub fn split_body<'a>(body: &'a str, path: &[&str]) -> Option<SplitBody<'a>> {
    let mut list = None;
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let rest = At {
        path,
        list: &mut list,
    }
    .deserialize(&mut deserializer)
    .ok()?;
    deserializer.end().ok()?;
    match rest {
        Value::Object(rest) => Some(SplitBody {
            rest,
            list: serde_json::from_str(list?.get()).ok()?,
        }),
        _ => None,
    }
}

/// Visits a value on the path to the list.
struct At<'p, 'l, 'a> {
    path: &'p [&'p str],
    list: &'l mut Option<&'a RawValue>,
}

impl<'a> DeserializeSeed<'a> for At<'_, '_, 'a> {
    type Value = Value;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.path.is_empty() {
            let raw: &'a RawValue = serde::Deserialize::deserialize(deserializer)?;
            *self.list = Some(raw);
            return Ok(Value::Array(Vec::new()));
        }
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for At<'_, '_, 'a> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = if Some(&key.as_str()) == self.path.first() {
                // Among duplicate keys the last wins, whether or not it has a list.
                *self.list = None;
                map.next_value_seed(At {
                    path: &self.path[1..],
                    list: &mut *self.list,
                })?
            } else {
                map.next_value()?
            };
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// Facts about an entry that stays a text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Peek {
    /// The entry's `seq`, if that is a number.
    pub seq: Option<f64>,
    /// Whether it has a string `type`.
    pub is_typed: bool,
}

/// Reads an entry's facts without a tree; `None` if it is no object or needs a tree. An object with
/// a duplicate `seq` or `type` needs a tree, because SQLite reads the first and all other readers
/// the last.
pub fn peek(entry: &str) -> Option<Peek> {
    let mut deserializer = serde_json::Deserializer::from_str(entry);
    let peek = deserializer.deserialize_map(Look).ok()?;
    deserializer.end().ok().map(|()| peek)
}

struct Look;

impl<'a> Visitor<'a> for Look {
    type Value = Peek;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Peek, A::Error> {
        let mut seq = None;
        let mut kind = None;
        while let Some(key) = map.next_key::<std::borrow::Cow<'a, str>>()? {
            let found = map.next_value::<Representable>()?;
            let place = match &*key {
                "seq" => &mut seq,
                "type" => &mut kind,
                _ => continue,
            };
            if place.replace(found).is_some() {
                return Err(A::Error::custom("duplicate key"));
            }
        }
        Ok(Peek {
            seq: seq.and_then(|found| found.number),
            is_typed: kind.is_some_and(|found| found.is_text),
        })
    }
}

/// Accepts any value that a tree could hold: no lone surrogates, and only numbers that are doubles.
#[derive(Default)]
struct Representable {
    number: Option<f64>,
    is_text: bool,
}

impl<'a> serde::Deserialize<'a> for Representable {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RepresentableVisitor)
    }
}

struct RepresentableVisitor;

impl<'a> Visitor<'a> for RepresentableVisitor {
    type Value = Representable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Representable, E> {
        Ok(Representable::default())
    }

    fn visit_unit<E>(self) -> Result<Representable, E> {
        Ok(Representable::default())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Representable, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Representable, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Representable, E> {
        Ok(Representable {
            number: Some(number),
            is_text: false,
        })
    }

    fn visit_str<E>(self, _: &str) -> Result<Representable, E> {
        Ok(Representable {
            number: None,
            is_text: true,
        })
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Representable, A::Error> {
        while list.next_element::<Representable>()?.is_some() {}
        Ok(Representable::default())
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Representable, A::Error> {
        // Ignoring a key would accept a lone surrogate in it.
        while map.next_key::<Representable>()?.is_some() {
            map.next_value::<Representable>()?;
        }
        Ok(Representable::default())
    }
}

/// Maximum nesting in a canonical text, below the 127 levels that readers support.
const MAX_CANONICAL_DEPTH: u32 = 100;

/// Returns whether a JSON text is canonical: no white space between tokens and no unneeded escapes.
/// A canonical text is stored unchanged. Deeply nested texts are not canonical, because inside their body they may
/// exceed the readers' limit.
pub fn is_canonical(text: &str) -> bool {
    let mut in_text = false;
    let mut depth = 0_u32;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_text = !in_text,
            b'\\' if matches!(bytes.next(), Some(b'u' | b'/')) => return false,
            b' ' | b'\t' | b'\n' | b'\r' if !in_text => return false,
            b'{' | b'[' if !in_text && depth == MAX_CANONICAL_DEPTH => return false,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth -= 1,
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn list_is_found_only_at_its_path() {
        let body = r#" {"a": {"list":[1, {"x" : 2}],"b":"c"}, "list":[3], "d":null} "#;
        let found = split_body(body, &["a", "list"]).unwrap();
        assert_eq!(
            found.list.iter().map(|raw| raw.get()).collect::<Vec<_>>(),
            ["1", r#"{"x" : 2}"#]
        );
        let rest = json!({ "a": { "list": [], "b": "c" }, "list": [3], "d": null });
        assert_eq!(Value::Object(found.rest), rest);
        assert_eq!(split_body(body, &["list"]).unwrap().list.len(), 1);
        for other in [
            &["x"][..],
            &["a", "b"],
            &["a"],
            &["d", "list"],
            &["a", "list", "x"],
        ] {
            assert!(split_body(body, other).is_none(), "{other:?}");
        }
        assert!(split_body("[]", &["a"]).is_none() && split_body("", &["a"]).is_none());
    }

    #[test]
    fn last_duplicate_key_wins() {
        let found = split_body(r#"{"list":[1],"x":1,"list":[2,3],"x":2}"#, &["list"]).unwrap();
        assert_eq!((found.list.len(), &found.rest["x"]), (2, &json!(2)));
        assert!(split_body(r#"{"a":{"list":[1]},"a":{}}"#, &["a", "list"]).is_none());
    }

    #[test]
    fn peek_reads_seq_and_type() {
        for (entry, seq, is_typed) in [
            (r#"{"type":"x","seq":3}"#, Some(3.0), true),
            (
                r#"{"seq":0.5,"deep":[{"type":"x","seq":[null,true]}]}"#,
                Some(0.5),
                false,
            ),
            (r#"{"type":null,"seq":"3"}"#, None, false),
            ("{}", None, false),
        ] {
            assert_eq!(peek(entry), Some(Peek { seq, is_typed }), "{entry}");
        }
    }

    #[test]
    fn entry_that_needs_a_tree_is_none() {
        for entry in [
            "[]",
            "7",
            r#"{"type":"x","type":"y"}"#,
            r#"{"seq":1,"seq":1}"#,
            r#"{"a":"\ud83d"}"#,
            r#"{"\ud83d":1}"#,
            r#"{"a":{"\udc00":1}}"#,
            r#"{"a":[1e400]}"#,
            r#"{"a":1"#,
        ] {
            assert_eq!(peek(entry), None, "{entry}");
        }
        assert!(peek(r#"{"a":"\ud83d\ude00"}"#).is_some());
    }

    #[test]
    fn canonical_text_is_compact() {
        for value in [
            json!({ "a b": "c \" \\ \n /", "é": [1, -2.5, null] }),
            json!("\u{1F600} x"),
        ] {
            assert!(is_canonical(&value.to_string()), "{value}");
        }
        assert!(is_canonical(&format!(
            "{}{}",
            "[".repeat(100),
            "]".repeat(100)
        )));
        assert!(!is_canonical(&format!(
            "{}{}",
            "[".repeat(101),
            "]".repeat(101)
        )));
        for text in [r#"{"a": 1}"#, "[1,\n2]", r#""\u00e9""#, r#""\/""#] {
            assert!(!is_canonical(text), "{text}");
        }
    }
}
