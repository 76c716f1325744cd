//! Tests of card plans: what each state shows, and that chunks turn one plan into another.

use std::collections::BTreeMap;

use ars_events::EventBody;
use ars_types::{RunId, RunStatus};
use proptest::prelude::*;

use super::*;
use crate::card::{CardHead, closing_frame, frame, interrupt, is_live, is_stream, run_of_card};

fn card() -> CardState {
    let head = CardHead {
        run: Some(RunId::parse("r1").unwrap()),
        agent: "coding".into(),
        model: Some("anthropic/claude".into()),
        url: Some("https://x.y/runs/r1".into()),
    };
    let mut state = CardState::new(head, 1_000);
    state.status("[x] read\n[~] write\n[ ] test\nand a heading", 2_000);
    let text = "$ cargo test".into();
    state.apply(&EventBody::Assistant { text }, 2_000);
    state
}

fn task(id: &str, title: &str, status: &str) -> Value {
    json!({"type": "task_update", "id": id, "title": title, "status": status})
}

/// Applies chunks as Slack does: to the title, to tasks by id, and to the text.
#[derive(Default, Debug, PartialEq)]
struct Shown {
    title: String,
    tasks: BTreeMap<String, (String, String)>,
    text: String,
}

impl Shown {
    fn append(&mut self, chunks: &[Value]) {
        for chunk in chunks {
            let text = |name: &str| chunk[name].as_str().unwrap().to_owned();
            match chunk["type"].as_str().unwrap() {
                "plan_update" => self.title = text("title"),
                "task_update" => {
                    let task = (text("title"), text("status"));
                    self.tasks.insert(text("id"), task);
                }
                _ => self.text += &text("text"),
            }
        }
    }

    /// The message's blocks in a thread.
    fn blocks(&self) -> Vec<Value> {
        let tasks = self.tasks.iter();
        let tasks: Vec<_> = tasks
            .map(|(id, (title, status))| json!({"task_id": id, "title": title, "status": status}))
            .collect();
        vec![json!({"type": "plan", "title": self.title, "tasks": tasks})]
    }
}

#[test]
fn stream_begins_with_all_and_appends_changes() {
    let mut state = card();
    let first = plan(&state, 8_000);
    assert_eq!(
        changed(&Plan::default(), &first),
        [
            json!({"type": "plan_update", "title": "coding · anthropic/claude · 7s"}),
            task("ars-card:r1", "$ cargo test", "in_progress"),
            task("ars-card:r1:0", "read", "complete"),
            task("ars-card:r1:1", "write", "in_progress"),
            task("ars-card:r1:2", "test", "pending"),
            json!({"type": "markdown_text", "text": "[live run](https://x.y/runs/r1)"}),
        ]
    );
    assert_eq!(changed(&first, &plan(&state, 8_999)), [] as [Value; 0]);
    state.status("[x] read\n[x] write", 8_000);
    state.cost(50_000);
    let second = plan(&state, 8_000);
    assert_eq!(
        changed(&first, &second),
        [
            json!({"type": "plan_update", "title": "coding · anthropic/claude · 7s · $0.05"}),
            task("ars-card:r1:1", "write", "complete"),
            task("ars-card:r1:2", "Dropped: test", "complete"),
        ]
    );
    let quiet = changed(&second, &plan(&state, 30_000));
    assert_eq!(
        quiet[1],
        task("ars-card:r1", "$ cargo test (thinking 22s)", "in_progress")
    );
}

/// Slack shows tasks that a closed stream left open as errors, so none is left open.
#[test]
fn every_outcome_closes_every_task() {
    for (status, activity, item) in [
        (
            RunStatus::Completed,
            task("ars-card:r1", "Done.", "complete"),
            "complete",
        ),
        (
            RunStatus::StoppedHard,
            task("ars-card:r1", "Stopped.", "complete"),
            "error",
        ),
        (
            RunStatus::Failed,
            task("ars-card:r1", "Failed.", "error"),
            "error",
        ),
    ] {
        let live = plan(&card(), 8_000);
        let mut state = card();
        state.close(status.into(), 8_000);
        let chunks = changed(&live, &plan(&state, 9_000));
        let items = [
            task("ars-card:r1:1", "write", item),
            task("ars-card:r1:2", "test", item),
        ];
        assert_eq!(chunks[0], activity);
        assert_eq!(chunks[1..], items);
        let closing = closing_frame(&state, 9_000).blocks;
        assert_eq!(closing[0], frame(&state, 9_000).blocks[0]);
        assert!(
            !closing.to_string().contains("write") && !closing.to_string().contains("live run")
        );
    }
}

