//! Configuration documents, whichever store they are in.

use ars_bot_ports::{Document, Replacement};
use serde_json::json;

use super::Fixture;

const KEY: &str = "overrides";

pub async fn document_is_read_back_with_its_version(fixture: Fixture) {
    assert_eq!(
        fixture.documents.newest(KEY).await.unwrap(),
        Document {
            document: None,
            version: 0
        }
    );
    let document =
        json!({ "users": { "slack:U1": { "instructions": "crab 🦀\n" } }, "channels": {} });
    assert_eq!(
        fixture.documents.replace(KEY, &document, 0).await.unwrap(),
        Replacement::Saved(1)
    );
    let kept = Document {
        document: Some(document),
        version: 1,
    };
    assert_eq!(fixture.documents.newest(KEY).await.unwrap(), kept);
    assert_eq!(
        fixture.documents.newest("base").await.unwrap(),
        Document::default()
    );
}

pub async fn second_writer_of_a_version_is_stale(fixture: Fixture) {
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
    assert_eq!(
        fixture.documents.newest(KEY).await.unwrap().document,
        Some(json!({ "by": winner }))
    );
    assert_eq!(put("three", 1).await, Replacement::Saved(2));
}
