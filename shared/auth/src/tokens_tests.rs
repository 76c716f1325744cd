//! Tests the token map.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(value: &Value) -> TokenMap {
    let parsed = TokenMap::parse(Some(&value.to_string()));
    assert_eq!(parsed.fault, None);
    parsed.map
}

fn entry(value: &Value) -> Option<TokenEntry> {
    parse(&json!({ "t0": value })).authenticate("t0").cloned()
}

#[test]
fn a_full_entry_is_read_as_written() {
    let read =
        entry(&json!({"subject": "ann", "channel": "ops", "scopes": ["dispatch", "runs:read"]}))
            .unwrap();
    let scopes = vec!["dispatch".to_owned(), "runs:read".to_owned()];
    let (subject, channel) = ("ann".to_owned(), ChannelName::parse("ops").ok());
    assert_eq!(
        read,
        TokenEntry {
            subject,
            channel,
            scopes,
            digest: read.digest.clone()
        }
    );
    assert!(read.has_scope("runs:read"));
    assert!(!read.has_scope("runs:write"));
}

#[test]
fn scopes_are_kept_once_and_absent_ones_are_dispatch() {
    for (value, scopes) in [
        (json!({"subject": "a"}), &["dispatch"][..]),
        (json!({"subject": "a", "note": {"x": 1}}), &["dispatch"]),
        (json!({"subject": "a", "scopes": []}), &[]),
        (
            json!({"subject": "a", "scopes": ["b", "a", "b", "c", "a"]}),
            &["b", "a", "c"],
        ),
    ] {
        assert_eq!(entry(&value).unwrap().scopes, scopes, "{value}");
    }
}

#[test]
fn malformed_entries_are_skipped_and_their_neighbours_kept() {
    let bad = json!([
        null, "ann", 1, ["ann"], {}, {"subject": ""}, {"subject": null}, {"subject": 7},
        {"subject": "a", "channel": null}, {"subject": "a", "channel": 1}, {"subject": "a", "scopes": null},
        {"subject": "a", "scopes": "dispatch"}, {"subject": "a", "scopes": {"0": "dispatch"}},
        {"subject": "a", "scopes": ["dispatch", ""]}, {"subject": "a", "scopes": ["dispatch", 1]},
        {"subject": "a", "scopes": ["dispatch", null]}, {"subject": "github"},
    ]);
    for value in bad.as_array().unwrap() {
        let map = parse(&json!({"bad": value, "good": {"subject": "g"}}));
        assert_eq!(map.authenticate("bad"), None, "{value}");
        assert_eq!(map.authenticate("good").unwrap().subject, "g", "{value}");
    }
}

#[test]
fn skipped_entries_are_named_by_place_and_field() {
    let parsed = TokenMap::parse(Some(
        r#"{"a": {"subject": "ann"}, "b": {"subjct": "ben"}, "": {"subject": "c"}, "d": 1,
            "e": {"subject": "e", "scopes": "dispatch"}, "f": {"subject": "f", "channel": "a:b"}}"#,
    ));
    let expected = [
        (2, TokenFault::Subject),
        (3, TokenFault::Token),
        (4, TokenFault::Shape),
        (5, TokenFault::Scopes),
        (6, TokenFault::Channel),
    ];
    assert_eq!((parsed.skipped, parsed.fault), (expected.to_vec(), None));
}

#[test]
fn entries_with_an_invalid_channel_are_skipped() {
    for bad in ["", "a:b", ":", &"x".repeat(101)] {
        assert_eq!(
            entry(&json!({"subject": "a", "channel": bad})),
            None,
            "{bad}"
        );
    }
    let longest = "é".repeat(100);
    let read = entry(&json!({"subject": "a", "channel": longest})).unwrap();
    assert_eq!(read.channel.unwrap().as_str(), longest);
}

#[test]
fn an_empty_token_is_skipped() {
    let map = parse(&json!({"": {"subject": "a"}}));
    assert!(map.is_empty());
    assert_eq!(map.authenticate(""), None);
}

#[test]
fn unset_and_blank_are_a_success_without_tokens() {
    for text in [None, Some(""), Some(" \n\t ")] {
        let parsed = TokenMap::parse(text);
        assert!(parsed.map.is_empty());
        assert_eq!(parsed.fault, None);
    }
    assert!(TokenMap::parse(Some("{}")).fault.is_none());
}

#[test]
fn malformed_value_is_rejected_without_echo() {
    let cases = [
        ("{", "not valid JSON"),
        ("s3cr3t", "not valid JSON"),
        ("{\"s3cr3t\":{\"subject\":\"a\"}} x", "not valid JSON"),
        ("[\"s3cr3t\"]", "a JSON array instead of an object"),
        ("null", "a JSON null instead of an object"),
        ("\"s3cr3t\"", "a JSON string instead of an object"),
        ("4", "a JSON number instead of an object"),
        ("true", "a JSON boolean instead of an object"),
    ];
    for (text, reason) in cases {
        let parsed = TokenMap::parse(Some(text));
        assert!(parsed.map.is_empty(), "{text}");
        assert_eq!(parsed.fault.unwrap().to_string(), reason);
    }
    let deep = "[".repeat(1_000_000);
    assert_eq!(
        TokenMap::parse(Some(&deep)).fault,
        Some(ShapeFault::NotJson)
    );
}

