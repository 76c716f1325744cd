//! Tests how paths and names are spelled.

use ars_auth::Set;
use serde_json::json;

use super::support::{bot, get, post};
use crate::wire::exchange;

/// Paths below `/api` that are no route.
const OTHERS: &str = "/api /api/ //api //api/runs.list /api//runs.list /API/runs.list /Api/runs.list \
    /%61pi/runs.list /%2Fapi/runs.list /api%2Fruns.list /api/runs.list/ /api/RUNS.LIST /api/Runs.list \
    /api/%72uns.list /api/runs%2Elist /api/runs%2elist /api/runs /api/runs. /api/.list /api/runs.list.x \
    /api/runs.list/x /api/runs.list%00 /api/runs.list%20 /api/%zz /api/%ff /api/runs_list /api/runs.list;x \
    /api/./runs.list /api/x/../runs.list /api/openapi.json/ /api/OPENAPI.json /api/openapi \
    /api/friction.analyze /api/friction.file /api/mcp.list /api/deploy.plan /api/help /api/runs.list?/x%";

#[tokio::test]
async fn only_the_exact_path_is_a_command() {
    let bot = bot(Set::All, Set::All).await;
    let request = |method: &str, path: &str| {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer look\r\nconnection: close\r\n\r\n"
        )
    };
    let (found, missing): (Vec<&str>, Vec<&str>) = OTHERS
        .split_whitespace()
        .partition(|path| path.contains('?'));
    for path in missing {
        for method in ["GET", "POST", "DELETE"] {
            let answer = exchange(&bot, request(method, path).as_bytes()).await;
            assert!(
                answer.starts_with("HTTP/1.1 404 "),
                "{method} {path}: {answer}"
            );
            assert!(
                answer.contains("\r\ncache-control: no-store\r\n"),
                "{path}: {answer}"
            );
            let body = r#"{"error":"there is no such command","code":"not_found"}"#;
            assert!(answer.ends_with(body), "{path}: {answer}");
        }
    }
    for path in found {
        let answer = exchange(&bot, request("GET", path).as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 400 "),
            "the query is no part of the path: {answer}"
        );
    }
}

#[tokio::test]
async fn query_names_have_two_spellings() {
    let bot = bot(Set::default(), Set::All).await;
    bot.store.insert(crate::support::record(
        "done",
        1_760_000_000_000,
        &[json!({ "type": "x", "seq": 1 })],
    ));
    let plain = get(&bot, "/api/runs.events?id=done&after-seq=0").await;
    assert_eq!(plain.status, 200, "{plain:?}");
    assert_eq!(
        get(&bot, "/api/runs.events?afterSeq=0&id=done").await,
        plain
    );
    assert_eq!(
        get(&bot, "/api/runs.events?%69d=do%6ee&after%2Dseq=0&limit=1").await,
        plain
    );
    assert_eq!(
        post(&bot, "runs.events", &json!({ "id": "done", "afterSeq": 0 })).await,
        plain
    );
    assert_eq!(
        post(
            &bot,
            "runs.events",
            &json!({ "id": "done", "afterSeq": "0" })
        )
        .await,
        plain
    );
    for (query, error) in [
        (
            "id=done&after_seq=0",
            "there is an unknown option, which is not repeated here",
        ),
        (
            "id=done&AfterSeq=0",
            "AfterSeq is not an option of this command",
        ),
        ("id=done&after-seq=0&afterSeq=1", "afterSeq is given twice"),
        ("id=done&id=done", "id is given twice"),
        (
            "id=done&after-seq=-1",
            "afterSeq must be an integer of at least 0",
        ),
        ("", "id is missing"),
    ] {
        let answer = get(&bot, &format!("/api/runs.events?{query}")).await;
        assert_eq!(
            answer.failure(),
            (400, "invalid_input".into()),
            "{query}: {answer:?}"
        );
        assert_eq!(answer.json()["error"], error, "{query}");
    }
}

#[tokio::test]
async fn body_names_are_camel_case() {
    let bot = bot(Set::All, Set::All).await;
    let answer = post(
        &bot,
        "runs.events",
        &json!({ "id": "done", "after-seq": 0 }),
    )
    .await;
    assert_eq!(
        answer.json()["error"],
        "after-seq is not an option of this command"
    );
    let nested = json!({ "scope": "me", "models": { "coding": "scripted/m" } });
    let dotted = json!({ "scope": "me", "models.coding": "scripted/m" });
    let expected = post(&bot, "config.set", &nested).await;
    assert_eq!(expected.status, 200, "{expected:?}");
    assert_eq!(post(&bot, "config.set", &dotted).await, expected);
    let both =
        json!({ "scope": "me", "models": { "coding": "a/b" }, "models.coding": "scripted/m" });
    assert_eq!(
        post(&bot, "config.set", &both).await.failure(),
        (400, "invalid_input".into())
    );
}

/// A value may be a secret that was pasted by mistake.
#[tokio::test]
async fn errors_do_not_repeat_values() {
    let bot = bot(Set::All, Set::All).await;
    for path in [
        "/api/runs.get?id=canary%20value",
        "/api/runs.list?status=canary",
        "/api/runs.list?limit=canary",
        "/api/runs.list?canary_canary_canary_canary_canary=1",
    ] {
        let answer = get(&bot, path).await;
        assert_eq!(answer.failure(), (400, "invalid_input".into()));
        assert!(!answer.body.contains("canary"), "{answer:?}");
    }
}
