//! Configuration documents, whichever store they are in.

use ars_bot_ports::{Document, Replacement};
use serde_json::{Value, json};

use super::{Fixture, refusal};

const KEY: &str = "overrides";

pub async fn a_document_is_read_back_as_it_was_put_with_its_version(fixture: Fixture) {
    assert_eq!(fixture.documents.newest(KEY).await.unwrap(), Document { document: None, version: 0 });
    let document = json!({ "users": { "slack:U1": { "instructions": "crab 🦀\n" } }, "channels": {} });
    assert_eq!(fixture.documents.replace(KEY, &document, 0).await.unwrap(), Replacement::Saved(1));
    let kept = Document { document: Some(document), version: 1 };
    assert_eq!(fixture.documents.newest(KEY).await.unwrap(), kept);
}

pub async fn of_two_writers_who_saw_one_version_the_second_is_told_so(fixture: Fixture) {
    let put = |by: &str, expected| {
        let (documents, document) = (fixture.documents.clone(), json!({ "by": by }));
        async move { documents.replace(KEY, &document, expected).await.unwrap() }
    };
    let (one, two) = tokio::join!(put("one", 0), put("two", 0));
    let winner = match (one, two) {
        (Replacement::Saved(1), Replacement::Stale(1)) => "one",
        (Replacement::Stale(1), Replacement::Saved(1)) => "two",
        both => panic!("{both:?}"),
    };
    assert_eq!(fixture.documents.newest(KEY).await.unwrap().document, Some(json!({ "by": winner })));
    assert_eq!(put("three", 1).await, Replacement::Saved(2));
}

pub async fn documents_of_different_keys_do_not_mix(fixture: Fixture) {
    fixture.documents.replace(KEY, &json!({ "of": KEY }), 0).await.unwrap();
    assert_eq!(fixture.documents.newest("base").await.unwrap(), Document::default());
    assert_eq!(fixture.documents.replace("base", &json!({}), 0).await.unwrap(), Replacement::Saved(1));
    assert_eq!(fixture.documents.newest(KEY).await.unwrap().document, Some(json!({ "of": KEY })));
}

pub async fn what_is_no_key_no_object_or_too_large_is_refused_by_name(fixture: Fixture) {
    let refused = |key: &'static str, document: Value| {
        let documents = fixture.documents.clone();
        async move { refusal(documents.replace(key, &document, 0).await) }
    };
    assert!(refused("Over rides", json!({})).await.starts_with("400: key "));
    assert!(refused(KEY, json!([])).await.starts_with("400: document "));
    let large = json!({ "a": "x".repeat(256 * 1024) });
    assert_eq!(refused(KEY, large).await, "413: the document may have at most 262144 bytes");
    assert_eq!(fixture.documents.newest(KEY).await.unwrap(), Document::default());
}
