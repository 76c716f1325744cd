//! Run pages in a real Chromium: visible content, console output, and escaped hostile text.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod chat;
mod driver;
#[path = "../../../../containers/bot/http/tests/http/fleet.rs"]
mod fleet;
mod lab;
mod markdown;
#[expect(dead_code, reason = "the tests of the core use the rest of it")]
#[path = "../../../../containers/bot/core/tests/core/support/residents.rs"]
mod memory_residents;
mod pictures;
mod play;
mod queued;
mod residents;
mod smooth;
#[expect(dead_code, reason = "the tests of the HTTP surface use the rest of it")]
#[path = "../../../../containers/bot/http/tests/http/support.rs"]
mod support;
mod views;

use std::panic::{AssertUnwindSafe, resume_unwind};

use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_http::{ConnectionLimits, Dashboard, StreamLimits};
use ars_events::{EventBody, NoteKind};
use ars_types::RunStatus;
use futures::FutureExt;
use serde_json::{Value, json};

use self::{
    driver::Browser,
    fleet::fleet,
    memory_residents::with_residents,
    play::{ANSWER, ask, call, play, result},
    residents::NOW,
    support::{Bot, TOKENS, live_path, record, say},
};

/// Runs a test with a browser and closes it even if the test fails.
/// Killing chromedriver alone would leave it running.
async fn with_browser(test: impl AsyncFnOnce(&Browser)) {
    let browser = Browser::start().await;
    let outcome = AssertUnwindSafe(test(&browser)).catch_unwind().await;
    browser.close().await;
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn live_run_page_updates_until_the_answer() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run(
            "coding · acme/app · “The test suite of the calculator fails since yesterday”",
            "scripted/m",
        );
        browser.look(1100, "light").await;
        browser.open(&bot.url(&live_path(&run))).await;
        browser.wait("document.getElementById('connection').textContent === 'Live'").await;
        ask(&run, "please fix");
        browser.wait("document.querySelector('.request .card')?.textContent === 'please fix'").await;
        say(&run, "I look first");
        browser.wait("document.querySelectorAll('.step').length === 1").await;
        call(&run, "bash", "c1", "$ cargo test");
        browser.wait("document.querySelector('.call[data-state=running]')").await;
        assert_eq!(browser.text(".call .target").await, "cargo test");
        bot.clock.advance(1300);
        result(&run, "bash", "c1", Some(101), "boom\nat line 2");
        browser.wait("document.querySelector('.call[data-state=failed]')").await;
        assert_eq!(
            browser.text(".call .end").await.split_whitespace().collect::<Vec<_>>(),
            ["exit", "101", "1.3s"]
        );
        browser.wait("!(document.querySelector('.call').open)").await;
        browser.click(".call summary").await;
        assert_eq!(browser.text(".call figure:last-child pre").await, "boom\nat line 2");
        browser.wait("!(document.getElementById('bar').hidden)").await;
        run.publish(EventBody::answer("It is **fixed**."));
        browser.wait("document.querySelector('.answer strong')?.textContent === 'fixed'").await;
        run.finish(RunStatus::Completed);
        browser.wait("document.getElementById('status').textContent === 'Completed'").await;
        browser.wait("document.getElementById('bar').hidden").await;
        run.seal(Some(true));
        browser.wait("document.getElementById('connection').textContent === ''").await;

        browser.open(&bot.url(&format!("/runs/{}", run.id()))).await;
        browser.wait("document.querySelector('.answer strong')").await;
        assert_eq!(browser.text("#status").await, "Completed");
        assert_eq!(browser.eval("document.querySelectorAll('.call').length").await, json!(1));
        assert_eq!(
            browser
                .eval(
                    "performance.getEntriesByType('resource').filter((r) => r.name.includes('events')).length"
                )
                .await,
            json!(0)
        );
        assert_eq!(browser.console().await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_page_fits_all_widths_and_schemes() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run(
            "coding · acme/app · “The test suite of the calculator fails since yesterday. Find out why”",
            "rehearsal/calculator",
        );
        play(&bot, &run, "rehearsal/calculator");
        call(
            &run,
            "bash",
            "c5",
            "$ cargo test --quiet && cargo clippy --all-targets -- -D warnings && cargo fmt --check",
        );
        browser.look(1100, "light").await;
        browser.open(&bot.url(&live_path(&run))).await;
        browser.wait("document.querySelectorAll('.call').length === 5").await;
        for width in [1100, 390, 320] {
            browser.look(width, "light").await;
            let overflow = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
            assert_eq!(browser.eval(overflow).await, json!(false), "{width}");
        }
        result(&run, "bash", "c5", Some(0), "14 passed");
        run.publish(EventBody::answer(ANSWER));
        run.finish(RunStatus::Completed);
        browser.open(&bot.url(&format!("/runs/{}", run.id()))).await;
        browser.wait("document.querySelector('.answer table')").await;
        browser.wait("document.querySelectorAll('.tag').length > 2").await;
        assert!(browser.text(".rehearsal-note").await.starts_with("Rehearsal."));
        assert_eq!(
            browser.text(".answer ol > li:first-child ul li").await,
            "nothing else in the module was touched"
        );
        assert_eq!(
            browser.eval("document.querySelector('.answer a').href").await,
            json!("https://doc.rust-lang.org/std/ops/trait.Add.html")
        );
        browser.click(".call summary").await;
        assert_eq!(browser.console().await, Vec::<String>::new());
    })
    .await;
}

