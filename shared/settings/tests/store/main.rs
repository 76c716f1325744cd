//! Tests the configuration document store on real SQLite, natively, with the Durable Object's code.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use ars_settings::{ConfigStore, MAX_DOCUMENT_BYTES, MIGRATIONS};
use ars_sql_native::NativeSql;
use ars_store::{Store as _, StoreFailure};
use ars_testkit::migrations;
use ars_wire::state::ConfigVerb;
use proptest::prelude::*;
use serde_json::{Value, json};

struct Store(ConfigStore<NativeSql>);

fn store() -> Store {
    Store(ConfigStore::open(NativeSql::in_memory().unwrap()).unwrap())
}

impl Store {
    /// Puts a document. Returns status and body.
    fn put(&self, document: &Value, expected: &Value) -> (u16, Value) {
        let body = json!({ "key": "overrides", "document": document, "expectedVersion": expected });
        self.ask(&body.to_string())
    }

    fn ask(&self, body: &str) -> (u16, Value) {
        let (status, text) = match self.0.answer(ConfigVerb::Put, body, 0) {
            Ok(text) => (200, text),
            Err(StoreFailure::Refusal(refusal)) => (refusal.status(), refusal.body()),
            Err(fault) => panic!("{fault:?}"),
        };
        (status, serde_json::from_str(&text).unwrap())
    }

    fn get(&self) -> String {
        self.0
            .answer(ConfigVerb::Get, r#"{"key":"overrides"}"#, 0)
            .unwrap()
    }
}

#[test]
fn migration_files_produce_the_schema() {
    migrations::assert_matches_folder("config", MIGRATIONS);
}

#[test]
fn unwritten_document_is_null_with_version_0() {
    let store = store();
    assert_eq!(store.get(), r#"{"document":null,"version":0}"#);
    assert!(store.0.is_empty().unwrap());
    assert!(!ConfigStore::<NativeSql>::is_filled_by(ConfigVerb::Get));
}

#[test]
fn document_round_trips_through_put() {
    let store = store();
    assert_eq!(
        store.put(&json!({ "z": 1, "a": [null, 1.5, "ü\u{1}"] }), &json!(0)),
        (200, json!({ "ok": true, "version": 1 }))
    );
    assert_eq!(
        store.get(),
        r#"{"document":{"z":1,"a":[null,1.5,"ü\u0001"]},"version":1}"#
    );
    assert_eq!(
        store.put(&json!({}), &json!(1.0)),
        (200, json!({ "ok": true, "version": 2 }))
    );
    assert_eq!(store.get(), r#"{"document":{},"version":2}"#);
    assert!(!store.0.is_empty().unwrap());
}

#[test]
fn stale_version_is_rejected_without_a_change() {
    let store = store();
    let stale = |version: u64| {
        (
            409,
            json!({ "error": "the document has another version", "version": version }),
        )
    };
    assert_eq!(store.put(&json!({ "by": "nobody" }), &json!(1)), stale(0));
    assert!(store.0.is_empty().unwrap());
    store.put(&json!({ "by": "first" }), &json!(0));
    for expected in [0_i64, 2, i64::MAX] {
        assert_eq!(
            store.put(&json!({ "by": "second" }), &json!(expected)),
            stale(1),
            "{expected}"
        );
    }
    assert_eq!(store.get(), r#"{"document":{"by":"first"},"version":1}"#);
}

#[test]
fn keys_are_independent() {
    let store = store();
    store.put(&json!({ "of": "overrides" }), &json!(0));
    let other = |verb, body: &str| store.0.answer(verb, body, 0).unwrap();
    assert_eq!(
        other(ConfigVerb::Get, r#"{"key":"base"}"#),
        r#"{"document":null,"version":0}"#
    );
    let put = r#"{"key":"base","document":{"of":"base"},"expectedVersion":0}"#;
    assert_eq!(other(ConfigVerb::Put, put), r#"{"ok":true,"version":1}"#);
    assert_eq!(
        store.get(),
        r#"{"document":{"of":"overrides"},"version":1}"#
    );
}

#[test]
fn document_size_limit_is_exact() {
    let store = store();
    let empty = json!({ "a": "" }).to_string().len();
    let document = |bytes: usize| json!({ "a": "x".repeat(bytes - empty) });
    let (status, answer) = store.put(&document(MAX_DOCUMENT_BYTES + 1), &json!(0));
    assert_eq!(
        (status, answer),
        (
            413,
            json!({ "error": "the document may have at most 262144 bytes" })
        )
    );
    assert_eq!(store.put(&document(MAX_DOCUMENT_BYTES), &json!(0)).0, 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn put_succeeds_only_with_the_newest_version(puts in proptest::collection::vec(0..6_i64, 0..20)) {
        let store = store();
        let mut document = Value::Null;
        let mut version = 0;
        for (nth, expected) in puts.into_iter().enumerate() {
            let own = json!({ "nth": nth });
            let (status, answer) = store.put(&own, &json!(expected));
            prop_assert_eq!(status == 200, expected == version);
            if status == 200 {
                (document, version) = (own, version + 1);
            }
            prop_assert_eq!(&answer["version"], &json!(version));
            let found: Value = serde_json::from_str(&store.get()).unwrap();
            prop_assert_eq!(found, json!({ "document": document, "version": version }));
        }
    }
}
