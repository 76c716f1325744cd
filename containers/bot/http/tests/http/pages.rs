//! The index, the run pages, friction and stop.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::Ordering;

use ars_auth::{Grants, Set};
use ars_bot_core::settings::Settings;
use ars_events::EventBody;
use ars_runs::{COST, REFLECTION_COST, RunRecord};
use ars_types::{RunStatus, StopMode};
use reqwest::{Client, RequestBuilder, Response, redirect::Policy};
use serde_json::{Value, json};

use super::support::{Bot, TOKENS, by_token, live_path, public, record, say};

async fn get(bot: &Bot, path: &str) -> Response {
    reqwest::get(bot.url(path)).await.unwrap()
}

async fn text(bot: &Bot, path: &str) -> (u16, String) {
    let response = get(bot, path).await;
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Returns status, headers without the date, and body.
async fn whole(response: Response) -> (u16, String, String) {
    let headers: Vec<_> = response
        .headers()
        .iter()
        .filter(|(name, _)| *name != "date")
        .collect();
    let headers = format!("{headers:?}");
    (
        response.status().as_u16(),
        headers,
        response.text().await.unwrap(),
    )
}

async fn stop(bot: &Bot, path: &str) -> (u16, String) {
    let response = Client::new().post(bot.url(path)).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn mode_none_rejects_public_access() {
    let bot = Bot::start_with(TOKENS, public()).await;
    let run = bot.run("secret plan", "scripted/m");
    let (id, token) = (run.id().clone(), run.view().token);
    for path in [
        "/runs",
        "/runs/",
        "/runs?stream=1",
        "/runs/docs",
        "/runs/assets/style.css",
    ] {
        assert_eq!(
            text(&bot, path).await,
            (403, "Forbidden\n".into()),
            "{path}"
        );
    }
    for route in ["", "/events", "/friction"] {
        assert_eq!(
            text(&bot, &format!("/runs/{id}{route}?t={token}")).await.0,
            403,
            "{route}"
        );
    }
    assert_eq!(
        stop(&bot, &format!("/runs/{id}/stop?t={token}&mode=hard"))
            .await
            .0,
        403
    );
    assert_eq!(bot.core.registry().get(&id).unwrap().stop, None);

    let local = Bot::start().await;
    let rebound = Client::new()
        .get(local.url("/runs"))
        .header("host", "rebound.example.com")
        .send()
        .await
        .unwrap();
    assert_eq!(rebound.status(), 403);
}

#[tokio::test]
async fn mode_token_admits_the_configured_actor() {
    let grants = Grants {
        actions: Set::only(&["runs:write"]),
        channels: Set::All,
        ..Grants::default()
    };
    let settings = Settings {
        grants: [("access:ops".to_owned(), grants)].into(),
        ..public()
    };
    let bot = Bot::behind(by_token("access:ops"), TOKENS, settings).await;
    let run = bot.run("secret plan", "scripted/m");
    let (id, token) = (run.id().clone(), run.view().token);
    let page = format!("/runs/{id}?t={token}");
    for credential in [
        None,
        Some("Bearer lool"),
        Some("Bearer good"),
        Some("Basic look"),
        Some("Bearer "),
    ] {
        for path in ["/runs", page.as_str()] {
            let mut request = Client::new()
                .get(bot.url(path))
                .header("host", "bot.example.com");
            if let Some(credential) = credential {
                request = request.header("authorization", credential);
            }
            let answer = request.send().await.unwrap();
            assert_eq!(
                (
                    answer.status().as_u16(),
                    answer.text().await.unwrap().as_str()
                ),
                (403, "Forbidden\n")
            );
        }
    }
    let shown = |path: String| {
        Client::new()
            .get(path)
            .header("host", "bot.example.com")
            .bearer_auth("look")
    };
    let index = shown(bot.url("/runs")).send().await.unwrap();
    assert_eq!(index.status(), 200);
    assert!(index.text().await.unwrap().contains(id.as_str()));
    assert_eq!(shown(bot.url(&page)).send().await.unwrap().status(), 200);
    // The secret opens the gate; a live run still needs its own token.
    let guessed = shown(bot.url(&format!("/runs/{id}?t=x")))
        .send()
        .await
        .unwrap();
    assert_eq!(guessed.status(), 404);
    let stopped = Client::new().post(bot.url(&format!("/runs/{id}/stop?t={token}&mode=soft")));
    assert_eq!(
        stopped.bearer_auth("look").send().await.unwrap().status(),
        200
    );
}

#[tokio::test]
async fn pages_carry_their_headers() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    for path in [
        "/runs".to_owned(),
        "/runs/docs".into(),
        live_path(&run),
        "/runs/assets/run.js".into(),
        "/runs/unknown".into(),
    ] {
        let response = get(&bot, &path).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert!(
            header("content-security-policy").starts_with("default-src 'none'; script-src 'self'"),
            "{path}"
        );
        assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-robots-tag"), "noindex, nofollow");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
    }
}

#[tokio::test]
async fn hidden_runs_share_one_answer() {
    let bot = Bot::start().await;
    let run = bot.run("live", "scripted/m");
    let id = run.id();
    let mut answers = Vec::new();
    for route in ["", "/events", "/friction"] {
        for path in [
            format!("/runs/{id}{route}"),
            format!("/runs/{id}{route}?t=wrong"),
            format!("/runs/unknown{route}?t=x"),
            format!("/runs/not%20an%20id{route}"),
        ] {
            let response = get(&bot, &path).await;
            answers.push(whole(response).await);
        }
    }
    for path in [
        format!("/runs/{id}/stop?t=wrong&mode=hard"),
        format!("/runs/{id}/stop?mode=soft"),
        "/runs/unknown/stop?mode=soft".into(),
    ] {
        let response = Client::new().post(bot.url(&path)).send().await.unwrap();
        answers.push(whole(response).await);
    }
    assert_eq!(answers[0].0, 404);
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    // While the history is down, a live run still looks like an unknown run.
    bot.store.down.store(true, Ordering::Relaxed);
    assert_eq!(
        text(&bot, &format!("/runs/{id}")).await,
        text(&bot, "/runs/unknown").await
    );
    assert_eq!(text(&bot, "/runs/unknown").await.0, 503);
}

/// Requests a page as a person's browser does, without following a redirect.
fn as_browser(bot: &Bot, path: &str) -> RequestBuilder {
    let client = Client::builder().redirect(Policy::none()).build().unwrap();
    client
        .get(bot.url(path))
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

/// A machine gets the answer that reveals nothing.
#[tokio::test]
async fn person_who_may_read_a_run_is_led_to_it() {
    let bot = Bot::start().await;
    let run = bot.run("live", "scripted/m");
    let page = format!("/runs/{}", run.id());
    for (path, target) in [
        (page.clone(), live_path(&run)),
        (
            format!("{page}?tab=changes"),
            format!("{}&tab=changes", live_path(&run)),
        ),
        (
            format!("{page}?before=7"),
            format!("{}&before=7", live_path(&run)),
        ),
    ] {
        let led = as_browser(&bot, &path).send().await.unwrap();
        assert_eq!(
            (
                led.status().as_u16(),
                led.headers()["location"].to_str().unwrap()
            ),
            (303, target.as_str())
        );
    }
    assert_eq!(text(&bot, &page).await, (404, "Not found\n".into()));
    let wrong = as_browser(&bot, &format!("{page}?t=wrong"))
        .send()
        .await
        .unwrap();
    assert_eq!(wrong.status(), 404);
    let granted = Grants {
        channels: Set::only(&["http:ours"]),
        ..Grants::default()
    };
    let settings = Settings {
        grants: [("access:ann".to_owned(), granted)].into(),
        ..Settings::default()
    };
    let bot = Bot::behind(by_token("access:ann"), TOKENS, settings).await;
    let hidden = bot.run("theirs", "scripted/m");
    let mut answers = Vec::new();
    for path in [format!("/runs/{}", hidden.id()), "/runs/unknown".into()] {
        answers.push(
            whole(
                as_browser(&bot, &path)
                    .bearer_auth("look")
                    .send()
                    .await
                    .unwrap(),
            )
            .await,
        );
    }
    assert_eq!((answers[0].0, &answers[0]), (404, &answers[1]));
}

#[tokio::test]
async fn unknown_page_is_a_page_for_a_browser() {
    let bot = Bot::start().await;
    for (path, status, part) in [
        ("/runs/unknown", 404, "A run may have been removed"),
        ("/nothing/here", 404, "Not found"),
        ("/costs", 503, "this version has no costs pages"),
        ("/residents", 503, "Not available"),
        ("/residents/acme/app", 503, "Not available"),
    ] {
        let answer = as_browser(&bot, path).send().await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(answer.headers()["content-type"], "text/html; charset=utf-8");
        assert!(
            answer.headers()["content-security-policy"]
                .to_str()
                .unwrap()
                .contains("frame-ancestors")
        );
        let html = answer.text().await.unwrap();
        assert!(
            html.contains(part) && html.contains("name=\"viewport\""),
            "{path}: {html}"
        );
        assert!(html.contains("href=\"/runs?all=1\""), "{path}: {html}");
    }
    for (path, page) in [
        ("/", "/runs"),
        ("/docs", "/runs/docs"),
        ("/outcomes/", "/runs/outcomes"),
    ] {
        let answer = as_browser(&bot, path).send().await.unwrap();
        assert_eq!(
            (
                answer.status().as_u16(),
                answer.headers()["location"].to_str().unwrap()
            ),
            (303, page)
        );
        assert_eq!(
            get(&bot, path).await.headers()["content-type"],
            "application/json",
            "{path}"
        );
    }
    let stranger = Bot::behind(by_token("access:ann"), TOKENS, Settings::default()).await;
    assert_eq!(
        as_browser(&stranger, "/nothing/here")
            .send()
            .await
            .unwrap()
            .status(),
        403
    );
}

#[tokio::test]
async fn only_live_runs_need_the_token() {
    let bot = Bot::start().await;
    let run = bot.run("fix the build", "scripted/m");
    run.publish(EventBody::input("please fix", Vec::new(), None));
    let (status, html) = text(&bot, &live_path(&run)).await;
    assert_eq!(status, 200);
    assert!(html.contains("data-mode=\"live\"") && html.contains("please fix"));
    run.publish(EventBody::answer("fixed"));
    run.finish(RunStatus::Completed);
    let response = get(&bot, &format!("/runs/{}", run.id())).await;
    assert_eq!(response.headers()["x-run-status"], "completed");
    let html = response.text().await.unwrap();
    assert!(html.contains("data-mode=\"history\"") && html.contains("fixed"));
    // After its time in the registry it is read from the history.
    let id = run.id().to_string();
    bot.store.insert(record(
        &id,
        7000,
        &[json!({"type": "answer", "text": "stored answer", "seq": 1})],
    ));
    bot.clock.advance(60_000);
    assert!(
        text(&bot, &format!("/runs/{id}"))
            .await
            .1
            .contains("stored answer")
    );
}

#[tokio::test]
async fn finished_run_shows_its_cost() {
    let bot = Bot::start().await;
    let run = bot.run("fix the build", "scripted/m");
    assert!(
        text(&bot, &live_path(&run))
            .await
            .1
            .contains("<dd data-fact=\"cost\">unknown</dd>")
    );
    run.set_cost(Some(1_250_000));
    run.finish(RunStatus::Completed);
    let (_, html) = text(&bot, &format!("/runs/{}", run.id())).await;
    assert!(html.contains("Cost") && html.contains("$1.25"), "{html}");
}

#[tokio::test]
async fn stored_run_shows_cost_and_reflection_cost() {
    let bot = Bot::start().await;
    let mut old = record("old", 7000, &[]);
    old.extra.insert(COST.into(), json!(1_250_000));
    old.extra.insert(REFLECTION_COST.into(), json!(30_000));
    bot.store.insert(old);
    let (_, html) = text(&bot, "/runs/old").await;
    assert!(html.contains("Cost") && html.contains("$1.25"), "{html}");
    assert!(
        html.contains("Reflection") && html.contains("$0.03"),
        "{html}"
    );
}

#[tokio::test]
async fn provisional_record_of_live_run_is_hidden() {
    let bot = Bot::start().await;
    let run = bot.run("live", "scripted/m");
    bot.store.insert(record(
        run.id().as_str(),
        7000,
        &[json!({"type": "input", "text": "hush", "seq": 1})],
    ));
    assert_eq!(
        text(&bot, &format!("/runs/{}", run.id())).await,
        (404, "Not found\n".into())
    );
    assert!(
        !text(&bot, "/runs?all=1")
            .await
            .1
            .contains(&format!("href=\"/runs/{}\"", run.id()))
    );
}

#[tokio::test]
async fn index_lists_active_or_all_runs() {
    let bot = Bot::start().await;
    let first = bot.run("first", "scripted/m");
    bot.clock.advance(1000);
    let second = bot.run("second <b>", "rehearsal/demo");
    let done = bot.run("done", "scripted/m");
    done.finish(RunStatus::Failed);
    bot.store.insert(record("old", 7000, &[]));
    let (_, html) = text(&bot, "/runs").await;
    let at = |html: &str, needle: &str| {
        html.find(needle)
            .unwrap_or_else(|| unreachable!("{needle} in {html}"))
    };
    assert!(
        at(&html, &format!("{}?t={}", second.id(), second.view().token))
            < at(&html, &format!("{}?t={}", first.id(), first.view().token))
    );
    assert!(html.contains("second &#60;b&#62;") && html.contains(">rehearsal<"));
    assert!(!html.contains("label of old") && !html.contains(done.id().as_str()));
    let (_, html) = text(&bot, "/runs/?all=1").await;
    assert!(at(&html, first.id().as_str()) < at(&html, done.id().as_str()));
    assert!(at(&html, done.id().as_str()) < at(&html, "label of old"));
    assert!(!html.contains(&done.view().token));
    assert!(!html.contains("Older runs"));
}

#[tokio::test]
async fn unreadable_runs_do_not_shorten_a_page() {
    let granted = Grants {
        channels: Set::only(&["http:ours"]),
        ..Grants::default()
    };
    let settings = Settings {
        grants: [("access:ann".to_owned(), granted)].into(),
        ..Settings::default()
    };
    let bot = Bot::behind(by_token("access:ann"), TOKENS, settings).await;
    for n in 0..60 {
        bot.store
            .insert(record(&format!("theirs{n:02}"), 2000 + n, &[]));
    }
    for id in ["old", "older"] {
        bot.store.insert(RunRecord {
            channel_id: "http:ours".into(),
            ..record(id, 1000, &[])
        });
    }
    let asked = Client::new()
        .get(bot.url("/runs?all=1"))
        .bearer_auth("look")
        .send()
        .await
        .unwrap();
    let html = asked.text().await.unwrap();
    assert!(
        html.contains("label of old<") && html.contains("label of older<"),
        "{html}"
    );
    assert!(!html.contains("theirs"));
}

#[tokio::test]
async fn older_pages_and_missing_history_are_shown() {
    let bot = Bot::start().await;
    for n in 0..60 {
        bot.store
            .insert(record(&format!("r{n:02}"), 1000 + n / 3, &[]));
    }
    let mut path = "/runs?all=1".to_owned();
    let mut seen = Vec::new();
    loop {
        let (_, html) = text(&bot, &path).await;
        seen.extend(
            html.split("data-id=\"")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().to_owned()),
        );
        let Some((before, _)) = html.split_once("\" rel=\"next\"") else {
            break;
        };
        path = before
            .rsplit_once("href=\"")
            .unwrap()
            .1
            .replace("&#38;", "&");
    }
    let expected: Vec<String> = (0..60).rev().map(|n| format!("r{n:02}")).collect();
    assert_eq!(seen, expected);
    bot.store.down.store(true, Ordering::Relaxed);
    let (status, html) = text(&bot, "/runs?all=1").await;
    assert!(status == 200 && html.contains("role=\"alert\""));
}

#[tokio::test]
async fn friction_is_live_or_stored() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    say(&run, "hm");
    let (id, token) = (run.id().to_string(), run.view().token);
    let body: Value = get(&bot, &format!("/runs/{id}/friction?t={token}"))
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(
        (&body["id"], &body["finished"]),
        (&json!(id), &json!(false))
    );
    assert!(body["diagnosis"]["verdict"].is_string());
    bot.store.insert(record("old", 7000, &[]));
    let body: Value = get(&bot, "/runs/old/friction").await.json().await.unwrap();
    assert_eq!(
        body,
        json!({"id": "old", "finished": true, "diagnosis": {"verdict": "stored"}})
    );
    let posted = Client::new()
        .post(bot.url("/runs/old/friction"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (
            posted.status().as_u16(),
            posted.headers()["allow"].to_str().unwrap()
        ),
        (405, "GET,HEAD")
    );
}

#[tokio::test]
async fn token_stops_a_live_run_only() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    let (id, token) = (run.id().clone(), run.view().token);
    for query in ["", "mode=", "mode=Hard", "mode=both"] {
        let (status, body) = stop(&bot, &format!("/runs/unknown/stop?t={token}&{query}")).await;
        assert_eq!(status, 400, "{query}");
        assert!(body.contains("mode"));
    }
    let (status, body) = stop(&bot, &format!("/runs/{id}/stop?t={token}&mode=soft")).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, body),
        (200, json!({"id": id, "mode": "soft", "state": "stopping"}))
    );
    assert!(run.stops().soft.is_cancelled() && !run.stops().hard.is_cancelled());
    assert_eq!(
        stop(&bot, &format!("/runs/{id}/stop?t={token}&mode=hard"))
            .await
            .0,
        200
    );
    assert_eq!(
        bot.core.registry().get(&id).unwrap().stop,
        Some(StopMode::Hard)
    );
    run.finish(RunStatus::StoppedHard);
    assert_eq!(
        stop(&bot, &format!("/runs/{id}/stop?t={token}&mode=hard"))
            .await
            .0,
        409
    );
    assert_eq!(
        stop(&bot, &format!("/runs/{id}/stop?mode=hard")).await,
        (404, "Not found\n".into())
    );
    let got = get(&bot, &format!("/runs/{id}/stop?t={token}&mode=hard")).await;
    assert_eq!(
        (
            got.status().as_u16(),
            got.headers()["allow"].to_str().unwrap()
        ),
        (405, "POST")
    );
}

