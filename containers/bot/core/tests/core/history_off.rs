//! An installation without run history: all runs are live runs.

use ars_auth::{Actor, Grants, Set, Viewer};
use ars_bot_core::{
    commands::Caller,
    queries::{QueryError, Reader, RunFilter, Selection},
};
use ars_commands::RawInput;
use ars_types::{RunId, RunStatus};
use serde_json::{Map, Value, json};

use crate::support::*;

/// Longer than an ended run stays in the registry.
const EVICTION_MS: usize = 61_000;

fn operator() -> Actor {
    Actor::browser("access:ops").with(&Grants {
        channels: Set::All,
        ..Grants::default()
    })
}

async fn invoke(
    world: &World,
    id: &str,
    body: Map<String, Value>,
) -> Result<Value, (&'static str, String)> {
    let caller = Caller::dashboard(operator());
    let answer = world
        .core
        .commands()
        .invoke(&caller, id, &RawInput::Object(body))
        .await;
    let json = answer.map(|success| serde_json::from_str(&success.json).unwrap());
    json.map_err(|failure| (failure.code.as_str(), failure.message))
}

#[tokio::test]
async fn ended_run_leaves_no_record() {
    let world = world_without_history(vec![Move::Say("done")]);
    let io = world.ask("hello").await;
    assert_eq!(
        (io.said(), io.finished()),
        (vec!["done".to_owned()], vec![RunStatus::Completed])
    );
    assert_eq!(
        (world.core.load().lost_records, world.core.generation()),
        (0, None)
    );

    let id = io.started()[0].clone();
    let finished = json!({ "status": "finished" }).as_object().unwrap().clone();
    let listed = invoke(&world, "runs.list", finished.clone()).await.unwrap();
    assert_eq!(
        (&listed["runs"][0]["id"], listed.get("storeUnavailable")),
        (&json!(id), None)
    );

    for _ in 0..EVICTION_MS {
        world.core.clock().now();
    }
    assert_eq!(
        invoke(&world, "runs.list", finished).await.unwrap(),
        json!({ "runs": [] })
    );
    let by_id = json!({ "id": id }).as_object().unwrap().clone();
    assert_eq!(
        invoke(&world, "runs.get", by_id).await.unwrap_err().0,
        "not_found"
    );
    let viewer = Viewer::new(operator());
    let page = world
        .core
        .queries()
        .list(&viewer, Selection::All, &RunFilter::default(), 25)
        .await;
    assert!(
        page.finished.is_empty() && page.history_off && !page.store_unavailable,
        "{page:?}"
    );
    let found = world
        .core
        .queries()
        .own(
            &Reader {
                viewer: &viewer,
                token: "",
                route: "test",
            },
            &id,
        )
        .await;
    assert!(matches!(found, Err(QueryError::NotFound)), "{found:?}");
}

#[tokio::test]
async fn report_names_the_configuration() {
    let world = world_without_history(Vec::new());
    let (code, message) = invoke(&world, "friction.report", Map::new())
        .await
        .unwrap_err();
    assert_eq!(code, "unavailable");
    assert!(message.contains("runHistory.store"), "{message}");
    let unknown = json!({ "id": RunId::parse("unknown").unwrap() })
        .as_object()
        .unwrap()
        .clone();
    assert_eq!(
        invoke(&world, "runs.events", unknown).await.unwrap_err().0,
        "not_found"
    );
}

/// A drain has no next process to hand runs to, and nothing to write.
#[tokio::test]
async fn abandoned_run_is_not_counted_as_recorded() {
    let world = std::sync::Arc::new(world_without_history(vec![Move::SayWhenReleased("late")]));
    let running = tokio::spawn({
        let world = std::sync::Arc::clone(&world);
        async move { world.dispatch("hello", &std::sync::Arc::default()).await }
    });
    world.model.called.notified().await;
    assert_eq!(world.core.record_abandoned().await, 0);
    world.model.release.notify_one();
    running.await.unwrap();
    world.settle().await;
}
