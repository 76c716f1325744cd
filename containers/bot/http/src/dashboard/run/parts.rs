//! A run's pages, with a shared head: transcript, changes in the working tree, and diagnosis.
//!
//! The script builds the transcript from events: embedded events, and streamed events while the run
//! is live. Without a script the page is an outline of the same events.

use askama::Template;
use axum::response::Response;
use serde_json::json;

use super::{
    changes::Changes,
    diagnosis::DiagnosisView,
    facts::{Fact, counters, facts},
    outline::{Item, Outline},
    tail::Tail,
};
use ars_bot_core::queries::{RunLimits, RunView};

use crate::{
    dashboard::shell::{Nav, is_rehearsal, queue_text, render, status_text, status_word},
    time::{duration, iso},
};

/// A view that a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    /// The run's transcript.
    Transcript,
    /// The changes in the working tree.
    Changes,
    /// The run's diagnosis.
    Friction,
}

/// The parts that make up a run's page.
pub(crate) struct RunParts<'r> {
    /// The installation's header links.
    pub(crate) nav: Nav,
    /// The run to show.
    pub(crate) run: &'r RunView,
    /// The run's limits.
    pub(crate) limits: RunLimits,
    /// A live run's view token.
    pub(crate) token: Option<&'r str>,
}

/// The head that a run's pages share.
struct Head {
    title: String,
    run_id: String,
    mode: &'static str,
    status: &'static str,
    status_text: String,
    queue: Option<String>,
    is_live: bool,
    rehearsal: bool,
    started_ms: i64,
    started_iso: String,
    took: Option<String>,
    facts: Vec<Fact>,
    tabs: Vec<TabLink>,
}

/// A link to a view.
struct TabLink {
    text: &'static str,
    href: String,
    is_current: bool,
}

/// The page with the transcript.
#[derive(Template)]
#[template(path = "run.html")]
struct TranscriptPage {
    nav: Nav,
    head: Head,
    outline: Outline,
    /// How many events precede the outline, and the link to them.
    earlier: Option<(usize, String)>,
    embedded: String,
}

/// The page with the changes.
#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage {
    nav: Nav,
    head: Head,
    changes: Changes,
}

/// The page with the diagnosis.
#[derive(Template)]
#[template(path = "friction.html")]
struct FrictionPage {
    nav: Nav,
    head: Head,
    diagnosis: DiagnosisView,
}

impl RunParts<'_> {
    /// Returns the transcript as an answer: the newest events, or those before a seq.
    pub(crate) fn transcript(self, before: Option<u64>) -> Response {
        render(&self.transcript_page(before))
    }

    /// Returns the changes as an answer.
    pub(crate) fn changes(self, changes: Changes) -> Response {
        render(&ChangesPage {
            head: self.head(Tab::Changes),
            nav: self.nav,
            changes,
        })
    }

    /// Returns the diagnosis as an answer.
    pub(crate) fn friction(self, diagnosis: DiagnosisView) -> Response {
        render(&FrictionPage {
            head: self.head(Tab::Friction),
            nav: self.nav,
            diagnosis,
        })
    }

    fn transcript_page(self, before: Option<u64>) -> TranscriptPage {
        let tail = Tail::before(&self.run.events, before);
        let mut outline = Outline::from_events(tail.events);
        outline.request = outline.request.or_else(|| tail.request());
        let href = |seq: u64| self.url(&[("before", &seq.to_string())]);
        let earlier = tail
            .earlier_before()
            .map(|seq| (tail.earlier_count(), href(seq)));
        TranscriptPage {
            head: self.head(Tab::Transcript),
            outline,
            earlier,
            embedded: self.embed(tail, before.is_some()),
            nav: self.nav,
        }
    }

    fn head(&self, current: Tab) -> Head {
        let run = self.run;
        let status = status_word(run.finished.map(|(_, status)| status), run.stop, run.queue);
        let link = |tab, text, query: &[(&str, &str)]| TabLink {
            text,
            href: self.url(query),
            is_current: tab == current,
        };
        Head {
            title: run.label.clone(),
            run_id: run.id.to_string(),
            mode: if self.token.is_some() {
                "live"
            } else {
                "history"
            },
            status,
            status_text: status_text(status),
            queue: queue_text(run.queue),
            is_live: self.token.is_some() && run.finished.is_none(),
            rehearsal: is_rehearsal(run.model.as_deref()),
            started_ms: run.started_at,
            started_iso: iso(run.started_at),
            took: run.finished.map(|(at, _)| duration(at - run.started_at)),
            facts: facts(run, &self.limits),
            tabs: vec![
                link(Tab::Transcript, "Transcript", &[]),
                link(Tab::Changes, "Changes", &[("tab", "changes")]),
                link(Tab::Friction, "Friction", &[("tab", "friction")]),
            ],
        }
    }

    /// Returns the address of a run's page. A live run needs the token in each.
    fn url(&self, query: &[(&str, &str)]) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(self.token.map(|token| ("t", token)));
        text.extend_pairs(query);
        let text = text.finish();
        let mark = if text.is_empty() { "" } else { "?" };
        format!("/runs/{}{mark}{text}", self.run.id)
    }

    /// Returns the events for a `<script type="application/json">` block.
    /// Without `<` no text can close the block or open a comment.
    fn embed(&self, tail: Tail<'_>, is_earlier: bool) -> String {
        let last = tail
            .events
            .last()
            .and_then(|event| event["seq"].as_u64())
            .unwrap_or_default();
        // A page with earlier events ends with the last event on it.
        let published = if is_earlier { last } else { self.run.published };
        let mut data = tail.json();
        data["published"] = json!(published);
        data["isEarlier"] = json!(is_earlier);
        data["request"] = json!(tail.request());
        data["used"] = counters(self.run, &self.limits);
        data.to_string().replace('<', "\\u003c")
    }
}