const HOSTILE: &str = "<script>window.owned=1</script><img src=x onerror=window.owned=1> [click](javascript:window.owned=1) \
    [data](data:text/html,<script>window.owned=1</script>) </script><!-- javascript:alert(1) & &lt;b&gt;";

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_stays_text_on_every_page() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run(HOSTILE, HOSTILE);
        ask(&run, HOSTILE);
        say(&run, HOSTILE);
        call(&run, HOSTILE, "c1", HOSTILE);
        result(&run, HOSTILE, "c1", None, HOSTILE);
        run.publish(EventBody::note(NoteKind::Stopped, HOSTILE));
        run.publish(EventBody::answer(HOSTILE));
        let live = live_path(&run);
        let id = run.id().clone();
        let mut stored = record("stored", 7000, &[]);
        stored.label = Some(HOSTILE.into());
        bot.store.insert(stored);
        let innocent = "window.owned === undefined && !document.querySelector('main img, main script:not([type]), a[href^=javascript], a[href^=data]')";
        for path in [live, "/runs".to_owned(), "/runs?all=1".into(), format!("/runs/{id}")] {
            if path.ends_with(id.as_str()) {
                run.finish(RunStatus::Completed);
            }
            browser.open(&bot.url(&path)).await;
            let shown = "document.body.innerText.includes('<script>window.owned=1</script>')";
            browser.wait(shown).await;
            browser.wait("document.getElementById('runs') || document.querySelector('.answer .prose')").await;
            assert_eq!(browser.eval(innocent).await, json!(true), "{path}");
            assert_eq!(browser.console().await, Vec::<String>::new(), "{path}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_stopped_from_its_page() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run("long", "scripted/m");
        browser.open(&bot.url(&live_path(&run))).await;
        browser.wait("!document.getElementById('bar').hidden").await;
        browser.click("#stop").await;
        browser
            .wait("document.getElementById('status').textContent === 'Stopping'")
            .await;
        browser.wait("document.querySelector('.note')").await;
        assert!(run.stops().soft.is_cancelled() && !run.stops().hard.is_cancelled());
        browser.click("#kill").await;
        assert_eq!(browser.text("#kill").await, "Abort now?");
        browser.click("#kill").await;
        browser
            .wait("document.querySelectorAll('.note').length === 2")
            .await;
        assert!(run.stops().hard.is_cancelled());
        run.finish(RunStatus::StoppedHard);
        browser
            .wait("document.getElementById('status').textContent === 'Stopped hard'")
            .await;
        assert_eq!(browser.console().await, Vec::<String>::new());
    })
    .await;
}

