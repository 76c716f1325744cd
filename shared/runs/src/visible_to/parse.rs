//! Parses a predicate from JSON within the limits.

use ars_types::Visibility;
use serde_json::{Map, Value};

use super::Filter;
use ars_store::Refusal;

/// Maximum nesting of filters below the root.
const MAX_DEPTH: usize = 8;
/// Maximum number of entries in a list.
const MAX_ENTRIES: usize = 1000;
/// Maximum number of ids, repositories, words and users in the whole predicate.
const MAX_IDS: usize = 100;

const FIELD: &str = "visibleTo";

/// Parses a predicate. Rejects a malformed or too large predicate.
pub fn parse(value: &Value) -> Result<Filter, Refusal> {
    let mut reader = Reader { ids: 0 };
    let filter = reader.filter(value, 0)?;
    if reader.ids > MAX_IDS {
        Err(Refusal::field(FIELD, "must name at most 100 ids"))
    } else {
        Ok(filter)
    }
}

struct Reader {
    /// Ids seen so far.
    ids: usize,
}

impl Reader {
    fn filter(&mut self, value: &Value, depth: usize) -> Result<Filter, Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::field(FIELD, "must nest at most 8 deep"));
        }
        let Value::Object(node) = value else {
            return Err(Refusal::field(FIELD, "must be an object with a kind"));
        };
        match node.get("kind").and_then(Value::as_str) {
            Some("all") => Ok(Filter::All),
            Some("none") => Ok(Filter::None),
            Some("channels-in") => self.texts(node, "channelIds").map(Filter::ChannelsIn),
            Some("user-is") => self.user(node),
            Some("repos-in") => self.texts(node, "repos").map(Filter::ReposIn),
            Some("visibility-in") => self.visibilities(node),
            Some("or") => self.filters(node, depth).map(Filter::Or),
            Some("and") => self.filters(node, depth).map(Filter::And),
            _ => Err(Refusal::field(
                format!("{FIELD}.kind"),
                "must be a kind of predicate",
            )),
        }
    }

    fn filters(&mut self, node: &Map<String, Value>, depth: usize) -> Result<Vec<Filter>, Refusal> {
        list(node, "of")?
            .iter()
            .map(|value| self.filter(value, depth + 1))
            .collect()
    }

    fn texts(&mut self, node: &Map<String, Value>, key: &str) -> Result<Vec<String>, Refusal> {
        let entries = list(node, key)?;
        self.ids += entries.len();
        let text = |entry: &Value| {
            entry
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let texts = entries.iter().map(text).collect::<Option<_>>();
        texts.ok_or_else(|| {
            Refusal::field(format!("{FIELD}.{key}"), "must contain non-empty strings")
        })
    }

    fn user(&mut self, node: &Map<String, Value>) -> Result<Filter, Refusal> {
        self.ids += 1;
        match node.get("userId").and_then(Value::as_str) {
            Some(user) if !user.is_empty() => Ok(Filter::UserIs(user.to_owned())),
            _ => Err(Refusal::field(
                format!("{FIELD}.userId"),
                "must be a non-empty string",
            )),
        }
    }

    fn visibilities(&mut self, node: &Map<String, Value>) -> Result<Filter, Refusal> {
        let entries = list(node, "visibilities")?;
        self.ids += entries.len();
        let words = entries
            .iter()
            .map(|entry| entry.as_str().and_then(Visibility::parse))
            .collect::<Option<Vec<_>>>();
        match words {
            Some(words) if words.len() <= Visibility::ALL.len() => Ok(Filter::VisibilityIn(words)),
            _ => Err(Refusal::field(
                format!("{FIELD}.visibilities"),
                "must contain at most 5 known words",
            )),
        }
    }
}

fn list<'a>(node: &'a Map<String, Value>, key: &str) -> Result<&'a [Value], Refusal> {
    match node.get(key) {
        Some(Value::Array(entries)) if entries.len() <= MAX_ENTRIES => Ok(entries),
        _ => Err(Refusal::field(
            format!("{FIELD}.{key}"),
            "must be an array of at most 1000 entries",
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("C{n}")).collect()
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(
            json!({ "kind": "all" }),
            |inner, _| json!({ "kind": "or", "of": [inner] }),
        )
    }

    #[test]
    fn every_kind_is_read() {
        let value = json!({ "kind": "or", "of": [
            { "kind": "all" }, { "kind": "none" }, { "kind": "user-is", "userId": "u" },
            { "kind": "and", "of": [
                { "kind": "channels-in", "channelIds": ["c"] }, { "kind": "repos-in", "repos": [] },
                { "kind": "visibility-in", "visibilities": ["public", "dm"] },
            ] },
        ] });
        let expected = Filter::Or(vec![
            Filter::All,
            Filter::None,
            Filter::UserIs("u".into()),
            Filter::And(vec![
                Filter::ChannelsIn(vec!["c".into()]),
                Filter::ReposIn(vec![]),
                Filter::VisibilityIn(vec![Visibility::Public, Visibility::Dm]),
            ]),
        ]);
        assert_eq!(serde_json::to_value(&expected).unwrap(), value);
        assert_eq!(parse(&value), Ok(expected));
    }

    #[test]
    fn unknown_filter_is_rejected_and_never_all() {
        for bad in [
            json!(null),
            json!("all"),
            json!([]),
            json!({}),
            json!({ "kind": "everything" }),
            json!({ "kind": "channels-in" }),
            json!({ "kind": "channels-in", "channelIds": [""] }),
            json!({ "kind": "channels-in", "channelIds": [1] }),
            json!({ "kind": "channels-in", "channelIds": "C1" }),
            json!({ "kind": "user-is", "userId": "" }),
            json!({ "kind": "user-is" }),
            json!({ "kind": "repos-in", "channelIds": ["x"] }),
            json!({ "kind": "visibility-in", "visibilities": ["open"] }),
            json!({ "kind": "visibility-in", "visibilities": ["dm", "dm", "dm", "dm", "dm", "dm"] }),
            json!({ "kind": "or", "of": {} }),
            json!({ "kind": "and", "of": [{ "kind": "all" }, null] }),
        ] {
            let refusal = parse(&bad).unwrap_err();
            assert!(
                refusal.to_string().starts_with("visibleTo") && refusal.status() == 400,
                "{bad}"
            );
        }
    }

    #[test]
    fn bounds_are_exact() {
        let channels = |count| json!({ "kind": "channels-in", "channelIds": ids(count) });
        assert!(parse(&channels(100)).is_ok());
        assert!(parse(&channels(101)).is_err());
        // Counted over the whole tree; a user and a word count 1 each.
        let mixed = |count| {
            json!({ "kind": "or", "of": [channels(count), { "kind": "user-is", "userId": "u" },
                { "kind": "visibility-in", "visibilities": ["public"] }, { "kind": "repos-in", "repos": ["o/n"] }] })
        };
        assert!(parse(&mixed(97)).is_ok());
        assert!(parse(&mixed(98)).is_err());
        assert!(parse(&nested(8)).is_ok());
        assert!(parse(&nested(9)).is_err());
        let wide = |count| json!({ "kind": "or", "of": vec![json!({ "kind": "none" }); count] });
        assert!(parse(&wide(1000)).is_ok());
        assert!(parse(&wide(1001)).is_err());
    }
}
