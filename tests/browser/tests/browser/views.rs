//! Every page in both colour schemes and on a phone: no accessibility fault, no overflow, nothing on the console.
//!
//! `ARS_SCREENSHOTS=docs/screenshots` also writes the pictures of the documentation.

use std::{path::PathBuf, sync::Arc};

use ars_bot_core::{Capabilities, commands::CommandDeps, settings::Settings};
use ars_bot_http::Dashboard;
use ars_bot_ports::{Schedules, StoreError};
use ars_events::EventBody;
use ars_runs::RunRecord;
use ars_types::RunStatus;
use ars_wire::schedules::Firing;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    driver::Browser,
    play::{ANSWER, ask, call, meta, play, result, turn},
    support::{Bot, TOKENS, live_path, record, say},
    with_browser,
};

/// Width and scheme of each view.
pub const VIEWS: [(&str, u32, &str); 3] =
    [("light", 1100, "light"), ("dark", 1100, "dark"), ("phone", 390, "light")];

struct OneFiring;

#[async_trait]
impl Schedules for OneFiring {
    async fn record(&self, _firing: &Firing) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn latest(&self) -> Result<Vec<Firing>, StoreError> {
        let firing =
            json!({"schedule": "friction-propose", "firedAt": 1_759_986_000_000_i64, "outcome": "completed"});
        Ok(vec![serde_json::from_value(firing).unwrap()])
    }
}

