//! Tests the check order, with every later check's fault present in each request.
#![expect(clippy::unwrap_used, reason = "a test")]

use ars_auth::Set;
use ars_bot_core::settings::Settings;
use reqwest::{Client, Method};
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::support::{bot, get, post, read, send};
use crate::{
    support::{Bot, TOKENS, public},
    wire::until,
};

/// Sends a request's head without the body, and returns the response's first line and body.
async fn head_only(bot: &Bot, lines: &[&str]) -> (String, String, String) {
    let mut stream = TcpStream::connect(bot.address).await.unwrap();
    let head = format!(
        "{}\r\nhost: localhost\r\ncontent-length: 2000000\r\n\r\n",
        lines.join("\r\n")
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    until(&mut stream, &mut text, "\"}").await;
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (
        status.to_owned(),
        head.to_owned(),
        body.split("\"code\":").nth(1).unwrap().to_owned(),
    )
}

#[tokio::test]
async fn checks_run_in_the_specified_order() {
    let reader = bot(Set::default(), Set::All).await;
    let writer = bot(Set::only(&["runs:write"]), Set::All).await;
    let (json, text) = ("content-type: application/json", "content-type: text/plain");
    let (wrong, right) = ("authorization: Bearer nope", "authorization: Bearer look");
    let evil = "origin: https://evil.example";
    for (bot, lines, status, code) in [
        (&reader, [wrong, text, evil], "403", "forbidden"),
        (&reader, [right, text, evil], "404", "not_found"),
    ] {
        let lines = [&["PUT /api/no.such HTTP/1.1"], &lines[..]].concat();
        let (found, _, body) = head_only(bot, &lines).await;
        assert_eq!(
            (found.as_str(), body),
            (status, format!("\"{code}\"}}")),
            "{lines:?}"
        );
    }
    let put = [&["PUT /api/runs.stop HTTP/1.1"], &[right, text, evil][..]].concat();
    let (status, head, body) = head_only(&reader, &put).await;
    assert_eq!(
        (status.as_str(), body.as_str()),
        ("405", "\"method_not_allowed\"}")
    );
    assert!(head.contains("\r\nallow: POST\r\n"), "{head}");
    for (bot, lines, status, code) in [
        (
            &reader,
            [right, text, evil],
            "415",
            "unsupported_media_type",
        ),
        (&reader, [right, json, evil], "403", "forbidden_origin"),
        (
            &reader,
            [right, json, "sec-fetch-site: none"],
            "403",
            "unauthorized",
        ),
        (
            &writer,
            [right, json, "sec-fetch-site: none"],
            "413",
            "payload_too_large",
        ),
    ] {
        let lines = [&["POST /api/runs.stop HTTP/1.1"], &lines[..]].concat();
        let (found, _, body) = head_only(bot, &lines).await;
        assert_eq!(
            (found.as_str(), body),
            (status, format!("\"{code}\"}}")),
            "{lines:?}"
        );
    }
    let run = writer.run("a", "scripted/m");
    let (id, path) = (run.id().to_string(), "/api/runs.stop");
    let json = [("content-type", "application/json")];
    for (body, error) in [
        ("[]".to_owned(), "the body must be a JSON object"),
        ("{".to_owned(), "the body must be a JSON object"),
        (
            json!({ "nope": 1, "id": "" }).to_string(),
            "nope is not an option of this command",
        ),
        (json!({ "id": id }).to_string(), "mode is missing"),
    ] {
        let answer = send(&writer, Method::POST, path, &json, body).await;
        assert_eq!(
            answer.failure(),
            (400, "invalid_input".into()),
            "{answer:?}"
        );
        assert_eq!(answer.json()["error"], error);
    }
    let stop = |id: &str| json!({ "id": id, "mode": "soft" });
    assert_eq!(
        post(&writer, "runs.stop", &stop("other")).await.failure(),
        (404, "not_found".into())
    );
    let stopped = post(&writer, "runs.stop", &stop(&id)).await;
    assert_eq!(
        (stopped.status, stopped.json()["state"].clone()),
        (200, json!("stopping"))
    );
    drop(run);
}

#[tokio::test]
async fn finished_run_cannot_be_stopped() {
    let bot = bot(Set::only(&["runs:write"]), Set::All).await;
    bot.store
        .insert(crate::support::record("done", 1_760_000_000_000, &[]));
    let answer = post(&bot, "runs.stop", &json!({ "id": "done", "mode": "hard" })).await;
    assert_eq!(answer.failure(), (409, "conflict".into()));
}

#[tokio::test]
async fn only_listed_methods_are_allowed() {
    let bot = bot(Set::All, Set::All).await;
    for (path, allow) in [
        ("/api/runs.list", "GET, POST"),
        ("/api/runs.stop", "POST"),
        ("/api/openapi.json", "GET"),
    ] {
        for method in [
            "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "X",
        ] {
            let request = Client::new()
                .request(method.parse().unwrap(), bot.url(path))
                .bearer_auth("look");
            let response = request
                .header("origin", "https://evil.example")
                .send()
                .await
                .unwrap();
            assert_eq!(response.headers()["allow"], allow, "{method} {path}");
            assert_eq!(read(response).await.status, 405, "{method} {path}");
        }
    }
    let answer = get(&bot, "/api/runs.stop?id=x&mode=soft").await;
    assert_eq!(answer.failure(), (405, "method_not_allowed".into()));
    let posted = send(&bot, Method::POST, "/api/openapi.json", &[], "").await;
    assert_eq!(posted.failure(), (405, "method_not_allowed".into()));
}

/// The origin is that of the base URL, and else of the `Host` header.
#[tokio::test]
async fn write_from_another_site_is_rejected() {
    let bot = bot(Set::All, Set::All).await;
    let own = format!("http://{}", bot.address);
    let json = ("content-type", "application/json");
    for (header, id, expected) in [
        (("origin", own.as_str()), "config.set", 200),
        (("origin", "http://localhost:1"), "config.set", 403),
        (("origin", "null"), "config.set", 403),
        (("sec-fetch-site", "same-origin"), "config.set", 200),
        (("sec-fetch-site", "same-site"), "config.set", 403),
        (("origin", "https://evil.example"), "help.show", 200),
    ] {
        let body = if id == "help.show" {
            json!({})
        } else {
            json!({ "scope": "me", "effort": "low" })
        };
        let answer = send(
            &bot,
            Method::POST,
            &format!("/api/{id}"),
            &[json, header],
            body.to_string(),
        )
        .await;
        assert_eq!(answer.status, expected, "{header:?}: {answer:?}");
        if expected == 403 {
            assert_eq!(answer.failure().1, "forbidden_origin");
        }
    }
}

#[tokio::test]
async fn mode_none_serves_this_machine_only() {
    let local = Bot::start().await;
    assert_eq!(
        read(reqwest::get(local.url("/api/help.show")).await.unwrap())
            .await
            .status,
        200
    );
    let rebound = Client::new()
        .get(local.url("/api/help.show"))
        .header("host", "rebound.example.com");
    assert_eq!(
        read(rebound.send().await.unwrap()).await.failure(),
        (403, "forbidden".into())
    );
    let public = Bot::start_with(TOKENS, Settings { ..public() }).await;
    for path in [
        "/api/help.show",
        "/api/no.such",
        "/api",
        "/API//x",
        "/api/openapi.json",
    ] {
        let answer = read(reqwest::get(public.url(path)).await.unwrap()).await;
        assert_eq!(answer.failure(), (403, "forbidden".into()), "{path}");
    }
}

/// Ingress tokens are no dashboard credentials.
#[tokio::test]
async fn only_the_secret_is_admitted() {
    let bot = bot(Set::All, Set::All).await;
    for credential in [
        None,
        Some("Bearer good"),
        Some("Bearer loo"),
        Some("Basic look"),
        Some("look"),
    ] {
        for path in [
            "/api/help.show",
            "/api/no.such",
            "/api/openapi.json",
            "/%61pi/x",
        ] {
            let mut request = Client::new().get(bot.url(path));
            if let Some(credential) = credential {
                request = request.header("authorization", credential);
            }
            let answer = read(request.send().await.unwrap()).await;
            assert_eq!(
                answer.failure(),
                (403, "forbidden".into()),
                "{path} {credential:?}"
            );
        }
    }
}
