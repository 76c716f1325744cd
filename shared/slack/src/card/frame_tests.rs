//! Tests of a card's frames: every phase and outcome, the quiet suffix, and the bounds.

use ars_events::{EventBody, NoteKind};
use ars_types::{RunId, RunStatus};
use proptest::prelude::*;

use super::*;
use crate::card::CardHead;

const MODEL: &str = "anthropic/claude";

fn card() -> CardState {
    let head = CardHead {
        run: Some(RunId::parse("r1").unwrap()),
        agent: "general".into(),
        model: None,
        url: Some("https://x.y/runs/r1".into()),
    };
    CardState::new(head, 1_000)
}

fn event(json: Value) -> EventBody {
    serde_json::from_value(json).unwrap()
}

fn meta() -> EventBody {
    event(json!({"type": "run_meta", "agent": "coding", "model": MODEL}))
}

fn call(tool: &str, summary: &str, id: &str) -> EventBody {
    event(json!({"type": "tool_call", "tool": tool, "summary": summary, "callId": id}))
}

fn result(tool: &str, id: &str) -> EventBody {
    event(json!({"type": "tool_result", "tool": tool, "ok": true, "summary": "", "callId": id}))
}

fn running() -> CardState {
    let mut state = card();
    state.apply(&meta(), 2_000);
    state.apply(
        &call("update_status", "update_status [x] read · [~] write", "a"),
        3_000,
    );
    state.apply(&call("bash", "$ cargo test", "b"), 4_000);
    state
}

/// Title and body of a frame as a reader sees them.
fn shown(frame: &Frame) -> (String, String) {
    let elements = frame.blocks.pointer("/1/elements/0/elements");
    let texts = elements.and_then(Value::as_array).into_iter().flatten();
    let texts = texts.filter_map(|element| element["text"].as_str());
    let title = frame.blocks[0]["text"]["text"].as_str().unwrap();
    (title.to_owned(), texts.collect())
}

fn has_button(frame: &Frame) -> bool {
    let blocks = frame.blocks.as_array().unwrap();
    blocks.iter().any(|block| block["type"] == "actions")
}

#[test]
fn frame_is_a_card_with_a_stop_button() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let frame = frame(&running(), 8_000);
    assert_eq!(frame.text, ":arrows_counterclockwise: coding: $ cargo test");
    assert_eq!(
        frame.blocks,
        json!([
            {
                "type": "section",
                "block_id": "ars-card:r1",
                "text": {"type": "mrkdwn", "text": ":arrows_counterclockwise: *coding* `anthropic/claude` 7s"},
            },
            {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                {"type": "link", "url": "https://x.y/runs/r1", "text": "live run"},
                text("\n"), text("☑ read"), text("\n"), text("◐ write"), text("\n"), text("$ cargo test"),
            ]}]},
            buttons("r1"),
        ])
    );
    let button = &frame.blocks[2]["elements"][0];
    assert_eq!(
        (&button["action_id"], &button["value"], &button["style"]),
        (&json!("ars-stop"), &json!("r1"), &json!("danger"))
    );
    assert!(button["confirm"].is_object());
}

#[test]
fn every_phase_has_its_glyph_and_last_line() {
    let outcomes = [
        (RunStatus::Completed.into(), ":white_check_mark:", ""),
        (
            RunStatus::StoppedSoft.into(),
            ":octagonal_sign:",
            "\nStopped.",
        ),
        (
            RunStatus::StoppedHard.into(),
            ":octagonal_sign:",
            "\nStopped.",
        ),
        (RunStatus::Failed.into(), ":x:", "\nFailed."),
        (
            CardOutcome::Failed {
                reason: Some("no model".into()),
            },
            ":x:",
            "\nFailed: no model",
        ),
        (
            CardOutcome::Refused {
                reason: "not allowed <here>".into(),
            },
            ":no_entry:",
            "\nRefused: not allowed <here>",
        ),
        (
            RunStatus::Interrupted.into(),
            ":x:",
            "\nThe run was interrupted by a restart. Send the message again to repeat it.",
        ),
    ];
    let starts = [
        (card(), ":eyes:", "*general*", "", "Setting up."),
        (
            running(),
            ":arrows_counterclockwise:",
            "*coding* `anthropic/claude`",
            "\n☑ read\n◐ write",
            "$ cargo test",
        ),
    ];
    for (live, glyph, name, items, activity) in starts {
        let now = 11_000;
        let frame_live = frame(&live, now);
        assert_eq!(
            shown(&frame_live),
            (
                format!("{glyph} {name} 10s"),
                format!("live run{items}\n{activity}")
            )
        );
        assert!(has_button(&frame_live));

        let mut draining = live.clone();
        draining.drain();
        let (title, body) = shown(&frame(&draining, now));
        assert_eq!(title, format!("{glyph} {name} 10s"));
        assert_eq!(body, format!("live run{items}\n{DEPLOY}"));
        assert!(body.contains("deploy"));

        for (outcome, glyph, last) in &outcomes {
            let items = if *outcome == CardOutcome::Completed {
                items.replace('◐', "☑")
            } else {
                items.to_owned()
            };
            let mut closed = draining.clone();
            closed.close(CardOutcome::clone(outcome), 5_000);
            closed.close(CardOutcome::Stopped, 9_000);
            closed.apply(&call("bash", "late", "z"), 9_000);
            let frame_closed = frame(&closed, now);
            assert_eq!(
                shown(&frame_closed),
                (
                    format!("{glyph} {name} 4s"),
                    format!("live run{items}{last}")
                )
            );
            assert!(!has_button(&frame_closed));
            assert_eq!(frame(&closed, now + 60_000), frame_closed);
        }
    }
}

