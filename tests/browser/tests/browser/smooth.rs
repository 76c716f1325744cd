//! Nothing moves while a run is streamed, and of a long run only the visible part is rendered.

use ars_events::EventBody;
use ars_types::RunStatus;
use serde_json::{Value, json};

use super::{
    driver::Browser,
    play::{ANSWER, ask, call, play, result},
    support::{Bot, live_path, record, say},
    with_browser,
};

/// Records layout shifts and tasks of more than 50 ms.
const OBSERVE: &str = "window.shifts = []; window.longTasks = [];
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.shifts.push({
        value: entry.value, moved: entry.sources.map(({node}) => node?.className ?? node?.nodeName)}); })
        .observe({type: 'layout-shift', buffered: true});
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.longTasks.push(entry.duration); })
        .observe({type: 'longtask', buffered: true});";
/// Events of a long run.
const LONG_RUN: usize = 10_000;
/// Most steps that are rendered at once: those in the view and near it.
const MAX_RENDERED: u64 = 100;
/// Scrolls through a part of the page, and returns the durations of tasks over 50 ms and the number of frames.
const SCROLL: &str = "new Promise((resolve) => {
    const page = document.scrollingElement; page.scrollTop = 0; window.longTasks.length = 0; let frames = 0;
    const step = () => {
        if (frames === 100) return resolve({frames, longTasks: window.longTasks});
        page.scrollTop += 2000; frames += 1; requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})";

#[tokio::test(flavor = "multi_thread")]
async fn streaming_moves_nothing() {
    with_browser(async |browser| {
        browser.at_start(OBSERVE).await;
        for width in [1100, 390] {
            let bot = Bot::start().await;
            let run = bot.run("coding · acme/app · “The test suite fails”", "scripted/m");
            browser.look(width, "light").await;
            browser.open(&bot.url(&live_path(&run))).await;
            browser.wait("document.getElementById('connection').textContent === 'Live'").await;
            play(&bot, &run, "scripted/m");
            browser.wait("document.querySelectorAll('.call').length === 4").await;
            for n in 0..40 {
                say(&run, &format!("Step {n}: {}", "reading on ".repeat(n)));
                call(&run, "bash", &format!("s{n}"), "$ cargo test");
                result(&run, "bash", &format!("s{n}"), Some(0), "ok");
                browser
                    .wait(&format!("document.querySelectorAll('.call[data-state=ok]').length >= {}", 4 + n))
                    .await;
            }
            run.publish(EventBody::Answer { text: ANSWER.into() });
            run.finish(RunStatus::Completed);
            run.seal(Some(true));
            browser.wait("document.getElementById('status').textContent === 'Completed'").await;
            assert_eq!(browser.eval("window.shifts").await, json!([]), "{width}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_a_finished_run_moves_nothing() {
    with_browser(async |browser| {
        browser.at_start(OBSERVE).await;
        let bot = Bot::start().await;
        let run = bot.run("coding · acme/app · “The test suite fails”", "rehearsal/m");
        play(&bot, &run, "rehearsal/m");
        run.publish(EventBody::Answer { text: ANSWER.into() });
        run.finish(RunStatus::Completed);
        browser.look(1100, "light").await;
        browser.open(&bot.url(&format!("/runs/{}", run.id()))).await;
        browser.wait("document.querySelectorAll('.call').length === 4").await;
        assert_eq!(browser.eval("window.shifts").await, json!([]));
    })
    .await;
}

fn long_run() -> Vec<Value> {
    let event = |n: usize| {
        let id = format!("c{}", n / 4);
        let text =
            format!("Step {}. {}", n / 4, "I look at the next file and compare it. ".repeat(1 + n / 4 % 3));
        let mut event = match n % 4 {
            0 => json!({"type": "assistant", "text": text}),
            1 => {
                json!({"type": "tool_call", "tool": "bash", "callId": id, "summary": "$ cargo test --quiet", "command": "cargo test --quiet"})
            }
            2 => {
                json!({"type": "tool_result", "tool": "bash", "callId": id, "ok": true, "summary": "ok", "output": "ok\n".repeat(10)})
            }
            _ => json!({"type": "run_note", "kind": "compacted", "summary": "older turns were summarized"}),
        };
        event["seq"] = json!(n + 1);
        event["at"] = json!(1_759_990_000_000_i64 + i64::try_from(n).unwrap() * 100);
        event
    };
    (0..LONG_RUN).map(event).collect()
}

/// Returns the CPU time of the page's main thread.
async fn cpu_seconds(browser: &Browser) -> f64 {
    let metrics = browser.command("Performance.getMetrics", json!({})).await;
    let metric =
        metrics["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "TaskDuration");
    metric.unwrap()["value"].as_f64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn long_run_renders_only_visible_rows() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        bot.store.insert(record("long", 1_759_999_000_000, &long_run()));
        browser.look(1100, "light").await;
        browser.at_start(OBSERVE).await;
        browser.open(&bot.url("/runs/long")).await;
        browser.wait("document.querySelector('button.earlier')").await;
        let all = format!("document.querySelectorAll('.call').length === {}", LONG_RUN / 4);
        while browser.eval("Boolean(document.querySelector('button.earlier'))").await == json!(true) {
            browser.eval("document.querySelector('button.earlier:enabled')?.click()").await;
            browser.wait("!document.querySelector('button.earlier:disabled')").await;
        }
        browser.wait(&all).await;
        println!("long tasks while loading: {}", browser.eval("window.longTasks").await);
        let rendered = "(async () => {
            const page = document.scrollingElement; const most = [];
            for (let part = 0; part < 10; part += 1) {
                page.scrollTop = page.scrollHeight * part / 10;
                for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
                const rows = [...document.querySelectorAll('.log > .step > .prose')];
                most.push(rows.filter((row) => row.checkVisibility({contentVisibilityAuto: true})).length);
            }
            return Math.max(...most);
        })()";
        let rendered = browser.eval_promise(rendered).await.as_u64().unwrap();
        assert!((1..=MAX_RENDERED).contains(&rendered), "{rendered}");
        // The length of a task depends on other work on the machine, the CPU time of the page does not.
        browser.command("Performance.enable", json!({"timeDomain": "threadTicks"})).await;
        let before = cpu_seconds(browser).await;
        let scrolled = browser.eval_promise(SCROLL).await;
        let per_frame = (cpu_seconds(browser).await - before) / scrolled["frames"].as_f64().unwrap();
        println!("rendered rows: {rendered}, CPU of a frame: {:.1} ms, {scrolled}", per_frame * 1000.0);
        assert_eq!(
            browser.eval("document.querySelectorAll('.call[data-state=ok]').length").await,
            json!(LONG_RUN / 4)
        );
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
