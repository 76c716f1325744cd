//! The lab: a run with every event kind in every state, and a list with every status.
//!
//! Both pages' structure is a snapshot (`INSTA_UPDATE=always` accepts a new snapshot), and their
//! pictures are compared with the committed pictures. The shipped binary has no such page: the test
//! plays the run.

use std::collections::BTreeSet;

use ars_bot_core::registry::{QueuePlace, RunHandle};
use ars_bot_ports::Overload;
use ars_events::{
    Actor, ActorKind, ArtifactKind, DiffProvider, EventBody, InputSource, NoteKind, SkillUpstream,
    SpanStatus,
};
use ars_types::{RunStatus, StopMode};

use super::{
    driver::Browser,
    pictures::Pictures,
    play::{ask, call, meta, play, result, turn},
    support::{Bot, live_path, record, say},
    views::VIEWS,
    with_browser,
};

/// Notes that the run shows.
const NOTES: [(NoteKind, &str); 19] = [
    (
        NoteKind::Queued,
        "waiting for a free slot, position 2, limit of 64 live runs of all callers reached",
    ),
    (
        NoteKind::Queued,
        "started after waiting 3 s for a free slot",
    ),
    (NoteKind::WrapUp, "the budget is nearly spent"),
    (
        NoteKind::TimeBudgetExhausted,
        "the time budget ended the run",
    ),
    (
        NoteKind::TurnBudgetExhausted,
        "the turn budget ended the run",
    ),
    (NoteKind::SandboxDead, "the sandbox failed repeatedly"),
    (NoteKind::FleetBusy, "no sandbox was free"),
    (NoteKind::StopRequested, "soft stop requested"),
    (NoteKind::Stopped, "the run stopped"),
    (NoteKind::SpansDropped, "span records were dropped"),
    (NoteKind::HeadMoved, "the reviewed branch moved"),
    (
        NoteKind::McpUnavailable,
        "an MCP server contributed nothing",
    ),
    (NoteKind::FollowUp, "a follow-up was given to the model"),
    (NoteKind::Resumed, "another process continues the run"),
    (NoteKind::Compacted, "older turns were summarized"),
    (
        NoteKind::MoneyBudgetExhausted,
        "the money cap ended the run",
    ),
    (
        NoteKind::EgressRefused,
        "host.example was refused: it is not on the list of allowed hosts",
    ),
    (
        NoteKind::TreeRemoved,
        "the former working tree was removed to free the disk",
    ),
    (
        NoteKind::Tree,
        "the tree is a local clone: the resident does not answer",
    ),
];

/// Stops the page's clock 72 seconds after the bot's clock starts.
pub const STOPPED_CLOCK: &str = "Date.now = () => 1760000072000;";

/// Prints a page's elements that have a role or a state, with their text.
const STRUCTURE: &str = r"(() => {
    const lines = [];
    const own = (node) => [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data.trim()).filter(Boolean).join(' ');
    const walk = (node, depth) => {
        if (['SCRIPT', 'NOSCRIPT', 'TIME'].includes(node.tagName) || node.hidden) return;
        const state = node.dataset?.state ?? node.dataset?.status ?? node.dataset?.kind;
        const name = node.tagName.toLowerCase() + (node.className ? '.' + node.className.replaceAll(' ', '.') : '') + (state ? `[${state}]` : '');
        const text = ['clock', 'took'].includes(node.id || node.className) ? '' : own(node);
        lines.push('  '.repeat(depth) + name + (text ? ': ' + text : ''));
        for (const child of node.children) walk(child, depth + 1);
    };
    walk(document.getElementById('main'), 0);
    return lines.join('\n');
})()";

/// Returns an event's kind. A new kind does not compile until the lab shows it.
fn kind(body: &EventBody) -> &'static str {
    match body {
        EventBody::Input { .. } => "input",
        EventBody::Context { .. } => "context",
        EventBody::RunMeta { .. } => "run_meta",
        EventBody::Assistant { .. } => "assistant",
        EventBody::ToolCall { .. } => "tool_call",
        EventBody::ToolResult { .. } => "tool_result",
        EventBody::RunNote { .. } => "run_note",
        EventBody::SkillUse { .. } => "skill_use",
        EventBody::ReviewArtifact { .. } => "review_artifact",
        EventBody::PrDescription { .. } => "pr_description",
        EventBody::PrOpened { .. } => "pr_opened",
        EventBody::Answer { .. } => "answer",
        EventBody::SpanStart { .. } => "span_start",
        EventBody::SpanEnd { .. } => "span_end",
    }
}

