//! Reads a body whose bulk is one long list, without taking the list's entries apart.
//!
//! A tree of a list of events costs more than everything else that is done with them. Here each entry stays the text
//! it came as. What cannot be read this way (texts with half a surrogate pair, numbers beyond a double) is read as a
//! tree instead, by whoever gets `None`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, value::RawValue};

/// A body without its list.
pub struct Split<'a> {
    /// The body; the list in it is empty.
    pub rest: Map<String, Value>,
    /// The list's entries.
    pub list: Vec<&'a RawValue>,
}

/// Splits a body at the list that `path` names, key by key. `None`: it has none there, or has to be read as a tree.
pub fn split<'a>(body: &'a str, path: &[&str]) -> Option<Split<'a>> {
    let mut list = None;
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let rest = At { path, list: &mut list }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    match rest {
        Value::Object(rest) => Some(Split { rest, list: serde_json::from_str(list?.get()).ok()? }),
        _ => None,
    }
}

/// What stands at a position on the way to the list.
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
                // Of two keys of one name the last counts, whether it leads to a list or not.
                *self.list = None;
                map.next_value_seed(At { path: &self.path[1..], list: &mut *self.list })?
            } else {
                map.next_value()?
            };
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// What is known of an entry that stays a text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Glance {
    /// Its `seq`, when that is a number.
    pub seq: Option<f64>,
    /// It has a `type`, which is a text.
    pub is_typed: bool,
}

/// Looks at an entry without taking it apart. `None`: it is no object, or has to be read as a tree. An object that
/// names one of the two twice has to, because SQLite would see the first and every other reader the last.
pub fn glance(entry: &str) -> Option<Glance> {
    let mut deserializer = serde_json::Deserializer::from_str(entry);
    let glance = deserializer.deserialize_map(Look).ok()?;
    deserializer.end().ok().map(|()| glance)
}

struct Look;

impl<'a> Visitor<'a> for Look {
    type Value = Glance;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Glance, A::Error> {
        let (mut seq, mut kind) = (None, None);
        while let Some(key) = map.next_key::<std::borrow::Cow<'a, str>>()? {
            let found = map.next_value::<Sound>()?;
            let place = match &*key {
                "seq" => &mut seq,
                "type" => &mut kind,
                _ => continue,
            };
            if place.replace(found).is_some() {
                return Err(A::Error::custom("a key stands twice"));
            }
        }
        Ok(Glance {
            seq: seq.and_then(|found| found.number),
            is_typed: kind.is_some_and(|found| found.is_text),
        })
    }
}

/// A value that a tree could hold, whatever it is: its texts are whole and its numbers are doubles.
#[derive(Default)]
struct Sound {
    number: Option<f64>,
    is_text: bool,
}

impl<'a> serde::Deserialize<'a> for Sound {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SoundVisitor)
    }
}

struct SoundVisitor;

impl<'a> Visitor<'a> for SoundVisitor {
    type Value = Sound;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Sound, E> {
        Ok(Sound::default())
    }

    fn visit_unit<E>(self) -> Result<Sound, E> {
        Ok(Sound::default())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Sound, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Sound, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Sound, E> {
        Ok(Sound { number: Some(number), is_text: false })
    }

    fn visit_str<E>(self, _: &str) -> Result<Sound, E> {
        Ok(Sound { number: None, is_text: true })
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Sound, A::Error> {
        while list.next_element::<Sound>()?.is_some() {}
        Ok(Sound::default())
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Sound, A::Error> {
        // A key's text has to be whole too, which ignoring it would not tell.
        while map.next_key::<Sound>()?.is_some() {
            map.next_value::<Sound>()?;
        }
        Ok(Sound::default())
    }
}

/// Deepest text that is taken as it is, some way below the 127 levels of a reader.
const MAX_PLAIN_DEPTH: u32 = 100;

/// Whether a JSON text is as a writer without options writes it: no space between its tokens, and no escape that
/// stands for a character which needs none. Such a text need not be written anew. One that is nested deeply is not
/// plain either: within its body it may be deeper than a reader goes.
pub fn is_plain(text: &str) -> bool {
    let (mut in_text, mut depth, mut bytes) = (false, 0_u32, text.bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_text = !in_text,
            b'\\' if matches!(bytes.next(), Some(b'u' | b'/')) => return false,
            b' ' | b'\t' | b'\n' | b'\r' if !in_text => return false,
            b'{' | b'[' if !in_text && depth == MAX_PLAIN_DEPTH => return false,
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
    fn a_list_is_found_at_the_end_of_its_path_and_nowhere_else() {
        let body = r#" {"a": {"list":[1, {"x" : 2}],"b":"c"}, "list":[3], "d":null} "#;
        let found = split(body, &["a", "list"]).unwrap();
        assert_eq!(found.list.iter().map(|raw| raw.get()).collect::<Vec<_>>(), ["1", r#"{"x" : 2}"#]);
        let rest = json!({ "a": { "list": [], "b": "c" }, "list": [3], "d": null });
        assert_eq!(Value::Object(found.rest), rest);
        assert_eq!(split(body, &["list"]).unwrap().list.len(), 1);
        for other in [&["x"][..], &["a", "b"], &["a"], &["d", "list"], &["a", "list", "x"]] {
            assert!(split(body, other).is_none(), "{other:?}");
        }
        assert!(split("[]", &["a"]).is_none() && split("", &["a"]).is_none());
    }

    #[test]
    fn of_two_keys_of_one_name_the_last_counts() {
        let found = split(r#"{"list":[1],"x":1,"list":[2,3],"x":2}"#, &["list"]).unwrap();
        assert_eq!((found.list.len(), &found.rest["x"]), (2, &json!(2)));
        assert!(split(r#"{"a":{"list":[1]},"a":{}}"#, &["a", "list"]).is_none());
    }

    #[test]
    fn an_entry_shows_its_seq_and_whether_it_has_a_type() {
        for (entry, seq, is_typed) in [
            (r#"{"type":"x","seq":3}"#, Some(3.0), true),
            (r#"{"seq":0.5,"deep":[{"type":"x","seq":[null,true]}]}"#, Some(0.5), false),
            (r#"{"type":null,"seq":"3"}"#, None, false),
            ("{}", None, false),
        ] {
            assert_eq!(glance(entry), Some(Glance { seq, is_typed }), "{entry}");
        }
    }

    #[test]
    fn what_a_tree_would_mend_or_refuse_is_left_to_one() {
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
            assert_eq!(glance(entry), None, "{entry}");
        }
        assert!(glance(r#"{"a":"\ud83d\ude00"}"#).is_some());
    }

    #[test]
    fn plain_is_what_a_writer_without_options_writes() {
        for value in [json!({ "a b": "c \" \\ \n /", "é": [1, -2.5, null] }), json!("\u{1F600} x")] {
            assert!(is_plain(&value.to_string()), "{value}");
        }
        assert!(is_plain(&format!("{}{}", "[".repeat(100), "]".repeat(100))));
        assert!(!is_plain(&format!("{}{}", "[".repeat(101), "]".repeat(101))));
        for text in [r#"{"a": 1}"#, "[1,\n2]", r#""\u00e9""#, r#""\/""#] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
