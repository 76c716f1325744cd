//! A card as Slack shows it at one time.
//!
//! The title is markup with escaped parts. The body is rich text, which Slack never reads as
//! markup. Not here: frames that Slack returned (`found`).

use ars_types::UnixMillis;
use serde_json::{Value, json};

use super::{
    checklist::Checklist,
    figures::{cut, dollars, duration},
    glyph::Glyph,
    state::{CardOutcome, CardState, Phase},
};
use crate::text::escape;

/// Begins the id of a card's first block, before the run's id.
pub const CARD_PREFIX: &str = "ars-card:";
/// Action id of the stop button. Its value is the run's id.
pub const STOP_ACTION: &str = "ars-stop";
/// Maximum characters in a card's body.
const BODY_MAX_CHARS: usize = 900;
/// Maximum characters in a title's name.
const TITLE_NAME_MAX_CHARS: usize = 80;
/// Maximum characters of the reason why a run failed or did not start.
const REASON_MAX_CHARS: usize = 300;
/// Silence after which a card shows that the run is at work.
const QUIET_MIN_MS: i64 = 20_000;
/// Text of the link to the run's page.
pub(super) const LINK: &str = "live run";
/// Last line while the bot is replaced.
const DEPLOY: &str = "A deploy is in progress. The run continues after it.";
/// Last line of a run that no process continues.
pub(super) const INTERRUPTED: &str =
    "The run was interrupted by a restart. Send the message again to repeat it.";

/// A message's content.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Text of notifications, in markup.
    pub text: String,
    /// The blocks.
    pub blocks: Value,
}

/// Renders a card at the time `now`.
pub fn frame(state: &CardState, now: UnixMillis) -> Frame {
    let run = state.head.run.as_ref().map_or("", |run| run.as_str());
    let title = json!({
        "type": "section",
        "block_id": format!("{CARD_PREFIX}{run}"),
        "text": {"type": "mrkdwn", "text": title(state, now)},
    });
    let last = last_line(state, now);
    let mut blocks = vec![title];
    blocks.extend(body(state, last.as_deref()));
    if state.is_live() && !run.is_empty() {
        blocks.push(buttons(run));
    }
    let summary = format!(
        "{}: {}",
        state.head.agent,
        last.as_deref().unwrap_or("done")
    );
    Frame {
        text: format!("{} {}", glyph(state).as_str(), escape(&summary)),
        blocks: Value::Array(blocks),
    }
}

fn glyph(state: &CardState) -> Glyph {
    match &state.phase {
        Phase::SettingUp => Glyph::Eyes,
        Phase::Running => Glyph::Spinner,
        Phase::Closed { outcome, .. } => match outcome {
            CardOutcome::Completed => Glyph::Check,
            CardOutcome::Stopped => Glyph::Stop,
            CardOutcome::Failed { .. } | CardOutcome::Interrupted => Glyph::Cross,
            CardOutcome::Refused { .. } => Glyph::NoEntry,
        },
    }
}

/// Renders the end of a stream, which shows checklist and link already.
pub fn closing_frame(state: &CardState, now: UnixMillis) -> Frame {
    let mut state = state.clone();
    state.checklist = Checklist::default();
    state.head.url = None;
    frame(&state, now)
}

/// Returns how long the run has taken.
pub(super) fn elapsed(state: &CardState, now: UnixMillis) -> String {
    let end = match &state.phase {
        Phase::Closed { at, .. } => *at,
        Phase::SettingUp | Phase::Running => now,
    };
    duration(end.saturating_sub(state.started_at))
}

fn title(state: &CardState, now: UnixMillis) -> String {
    let mut title = format!("{} *{}*", glyph(state).as_str(), name(&state.head.agent));
    if let Some(model) = &state.head.model {
        title += &format!(" `{}`", name(model));
    }
    title += &format!(" {}", elapsed(state, now));
    if let Some(microusd) = state.microusd {
        title += &format!(" · {}", escape(&dollars(microusd)));
    }
    title
}

