//! A request's events, each as its stored text.
//!
//! Most bytes in hot requests are events. A body that can be split is split, and the events are
//! only peeked at, not parsed. Any other body is parsed as a tree and the events are serialized
//! again. Both ways give the same result.

use std::borrow::Cow;

use ars_store::{
    Refusal,
    json::{MAX_SAFE, number, parse_body, whole_number},
    split::{is_canonical, peek, split_body},
};
use serde_json::{Map, Value as Json};

/// A body, and the events at a path in it.
pub(crate) struct EventBody<'a> {
    /// The body. In place of the events it has an empty list or no field.
    pub fields: Map<String, Json>,
    /// The events, or `None` if there is no list at the path.
    pub events: Option<Vec<EventText<'a>>>,
}

/// An entry in an event list. It is not validated yet.
pub(crate) struct EventText<'a> {
    /// The event as JSON text.
    pub text: Cow<'a, str>,
    /// The seq, if it is a valid key.
    pub seq: Option<i64>,
    /// Whether it is an object with a string `type`.
    pub is_typed: bool,
}

impl<'a> EventBody<'a> {
    /// Reads a body with events at `path`, a key list.
    pub(crate) fn read(body: &'a str, path: &[&str]) -> Result<Self, Refusal> {
        if let Some(read) = Self::borrow(body, path) {
            return Ok(read);
        }
        Ok(Self::from_fields(parse_body(body)?, path))
    }

    /// Converts a body that was parsed as a tree.
    pub(crate) fn from_fields(mut fields: Map<String, Json>, path: &[&str]) -> Self {
        let events = match take(&mut fields, path) {
            Some(Json::Array(events)) => Some(events.iter().map(EventText::written).collect()),
            _ => None,
        };
        Self { fields, events }
    }

    fn borrow(body: &'a str, path: &[&str]) -> Option<Self> {
        let split = split_body(body, path)?;
        let events = split
            .list
            .iter()
            .map(|raw| EventText::unchanged(raw.get()))
            .collect::<Option<_>>()?;
        Some(Self {
            fields: split.rest,
            events: Some(events),
        })
    }
}

impl<'a> EventText<'a> {
    /// Borrows the text unchanged. Returns `None` if it must be serialized again.
    fn unchanged(text: &'a str) -> Option<Self> {
        let peek = peek(text).filter(|_| is_canonical(text))?;
        Some(Self {
            text: text.into(),
            seq: peek.seq.and_then(key),
            is_typed: peek.is_typed,
        })
    }

    fn written(event: &Json) -> Self {
        Self {
            text: event.to_string().into(),
            seq: event.get("seq").and_then(number).and_then(key),
            is_typed: event.get("type").is_some_and(Json::is_string),
        }
    }

    /// Returns the event with another seq.
    pub(super) fn with_seq(self, seq: i64) -> Self {
        let text = match serde_json::from_str(&self.text) {
            Ok(Json::Object(mut event)) => {
                event.insert("seq".into(), Json::from(seq));
                Json::Object(event).to_string().into()
            }
            _ => self.text,
        };
        Self {
            text,
            seq: Some(seq),
            is_typed: self.is_typed,
        }
    }
}

/// Returns the seq as a key: an integer, at least 1, that a double represents exactly.
fn key(seq: f64) -> Option<i64> {
    whole_number(seq).filter(|whole| *whole >= 1 && seq <= MAX_SAFE)
}

/// Removes the value at the end of a path.
fn take(object: &mut Map<String, Json>, path: &[&str]) -> Option<Json> {
    match path {
        [name] => object.shift_remove(*name),
        [name, rest @ ..] => take(object.get_mut(*name)?.as_object_mut()?, rest),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: [&str; 2] = ["record", "events"];

    fn read(events: &str) -> Option<Vec<(String, Option<i64>, bool)>> {
        let body = format!(r#"{{"record":{{"events":{events},"id":"r"}},"storeKey":"s"}}"#);
        let body = EventBody::read(&body, &PATH).unwrap();
        assert_eq!(
            (&body.fields["record"]["id"], &body.fields["storeKey"]),
            (&"r".into(), &"s".into())
        );
        let one = |event: EventText<'_>| (event.text.into_owned(), event.seq, event.is_typed);
        body.events
            .map(|events| events.into_iter().map(one).collect())
    }

    #[test]
    fn canonical_event_is_borrowed_and_others_reserialized() {
        for (event, text, seq) in [
            (
                r#"{"type":"x","seq":2,"n":1.50}"#,
                r#"{"type":"x","seq":2,"n":1.50}"#,
                Some(2),
            ),
            (
                r#"{ "type": "x", "seq": 2 }"#,
                r#"{"type":"x","seq":2}"#,
                Some(2),
            ),
            (r#"{"type":"\u00e9"}"#, r#"{"type":"é"}"#, None),
            (r#"{"type":"a\ud83d"}"#, "{\"type\":\"a\u{FFFD}\"}", None),
            (
                r#"{"type":"x","type":"y","seq":1,"seq":3}"#,
                r#"{"type":"y","seq":3}"#,
                Some(3),
            ),
            (
                r#"{"type":"x","seq":0.5}"#,
                r#"{"type":"x","seq":0.5}"#,
                None,
            ),
            (
                r#"{"type":"x","seq":1e300}"#,
                r#"{"type":"x","seq":1e300}"#,
                None,
            ),
        ] {
            assert_eq!(
                read(&format!("[{event}]")).unwrap(),
                [(text.to_owned(), seq, true)],
                "{event}"
            );
        }
    }

    #[test]
    fn one_noncanonical_event_parses_the_whole_body() {
        let events = read(r#"[{"type":"x","n":1.50},7,{"type":"\u0041"}]"#).unwrap();
        let texts: Vec<_> = events
            .iter()
            .map(|(text, _, typed)| (text.as_str(), *typed))
            .collect();
        assert_eq!(
            texts,
            [
                (r#"{"type":"x","n":1.5}"#, true),
                ("7", false),
                (r#"{"type":"A"}"#, true)
            ]
        );
    }

    #[test]
    fn without_a_list_there_are_no_events() {
        assert!(read("{}").is_none() && read("null").is_none());
        assert!(
            EventBody::read(r#"{"record":7}"#, &PATH)
                .unwrap()
                .events
                .is_none()
        );
        assert!(EventBody::read("{}", &PATH).unwrap().events.is_none());
    }

    #[test]
    fn oversized_numbers_and_depths_are_rejected() {
        let deep = format!("{}{}", "[".repeat(125), "]".repeat(125));
        for bad in ["1e400", deep.as_str()] {
            let body = format!(r#"{{"record":{{"events":[{{"type":"x","n":{bad}}}]}}}}"#);
            assert!(EventBody::read(&body, &PATH).is_err(), "{bad}");
        }
    }
}
