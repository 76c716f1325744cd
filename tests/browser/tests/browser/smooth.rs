//! Nothing moves while a run is streamed, and only a long run's visible part is rendered.

use std::sync::atomic::Ordering;

use ars_events::EventBody;
use ars_types::RunStatus;
use reqwest::Client;
use serde_json::{Value, json};

use super::{
    driver::Browser,
    play::{ANSWER, ask, call, play, result},
    support::{Bot, live_path, record, say},
    with_browser,
};

/// Records layout shifts.
pub const OBSERVE: &str = "window.shifts = [];
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.shifts.push({
        value: entry.value, moved: entry.sources.map(({node}) => node?.className ?? node?.nodeName)}); })
        .observe({type: 'layout-shift', buffered: true});";
/// Events in a long run.
const LONG_RUN: usize = 10_000;
/// Most steps that are rendered at once: those in the view and near it.
const MAX_RENDERED: u64 = 100;

/// Returns the most step rows that are rendered at once, at ten places on the page.
const RENDERED: &str = "(async () => {
    const page = document.scrollingElement; const most = [];
    for (let part = 0; part < 10; part += 1) {
        page.scrollTop = page.scrollHeight * part / 10;
        for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
        const rows = [...document.querySelectorAll('.rows > .step > .prose')];
        most.push(rows.filter((row) => row.checkVisibility({contentVisibilityAuto: true})).length);
    }
    return Math.max(...most);
})()";