/// Returns a name for use inside marks, which it may not end.
fn name(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|c| !c.is_control() && !['*', '`'].contains(c))
        .collect();
    escape(&cut(&plain, TITLE_NAME_MAX_CHARS))
}

/// Returns the body's last line: the activity of a live run, or why it ended without an answer.
pub(super) fn last_line(state: &CardState, now: UnixMillis) -> Option<String> {
    let reason = |text: &str| cut(text, REASON_MAX_CHARS);
    match &state.phase {
        Phase::Closed { outcome, .. } => match outcome {
            CardOutcome::Completed => None,
            CardOutcome::Stopped => Some("Stopped.".to_owned()),
            CardOutcome::Failed { reason: Some(text) } => Some(format!("Failed: {}", reason(text))),
            CardOutcome::Failed { reason: None } => Some("Failed.".to_owned()),
            CardOutcome::Refused { reason: text } => Some(format!("Refused: {}", reason(text))),
            CardOutcome::Interrupted => Some(INTERRUPTED.to_owned()),
        },
        Phase::SettingUp | Phase::Running if state.is_draining => Some(DEPLOY.to_owned()),
        Phase::SettingUp => Some(activity(state, "Setting up.")),
        Phase::Running => Some(activity(state, "Working.") + &quiet_suffix(state, now)),
    }
}

fn activity(state: &CardState, otherwise: &str) -> String {
    let activity = if state.activity.is_empty() {
        otherwise
    } else {
        &state.activity
    };
    activity.to_owned()
}

/// Returns the run's present work, if no event came for a while.
fn quiet_suffix(state: &CardState, now: UnixMillis) -> String {
    let quiet = now.saturating_sub(state.active_at);
    if quiet < QUIET_MIN_MS {
        return String::new();
    }
    let seconds = duration(quiet);
    match state.calls.last() {
        Some(call) => format!(
            " (running {} {seconds})",
            cut(&call.tool, TITLE_NAME_MAX_CHARS)
        ),
        None => format!(" (thinking {seconds})"),
    }
}

/// Returns the rich text block: link, checklist and last line, each on separate lines.
fn body(state: &CardState, last: Option<&str>) -> Option<Value> {
    let checklist = state.shown_checklist();
    let used = LINK.len() + 1 + last.map_or(0, |last| last.chars().count());
    let mut lines = checklist.lines(BODY_MAX_CHARS.saturating_sub(used));
    lines.extend(last.map(str::to_owned));
    let link = link(state).map(|url| json!({"type": "link", "url": url, "text": LINK}));
    let mut elements: Vec<Value> = link.into_iter().collect();
    for line in lines {
        if !elements.is_empty() {
            elements.push(text("\n"));
        }
        elements.push(text(&line));
    }
    let section = json!({"type": "rich_text_section", "elements": elements});
    let has_text = section["elements"]
        .as_array()
        .is_some_and(|elements| !elements.is_empty());
    has_text.then(|| json!({"type": "rich_text", "elements": [section]}))
}

/// Returns the address of the run's page. Without a public base it is a path, which Slack rejects.
pub(super) fn link(state: &CardState) -> Option<&str> {
    let url = state.head.url.as_deref();
    url.filter(|url| url.starts_with("http"))
}

pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns the block with the stop button.
fn buttons(run: &str) -> Value {
    let plain = |text: &str| json!({"type": "plain_text", "text": text});
    json!({
        "type": "actions",
        "elements": [{
            "type": "button",
            "action_id": STOP_ACTION,
            "value": run,
            "style": "danger",
            "text": plain("Stop"),
            "confirm": {
                "title": plain("Stop this run?"),
                "text": plain("The run ends without an answer."),
                "confirm": plain("Stop"),
                "deny": plain("Continue"),
                "style": "danger",
            },
        }],
    })
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
