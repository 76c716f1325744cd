//! Every page in both colour schemes and on a phone: accessible, no overflow, a silent console.
//!
//! `ARS_SCREENSHOTS=docs/screenshots` also writes the documentation pictures, with a digest of
//! their sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ars_auth::{Grants, Set};
use ars_bot_core::{Capabilities, commands::CommandDeps, settings::Settings};
use ars_bot_ports::{Schedules, StoreError};
use ars_events::EventBody;
use ars_runs::RunRecord;
use ars_schedules::{Action, Schedule};
use ars_types::RunStatus;
use ars_wire::schedules::Firing;
use async_trait::async_trait;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    chat,
    driver::Browser,
    fleet::fleet,
    lab::STOPPED_CLOCK,
    memory_residents::with_residents,
    play::{ANSWER, ask, call, meta, play, result, turn},
    support::{Bot, TOKENS, by_token, live_path, record, say},
    with_browser,
};

/// Each view's width and scheme.
pub const VIEWS: [(&str, u32, &str); 3] = [
    ("light", 1100, "light"),
    ("dark", 1100, "dark"),
    ("phone", 390, "light"),
];

/// Pages with pictures in the documentation.
const PAGES: usize = 12;
/// The source parts that a picture shows. They are the templates, their assets, and the code that
/// fills the templates. The code that finds a page's facts is much wider and changes for other
/// reasons, so it is no source.
const SOURCES: [&str; 4] = [
    "containers/bot/http/templates",
    "containers/bot/http/assets",
    "shared/testkit/assets/slack",
    "shared/slack/src/card",
];
/// The folder with the code that fills the templates.
const DASHBOARD: &str = "containers/bot/http/src/dashboard";
/// The files with this code.
const FILLING: [&str; 21] = [
    "docs/page.rs",
    "outcomes/page.rs",
    "residents/disk_bar.rs",
    "residents/fleet.rs",
    "residents/resident.rs",
    "residents/sparkline.rs",
    "run/changes.rs",
    "run/diagnosis.rs",
    "run/facts.rs",
    "run/outline.rs",
    "run/parts.rs",
    "run/tail.rs",
    "runs/listing.rs",
    "runs/page.rs",
    "schedules/page.rs",
    "session/mod.rs",
    "session/sign_in.rs",
    "session/sign_out.rs",
    "shell/nav.rs",
    "shell/problem_page.rs",
    "shell/render.rs",
];
/// The file with their digests, beside the pictures.
const DIGESTS: &str = "SOURCES";
/// The command that renews the pictures.
const RENEW: &str =
    "ARS_SCREENSHOTS=docs/screenshots cargo nextest run -p ars-tests-browser every_page";

/// The finished run's working tree.
const DIFF: &str = "diff --git a/src/lib.rs b/src/lib.rs
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -1,3 +1,3 @@
 pub fn add(a: i64, b: i64) -> i64 {
-    a - b
+    a + b
 }
diff --git a/tests/add.rs b/tests/add.rs
new file mode 100644
--- /dev/null
+++ b/tests/add.rs
@@ -0,0 +1,4 @@
+#[test]
+fn adds_negative() {
+    assert_eq!(calculator::add(-2, -3), -5);
+}
";

/// Schedules with and without a firing.
static SCHEDULES: [Schedule; 2] = [
    Schedule {
        name: "friction-report",
        cron: "0 6 * * 1",
        worker: "edge",
        description: "collects the findings of the week",
        internal: false,
        action: Action::Run {
            command: "friction report",
            identity: "schedule:friction",
        },
    },
    Schedule {
        name: "watchdog",
        cron: "*/10 * * * *",
        worker: "edge",
        description: "repairs residents that do not answer",
        internal: false,
        action: Action::Watchdog,
    },
];

struct OneFiring;