#[tokio::test]
async fn operator_gets_conflict_for_finished_run() {
    let grants = Grants {
        actions: Set::only(&["runs:write"]),
        ..Grants::default()
    };
    let settings = Settings {
        grants: [("access:loopback".to_owned(), grants)].into(),
        ..Settings::default()
    };
    let bot = Bot::start_with(TOKENS, settings).await;
    bot.store.insert(record("old", 7000, &[]));
    assert_eq!(stop(&bot, "/runs/old/stop?mode=soft").await.0, 409);
    assert_eq!(stop(&bot, "/runs/unknown/stop?mode=soft").await.0, 404);
}

#[tokio::test]
async fn only_referenced_assets_are_served() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    let mut wanted = vec![
        "dom.js".to_owned(),
        "transcript.js".into(),
        "call.js".into(),
        "markdown.js".into(),
    ];
    for path in ["/runs".to_owned(), live_path(&run)] {
        let (_, html) = text(&bot, &path).await;
        wanted.extend(
            html.split("/runs/assets/")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().to_owned()),
        );
    }
    assert!(wanted.len() > 8);
    for name in wanted {
        let response = get(&bot, &format!("/runs/assets/{name}")).await;
        assert_eq!(response.status(), 200, "{name}");
        assert!(
            !response.text().await.unwrap().contains("innerHTML"),
            "{name}"
        );
    }
    for name in ["x.js", "..%2Fsrc%2Flib.rs"] {
        assert_ne!(
            text(&bot, &format!("/runs/assets/{name}")).await.0,
            200,
            "{name}"
        );
    }
}
