//! Messages that a run has not read: what the tab keeps and drops, and what the page says at the end.

use ars_bot_core::settings::Settings;
use ars_events::EventBody;
use ars_types::RunStatus;
use serde_json::{Value, json};

use super::{
    driver::Browser,
    play::ask,
    support::{Bot, TOKENS, by_token, live_path, record, say},
    with_browser,
};

/// Keeps messages in the tab as an earlier page did.
async fn keep(browser: &Browser, messages: &Value) {
    let kept = messages.to_string();
    browser
        .eval(&format!(
            "sessionStorage.setItem('queued ' + location.pathname, {})",
            json!(kept)
        ))
        .await;
}

/// Evaluates an expression with `queued`, the messages to a run with 100 events.
async fn with_queued(browser: &Browser, expression: &str) -> Value {
    let program = format!(
        "(async () => {{ const {{Queued}} = await import('/runs/assets/queued.js');
            const page = document.createElement('div');
            const queued = new Queued(null, page, 100);
            const send = (text, after) => {{ const sent = queued.add(text, after); queued.accept(sent); return sent; }};
            return {expression}; }})()"
    );
    browser.eval_promise(&program).await
}

/// The registry's run has no driver, so nothing reads the message.
#[tokio::test(flavor = "multi_thread")]
async fn unread_message_is_listed_after_a_stop() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run("long", "scripted/m");
        browser.open(&bot.url(&live_path(&run))).await;
        browser.wait("!document.getElementById('bar').hidden").await;
        keep(browser, &json!([{"text": "and the tests", "after": 0}])).await;
        browser.open(&bot.url(&live_path(&run))).await;
        browser.wait("document.querySelector('#queued li')").await;
        run.finish(RunStatus::StoppedHard);
        browser.wait("document.querySelector('.unread li')").await;
        let unread = browser.text(".unread li").await;
        assert!(
            unread.starts_with("Not read, because the run was stopped"),
            "{unread}"
        );
        assert!(unread.ends_with("and the tests"), "{unread}");
        let page = bot.url(&format!("/runs/{}", run.id()));
        browser.open(&page).await;
        browser.wait("document.querySelector('.unread li')").await;
        browser.click(".unread button").await;
        browser.wait("!document.querySelector('.unread')").await;
        assert_eq!(
            browser.eval("sessionStorage.length").await,
            json!(0),
            "dismissed for good"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn message_of_unknown_fate_is_dropped() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run("long", "scripted/m");
        ask(&run, "please");
        for n in 0..40 {
            say(&run, &format!("{n} {}", "x".repeat(9_000)));
        }
        let mut lossy = record(
            "lossy",
            7000,
            &[json!({"seq": 1, "type": "assistant", "text": "x"})],
        );
        lossy.event_count = 9;
        bot.store.insert(lossy);
        let live = live_path(&run);
        for (path, last) in [(live.as_str(), 41), ("/runs/lossy", 9)] {
            browser.open(&bot.url(path)).await;
            browser.wait("document.querySelector('.step')").await;
            let sent = [
                ("before a part that is not here", 1),
                ("at the end", last),
                ("of a dead process", 99),
            ];
            let sent = sent.map(|(text, after)| json!({"text": text, "after": after}));
            keep(browser, &json!(sent)).await;
            browser.open(&bot.url(path)).await;
            browser.wait("document.querySelector('.queued li')").await;
            let kept = browser
                .eval("JSON.parse(sessionStorage.getItem('queued ' + location.pathname))")
                .await;
            let expected = ["at the end", "of a dead process"]
                .map(|text| json!({"text": text, "after": last}));
            assert_eq!(kept, json!(expected), "{path}");
        }
        run.publish(EventBody::Input {
            text: "of a dead process".into(),
            attachments: Vec::new(),
            source: None,
        });
        browser.open(&bot.url(&live)).await;
        browser
            .wait("document.querySelectorAll('#queued li').length === 1")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_redacted_form_of_a_message_is_the_message() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        browser.open(&bot.url("/runs")).await;
        for (sent, shown, is_same) in [
            ("use the key abc now", "use the key [redacted] now", true),
            ("abc and def", "[redacted] and [redacted]", true),
            ("use the key abc now", "[redacted]", false),
            ("use the key abc now", "key [redacted] now", false),
            ("use the key abc now, please", "use the key [redacted] now", false),
            ("ab", "ab[redacted]b", false),
            ("use the key", "use the key", true),
        ] {
            let check = format!(
                "(send({}, 1), queued.apply({{type: 'input', text: {}, seq: 2}}), queued.messages.length === 0)",
                json!(sent),
                json!(shown)
            );
            assert_eq!(with_queued(browser, &check).await, json!(is_same), "{sent}: {shown}");
            browser.eval("sessionStorage.clear()").await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_accepted_message_is_said_to_run_on_its_own() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        browser.open(&bot.url("/runs")).await;
        for (sent, status, said) in [
            ("send('x', 1)", "completed", "Not read by this run. It is run on its own"),
            ("send('x', 1)", "failed", "Not read by this run. It is run on its own"),
            ("send('x', 1)", "stopped_soft", "Not read, because the run was stopped"),
            ("send('x', 1)", "interrupted", "Not read by this run"),
            ("send('x', 1)", "finished", "Not read by this run"),
            ("queued.add('x', 1)", "completed", "Not read by this run"),
        ] {
            let end = format!(
                "({sent}, queued.end('{status}'), [page.querySelector('strong').textContent, sessionStorage.length])"
            );
            let kept = usize::from(sent.starts_with("send"));
            assert_eq!(with_queued(browser, &end).await, json!([said, kept]), "{sent} {status}");
            browser.eval("sessionStorage.clear()").await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_page_forgets_the_messages() {
    with_browser(async |browser| {
        let bot = Bot::behind(by_token("access:ops"), TOKENS, Settings::default()).await;
        browser
            .open(&bot.url("/runs/sign-in?token=look&next=%2Fruns"))
            .await;
        browser
            .wait("document.querySelector('.sign-out button')")
            .await;
        keep(browser, &json!([{"text": "secret", "after": 0}])).await;
        browser.eval("sessionStorage.setItem('other', 'x')").await;
        browser.click(".sign-out button").await;
        browser
            .wait("document.getElementById('token') && sessionStorage.length === 1")
            .await;
        assert_eq!(browser.console().await, Vec::<String>::new());
    })
    .await;
}
