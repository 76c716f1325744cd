//! Tests the memory client against scripted responses.

use std::sync::Arc;

use ars_bot_adapters::stores::Client;
use ars_bot_ports::{Memory, Written};
use serde_json::{Value, json};

use super::{Scripted, candidate, ledger_key, scene};

#[tokio::test]
async fn failed_retrieval_is_empty() {
    for (status, text) in [
        (503, "{}"),
        (404, "{}"),
        (400, "{}"),
        (200, "{}"),
        (200, "null"),
        (200, r#"{"records":{}}"#),
    ] {
        let (client, transport) = scene(&[(status, text)]);
        assert_eq!(
            client.retrieve(&ledger_key(), "x", 5).await,
            [],
            "{status} {text}"
        );
        assert_eq!(transport.asked(), ["/retrieve"]);
    }
    let (unreachable, _) = scene(&[]);
    assert_eq!(unreachable.retrieve(&ledger_key(), "x", 5).await, []);
}

#[tokio::test]
async fn a_malformed_memory_record_costs_no_other() {
    let sound = json!({ "id": "mem:friction:default:0", "scopeKey": "friction:default", "kind": "fact", "text": "x",
        "keywords": [], "sourceThreadKey": "t", "createdAt": 5, "useCount": 0, "status": "active" });
    let with = |name: &str, value: Value| {
        let mut record = sound.clone();
        record[name] = value;
        record
    };
    let records = json!({ "records": [null, {}, with("scopeKey", json!("org:another")), with("kind", json!("rumour")),
        sound, with("status", json!("superseded")), with("useCount", json!(-1))] });
    let (client, _) = scene(&[(200, &records.to_string()), (200, &records.to_string())]);
    let retrieved = client.retrieve(&ledger_key(), "x", 5).await;
    let listed = Memory::list(&*client, &ledger_key(), None, 5)
        .await
        .unwrap();
    assert_eq!((retrieved.len(), listed), (1, retrieved));
}

#[tokio::test]
async fn query_is_cut_and_cap_is_sent() {
    let transport = Arc::new(Scripted::default());
    let client = Client::over(transport.clone(), None)
        .unwrap()
        .with_memory_cap(7);
    client.retrieve(&ledger_key(), &"é".repeat(5000), 5).await;
    Memory::write(&client, &ledger_key(), &[candidate()])
        .await
        .unwrap_err();
    assert_eq!(
        Memory::write(&client, &ledger_key(), &[]).await.unwrap(),
        Written::default()
    );
    assert!(!client.forget(&ledger_key(), "two words").await.unwrap());
    let bodies = transport.bodies.lock().unwrap();
    assert_eq!(
        (
            bodies[0]["query"].as_str().unwrap().chars().count(),
            bodies.len()
        ),
        (3900, 2)
    );
    assert_eq!(bodies[1]["cap"], 7);
}