/// Returns a note kind's word. A new kind does not compile until the lab shows it.
const fn note_word(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::WrapUp => "wrap_up",
        NoteKind::TimeBudgetExhausted => "time_budget_exhausted",
        NoteKind::TurnBudgetExhausted => "turn_budget_exhausted",
        NoteKind::SandboxDead => "sandbox_dead",
        NoteKind::FleetBusy => "fleet_busy",
        NoteKind::Queued => "queued",
        NoteKind::StopRequested => "stop_requested",
        NoteKind::Stopped => "stopped",
        NoteKind::SpansDropped => "spans_dropped",
        NoteKind::HeadMoved => "head_moved",
        NoteKind::McpUnavailable => "mcp_unavailable",
        NoteKind::FollowUp => "follow_up",
        NoteKind::Resumed => "resumed",
        NoteKind::Compacted => "compacted",
        NoteKind::MoneyBudgetExhausted => "money_budget_exhausted",
        NoteKind::EgressRefused => "egress_refused",
        NoteKind::TreeRemoved => "tree_removed",
        NoteKind::Tree => "tree",
    }
}

fn infra(run: &RunHandle) {
    call(run, "bash", "infra", "$ make");
    run.publish(EventBody::ToolResult {
        tool: "bash".into(),
        ok: false,
        summary: "the sandbox failed".into(),
        call_id: Some("infra".into()),
        exit_code: None,
        output: None,
        infra: Some(true),
    });
}

fn side_facts(run: &RunHandle) {
    run.publish(EventBody::SkillUse {
        skill: "quality".into(),
        description: "how to review a change".into(),
        agent: "review".into(),
        source: None,
        upstream: Some(SkillUpstream {
            repo: "acme/skills".into(),
            commit: "abc1234".into(),
        }),
        body_bytes: 1200,
    });
    run.publish(EventBody::ReviewArtifact {
        artifact: ArtifactKind::ReadingDiff,
        powered_by: DiffProvider::Git,
        base_ref: "origin/main".into(),
        diff: "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n".into(),
        truncated: true,
        summary: Some("one line changed".into()),
        meat_tokens: None,
    });
    run.publish(EventBody::PrDescription {
        description: serde_json::Map::new(),
    });
    let url = "https://github.com/acme/app/pull/7".into();
    run.publish(EventBody::PrOpened {
        url,
        number: 7,
        created: true,
    });
    run.publish(EventBody::SpanEnd {
        span_id: "s9".into(),
        parent_span_id: None,
        name: "post.reply".into(),
        attrs: None,
        started_at: 0,
        duration_ms: 5,
        status: SpanStatus::Error,
        error: Some("not delivered".into()),
    });
}

fn notes(run: &RunHandle) {
    for (kind, summary) in NOTES {
        let mode =
            matches!(kind, NoteKind::StopRequested | NoteKind::Stopped).then_some(StopMode::Soft);
        let actor =
            (kind == NoteKind::StopRequested).then(|| Actor::new(ActorKind::Access, "access:ann"));
        run.publish(EventBody::RunNote {
            kind,
            summary: summary.into(),
            mode,
            actor,
            from: None,
            to: None,
        });
    }
}

/// Plays every kind, then a state that only a live run has: a running call, and a thinking model.
fn lab(bot: &Bot, run: &RunHandle) {
    play(bot, run, "scripted/m");
    infra(run);
    side_facts(run);
    let source = InputSource {
        url: None,
        channel: Some("http:default".into()),
        user: Some("http:bo".into()),
    };
    run.publish(EventBody::Input {
        text: "please hurry".into(),
        attachments: Vec::new(),
        source: Some(source),
    });
    say(run, "Only prose, without a call.");
    notes(run);
    call(run, "read_file", "running", "read_file src/main.rs");
}

async fn structure(browser: &Browser) -> String {
    browser.eval(STRUCTURE).await.as_str().unwrap().to_owned()
}

/// Takes a picture in each view, without the run's random id.
async fn take_views(pictures: &mut Pictures, browser: &Browser, name: &str) {
    browser
        .eval(
            "document.querySelectorAll('.run-facts code').forEach((id) => id.textContent = 'RUN')",
        )
        .await;
    for (view, width, scheme) in VIEWS {
        pictures
            .take(browser, &format!("{name}-{view}"), width, scheme)
            .await;
    }
    browser.look(1100, "light").await;
}

fn named(bot: &Bot, text: &str, run: &RunHandle) -> String {
    assert!(text.contains(run.id().as_str()));
    text.replace(run.id().as_str(), "RUN")
        .replace(&run.view().token, "TOKEN")
        .replace(&bot.address.to_string(), "BOT")
}