/// Returns a live run with this model, without events.
#[cfg(test)]
pub(super) fn sample(model: &str) -> RunView {
    let facts = ars_bot_core::registry::RunFacts {
        label: "label".into(),
        agent: "coding".into(),
        model: Some(model.into()),
        channel_id: "http:default".into(),
        user_id: "http:ann".into(),
        thread_key: ars_types::ThreadKey::new(ars_types::Platform::Http, "default", "label"),
        visibility: ars_types::Visibility::Machine,
        repo: None,
        received_at: 1_700_000_000_000,
    };
    RunView::of_facts(
        ars_types::RunId::parse("r1").unwrap(),
        facts,
        1_700_000_000_000,
    )
}

#[cfg(test)]
mod tests {
    use ars_types::RunStatus;
    use serde_json::Value;

    use super::*;

    fn hostile() -> RunView {
        let text = "</script><script>alert(1)</script></noscript><!-- \u{2028} &amp; \"'";
        RunView {
            label: text.into(),
            agent: Some(text.into()),
            finished: Some((1_700_000_061_000, RunStatus::StoppedSoft)),
            published: 2,
            events: vec![
                json!({"type": "input", "text": text, "seq": 1}),
                json!({"type": "answer", "text": text, "seq": 2}),
            ],
            ..sample("rehearsal/demo")
        }
    }

    fn html(run: &RunView, token: Option<&str>) -> String {
        let parts = RunParts {
            nav: Nav::bare(),
            run,
            limits: RunLimits::default(),
            token,
        };
        parts.transcript_page(None).render().unwrap()
    }

    #[test]
    fn hostile_text_stays_text() {
        let run = hostile();
        let html = html(&run, None);
        assert!(!html.contains("<script>alert"), "{html}");
        assert_eq!(
            html.matches("</script>").count(),
            html.matches("<script").count()
        );
        assert_eq!(
            html.matches("</noscript>").count(),
            html.matches("<noscript>").count()
        );
        let (_, block) = html.split_once("type=\"application/json\"").unwrap();
        let block = block
            .split_once('>')
            .unwrap()
            .1
            .split_once("</script>")
            .unwrap()
            .0;
        let embedded: Value = serde_json::from_str(block).unwrap();
        assert_eq!(embedded["events"], Value::Array(run.events));
    }

    /// A run's newest part may be a single long answer, or spans only.
    #[test]
    fn page_without_steps_links_to_earlier_events() {
        let answer = "x".repeat(300 << 10);
        let mut run = hostile();
        run.events = vec![
            json!({"type": "assistant", "text": "before", "seq": 1}),
            json!({"type": "answer", "text": answer, "seq": 2}),
        ];
        let html = html(&run, None);
        assert!(!html.contains("id=\"steps-head\""), "the page has steps");
        assert!(
            html.contains("Earlier part of this run (1 events)"),
            "no link"
        );
    }

    #[test]
    fn page_shows_status_time_and_rehearsal() {
        let finished = html(&hostile(), None);
        for part in [
            "Stopped soft",
            "1m 01s",
            "2023-11-14T22:13:20.000Z",
            "Rehearsal",
            "data-mode=\"history\"",
        ] {
            assert!(finished.contains(part), "{part}");
        }
        assert!(!finished.contains("id=\"bar\""));
        let live = html(&sample("anthropic/some-model"), Some("secret"));
        assert!(
            live.contains("/runs/r1?t=secret&#38;tab=changes") && live.contains("id=\"bar\""),
            "{live}"
        );
        assert!(!live.contains("class=\"rehearsal-note\""));
    }
}
