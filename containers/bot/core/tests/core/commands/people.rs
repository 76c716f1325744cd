//! One person with accounts on two surfaces, and another person.

use ars_auth::{Set, people::People};
use ars_bot_core::{commands::Caller, settings::Settings};
use serde_json::json;

use super::support::{Desk, browser, desk_with, granted, slack};

/// Returns a desk on which the chat user and the dashboard session are one person.
fn desk() -> Desk {
    let mut people = People::default();
    people.add(&["slack:U1", "access:ann"]).unwrap();
    desk_with(
        Vec::new(),
        |capabilities| capabilities,
        |settings| Settings { people, ..settings },
    )
}

fn other() -> Caller {
    granted(&[], Set::default())
}

#[tokio::test]
async fn person_reads_the_memory_of_every_account() {
    let desk = desk();
    for account in ["slack:U1", "access:ann", "access:ops"] {
        let scope = format!("user:{account}");
        desk.memory.remember(&scope, &["likes tea"]).await;
    }
    let keys = async |caller: Caller| {
        let listed = json!({ "scope": "me" });
        let listed = desk.output(&caller, "memory.list", listed).await;
        let scopes = listed["scopes"].as_array().unwrap();
        let keys = scopes.iter().map(|scope| scope["key"].as_str().unwrap());
        keys.map(str::to_owned).collect::<Vec<_>>()
    };
    for own in [slack(), browser()] {
        assert_eq!(keys(own).await, ["user:slack:U1", "user:access:ann"]);
    }
    assert_eq!(keys(other()).await, ["user:access:ops"]);
    let id = json!({ "id": "mem:user:access:ann:0" });
    assert_eq!(
        desk.output(&slack(), "memory.forget", id).await["forgotten"],
        true
    );
    let id = json!({ "id": "mem:user:access:ops:0" });
    assert_eq!(
        desk.failure(&slack(), "memory.forget", id).await.0,
        "unauthorized"
    );
}

#[tokio::test]
async fn settings_of_a_person_hold_on_every_surface() {
    let desk = desk();
    let body = json!({ "scope": "me", "agent": "research" });
    desk.output(&browser(), "config.set", body).await;
    let agent = async |caller: Caller| {
        let body = json!({ "channel": "slack:C1" });
        let shown = desk.output(&caller, "config.show", body).await;
        shown["effective"]["agent"].clone()
    };
    for own in [slack(), browser()] {
        assert_eq!(agent(own).await, "research");
    }
    assert_eq!(agent(other()).await, "general");
}

#[tokio::test]
async fn person_reads_the_runs_of_every_account() {
    let desk = desk();
    desk.runs.seed("direct", 1_000_000, |record| {
        record["userId"] = json!("slack:U1");
        record["channelId"] = json!("slack:D1");
        record["channelVisibility"] = json!("dm");
    });
    let run = json!({ "id": "direct" });
    let shown = desk.output(&browser(), "runs.get", run.clone()).await;
    assert_eq!(shown["id"], "direct");
    let listed = json!({ "status": "finished" });
    let listed = desk.output(&browser(), "runs.list", listed).await;
    assert_eq!(listed["runs"][0]["id"], "direct");
    assert_eq!(desk.failure(&other(), "runs.get", run).await.0, "not_found");
}

/// Its chat user may forget, its dashboard session may not.
#[tokio::test]
async fn grants_stay_with_the_account() {
    let desk = desk();
    desk.memory.remember("user:slack:U1", &["likes tea"]).await;
    let id = json!({ "id": "mem:user:slack:U1:0" });
    let refused = desk.failure(&browser(), "memory.forget", id.clone()).await;
    assert_eq!(refused.0, "unauthorized");
    assert_eq!(
        desk.output(&slack(), "memory.forget", id).await["forgotten"],
        true
    );
}