#[tokio::test(flavor = "multi_thread")]
async fn lab_shows_every_event_kind() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        let run = bot.run("the lab", "scripted/m");
        lab(&bot, &run);
        let mut pictures = Pictures::default();
        browser.at_start(STOPPED_CLOCK).await;
        browser.look(1100, "light").await;
        browser.open(&bot.url(&live_path(&run))).await;
        browser
            .wait("document.querySelector('.call[data-state=running]')")
            .await;
        browser
            .wait("document.getElementById('connection').textContent === 'Live'")
            .await;
        insta::assert_snapshot!("lab_live", named(&bot, &structure(browser).await, &run));
        take_views(&mut pictures, browser, "lab-live").await;
        run.publish(EventBody::answer("done"));
        run.finish(RunStatus::Failed);
        let shown: BTreeSet<String> = run
            .view()
            .events
            .iter()
            .map(|json| kind(&serde_json::from_str(json).unwrap()).to_owned())
            .collect();
        assert_eq!(shown.len(), 14, "{shown:?}");
        let notes: BTreeSet<&str> = NOTES.iter().map(|(kind, _)| note_word(*kind)).collect();
        assert_eq!(notes.len(), 18, "{notes:?}");
        browser.open(&bot.url(&format!("/runs/{}", run.id()))).await;
        browser
            .wait("document.querySelector('.call[data-state=open]')")
            .await;
        insta::assert_snapshot!("lab_finished", named(&bot, &structure(browser).await, &run));
        browser
            .eval("document.querySelectorAll('details').forEach((part) => part.open = true)")
            .await;
        browser
            .wait("document.querySelector('.artifact .diff')")
            .await;
        take_views(&mut pictures, browser, "lab-finished").await;
        pictures.compare(browser).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lab_shows_every_status() {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        for (n, status) in (1..).zip([
            RunStatus::Completed,
            RunStatus::Failed,
            RunStatus::StoppedSoft,
            RunStatus::StoppedHard,
            RunStatus::Interrupted,
        ]) {
            let mut stored = record(&format!("r{n}"), 1_759_999_000_000 - n * 1000, &[]);
            stored.status = status;
            bot.store.insert(stored);
        }
        let stopping = bot.run("stopping", "scripted/m");
        ask(&stopping, "x");
        meta(&stopping, "scripted/m");
        turn(&bot, &stopping, 5, 10);
        result(&stopping, "bash", "none", None, "a result without a call");
        bot.core.registry().stop(stopping.id(), StopMode::Soft, Actor::new(ActorKind::Cli, "cli:local"));
        // Runs at the same instant would be listed by their random ids.
        bot.clock.advance(1_000);
        let run = bot.run("running", "rehearsal/m");
        bot.clock.advance(1_000);
        let waiting = bot.run("waiting", "scripted/m");
        let limit = Some(Overload::Runs { limit: 64 });
        browser.at_start(STOPPED_CLOCK).await;
        browser.look(1100, "light").await;
        browser.open(&bot.url("/runs?all=1")).await;
        browser.wait("document.getElementById('connection').textContent === 'Live'").await;
        browser.wait("document.querySelectorAll('#runs li').length === 8").await;
        for position in [3, 2] {
            waiting.set_queue_place(Some(QueuePlace { position, limit }));
            let shown = format!(
                "document.querySelector('#runs .queue')?.textContent.startsWith('position {position}')"
            );
            browser.wait(&shown).await;
        }
        insta::assert_snapshot!("lab_list", structure(browser).await);
        let mut pictures = Pictures::default();
        take_views(&mut pictures, browser, "lab-list").await;
        pictures.compare(browser).await;
        drop(run);
        // The run's page shows the same, and that it starts.
        let note = |text: &str| waiting.publish(EventBody::note(NoteKind::Queued, text));
        browser.open(&bot.url(&live_path(&waiting))).await;
        browser.wait("document.getElementById('queue').textContent.startsWith('position 2, limit')").await;
        browser.wait("document.getElementById('status').textContent === 'Queued'").await;
        browser.wait("document.getElementById('connection').textContent === 'Live'").await;
        note("waiting for a free slot, position 1");
        browser.wait("document.getElementById('queue').textContent === 'position 1'").await;
        waiting.set_queue_place(None);
        note("started after waiting 3 s for a free slot");
        browser.wait("document.getElementById('status').textContent === 'Running'").await;
        browser.wait("document.getElementById('queue').textContent === ''").await;
    })
    .await;
}