/// A page can be painted when only its first part has arrived.
#[tokio::test(flavor = "multi_thread")]
async fn top_stays_while_a_page_arrives() {
    const TOP: &str = "document.querySelector('.brand').getBoundingClientRect().top";
    with_browser(async |browser| {
        let bot = Bot::start().await;
        for width in [1100, 390] {
            browser.look(width, "light").await;
            browser.open(&bot.url("/runs")).await;
            let whole = browser.eval(TOP).await;
            browser
                .eval("document.querySelectorAll('.site > :not(.brand)').forEach((part) => part.remove())")
                .await;
            assert_eq!(browser.eval(TOP).await, whole, "{width}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streaming_moves_nothing() {
    with_browser(async |browser| {
        browser.at_start(OBSERVE).await;
        for width in [1100, 390] {
            let bot = Bot::start().await;
            let run = bot.run("coding · acme/app · “The test suite fails”", "scripted/m");
            browser.look(width, "light").await;
            browser.open(&bot.url(&live_path(&run))).await;
            browser
                .wait("document.getElementById('connection').textContent === 'Live'")
                .await;
            play(&bot, &run, "scripted/m");
            browser
                .wait("document.querySelectorAll('.call').length === 4")
                .await;
            for n in 0..40 {
                say(&run, &format!("Step {n}: {}", "reading on ".repeat(n)));
                call(&run, "bash", &format!("s{n}"), "$ cargo test");
                result(&run, "bash", &format!("s{n}"), Some(0), "ok");
                browser
                    .wait(&format!(
                        "document.querySelectorAll('.call[data-state=ok]').length >= {}",
                        4 + n
                    ))
                    .await;
            }
            run.publish(EventBody::answer(ANSWER));
            run.finish(RunStatus::Completed);
            run.seal(Some(true));
            browser
                .wait("document.getElementById('status').textContent === 'Completed'")
                .await;
            assert_eq!(browser.eval("window.shifts").await, json!([]), "{width}");
            steer(browser, &bot).await;
            assert_eq!(
                browser.eval("window.shifts").await,
                json!([]),
                "{width}, steered"
            );
        }
    })
    .await;
}

/// Sends a message from the page for a run that has a model, and waits until the model has read it.
async fn steer(browser: &Browser, bot: &Bot) {
    bot.script(&["I look first", "It is fixed."]);
    bot.model.gated.store(true, Ordering::Relaxed);
    let request = json!({"text": "please fix", "async": true});
    let accepted = Client::new()
        .post(bot.url("/ingress"))
        .bearer_auth("good")
        .body(request.to_string());
    let accepted: Value = accepted.send().await.unwrap().json().await.unwrap();
    let id = accepted["runId"].as_str().unwrap();
    let token = bot
        .core
        .registry()
        .list()
        .into_iter()
        .find(|run| run.id.as_str() == id)
        .unwrap()
        .token;
    bot.model.called.notified().await;
    browser
        .open(&bot.url(&format!("/runs/{id}?t={token}")))
        .await;
    browser
        .wait("document.getElementById('connection').textContent === 'Live'")
        .await;
    browser
        .eval("document.getElementById('steer-text').value = 'and the tests'")
        .await;
    browser.click("#steer button").await;
    browser
        .wait("document.getElementById('action-note').textContent.startsWith('The agent reads')")
        .await;
    let queued = "[...document.querySelectorAll('#queued li')].map((row) => row.textContent)";
    assert_eq!(
        browser.eval(queued).await,
        json!(["You, queuedand the tests"])
    );
    browser
        .open(&bot.url(&format!("/runs/{id}?t={token}")))
        .await;
    browser
        .wait("document.getElementById('connection').textContent === 'Live'")
        .await;
    assert_eq!(
        browser.eval(queued).await,
        json!(["You, queuedand the tests"]),
        "after a reload"
    );
    for _ in 0..2 {
        bot.model.gate.notify_one();
    }
    browser
        .wait("document.querySelector('.rows .follow-up') && !document.querySelector('#queued li')")
        .await;
    bot.model.gate.notify_one();
    browser
        .wait("document.getElementById('status').textContent === 'Completed'")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_a_finished_run_moves_nothing() {
    with_browser(async |browser| {
        browser.at_start(OBSERVE).await;
        let bot = Bot::start().await;
        let run = bot.run("coding · acme/app · “The test suite fails”", "rehearsal/m");
        play(&bot, &run, "rehearsal/m");
        run.publish(EventBody::answer(ANSWER));
        run.finish(RunStatus::Completed);
        browser.look(1100, "light").await;
        browser.open(&bot.url(&format!("/runs/{}", run.id()))).await;
        browser
            .wait("document.querySelectorAll('.call').length === 4")
            .await;
        assert_eq!(browser.eval("window.shifts").await, json!([]));
    })
    .await;
}

fn long_run() -> Vec<Value> {
    let event = |n: usize| {
        let id = format!("c{}", n / 4);
        let text = format!(
            "Step {}. {}",
            n / 4,
            "I look at the next file and compare it. ".repeat(1 + n / 4 % 3)
        );
        let mut event = match n % 4 {
            0 => json!({"type": "assistant", "text": text}),
            1 => {
                json!({"type": "tool_call", "tool": "bash", "callId": id, "summary": "$ cargo test --quiet", "command": "cargo test --quiet"})
            }
            2 => {
                json!({"type": "tool_result", "tool": "bash", "callId": id, "ok": true, "summary": "ok", "output": "ok\n".repeat(10)})
            }
            _ => {
                json!({"type": "run_note", "kind": "compacted", "summary": "older turns were summarized"})
            }
        };
        event["seq"] = json!(n + 1);
        event["at"] = json!(1_759_990_000_000_i64 + i64::try_from(n).unwrap() * 100);
        event
    };
    (0..LONG_RUN).map(event).collect()
}

/// Opens a run and loads all the events.
async fn open_whole_run(browser: &Browser, bot: &Bot) {
    browser.open(&bot.url("/runs/long")).await;
    browser
        .wait("document.querySelector('button.earlier')")
        .await;
    while browser
        .eval("Boolean(document.querySelector('button.earlier'))")
        .await
        == json!(true)
    {
        browser
            .eval("document.querySelector('button.earlier:enabled')?.click()")
            .await;
        browser
            .wait("!document.querySelector('button.earlier:disabled')")
            .await;
    }
    let all = format!(
        "document.querySelectorAll('.call[data-state=ok]').length === {}",
        LONG_RUN / 4
    );
    browser.wait(&all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_run_renders_only_the_visible_rows() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        bot.store
            .insert(record("long", 1_759_999_000_000, &long_run()));
        browser.look(1100, "light").await;
        open_whole_run(browser, &bot).await;
        let rendered = browser.eval_promise(RENDERED).await.as_u64().unwrap();
        assert!((1..=MAX_RENDERED).contains(&rendered), "{rendered}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_results_reach_their_calls() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run("x", "scripted/m");
        ask(&run, "please");
        call(&run, "bash", "split", "$ sleep");
        for n in 0..40 {
            say(&run, &format!("{n} {}", "x".repeat(9_000)));
        }
        result(&run, "bash", "split", Some(1), "failed at last");
        run.finish(RunStatus::Failed);
        browser.open(&bot.url(&format!("/runs/{}", run.id()))).await;
        browser.wait("document.querySelector('button.earlier')").await;
        browser.click("button.earlier").await;
        browser.wait("document.querySelector('.call[data-state=failed]') && !document.querySelector('button.earlier')").await;
        assert_eq!(browser.eval("document.querySelectorAll('.request').length").await, json!(1));
    })
    .await;
}
