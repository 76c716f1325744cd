//! The page of one run, live or finished: one template, one script.
//!
//! The script builds the transcript from events: streamed while the run is live, embedded once it is history.

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use super::{
    outline::{Item, Outline},
    render::{is_rehearsal, render, status_text, status_word},
};
use ars_agent::money::dollars;
use ars_bot_core::queries::RunView;

use crate::time::{duration, iso};

/// The page.
#[derive(Template)]
#[template(path = "run.html")]
pub(crate) struct RunPage {
    title: String,
    run_id: String,
    mode: &'static str,
    status: &'static str,
    status_text: String,
    is_live: bool,
    rehearsal: bool,
    started_ms: i64,
    started_iso: String,
    took: Option<String>,
    facts: Vec<(&'static str, String)>,
    outline: Outline,
    embedded: Option<String>,
}

impl RunPage {
    /// Returns the page of a live run, which follows the stream.
    pub(crate) fn live(run: &RunView) -> Self {
        Self::new(run, "live", None)
    }

    /// Returns the page of a finished run, which embeds its events and opens no stream.
    pub(crate) fn history(run: &RunView) -> Self {
        Self::new(run, "history", Some(embed(run)))
    }

    /// Returns the page as an answer.
    pub(crate) fn into_response(self) -> Response {
        render(&self)
    }

    fn new(run: &RunView, mode: &'static str, embedded: Option<String>) -> Self {
        let fact = |name, value: &Option<String>| value.clone().map(|value| (name, value));
        let facts = [
            fact("Agent", &run.agent),
            fact("Model", &run.model),
            fact("Repository", &run.repo),
            fact("Cost", &run.cost.map(dollars)),
            fact("Reflection", &run.reflection_cost.map(dollars)),
        ];
        let status = status_word(run.finished.map(|(_, status)| status), run.stop);
        Self {
            title: run.label.clone(),
            run_id: run.id.to_string(),
            mode,
            status,
            status_text: status_text(status),
            is_live: mode == "live",
            rehearsal: is_rehearsal(run.model.as_deref()),
            started_ms: run.started_at,
            started_iso: iso(run.started_at),
            took: run.finished.map(|(at, _)| duration(at - run.started_at)),
            facts: facts.into_iter().flatten().collect(),
            outline: Outline::of(&run.events),
            embedded,
        }
    }
}

/// Returns the events for a `<script type="application/json">` block. Without `<` no text can close the block or open a
/// comment.
fn embed(run: &RunView) -> String {
    let events: &[Value] = &run.events;
    json!({ "published": run.published, "events": events }).to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use ars_types::{RunId, RunStatus, Visibility};

    use super::*;

    fn hostile() -> RunView {
        let text = "</script><script>alert(1)</script><!-- \u{2028} &amp; \"'";
        RunView {
            id: RunId::parse("r1").unwrap(),
            label: text.into(),
            agent: Some(text.into()),
            model: Some("rehearsal/demo".into()),
            repo: None,
            channel_id: "http:default".into(),
            user_id: "http:ann".into(),
            visibility: Visibility::Machine,
            received_at: None,
            started_at: 1_700_000_000_000,
            finished: Some((1_700_000_061_000, RunStatus::StoppedSoft)),
            stop: None,
            published: 2,
            events: vec![
                json!({"type": "input", "text": text, "seq": 1}),
                json!({"type": "answer", "text": text, "seq": 2}),
            ],
            cost: None,
            reflection_cost: None,
            diagnosis: None,
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        let run = hostile();
        let html = RunPage::history(&run).render().unwrap();
        assert!(!html.contains("<script>alert"), "{html}");
        assert_eq!(html.matches("</script>").count(), html.matches("<script").count());
        let (_, block) = html.split_once("type=\"application/json\"").unwrap();
        let block = block.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        let embedded: Value = serde_json::from_str(block).unwrap();
        assert_eq!(embedded["events"], Value::Array(run.events));
    }

    #[test]
    fn page_shows_status_time_and_rehearsal() {
        let html = RunPage::history(&hostile()).render().unwrap();
        for part in
            ["Stopped soft", "1m 01s", "2023-11-14T22:13:20.000Z", "Rehearsal", "data-mode=\"history\""]
        {
            assert!(html.contains(part), "{part}");
        }
        let mut real = hostile();
        real.model = Some("anthropic/some-model".into());
        let live = RunPage::live(&real).render().unwrap();
        assert!(!live.contains("application/json"));
        assert!(!live.contains("class=\"rehearsal-note\""));
    }
}