#[async_trait]
impl Schedules for OneFiring {
    fn schedules(&self) -> &'static [Schedule] {
        &SCHEDULES
    }

    async fn record(&self, _firing: &Firing) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn latest(&self) -> Result<Vec<Firing>, StoreError> {
        let firing = json!({"schedule": "friction-report", "firedAt": 1_759_986_000_000_i64, "outcome": "completed"});
        Ok(vec![serde_json::from_value(firing).unwrap()])
    }
}

/// Returns a bot with a dashboard in mode `token`. The viewer reads every channel.
async fn bot_with_token() -> Bot {
    let commands = CommandDeps {
        schedules: Some(Arc::new(OneFiring)),
        ..CommandDeps::default()
    };
    let capabilities = Capabilities {
        commands,
        ..Capabilities::default()
    };
    let capabilities = with_residents(&fleet(1_760_000_000_000))(capabilities);
    let grants = Grants {
        channels: Set::All,
        ..Grants::default()
    };
    let settings = Settings {
        grants: BTreeMap::from([("access:ops".to_owned(), grants)]),
        ..Settings::default()
    };
    Bot::with_capabilities(by_token("access:ops"), TOKENS, settings, capabilities).await
}

/// Signs in with the form.
async fn sign_in(browser: &Browser, bot: &Bot) {
    browser.open(&bot.url("/runs/sign-in")).await;
    browser
        .eval("document.getElementById('token').value = 'look'")
        .await;
    browser.click("form button").await;
    browser.wait("document.getElementById('runs')").await;
}

/// The address that `up` prints: the secret leaves the address bar, and the list follows the runs.
#[tokio::test(flavor = "multi_thread")]
async fn printed_address_opens_a_live_list() {
    with_browser(async |browser| {
        let bot = bot_with_token().await;
        browser
            .open(&bot.url("/runs/sign-in?token=look&next=/runs"))
            .await;
        browser
            .wait("location.pathname === '/runs' && document.getElementById('runs')")
            .await;
        assert_eq!(
            browser.eval("location.search + document.referrer").await,
            ""
        );
        let run = bot.run(
            "coding · acme/app · “Begun after the page”",
            "anthropic/some-model",
        );
        browser
            .wait(&format!(
                "document.querySelector('a[href*=\"{}\"]')",
                run.id()
            ))
            .await;
    })
    .await;
}

