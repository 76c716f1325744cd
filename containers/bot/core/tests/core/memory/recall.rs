//! Recall before a run.

use std::sync::Arc;

use ars_auth::{Actor, Grants};
use ars_bot_core::memory::{Budget, Place, Recaller, RunScopes};
use ars_bot_ports::Memory;
use ars_types::Visibility;

use super::support::*;

async fn filled() -> Arc<Stores> {
    let stores = Arc::new(Stores::default());
    stores
        .remember("org:acme", &["Deploys run on Friday", "CI runs nightly"])
        .await;
    stores
        .remember("repo:acme/app", &["make check runs the tests"])
        .await;
    stores
        .remember("channel:C1", &["Deploys are announced here"])
        .await;
    stores
        .remember("user:slack:ann", &["Ann deploys from the train"])
        .await;
    stores
        .remember("user:slack:bob", &["Bob deploys in the night"])
        .await;
    stores
}

#[tokio::test]
async fn recall_covers_all_own_scopes() {
    let stores = filled().await;
    let recalled = recalled(&stores, "When are deploys announced?", Budget::default())
        .await
        .unwrap();
    let bullets: Vec<_> = recalled
        .block
        .lines()
        .filter(|line| line.starts_with("- "))
        .collect();
    let expected = [
        "- Deploys are announced here (from slack:C9:1)",
        "- Deploys run on Friday (from slack:C9:1)",
        "- Ann deploys from the train (from slack:C9:1)",
    ];
    assert_eq!(bullets, expected);
    assert!(
        recalled
            .block
            .starts_with("Memory (org + channel + user). "),
        "{}",
        recalled.block
    );
    assert_eq!(recalled.records.len(), 3);
    let expected = ["org:acme", "repo:acme/app", "channel:C1", "user:slack:ann"];
    assert_eq!(stores.called("Retrieve"), expected);
}

#[tokio::test]
async fn no_match_gives_no_block() {
    let stores = filled().await;
    assert_eq!(
        recalled(&stores, "Bake a cake", Budget::default()).await,
        None
    );
    stores.calls.lock().unwrap().clear();
    assert_eq!(recalled(&stores, "?!", Budget::default()).await, None);
    let nothing = Budget {
        limit: 0,
        ..Budget::default()
    };
    assert_eq!(recalled(&stores, "deploys", nothing).await, None);
    assert!(
        stores.calls.lock().unwrap().is_empty(),
        "and the stores are not asked"
    );
}

#[tokio::test]
async fn all_scopes_are_asked_at_once() {
    let stores = Stores::meeting(4);
    stores
        .remember("org:acme", &["Deploys run on Friday"])
        .await;
    let store = Arc::new(stores);
    let asking = recalled(&store, "deploys", Budget::default());
    let found = tokio::time::timeout(std::time::Duration::from_secs(10), asking).await;
    assert_eq!(
        found
            .expect("no scope waits for another")
            .unwrap()
            .records
            .len(),
        1
    );
}

#[tokio::test]
async fn failed_scope_costs_its_own_records() {
    let stores = filled().await;
    stores
        .down
        .lock()
        .unwrap()
        .extend(["org:acme", "channel:C1", "repo:acme/app"]);
    let recalled = recalled(&stores, "deploys", Budget::default())
        .await
        .unwrap();
    assert_eq!(recalled.records[0].text, "Ann deploys from the train");
    assert_eq!(recalled.records.len(), 1);
}

#[tokio::test]
async fn the_limit_is_of_all_scopes_together() {
    let stores = filled().await;
    let recalled = recalled(
        &stores,
        "deploys",
        Budget {
            limit: 2,
            ..Budget::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(recalled.records.len(), 2);
}

#[tokio::test]
async fn later_known_secret_is_not_shown() {
    let stores = Arc::new(Stores::default());
    let stored = format!("Deploys use {CANARY}, ghp_{}", "a".repeat(36));
    stores
        .remember("org:acme", &[&stored, "\u{1b}]0;deploys\u{7}"])
        .await;
    let recalled = recalled(&stores, "deploys", Budget::default())
        .await
        .unwrap();
    assert!(
        recalled
            .block
            .contains("- Deploys use [redacted], [redacted] (from"),
        "{}",
        recalled.block
    );
    assert_eq!(
        recalled.records.len(),
        1,
        "what is all control sequence is nothing"
    );
    assert!(!format!("{recalled:?}").contains(CANARY));
}

#[tokio::test]
async fn unreadable_scope_is_not_recalled() {
    let stores = filled().await;
    let place = Place {
        organization: None,
        repository: Some("acme/app"),
        channel: "C1",
        visibility: Visibility::Private,
    };
    let scopes = RunScopes::permitted(&place, &Actor::new("slack:bob", Grants::default()));
    let store: Arc<dyn Memory> = Arc::<Stores>::clone(&stores);
    let recaller = Recaller {
        store,
        budget: Budget::default(),
    };
    let recalled = recaller
        .recall(&scopes, "deploys, make, tests", &redactor(), NOW)
        .await
        .unwrap();
    assert_eq!(recalled.records.len(), 1);
    assert_eq!(recalled.records[0].text, "Bob deploys in the night");
    assert_eq!(stores.called("Retrieve"), ["user:slack:bob"]);
}