/// A browser gives up on a stream that is answered with 503, as the edge does during a deployment.
#[tokio::test(flavor = "multi_thread")]
async fn rejected_stream_is_opened_again() {
    with_browser(async |browser| {
        let streams = StreamLimits {
            max: 1,
            max_per_peer: 1,
        };
        let limits = (ConnectionLimits::default(), streams);
        let capabilities = with_residents(&fleet(NOW))(Capabilities::default());
        let bot = Bot::of(
            Dashboard::Loopback,
            TOKENS,
            Settings::default(),
            capabilities,
            limits,
        )
        .await;
        let run = bot.run("long", "scripted/m");
        ask(&run, "please fix");
        let live = bot.url(&live_path(&run));
        for page in [live.clone(), bot.url("/runs"), bot.url("/residents")] {
            // The previous page's stream ends only after the browser has left that page.
            browser.open(&bot.url("/runs/docs")).await;
            let held = loop {
                let answer = reqwest::get(live.replace('?', "/events?")).await.unwrap();
                if answer.status() == 200 {
                    break answer;
                }
            };
            browser.open(&page).await;
            browser
                .wait("document.getElementById('connection').textContent === 'Reconnecting…'")
                .await;
            say(&run, "missed by the page");
            drop(held);
            browser
                .wait("document.getElementById('connection').textContent === 'Live'")
                .await;
            browser
                .wait("document.querySelector('.step, #runs li, .resident')")
                .await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_follows_starting_and_ending_runs() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        browser.look(1100, "light").await;
        browser.open(&bot.url("/runs")).await;
        browser.wait("document.getElementById('connection').textContent === 'Live'").await;
        assert!(browser.text("#empty").await.contains("Nothing is running"));
        let first = bot.run("coding · acme/app · “Fix the flaky test of the parser”", "scripted/large");
        bot.clock.advance(1000);
        let second = bot.run("general · http:ops - http:ann · “Summarise the incident of last night for the people who were asleep”", "rehearsal/demo");
        browser.wait("document.querySelectorAll('#runs li').length === 2").await;
        let ids = browser.eval("[...document.querySelectorAll('#runs li')].map((row) => row.dataset.id)").await;
        assert_eq!(ids, json!([second.id(), first.id()]));
        browser.wait("document.getElementById('empty').hidden").await;
        second.finish(RunStatus::Failed);
        browser.wait("document.querySelector('#runs li .status').textContent === 'Failed'").await;
        for (n, status) in [(1, RunStatus::Completed), (2, RunStatus::StoppedSoft), (3, RunStatus::Interrupted)] {
            let mut stored = record(&format!("old{n}"), 1_759_999_000_000 - n * 86_400_000, &[]);
            (stored.status, stored.label) = (status, Some(format!("coding · acme/app · “Earlier request number {n}”")));
            bot.store.insert(stored);
        }
        browser.open(&bot.url("/runs?all=1")).await;
        browser.wait("document.getElementById('connection').textContent === 'Live'").await;
        assert_eq!(browser.eval("document.querySelectorAll('#runs li').length").await, json!(5));
        browser.open(&bot.url("/runs/docs")).await;
        browser.open(&bot.url("/runs?all=1")).await;
        browser.click(&format!("[data-id='{}'] a", first.id())).await;
        browser.wait("location.search.startsWith('?t=') && document.getElementById('run')").await;
        assert_eq!(browser.console().await, Vec::<String>::new());
    })
    .await;
}

/// The stream begins with every run in the registry, also those on a further page.
#[tokio::test(flavor = "multi_thread")]
async fn list_keeps_the_order_of_the_server() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let live = bot.run("live", "scripted/m");
        for n in 0..28 {
            bot.clock.advance(10);
            let run = bot.run(&format!("run {n}"), "scripted/m");
            run.finish(RunStatus::Completed);
        }
        let served = reqwest::get(bot.url("/runs?all=1"))
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        let labels = served.split("<span class=\"label\">").skip(1);
        let labels: Vec<&str> = labels.map(|rest| rest.split('<').next().unwrap()).collect();
        assert_eq!((labels.len(), labels[0], labels[1]), (26, "live", "run 27"));
        browser.open(&bot.url("/runs?all=1")).await;
        browser
            .wait("document.getElementById('connection').textContent === 'Live'")
            .await;
        bot.clock.advance(10);
        live.finish(RunStatus::Completed);
        browser
            .wait("document.querySelector('#runs .status').textContent === 'Completed'")
            .await;
        let rows =
            "[...document.querySelectorAll('#runs .label')].map((label) => label.textContent)";
        assert_eq!(browser.eval(rows).await, json!(labels));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_a_page_is_a_readable_outline() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run("coding · “The test suite fails”", "scripted/m");
        play(&bot, &run, "scripted/m");
        run.publish(EventBody::answer(ANSWER));
        run.finish(RunStatus::Completed);
        browser.look(1100, "light").await;
        browser.scripts(false).await;
        browser.open(&bot.url(&format!("/runs/{}", run.id()))).await;
        // With scripts disabled the driver cannot query the page, but the browser can.
        let root = browser
            .command("DOM.getDocument", json!({"depth": -1}))
            .await;
        let text = texts(&root["root"]);
        for part in [
            "The test suite of the calculator",
            "cargo test --quiet",
            "What was wrong",
            "Without JavaScript",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let live = bot.run("coding · “Another one”", "scripted/m");
        browser.open(&bot.url(&live_path(&live))).await;
        let root = browser
            .command("DOM.getDocument", json!({"depth": -1}))
            .await;
        let text = texts(&root["root"]);
        assert!(
            text.contains(&format!("runs stop {} --mode soft", live.id())),
            "{text}"
        );
        browser.scripts(true).await;
    })
    .await;
}

/// Returns the text in all nodes below a DOM node.
fn texts(node: &Value) -> String {
    let own = if node["nodeType"] == json!(3) {
        node["nodeValue"].as_str().unwrap_or_default()
    } else {
        ""
    };
    let below = node["children"].as_array().into_iter().flatten().map(texts);
    below.fold(own.to_owned(), |text, more| text + " " + &more)
}
