//! The caller's and shared scopes' memory records.

use ars_auth::Set;
use ars_bot_core::commands::Caller;
use ars_commands::Surface;
use serde_json::{Value, json};

use super::support::{Desk, browser, desk, granted, none, on, slack, token};

async fn remembering() -> Desk {
    let desk = desk();
    desk.memory
        .remember("org:acme", &["Deploys run on Friday"])
        .await;
    desk.memory
        .remember(
            "user:slack:U1",
            &["likes canary-value tea", "drinks coffee"],
        )
        .await;
    desk.memory
        .remember("user:slack:U2", &["another's fact"])
        .await;
    desk.memory
        .remember("channel:slack:C1", &["standup at nine"])
        .await;
    desk.memory
        .remember("repo:acme/app", &["builds with make"])
        .await;
    desk
}

fn texts(listed: &Value, scope: usize) -> Vec<&str> {
    let records = listed["scopes"][scope]["records"].as_array().unwrap();
    records
        .iter()
        .map(|record| record["text"].as_str().unwrap())
        .collect()
}

fn keys(listed: &Value) -> Vec<&str> {
    listed["scopes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|scope| scope["key"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn list_has_the_callers_scopes() {
    let desk = remembering().await;
    let listed = desk.output(&slack(), "memory.list", none()).await;
    assert_eq!(
        keys(&listed),
        ["org:acme", "channel:slack:C1", "user:slack:U1"]
    );
    assert_eq!(
        (
            &listed["limit"],
            listed["scopes"][0]["limitReached"] == true
        ),
        (&json!(20), false)
    );
    let record = &listed["scopes"][2]["records"][0];
    assert!(
        record["id"]
            .as_str()
            .unwrap()
            .starts_with("mem:user:slack:U1:"),
        "{record}"
    );
    for text in texts(&listed, 2) {
        assert!(
            text.ends_with("</untrusted-text>") && !text.contains("canary-value"),
            "{text}"
        );
    }
    let limited = desk
        .output(
            &slack(),
            "memory.list",
            json!({ "scope": "me", "limit": 1 }),
        )
        .await;
    assert_eq!(
        (keys(&limited), &limited["scopes"][0]["limitReached"]),
        (vec!["user:slack:U1"], &json!(true))
    );
}

#[tokio::test]
async fn chat_shows_plain_text() {
    let desk = remembering().await;
    let listed = desk
        .says(&slack(), "memory list me coffee")
        .await
        .unwrap()
        .unwrap();
    let expected = "yours (user:slack:U1)\n- `mem:user:slack:U1:1` drinks coffee";
    assert_eq!(listed.text, expected);
    let missing = desk
        .says(&slack(), "memory list repo")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(missing.text, "scope repo needs an input");
}

#[tokio::test]
async fn repository_needs_its_grant() {
    let desk = remembering().await;
    let body = json!({ "scope": "repo", "repo": "Acme/App.git" });
    assert_eq!(
        desk.failure(&slack(), "memory.list", body.clone()).await.0,
        "unauthorized"
    );
    let all = json!({ "repo": "acme/app" });
    assert!(!keys(&desk.output(&slack(), "memory.list", all).await).contains(&"repo:acme/app"));
    let cli = on(&Caller::cli(), Surface::Api);
    assert_eq!(
        keys(&desk.output(&cli, "memory.list", body).await),
        ["repo:acme/app"]
    );
    let missing = desk
        .output(&cli, "memory.list", json!({ "scope": "repo" }))
        .await;
    assert_eq!(
        (&missing["missing"], &missing["scopes"]),
        (&json!(["repo"]), &json!([]))
    );
}

#[tokio::test]
async fn caller_forgets_own_records() {
    let desk = remembering().await;
    let body = json!({ "id": "mem:user:slack:U1:0" });
    let forgotten = desk.output(&slack(), "memory.forget", body.clone()).await;
    assert_eq!(
        forgotten,
        json!({ "id": "mem:user:slack:U1:0", "scope": "user:slack:U1", "forgotten": true })
    );
    assert_eq!(
        desk.failure(&slack(), "memory.forget", body).await.0,
        "not_found"
    );
}

#[tokio::test]
async fn shared_and_foreign_records_are_protected() {
    let desk = remembering().await;
    let manager = granted(&["memory:write", "repo:write"], Set::default());
    for id in [
        "mem:org:acme:0",
        "mem:channel:slack:C1:0",
        "mem:repo:acme/app:0",
    ] {
        assert_eq!(
            desk.failure(&slack(), "memory.forget", json!({ "id": id }))
                .await
                .0,
            "unauthorized",
            "{id}"
        );
        assert!(
            desk.invoke(&manager, "memory.forget", json!({ "id": id }))
                .await
                .is_ok(),
            "{id}"
        );
    }
    let foreign = json!({ "id": "mem:user:slack:U2:0" });
    for caller in [slack(), manager] {
        assert_eq!(
            desk.failure(&caller, "memory.forget", foreign.clone())
                .await
                .0,
            "unauthorized"
        );
    }
    for (id, code) in [
        ("mem:planet:x:0", "not_found"),
        ("mem:org:acme:007", "not_found"),
        ("x", "invalid_input"),
    ] {
        assert_eq!(
            desk.failure(&slack(), "memory.forget", json!({ "id": id }))
                .await
                .0,
            code,
            "{id}"
        );
    }
}

#[tokio::test]
async fn outage_is_unavailable() {
    let desk = remembering().await;
    desk.memory.down.lock().unwrap().push("org:acme");
    assert_eq!(
        desk.failure(&browser(), "memory.list", none()).await.0,
        "unavailable"
    );
    let machine = token(&["memory:read"], Some("ops"));
    assert_eq!(
        desk.failure(&machine, "memory.list", json!({ "scope": "org" }))
            .await
            .0,
        "unavailable"
    );
}