#[test]
fn quiet_run_shows_its_work() {
    let mut state = running();
    let last = |state: &CardState, now| {
        shown(&frame(state, now))
            .1
            .lines()
            .last()
            .unwrap()
            .to_owned()
    };
    assert_eq!(last(&state, 23_999), "$ cargo test");
    assert_eq!(last(&state, 24_000), "$ cargo test (running bash 20s)");
    state.apply(&call("web_fetch", "web_fetch https://x.y", "c"), 30_000);
    state.apply(&result("web_fetch", "c"), 31_000);
    assert_eq!(
        last(&state, 60_000),
        "web_fetch https://x.y (running bash 29s)"
    );
    state.apply(&result("bash", "b"), 61_000);
    assert_eq!(
        last(&state, 144_000),
        "web_fetch https://x.y (thinking 1m 23s)"
    );
    let span = event(json!({"type": "span_start", "spanId": "s", "name": "model.turn"}));
    state.apply(&span, 144_000);
    assert_eq!(
        last(&state, 144_000),
        "web_fetch https://x.y (thinking 1m 23s)"
    );
    state.drain();
    assert_eq!(last(&state, 144_000), DEPLOY);
}

#[test]
fn events_change_the_activity() {
    let note = |kind, text: &str| EventBody::note(kind, text.to_owned());
    let mut state = card();
    for (event, activity, is_running) in [
        (
            event(json!({"type": "input", "text": "x"})),
            "Setting up.",
            false,
        ),
        (
            note(NoteKind::Queued, "2nd in the queue"),
            "2nd in the queue",
            false,
        ),
        (
            note(NoteKind::SpansDropped, "dropped"),
            "2nd in the queue",
            false,
        ),
        (meta(), "2nd in the queue", true),
        (
            event(json!({"type": "assistant", "text": "\n I look.\nThen I write."})),
            "I look.",
            true,
        ),
        (
            note(NoteKind::WrapUp, "the budget is nearly spent"),
            "the budget is nearly spent",
            true,
        ),
        (
            event(
                json!({"type": "skill_use", "skill": "rust", "description": "", "agent": "coding", "bodyBytes": 1}),
            ),
            "skill rust",
            true,
        ),
        (
            event(
                json!({"type": "pr_opened", "url": "https://x.y", "number": 7, "created": false}),
            ),
            "pull request #7 updated",
            true,
        ),
        (
            event(json!({"type": "answer", "text": "x"})),
            "pull request #7 updated",
            true,
        ),
    ] {
        state.apply(&event, 1_000);
        let (title, body) = shown(&frame(&state, 1_000));
        assert_eq!(body, format!("live run\n{activity}"));
        assert_eq!(
            title.starts_with(":arrows_counterclockwise:"),
            is_running,
            "{activity}"
        );
    }
    state.status("[x] a\n[ ] b", 1_000);
    state.status("3rd in the queue", 1_000);
    assert_eq!(
        shown(&frame(&state, 1_000)).1,
        "live run\n☑ a\n☐ b\n3rd in the queue"
    );
    let mut resumed = card();
    resumed.apply(&note(NoteKind::Resumed, "resumed"), 1_000);
    assert!(
        shown(&frame(&resumed, 1_000))
            .0
            .starts_with(":arrows_counterclockwise:")
    );
}

#[test]
fn title_shows_the_cost_and_escapes_names() {
    let mut state = card();
    state.head.agent = "a*<b>`&\n".into();
    state.head.model = Some("p/`m` <x>".into());
    state.head.url = Some("/runs/r1".into());
    state.head.run = None;
    state.cost(5_000);
    let frame_unknown = frame(&state, 1_000);
    let (title, body) = shown(&frame_unknown);
    assert_eq!(
        title,
        ":eyes: *a&lt;b&gt;&amp;* `p/m &lt;x&gt;` 0s · &lt;$0.01"
    );
    assert_eq!(body, "Setting up.");
    assert!(!has_button(&frame_unknown));
    state.close(CardOutcome::Completed, 2_000);
    state.cost(1_239_999);
    let frame_closed = frame(&state, 2_000);
    assert!(shown(&frame_closed).0.ends_with(" 1s · $1.23"));
    assert_eq!(frame_closed.blocks.as_array().unwrap().len(), 1);
}

#[test]
fn frames_differ_only_in_what_is_visible() {
    let state = running();
    let mut later = state.clone();
    later.apply(
        &event(json!({"type": "span_start", "spanId": "s", "name": "model.turn"})),
        8_500,
    );
    later.apply(&call("bash", "$ cargo test", "c"), 8_600);
    assert_eq!(frame(&state, 8_000), frame(&later, 8_999));
    assert_ne!(frame(&state, 8_000), frame(&later, 9_000));
}

proptest! {
    #[test]
    fn any_body_is_within_its_bound(items in "(\\[[ x~]\\] [a-z ]{1,90} · ){0,30}", reason in "\\PC{0,500}", now in any::<i64>()) {
        let mut state = running();
        state.apply(&call("update_status", &format!("update_status {items}"), "u"), 1);
        state.apply(&event(json!({"type": "assistant", "text": reason})), 1);
        let live = shown(&frame(&state, now)).1;
        state.close(CardOutcome::Refused { reason }, now);
        let closed = shown(&frame(&state, now)).1;
        prop_assert!(live.chars().count() <= BODY_MAX_CHARS && closed.chars().count() <= BODY_MAX_CHARS);
    }
}
