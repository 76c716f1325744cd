//! A run's views, older events, follow-ups, the list's filters, and the schedules.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::Ordering;

use ars_auth::{Grants, Set};
use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_http::Dashboard;
use ars_events::EventBody;
use ars_runs::RunRecord;
use ars_types::RunStatus;
use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::{
    api::support::whole,
    support::{Bot, TOKENS, by_token, live_path, record, say},
};

async fn get(bot: &Bot, path: &str) -> (u16, String) {
    let response = reqwest::get(bot.url(path)).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn steer(bot: &Bot, path: &str, body: &Value) -> Response {
    Client::new()
        .post(bot.url(path))
        .body(body.to_string())
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn header_lists_present_surfaces() {
    let bot = Bot::start().await;
    let (_, html) = get(&bot, "/runs").await;
    assert!(html.contains("href=\"/runs/docs\"") && html.contains("href=\"/api/openapi.json\""));
    assert!(!html.contains("/schedules"), "{html}");
    for path in ["/schedules", "/runs/scheduled"] {
        assert_eq!(get(&bot, path).await.0, 503, "{path}");
    }
    let capabilities = whole(Capabilities::default());
    let bot = Bot::with_capabilities(
        Dashboard::Loopback,
        TOKENS,
        Settings::default(),
        capabilities,
    )
    .await;
    for path in ["/runs", "/runs/docs", "/schedules", "/runs/scheduled"] {
        let (status, html) = get(&bot, path).await;
        assert!(
            status == 200 && html.contains("href=\"/schedules\""),
            "{path}: {html}"
        );
    }
    assert!(
        get(&bot, "/schedules")
            .await
            .1
            .contains("aria-current=\"page\">Schedules</a>")
    );
}

#[tokio::test]
async fn list_is_filtered() {
    let bot = Bot::start().await;
    let live = bot.run("live one", "scripted/m");
    for (id, agent, repo, user) in [
        ("r1", "coding", "acme/app", "http:ann"),
        ("r2", "review", "acme/site", "http:bo"),
    ] {
        let stored = record(id, 7000, &[]);
        bot.store.insert(RunRecord {
            agent: Some(agent.into()),
            repo: Some(repo.into()),
            user_id: user.into(),
            ..stored
        });
    }
    for (query, shown) in [
        (
            "status=all",
            &["live one", "label of r1", "label of r2"][..],
        ),
        ("status=finished", &["label of r1", "label of r2"]),
        ("all=1&agent=review", &["label of r2"]),
        ("all=1&repo=acme%2Fapp", &["live one", "label of r1"]),
        ("all=1&user=http%3Abo", &["label of r2"]),
        ("all=1&channel=http%3Aother", &[]),
        ("agent=coding", &["live one"]),
    ] {
        let (_, html) = get(&bot, &format!("/runs?{query}")).await;
        for label in ["live one", "label of r1", "label of r2"] {
            let text = format!("<span class=\"label\">{label}</span>");
            assert_eq!(
                html.contains(&text),
                shown.contains(&label),
                "{query}: {label}"
            );
        }
    }
    drop(live);
}

#[tokio::test]
async fn filters_show_no_unreadable_run() {
    let granted = Grants {
        channels: Set::only(&["http:ours"]),
        ..Grants::default()
    };
    let settings = Settings {
        grants: [("access:ann".to_owned(), granted)].into(),
        ..Settings::default()
    };
    let bot = Bot::behind(by_token("access:ann"), TOKENS, settings).await;
    bot.store.insert(record("theirs", 2000, &[]));
    bot.store.insert(RunRecord {
        channel_id: "http:ours".into(),
        ..record("ours", 1000, &[])
    });
    for query in ["user=http%3Aann", "channel=http%3Adefault", "agent=coding"] {
        let request = Client::new()
            .get(bot.url(&format!("/runs?all=1&{query}")))
            .bearer_auth("look");
        let html = request.send().await.unwrap().text().await.unwrap();
        assert!(!html.contains("theirs"), "{query}");
        assert_eq!(
            html.contains("label of ours"),
            !query.starts_with("channel"),
            "{query}"
        );
    }
}

#[tokio::test]
async fn finished_run_has_three_views() {
    let bot = Bot::start().await;
    let mut old = record(
        "old",
        7000,
        &[json!({"type": "answer", "text": "done", "seq": 1})],
    );
    old.diagnosis = json!({"verdict": "slow <tools>"});
    bot.store.insert(old);
    let (_, html) = get(&bot, "/runs/old").await;
    assert!(
        html.contains("href=\"/runs/old?tab=changes\"")
            && html.contains("href=\"/runs/old?tab=friction\"")
    );
    assert!(
        html.find("id=\"answer-head\"")
            .is_some_and(|at| at < html.find("</noscript>").unwrap())
    );
    let (_, html) = get(&bot, "/runs/old?tab=friction").await;
    assert!(html.contains("slow &#60;tools&#62;"), "{html}");
    let (_, html) = get(&bot, "/runs/old?tab=changes").await;
    assert!(html.contains("no working tree on this machine"), "{html}");
    for tab in ["changes", "friction"] {
        let run = bot.run(tab, "scripted/m");
        let (status, html) = get(&bot, &format!("{}&tab={tab}", live_path(&run))).await;
        assert!(
            status == 200 && html.contains(&format!("{}&#38;tab={tab}", live_path(&run))),
            "{html}"
        );
        let hidden = get(&bot, &format!("/runs/{}?tab={tab}", run.id())).await;
        assert_eq!(hidden, (404, "Not found\n".into()));
    }
}

#[tokio::test]
async fn changes_page_shows_the_diff() {
    let bot = Bot::start().await;
    let run = bot.run("changes", "scripted/m");
    bot.trees.insert(
        &run,
        "diff --git a/a.rs b/a.rs\n@@ -1 +1 @@\n-old <b>\n+new\n",
    );
    let (_, html) = get(&bot, &format!("{}&tab=changes", live_path(&run))).await;
    for part in [
        "<code class=\"path\">a.rs</code>",
        "class=\"removed\"",
        "old &#60;b&#62;",
        "class=\"added\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[tokio::test]
async fn older_events_are_loaded_on_demand() {
    let bot = Bot::start().await;
    let run = bot.run("long", "scripted/m");
    run.publish(EventBody::input("the request", Vec::new(), None));
    for n in 0..100 {
        say(&run, &format!("{n} {}", "x".repeat(8_000)));
    }
    let path = live_path(&run);
    let (_, html) = get(&bot, &path).await;
    assert!(
        html.len() < 900_000 && html.contains("the request"),
        "{}",
        html.len()
    );
    let (before, _) = html.split_once("\">Earlier part of this run").unwrap();
    let href = before
        .rsplit_once("href=\"")
        .unwrap()
        .1
        .replace("&#38;", "&");
    assert!(get(&bot, &href).await.1.contains("the request"));

    let mut before = href
        .rsplit_once("before=")
        .unwrap()
        .1
        .parse::<u64>()
        .unwrap();
    let mut oldest = Vec::new();
    loop {
        let route = path.replace("?t=", "/earlier?t=");
        let (_, body) = get(&bot, &format!("{route}&before={before}")).await;
        let page: Value = serde_json::from_str(&body).unwrap();
        let events = page["events"].as_array().unwrap();
        assert_eq!(events.last().unwrap()["seq"], json!(before - 1));
        oldest.push(events[0]["seq"].as_u64().unwrap());
        let Some(next) = page["earlierBefore"].as_u64() else {
            break;
        };
        before = next;
    }
    assert_eq!(oldest.last(), Some(&1));
    let hidden = get(&bot, &format!("/runs/{}/earlier?before=5", run.id())).await;
    assert_eq!(hidden, (404, "Not found\n".into()));
}

#[tokio::test]
async fn page_continues_the_stream_after_its_events() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    for text in ["a", "b", "c"] {
        say(&run, text);
    }
    run.finish(RunStatus::Completed);
    run.seal(None);
    let events = live_path(&run).replace("?t=", "/events?t=");
    let (_, stream) = get(&bot, &format!("{events}&after=2")).await;
    assert!(
        !stream.contains("id: 2\n") && stream.contains("id: 3\n"),
        "{stream}"
    );
    let resumed = Client::new()
        .get(bot.url(&format!("{events}&after=1")))
        .header("last-event-id", "3");
    assert!(
        !resumed
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
            .contains("id: ")
    );
}

#[tokio::test]
async fn follow_up_from_the_page_reaches_the_model() {
    let bot = Bot::start().await;
    bot.script(&["first answer", "second answer"]);
    bot.model.gated.store(true, Ordering::Relaxed);
    let request = json!({"text": "look", "async": true});
    let accepted = Client::new()
        .post(bot.url("/ingress"))
        .bearer_auth("good")
        .body(request.to_string());
    let accepted: Value = accepted.send().await.unwrap().json().await.unwrap();
    bot.model.called.notified().await;
    let id = accepted["runId"].as_str().unwrap();
    let token = bot.core.registry().list()[0].token.clone();
    let path = format!("/runs/{id}/steer?t={token}");
    for body in [json!({"text": " "}), json!({"text": 1}), json!([])] {
        assert_eq!(steer(&bot, &path, &body).await.status(), 400, "{body}");
    }
    let text = json!({"text": "/help and look at the tests too"});
    let queued: Value = steer(&bot, &path, &text).await.json().await.unwrap();
    assert_eq!(queued, json!({"id": id, "state": "queued"}));
    bot.model.gate.notify_one();
    bot.model.called.notified().await;
    bot.model.gate.notify_one();
    assert!(bot.model.asked.lock().unwrap()[1].contains("/help and look at the tests too"));
}

#[tokio::test]
async fn follow_up_needs_the_token_of_a_live_run() {
    let bot = Bot::start().await;
    let run = bot.run("x", "scripted/m");
    let (id, token) = (run.id().clone(), run.view().token);
    let text = json!({"text": "more"});
    for path in [
        format!("/runs/{id}/steer"),
        format!("/runs/{id}/steer?t=wrong"),
        "/runs/no/steer?t=x".into(),
    ] {
        let refused = steer(&bot, &path, &text).await;
        assert_eq!(
            (refused.status().as_u16(), refused.text().await.unwrap()),
            (404, "Not found\n".into())
        );
    }
    let long = json!({"text": "x".repeat(70_000)});
    assert_eq!(
        steer(&bot, &format!("/runs/{id}/steer?t={token}"), &long)
            .await
            .status(),
        400
    );
    run.finish(RunStatus::Completed);
    assert_eq!(
        steer(&bot, &format!("/runs/{id}/steer?t={token}"), &text)
            .await
            .status(),
        409
    );
}

#[tokio::test]
async fn follow_up_needs_the_grant_of_a_restricted_agent() {
    let mut settings = Settings::default();
    settings.restrictions.agents.insert("general".into());
    let dispatcher = Grants {
        actions: Set::only(&["agent:run:general"]),
        ..Grants::default()
    };
    settings.grants.insert("http:ann".into(), dispatcher);
    let bot = Bot::start_with(TOKENS, settings).await;
    bot.script(&["answer"]);
    bot.model.gated.store(true, Ordering::Relaxed);
    let request = json!({"text": "look", "async": true});
    let accepted = Client::new()
        .post(bot.url("/ingress"))
        .bearer_auth("good")
        .body(request.to_string());
    assert_eq!(accepted.send().await.unwrap().status(), 202);
    bot.model.called.notified().await;
    let run = bot.core.registry().list().remove(0);
    let path = format!("/runs/{}/steer?t={}", run.id, run.token);
    assert_eq!(
        steer(&bot, &path, &json!({"text": "more"})).await.status(),
        403
    );
    bot.model.gate.notify_one();
}
