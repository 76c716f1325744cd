//! A card as a native stream's plan, and the chunks to append when it changes.
//!
//! A stream only grows: tasks are changed by id and never removed. Not here: the card that replaces the stream (`frame`).

use ars_types::UnixMillis;
use serde_json::{Value, json};

use super::{
    checklist::Mark,
    figures::{cut, dollars},
    frame::{CARD_PREFIX, LINK, elapsed, last_line, link},
    state::{CardOutcome, CardState, Phase},
};

/// Maximum title length in a stream, in characters.
const STREAM_TITLE_MAX_CHARS: usize = 256;
/// Maximum checklist items with separate tasks. Slack's plans have at most 50.
const STREAM_MAX_ITEMS: usize = 40;
/// Title of the activity's task, once the run has answered.
const DONE: &str = "Done.";

/// A stream's content: a title, the activity, and the checklist items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    title: String,
    /// The run page's address.
    link: Option<String>,
    tasks: Vec<Task>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    id: String,
    title: String,
    status: &'static str,
}

impl Task {
    fn chunk(&self) -> Value {
        json!({"type": "task_update", "id": self.id, "title": self.title, "status": self.status})
    }
}

/// Renders a card as a plan at the time `now`.
///
/// The activity's task has the id `ars-card:<run id>`, and items have a number behind it, so a later process recognizes
/// the stream.
pub fn plan(state: &CardState, now: UnixMillis) -> Plan {
    let run = state.head.run.as_ref().map_or("", |run| run.as_str());
    let id = format!("{CARD_PREFIX}{run}");
    let last = last_line(state, now);
    let activity = Task {
        id: id.clone(),
        title: plain(last.as_deref().unwrap_or(DONE)),
        status: activity_status(&state.phase),
    };
    let mut tasks = vec![activity];
    tasks.extend(items(state, &id));
    let mut title = vec![state.head.agent.clone()];
    title.extend(state.head.model.clone());
    title.push(elapsed(state, now));
    title.extend(state.microusd.map(dollars));
    title.retain(|part| !part.is_empty());
    Plan {
        title: plain(&title.join(" · ")),
        link: link(state).map(str::to_owned),
        tasks,
    }
}

/// Returns the chunks that turn one plan into another: none if they are equal.
///
/// The default plan is an empty stream.
pub fn changed(previous: &Plan, next: &Plan) -> Vec<Value> {
    let mut chunks = Vec::new();
    if previous.title != next.title {
        chunks.push(json!({"type": "plan_update", "title": next.title}));
    }
    let is_new = |task: &&Task| !previous.tasks.contains(*task);
    chunks.extend(next.tasks.iter().filter(is_new).map(Task::chunk));
    let is_gone = |task: &&Task| next.tasks.iter().all(|other| other.id != task.id);
    let gone = previous.tasks.iter().filter(is_gone).map(|task| Task {
        title: plain(&format!("Dropped: {}", task.title)),
        status: "complete",
        id: task.id.clone(),
    });
    chunks.extend(gone.map(|task| task.chunk()));
    // A text can only be added to.
    if let (None, Some(link)) = (&previous.link, &next.link) {
        chunks.push(json!({"type": "markdown_text", "text": format!("[{LINK}]({link})")}));
    }
    chunks
}

const fn activity_status(phase: &Phase) -> &'static str {
    match phase {
        Phase::SettingUp | Phase::Running => "in_progress",
        Phase::Closed { outcome, .. } => match outcome {
            // A person's stop is no error of the run.
            CardOutcome::Completed | CardOutcome::Stopped => "complete",
            CardOutcome::Failed { .. } | CardOutcome::Refused { .. } | CardOutcome::Interrupted => {
                "error"
            }
        },
    }
}

/// Returns the checklist's tasks. Slack shows a task that a closed stream left open as an error.
fn items(state: &CardState, id: &str) -> Vec<Task> {
    let is_live = state.is_live();
    let checklist = state.shown_checklist();
    let marked = |(mark, _): &(Mark, &str)| *mark != Mark::None;
    let items: Vec<_> = checklist.items().filter(marked).collect();
    let status = |mark| match mark {
        Mark::Done => "complete",
        Mark::Pending if is_live => "pending",
        Mark::Started if is_live => "in_progress",
        Mark::Pending | Mark::Started | Mark::None => "error",
    };
    let shown = items.iter().take(STREAM_MAX_ITEMS).enumerate();
    let mut tasks: Vec<_> = shown
        .map(|(index, (mark, text))| Task {
            id: format!("{id}:{index}"),
            title: plain(text),
            status: status(*mark),
        })
        .collect();
    let omitted = items.get(STREAM_MAX_ITEMS..).unwrap_or_default();
    if !omitted.is_empty() {
        let is_done = omitted.iter().all(|(mark, _)| *mark == Mark::Done);
        tasks.push(Task {
            id: format!("{id}:{STREAM_MAX_ITEMS}"),
            title: format!("{} more", omitted.len()),
            status: status(if is_done { Mark::Done } else { Mark::Pending }),
        });
    }
    tasks
}

/// Returns a single line that Slack does not read as a mention or a link.
fn plain(text: &str) -> String {
    let visible = |c: char| match c {
        '<' => '‹',
        c if c.is_control() => ' ',
        c => c,
    };
    let text: String = text.chars().map(visible).collect();
    cut(&text, STREAM_TITLE_MAX_CHARS)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