/// Returns a bot with runs in every state, and each page's name and path.
async fn every_page(browser: &Browser) -> (Bot, Vec<(&'static str, String)>) {
    let bot = bot_with_token().await;
    sign_in(browser, &bot).await;
    let done = bot.run(
        "coding · acme/calculator · “The test suite fails since yesterday. Find out why, fix it”",
        "anthropic/some-model",
    );
    bot.trees.insert(&done, DIFF);
    play(&bot, &done, "anthropic/some-model");
    done.publish(EventBody::answer(ANSWER));
    done.set_cost(Some(184_000));
    done.finish(RunStatus::Completed);
    bot.clock.advance(2_000);
    for (n, status, label) in [
        (
            1,
            RunStatus::Completed,
            "review · acme/site · “Review the branch of the new checkout”",
        ),
        (
            2,
            RunStatus::StoppedSoft,
            "research · http:ops - http:ann · “Compare the three queue libraries”",
        ),
        (
            3,
            RunStatus::Failed,
            "coding · acme/app · “Upgrade the database driver”",
        ),
        (
            4,
            RunStatus::Interrupted,
            "general · http:ops - http:bo · “Summarise the incident of last night”",
        ),
    ] {
        let stored = record(&format!("old{n}"), 1_759_999_000_000 - n * 3_600_000, &[]);
        let agent = label.split(' ').next().map(str::to_owned);
        let mut stored = RunRecord {
            status,
            label: Some(label.into()),
            agent,
            ..stored
        };
        let at = stored.finished_at;
        let fact = match n {
            1 => (
                "postedReview",
                json!({ "repo": "acme/site", "number": 12, "at": at, "resolved": 2 }),
            ),
            _ => (
                "pullRequest",
                json!({ "repo": "acme/app", "number": n, "created": true, "at": at, "state": "merged",
                    "endedAt": at + 5_400_000 }),
            ),
        };
        stored.extra.insert(fact.0.to_owned(), fact.1);
        stored
            .extra
            .insert("costMicroUsd".to_owned(), json!(420_000));
        bot.store.insert(stored);
    }
    let label = "coding · acme/app · “Make the parser accept trailing commas”";
    let live = bot.run_in("parser", label, "anthropic/some-model");
    ask(
        &live,
        "Make the parser accept trailing commas, with a test.",
    );
    meta(&live, "anthropic/some-model");
    turn(&bot, &live, 1_200, 2_100);
    say(
        &live,
        "I read the grammar first, then the tests that cover lists.",
    );
    call(&live, "read_file", "l1", "read_file src/grammar.rs");
    bot.clock.advance(12);
    result(
        &live,
        "read_file",
        "l1",
        None,
        "pub fn list(input: &str) -> Result<List, ParseError> {",
    );
    call(&live, "bash", "l2", "$ cargo test parser");
    let finished = format!("/runs/{}", done.id());
    let pages = vec![
        ("runs", "/runs?all=1".to_owned()),
        ("run", finished.clone()),
        ("live-run", live_path(&live)),
        ("friction", format!("{finished}?tab=friction")),
        ("changes", format!("{finished}?tab=changes")),
        ("outcomes", "/runs/outcomes".into()),
        ("residents", "/residents".into()),
        ("resident", "/residents/acme/calculator".into()),
        ("schedules", "/schedules".into()),
        ("docs", "/runs/docs".into()),
        ("sign-in", "/runs/sign-in".into()),
    ];
    (bot, pages)
}

/// Returns axe-core's source text.
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
        browser.at_start(STOPPED_CLOCK).await;
        let (bot, pages) = every_page(browser).await;
        let (slack, _connected) = chat::workspace().await;
        let mut pages: Vec<_> = pages
            .iter()
            .map(|(name, path)| (*name, bot.url(path)))
            .collect();
        pages.push(("chat", slack.page()));
        assert_eq!(pages.len(), PAGES);
        for (name, address) in &pages {
            for (view, width, scheme) in VIEWS {
                browser.look(width, scheme).await;
                browser.open(address).await;
                browser.wait("document.readyState === 'complete'").await;
                if *name == "chat" {
                    browser
                        .wait("document.querySelectorAll('.card').length === 3")
                        .await;
                }
                if name.ends_with("run") {
                    browser
                        .wait("document.querySelectorAll('.call').length > 1")
                        .await;
                }
                if ["runs", "live-run", "residents", "resident"].contains(name) {
                    browser
                        .wait("document.getElementById('connection').textContent === 'Live'")
                        .await;
                }
                let overflow =
                    "document.documentElement.scrollWidth > document.documentElement.clientWidth";
                assert_eq!(browser.eval(overflow).await, json!(false), "{name} {view}");
                if let Some(folder) = &pictures {
                    fs::create_dir_all(folder).unwrap();
                    fs::write(
                        folder.join(format!("{name}-{view}.webp")),
                        browser.picture().await,
                    )
                    .unwrap();
                }
                assert_eq!(violations(browser, &axe).await, json!([]), "{name} {view}");
                assert_eq!(
                    browser.console().await,
                    Vec::<String>::new(),
                    "{name} {view}"
                );
            }
        }
        if let Some(folder) = &pictures {
            fs::write(folder.join(DIGESTS), digests()).unwrap();
        }
    })
    .await;
}

