//! Tests the admin routes: the check order, and the responses.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;

use ars_auth::{Grants, Set};
use ars_bot_core::settings::Settings;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::{
    support::{Bot, EDGE_SECRET},
    wire::TIMEOUT,
};

const CRASH: &str = "/admin/crash";
const AUTHORIZE: &str = "/admin/restart/authorize";

/// `deployer` has the permission by its scope, `granted` by configuration. `twin` shares a subject
/// with a token that lacks it.
const TOKENS: &str = r#"{
    "good": {"subject": "ann"},
    "deployer": {"subject": "dé p", "scopes": ["deploy:write"]},
    "reader": {"subject": "bo", "scopes": ["deploy:read", "deploy", "*"]},
    "strong": {"subject": "twin", "scopes": ["deploy:write"]},
    "weak": {"subject": "twin"},
    "granted": {"subject": "cy", "scopes": []}
}"#;

async fn bot() -> Bot {
    let grants = Grants {
        actions: Set::only(&["deploy:write"]),
        ..Grants::default()
    };
    let grants = BTreeMap::from([("http:cy".to_owned(), grants)]);
    Bot::start_with(
        TOKENS,
        Settings {
            grants,
            ..Settings::default()
        },
    )
    .await
}

async fn ask(bot: &Bot, method: Method, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = Client::new().request(method, bot.url(path));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn post(bot: &Bot, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    ask(bot, Method::POST, path, headers).await
}

#[tokio::test]
async fn checks_run_in_the_specified_order() {
    let (bot, closed) = (bot().await, Bot::start_with("", Settings::default()).await);
    for path in [CRASH, AUTHORIZE] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let (status, body) = ask(
                &closed,
                method,
                path,
                &[("authorization", "Bearer deployer")],
            )
            .await;
            assert_eq!(
                (status, body),
                (405, json!({ "ok": false, "error": "POST only" })),
                "{path}"
            );
        }
        let (status, body) = post(&closed, path, &[("authorization", "Bearer deployer")]).await;
        assert_eq!(
            (status, body),
            (503, json!({ "ok": false, "error": "disabled" })),
            "{path}"
        );
        for headers in [
            &[][..],
            &[("authorization", "Bearer nobody")],
            &[("authorization", "Basic deployer")],
        ] {
            let (status, body) = post(&bot, path, headers).await;
            assert_eq!(
                (status, body),
                (401, json!({ "ok": false, "error": "unauthorized" })),
                "{path}"
            );
        }
        for token in ["good", "reader", "weak"] {
            let (status, body) =
                post(&bot, path, &[("authorization", &format!("Bearer {token}"))]).await;
            assert_eq!(
                (status, body["ok"].clone()),
                (403, json!(false)),
                "{path} {token}"
            );
        }
    }
}

#[tokio::test]
async fn a_crash_is_answered_and_then_happens() {
    let bot = bot().await;
    let (status, body) = post(&bot, CRASH, &[("authorization", "Bearer deployer")]).await;
    // Without a ledger there is no generation.
    let pid = std::process::id();
    assert_eq!(
        (status, body),
        (202, json!({ "ok": true, "generation": null, "pid": pid }))
    );
    tokio::time::timeout(TIMEOUT, bot.crashed.notified())
        .await
        .unwrap();
}

const EDGE: (&str, &str) = ("x-ars-edge-secret", EDGE_SECRET);

#[tokio::test]
async fn named_subject_is_judged_without_bearer() {
    let bot = bot().await;
    for (subject, name) in [("d%C3%A9%20p", "dé p"), ("cy", "cy")] {
        let (status, body) =
            post(&bot, AUTHORIZE, &[("x-ars-restart-subject", subject), EDGE]).await;
        assert_eq!(
            (status, body),
            (200, json!({ "ok": true, "subject": name }))
        );
    }
    // A permitted bearer does not help a subject that is unknown, lacks the permission, or has a
    // token that does.
    for subject in ["ann", "bo", "twin", "nobody", "deployer"] {
        let headers = [
            ("x-ars-restart-subject", subject),
            ("authorization", "Bearer deployer"),
            EDGE,
        ];
        let (status, body) = post(&bot, AUTHORIZE, &headers).await;
        assert_eq!(
            (status, body["ok"].clone()),
            (403, json!(false)),
            "{subject}"
        );
    }
    for headers in [
        &[
            ("x-ars-restart-subject", ""),
            ("authorization", "Bearer deployer"),
            EDGE,
        ],
        &[
            ("x-ars-restart-subject", "%ff"),
            ("authorization", "Bearer deployer"),
            EDGE,
        ],
        &[
            ("x-ars-restart-subject", "cy"),
            ("x-ars-restart-subject", "cy"),
            EDGE,
        ],
    ] {
        assert_eq!(post(&bot, AUTHORIZE, headers).await.0, 401, "{headers:?}");
    }
}

/// Only the edge learns whether a subject may restart the bot.
#[tokio::test]
async fn subject_without_the_edges_secret_finds_no_route() {
    let bot = bot().await;
    let wrong = ("x-ars-edge-secret", "edge-secret-9d22");
    for subject in ["cy", "nobody"].map(|subject| ("x-ars-restart-subject", subject)) {
        for headers in [
            &[subject][..],
            &[subject, ("authorization", "Bearer deployer")],
            &[subject, wrong],
            &[subject, ("x-ars-edge-secret", "")],
            &[subject, EDGE, EDGE],
        ] {
            let (status, body) = post(&bot, AUTHORIZE, headers).await;
            assert_eq!(
                (status, &body["error"]),
                (404, &json!("no such route")),
                "{headers:?}"
            );
        }
    }
}

#[tokio::test]
async fn bearer_is_judged_without_named_subject() {
    let bot = bot().await;
    for (token, subject) in [("deployer", "dé p"), ("strong", "twin"), ("granted", "cy")] {
        let (status, body) = post(
            &bot,
            AUTHORIZE,
            &[("authorization", &format!("Bearer {token}"))],
        )
        .await;
        assert_eq!(
            (status, body),
            (200, json!({ "ok": true, "subject": subject }))
        );
    }
}

#[tokio::test]
async fn the_restart_itself_is_nobodys_here() {
    let bot = bot().await;
    let (status, _) = post(
        &bot,
        "/admin/restart",
        &[("authorization", "Bearer deployer")],
    )
    .await;
    assert_eq!(status, 404);
}
