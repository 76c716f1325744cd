//! Residents' pages follow changes in place.

use std::sync::Arc;

use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_http::Dashboard;
use ars_bot_ports::ResidentsError;
use ars_resident::lifecycle::StateWord;
use serde_json::json;

use super::{
    driver::Browser,
    fleet::fleet,
    memory_residents::{MemoryResidents, with_residents},
    smooth::OBSERVE,
    support::{Bot, TOKENS},
    with_browser,
};

/// Time on the bot's clock.
pub const NOW: i64 = 1_760_000_000_000;

async fn open(browser: &Browser, path: &str, width: u32) -> (Bot, Arc<MemoryResidents>) {
    let residents = fleet(NOW);
    let capabilities = with_residents(&residents)(Capabilities::default());
    let bot = Bot::with_capabilities(
        Dashboard::Loopback,
        TOKENS,
        Settings::default(),
        capabilities,
    )
    .await;
    browser.look(width, "light").await;
    browser.open(&bot.url(path)).await;
    browser
        .wait("document.getElementById('connection').textContent === 'Live'")
        .await;
    (bot, residents)
}

/// A node that stays keeps the focus, and the icon follows the worst state.
#[tokio::test(flavor = "multi_thread")]
async fn list_follows_changes_in_place() {
    with_browser(async |browser| {
        browser.at_start(OBSERVE).await;
        browser.at_start("Date.now = () => 1760000000000;").await;
        for width in [1100, 390] {
            let (bot, residents) = open(browser, "/residents", width).await;
            browser.eval("document.querySelector('a[href=\"/residents/acme/site\"]').focus()").await;
            residents.change("acme/site", |view| view.state = StateWord::Warm);
            residents.change("acme/app", |view| view.state = StateWord::Down);
            let shown = "document.querySelector('[data-key=\"acme/site\"]').dataset.tone === 'good'";
            browser.wait(shown).await;
            assert_eq!(browser.eval("document.activeElement.textContent").await, "acme/site");
            assert_eq!(browser.eval("window.shifts").await, json!([]), "{width}");
            residents.insert("acme/new", StateWord::Onboarding, None);
            browser.wait("document.querySelector('[data-key=\"acme/new\"]')").await;
            let order = "[...document.querySelectorAll('.resident h2')].map((head) => head.textContent)";
            assert_eq!(
                browser.eval(order).await,
                json!(["acme/app", "acme/calculator", "acme/gone", "acme/new", "acme/site"])
            );
            residents.rows.lock().unwrap().retain(|row| row.record.resource.slug() == "acme/calculator");
            let icon =
                "document.querySelector('link[rel=icon]').getAttribute('href').endsWith('favicon-good.svg')";
            browser.wait(icon).await;
            assert_eq!(browser.console().await, Vec::<String>::new());
            drop(bot);
        }
    })
    .await;
}

/// The last state stays visible while the residents do not answer.
#[tokio::test(flavor = "multi_thread")]
async fn resident_shows_runs_and_outages() {
    with_browser(async |browser| {
        let (bot, residents) = open(browser, "/residents/acme/calculator", 1100).await;
        browser
            .eval("document.querySelector('details.released').open = true")
            .await;
        let run = bot.run_in("parser", "fix the parser", "scripted/m");
        browser
            .wait(&format!(
                "document.querySelector('.tree-run a[href*=\"{}\"]')",
                run.id()
            ))
            .await;
        assert_eq!(
            browser
                .eval("document.querySelector('details.released').open")
                .await,
            true
        );
        for _ in 0..2 {
            residents.fail(ResidentsError::Unreachable("connection refused".into()));
        }
        browser
            .wait("document.getElementById('connection').textContent === 'Residents do not answer'")
            .await;
        assert_eq!(
            browser
                .eval("document.querySelectorAll('.tree').length")
                .await,
            4
        );
        browser
            .wait("document.getElementById('connection').textContent === 'Live'")
            .await;
    })
    .await;
}