/// A later process finds an open stream by its tasks, and an ended one by the card behind them.
#[test]
fn streams_are_recognized() {
    let mut state = card();
    let mut shown = Shown::default();
    shown.append(&changed(&Plan::default(), &plan(&state, 8_000)));
    let open = Value::Array(shown.blocks());
    assert_eq!(run_of_card(&open), Some("r1"));
    assert!(is_stream(&open) && is_live(&open));
    let interrupted = interrupt(&open).unwrap().blocks;
    assert_eq!(run_of_card(&interrupted), Some("r1"));
    assert!(!is_stream(&interrupted) && !is_live(&interrupted));
    let text = interrupted.to_string();
    for words in [
        ":x: coding · anthropic/claude · 7s",
        "☑ read\\n",
        "☐ write\\n",
        "interrupted",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("cargo"), "{text}");

    state.close(RunStatus::Completed.into(), 9_000);
    let mut ended = shown.blocks();
    ended.extend(
        closing_frame(&state, 9_000)
            .blocks
            .as_array()
            .unwrap()
            .clone(),
    );
    let ended = Value::Array(ended);
    assert_eq!(run_of_card(&ended), Some("r1"));
    assert!(!is_stream(&ended) && !is_live(&ended) && interrupt(&ended).is_none());
}

#[test]
fn titles_mention_nobody() {
    let mut state = card();
    state.status("<!channel> <@U1> a & b", 8_000);
    assert_eq!(plan(&state, 8_000).tasks[0].title, "‹!channel> ‹@U1> a & b");
}

fn any_state() -> impl Strategy<Value = CardState> {
    let outcome = prop::option::of(prop::sample::select(vec![
        RunStatus::Completed,
        RunStatus::StoppedSoft,
        RunStatus::Failed,
        RunStatus::Interrupted,
    ]));
    let items = "(\\[[ x~]\\] [a-z<]{1,150}\n){0,60}";
    ("\\PC{0,300}", items, outcome).prop_map(|(text, items, outcome)| {
        let mut state = card();
        state.apply(&EventBody::Assistant { text }, 2_000);
        state.status(&items, 2_000);
        if let Some(outcome) = outcome {
            state.close(outcome.into(), 9_000);
        }
        state
    })
}

proptest! {
    /// Whatever was shown before, the chunks leave the newest plan and nothing else open.
    #[test]
    fn any_change_shows_the_newest_plan(before in any_state(), after in any_state()) {
        let (before, after) = (plan(&before, 8_000), plan(&after, 60_000));
        let mut shown = Shown::default();
        shown.append(&changed(&Plan::default(), &before));
        shown.append(&changed(&before, &after));
        prop_assert_eq!(&shown.title, &after.title);
        prop_assert_eq!(&shown.text, "[live run](https://x.y/runs/r1)");
        for task in &after.tasks {
            let expected = (task.title.clone(), task.status.to_owned());
            prop_assert_eq!(shown.tasks.remove(&task.id), Some(expected));
        }
        for (title, status) in shown.tasks.values() {
            prop_assert!(title.starts_with("Dropped: ") && status == "complete");
        }
        let chunks = changed(&Plan::default(), &after);
        let is_short = |chunk: &Value| chunk["title"].as_str().is_none_or(|title| title.chars().count() <= 256);
        prop_assert!(chunks.len() <= 50 && chunks.iter().all(is_short));
        prop_assert_eq!(changed(&after, &after), [] as [Value; 0]);
    }
}