#[test]
fn last_duplicate_wins_even_if_malformed() {
    let last = TokenMap::parse(Some(r#"{"t":{"subject":"a"},"t":{"subject":"b"}}"#)).map;
    assert_eq!(last.authenticate("t").unwrap().subject, "b");
    let malformed = TokenMap::parse(Some(
        r#"{"t":{"subject":"a"},"t":{"subject":"a","scopes":1}}"#,
    ))
    .map;
    assert_eq!(malformed.authenticate("t"), None);
    let field = TokenMap::parse(Some(r#"{"t":{"subject":"a","scopes":["x"],"scopes":[]}}"#)).map;
    assert_eq!(field.authenticate("t").unwrap().scopes, [""; 0]);
}

#[test]
fn only_the_exact_token_authenticates() {
    let map = parse(&json!({"abc": {"subject": "a"}, "abcd": {"subject": "b"}}));
    assert_eq!(map.authenticate("abc").unwrap().subject, "a");
    assert_eq!(map.authenticate("abcd").unwrap().subject, "b");
    assert_eq!(map.secrets().count(), 2);
    for other in ["", "ab", "ABC", "abc ", "abcde"] {
        assert_eq!(map.authenticate(other), None, "{other}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just(String::new()),
        Just("dispatch".to_owned()),
        "[a-z:*]{1,6}"
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("subject"),
        Just("channel"),
        Just("scopes"),
        Just("extra")
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
            )),
        ]
    })
}

proptest! {
    #[test]
    fn entries_have_only_listed_scopes(value in any_json()) {
        let Some(read) = entry(&value) else { return Ok(()) };
        match value.get("scopes") {
            None => prop_assert_eq!(read.scopes, vec!["dispatch".to_owned()]),
            Some(scopes) => {
                let listed = scopes.as_array().expect("malformed scopes were accepted");
                prop_assert!(listed.iter().all(|scope| scope.as_str().is_some_and(|scope| !scope.is_empty())));
                prop_assert!(read.scopes.iter().all(|scope| listed.contains(&json!(scope))));
            }
        }
    }

    #[test]
    fn parser_failures_have_a_reason(text in "\\PC{0,40}") {
        let parsed = TokenMap::parse(Some(&text));
        prop_assert!(parsed.fault.is_none() || parsed.map.is_empty());
        prop_assert!(parsed.map.entries.iter().all(|(_, entry)| !entry.subject.is_empty()));
    }
}

#[test]
fn entries_of_a_subject_are_complete() {
    let text = r#"{"a":{"subject":"ann"},"b":{"subject":"bo"},"c":{"subject":"ann","scopes":["deploy:write"]}}"#;
    let map = TokenMap::parse(Some(text)).map;
    let scopes: Vec<_> = map
        .entries_of("ann")
        .map(|entry| entry.scopes.join(","))
        .collect();
    assert_eq!(scopes, ["dispatch", "deploy:write"]);
    assert_eq!(map.entries_of("Ann").count(), 0);
}

/// The digest that a message from `t1` has, and what the sender may do with these tokens.
fn sender_now(tokens: &Value, actor: &str, channel: &str) -> Option<Actor> {
    let sent = parse(&json!({ "t1": { "subject": "ann" } }))
        .authenticate("t1")
        .unwrap()
        .digest
        .clone();
    parse(tokens).sender_now(actor, &sent, channel)
}

#[test]
fn stored_sender_has_its_present_grants() {
    let entry = json!({"subject": "ann", "scopes": ["dispatch", "runs:read"]});
    for (actor, channel) in [("http:ann", "http:ops"), ("mcp:ann", "mcp:ops")] {
        let now = sender_now(
            &json!({ "t0": { "subject": "bo" }, "t1": entry }),
            actor,
            channel,
        )
        .unwrap();
        assert_eq!(
            (now.id.as_str(), now.grants.actions.contains("runs:read")),
            (actor, true)
        );
    }
    let pinned = json!({ "t1": { "subject": "ann", "channel": "ops" } });
    assert!(sender_now(&pinned, "http:ann", "http:ops").is_some());
}

#[test]
fn removed_token_has_no_sender() {
    for tokens in [
        json!({}),
        json!({ "t2": { "subject": "ann" } }),
        json!({ "t1": { "subject": "bo" } }),
        json!({ "t1": { "subject": "ann", "scopes": [] } }),
        json!({ "t1": { "subject": "ann", "channel": "other" } }),
    ] {
        assert_eq!(
            sender_now(&tokens, "http:ann", "http:ops"),
            None,
            "{tokens}"
        );
    }
    let kept = json!({ "t1": { "subject": "ann" } });
    for actor in ["http:bo", "access:ann", "ann", ""] {
        assert_eq!(sender_now(&kept, actor, "http:ops"), None, "{actor}");
    }
}

#[test]
fn digest_does_not_contain_the_token() {
    let token = "a-token-in-clear";
    let map = parse(&json!({ token: { "subject": "ann" } }));
    let digest = serde_json::to_string(&map.authenticate(token).unwrap().digest).unwrap();
    assert_eq!((digest.len(), digest.contains(token)), (34, false));
}