/// Returns a bot with runs in every state, and the name and path of each page.
async fn every_page() -> (Bot, Vec<(&'static str, String)>) {
    let commands = CommandDeps { schedules: Some(Arc::new(OneFiring)), ..CommandDeps::default() };
    let capabilities = Capabilities { commands, ..Capabilities::default() };
    let bot = Bot::with_capabilities(Dashboard::Loopback, TOKENS, Settings::default(), capabilities).await;
    let done = bot.run(
        "coding · acme/calculator · “The test suite fails since yesterday. Find out why, fix it”",
        "anthropic/some-model",
    );
    play(&bot, &done, "anthropic/some-model");
    done.publish(EventBody::Answer { text: ANSWER.into() });
    done.set_cost(Some(184_000));
    done.finish(RunStatus::Completed);
    bot.clock.advance(2_000);
    for (n, status, label) in [
        (1, RunStatus::Completed, "review · acme/site · “Review the branch of the new checkout”"),
        (2, RunStatus::StoppedSoft, "research · http:ops - http:ann · “Compare the three queue libraries”"),
        (3, RunStatus::Failed, "coding · acme/app · “Upgrade the database driver”"),
        (4, RunStatus::Interrupted, "general · http:ops - http:bo · “Summarise the incident of last night”"),
    ] {
        let stored = record(&format!("old{n}"), 1_759_999_000_000 - n * 3_600_000, &[]);
        let agent = label.split(' ').next().map(str::to_owned);
        bot.store.insert(RunRecord { status, label: Some(label.into()), agent, ..stored });
    }
    let live =
        bot.run("coding · acme/app · “Make the parser accept trailing commas”", "anthropic/some-model");
    ask(&live, "Make the parser accept trailing commas, with a test.");
    meta(&live, "anthropic/some-model");
    turn(&bot, &live, 1_200, 2_100);
    say(&live, "I read the grammar first, then the tests that cover lists.");
    call(&live, "read_file", "l1", "read_file src/grammar.rs");
    bot.clock.advance(12);
    result(&live, "read_file", "l1", None, "pub fn list(input: &str) -> Result<List, ParseError> {");
    call(&live, "bash", "l2", "$ cargo test parser");
    let finished = format!("/runs/{}", done.id());
    let pages = vec![
        ("runs", "/runs?all=1".to_owned()),
        ("run", finished.clone()),
        ("live-run", live_path(&live)),
        ("friction", format!("{finished}?tab=friction")),
        ("changes", format!("{finished}?tab=changes")),
        ("schedules", "/schedules".into()),
        ("docs", "/runs/docs".into()),
    ];
    (bot, pages)
}

/// Returns the source of axe-core.
fn axe() -> String {
    let npm = ars_workerd::ensure_npm(&|_| {}).expect("npm packages");
    std::fs::read_to_string(npm.node_modules.join("axe-core/axe.min.js")).unwrap()
}

async fn violations(browser: &Browser, axe: &str) -> Value {
    browser.eval_promise(&format!("{axe}; undefined")).await;
    let run = "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations.map(
        ({id, nodes}) => `${id}: ${nodes.map(({html, failureSummary}) => html.slice(0, 120) + failureSummary).join(' | ')}`))";
    browser.eval_promise(run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_accessible_and_fits() {
    let axe = axe();
    let pictures = std::env::var_os("ARS_SCREENSHOTS")
        .map(|folder| ars_workerd::repo_root().join(PathBuf::from(folder)));
    with_browser(async |browser| {
        let (bot, pages) = every_page().await;
        for (name, path) in &pages {
            for (view, width, scheme) in VIEWS {
                browser.look(width, scheme).await;
                browser.open(&bot.url(path)).await;
                browser.wait("document.readyState === 'complete'").await;
                if name.ends_with("run") {
                    browser.wait("document.querySelectorAll('.call').length > 1").await;
                }
                if ["runs", "live-run"].contains(name) {
                    // The clock of the test stands still, and that of the browser does not.
                    browser.wait("document.getElementById('connection').textContent === 'Live'").await;
                    let clock = "document.querySelector('[data-status=running] .took, #clock').textContent = '1m 12s'";
                    browser.eval(clock).await;
                }
                let overflow = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
                assert_eq!(browser.eval(overflow).await, json!(false), "{name} {view}");
                if let Some(folder) = &pictures {
                    std::fs::create_dir_all(folder).unwrap();
                    std::fs::write(folder.join(format!("{name}-{view}.webp")), browser.picture().await)
                        .unwrap();
                }
                assert_eq!(violations(browser, &axe).await, json!([]), "{name} {view}");
                assert_eq!(browser.console().await, Vec::<String>::new(), "{name} {view}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_run_leads_with_its_answer() {
    with_browser(async |browser| {
        let (bot, pages) = every_page().await;
        browser.look(1100, "light").await;
        browser.open(&bot.url(&pages[1].1)).await;
        browser.wait("document.querySelectorAll('.call').length === 4").await;
        let order = "[...document.querySelectorAll('#transcript h2')].map((head) => head.textContent)";
        assert_eq!(browser.eval(order).await, json!(["Answer", "Request", "Steps"]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn control_works_by_keyboard_alone() {
    with_browser(async |browser| {
        let (bot, pages) = every_page().await;
        browser.look(1100, "light").await;
        browser.open(&bot.url(&pages[2].1)).await;
        browser.wait("!document.getElementById('bar').hidden").await;
        browser.eval("document.getElementById('steer-text').focus()").await;
        browser.command("Input.insertText", json!({"text": "also fix the docs"})).await;
        for kind in ["keyDown", "keyUp"] {
            let key = json!({"type": kind, "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13});
            browser.command("Input.dispatchKeyEvent", key).await;
        }
        // A played run has no driver, so its thread has no mailbox.
        browser.wait("document.getElementById('action-note').textContent === 'The run has already finished.'").await;
        let focus = "(() => { const seen = []; for (const node of document.querySelectorAll('a, button, input, summary')) {
            node.focus(); if (document.activeElement === node) seen.push(node.id || node.tagName); } return seen; })()";
        let reached = browser.eval(focus).await.to_string();
        for control in ["steer-text", "stop", "kill", "SUMMARY"] {
            assert!(reached.contains(control), "{control}: {reached}");
        }
        let log = browser.console().await;
        assert!(log.iter().all(|line| line.contains("409")), "{log:?}");
    })
    .await;
}