/// Returns each source's digest, in `sha256sum` form. For Rust it covers only the shown part.
fn digests() -> String {
    let root = ars_workerd::repo_root();
    let mut paths = BTreeSet::new();
    for folder in SOURCES {
        let files = fs::read_dir(root.join(folder)).unwrap();
        paths.extend(files.map(|file| format!("{folder}/{}", file.unwrap().file_name().display())));
    }
    assert_templates_are_listed(&root.join(DASHBOARD));
    paths.extend(FILLING.map(|file| format!("{DASHBOARD}/{file}")));
    let mut text = String::new();
    for path in paths {
        let digest = Sha256::digest(shown(&path, &fs::read_to_string(root.join(&path)).unwrap()));
        writeln!(text, "{}  {path}", hex::encode(digest)).unwrap();
    }
    text
}

/// Fails for a file that fills a template and is not in [`FILLING`].
fn assert_templates_are_listed(dashboard: &Path) {
    for folder in fs::read_dir(dashboard).unwrap() {
        let folder = folder.unwrap();
        if !folder.file_type().unwrap().is_dir() {
            continue;
        }
        for file in fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.strip_prefix(dashboard).unwrap().to_str().unwrap();
            let fills = fs::read_to_string(&path).unwrap().contains("(Template");
            assert!(
                !fills || FILLING.contains(&name),
                "{name} is not in FILLING"
            );
        }
    }
}

/// Returns the source part that a picture shows: for Rust neither comments nor tests.
fn shown(path: &str, text: &str) -> String {
    if !path.ends_with(".rs") {
        return text.to_owned();
    }
    let code = text.split("#[cfg(test)]").next().unwrap();
    code.split_inclusive('\n')
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect()
}

/// Checks the documentation pictures against the pages' sources, without a browser.
#[test]
fn screenshots_match_their_sources() {
    let folder = ars_workerd::repo_root().join("docs/screenshots");
    let known = fs::read_to_string(folder.join(DIGESTS)).unwrap_or_default();
    let current = digests();
    let changed: Vec<&str> = current
        .lines()
        .filter(|line| !known.contains(line))
        .collect();
    assert!(
        known == current,
        "the pages changed after their pictures were taken: {changed:?}\nrenew them with {RENEW}"
    );
    assert_eq!(
        fs::read_dir(&folder).unwrap().count(),
        PAGES * VIEWS.len() + 1,
        "files in {}",
        folder.display()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn viewer_signs_out_from_every_page() {
    with_browser(async |browser| {
        let bot = bot_with_token().await;
        sign_in(browser, &bot).await;
        browser.open(&bot.url("/runs/docs")).await;
        browser.click(".sign-out button").await;
        browser.wait("location.pathname === '/runs/sign-in'").await;
        assert_eq!(browser.console().await, Vec::<String>::new());
        browser.open(&bot.url("/runs")).await;
        browser
            .wait("document.getElementById('token') && !document.getElementById('runs')")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_run_leads_with_its_answer() {
    with_browser(async |browser| {
        let (bot, pages) = every_page(browser).await;
        browser.look(1100, "light").await;
        browser.open(&bot.url(&pages[1].1)).await;
        browser
            .wait("document.querySelectorAll('.call').length === 4")
            .await;
        let order =
            "[...document.querySelectorAll('#transcript h2')].map((head) => head.textContent)";
        assert_eq!(
            browser.eval(order).await,
            json!(["Answer", "Request", "Steps"])
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn control_works_by_keyboard_alone() {
    with_browser(async |browser| {
        let (bot, pages) = every_page(browser).await;
        browser.look(1100, "light").await;
        browser.open(&bot.url(&pages[2].1)).await;
        browser.wait("!document.getElementById('bar').hidden").await;
        browser.eval("document.getElementById('steer-text').focus()").await;
        browser.command("Input.insertText", json!({"text": "also fix the docs"})).await;
        for kind in ["keyDown", "keyUp"] {
            let key = json!({"type": kind, "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13});
            browser.command("Input.dispatchKeyEvent", key).await;
        }
        // A played run has no driver, so the thread has no mailbox.
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
