//! Help and status.

use ars_commands::Surface;
use serde_json::json;

use super::support::{browser, desk, none, slack, token};

#[tokio::test]
async fn help_lists_agents_and_chat_commands() {
    let desk = desk();
    let help = desk.output(&browser(), "help.show", none()).await;
    let names: Vec<&str> = help["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["general", "coding", "review", "research"]);
    assert!(
        help["directives"]
            .as_str()
            .unwrap()
            .contains("agent:coding")
    );
    let ids: Vec<&str> = help["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["id"].as_str().unwrap())
        .collect();
    assert!(
        ids.contains(&"runs.list") && !ids.contains(&"runs.get") && !ids.contains(&"schedule.list")
    );
    let stop = help["commands"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["id"] == "runs.stop")
        .unwrap();
    assert_eq!(stop["form"], "runs stop <id> --mode soft|hard");
    assert_eq!(stop["describe"], "Requests the stop of a live run.");
}

#[tokio::test]
async fn message_asks_for_help() {
    let desk = desk();
    let help = desk.says(&slack(), "help").await.unwrap().unwrap();
    assert!(
        help.text.starts_with("Agents:\n- `general`: "),
        "{}",
        help.text
    );
    let group = desk.says(&slack(), "config help").await.unwrap().unwrap();
    assert_eq!(group.text.lines().count(), 4);
    let usage = desk
        .says(&slack(), "config set --help")
        .await
        .unwrap()
        .unwrap();
    assert!(
        usage.text.contains("Usage: config set <scope>"),
        "{}",
        usage.text
    );
    assert!(desk.says(&slack(), "please help").await.is_none());
}

#[tokio::test]
async fn status_has_build_and_load() {
    let desk = desk();
    let status = desk
        .output(&token(&["status:read"], None), "status.show", none())
        .await;
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"), "commit": "abc1234", "builtAt": "2026-01-01T00:00:00Z",
        "startedAt": status["startedAt"], "inFlight": 0, "draining": false,
    });
    assert_eq!(status, expected);
    assert!(status["startedAt"].as_str().unwrap().ends_with('Z'));
}

/// The same caller gets the same bytes on every surface.
#[tokio::test]
async fn every_surface_gets_the_same_bytes() {
    let desk = desk();
    for id in ["help.show", "status.show"] {
        let on = |surface| super::support::on(&browser(), surface);
        let mut bytes = Vec::new();
        for surface in Surface::ALL {
            bytes.push(desk.invoke(&on(surface), id, none()).await.unwrap().json);
        }
        bytes.dedup();
        assert_eq!(bytes.len(), 1, "{id}");
    }
}
