//! Short constructors for inputs and actions.

use ars_agent::{
    Action, Budget, CLOSING_CALL_MS, Input, Loop, ModelTurn, Part, Purpose, Role, RunOutcome,
    Sandbox, Steered, StopReason, ToolCall, ToolContent, ToolOutcome, Turn, Usage,
};
use ars_events::{EventBody, NoteKind};
use ars_types::RunStatus;
use serde_json::json;

pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const START: i64 = 1_000_000;
/// The request in every run here.
pub(crate) const REQUEST: &str = "fix it";

pub(crate) fn new_loop(turns: u32) -> Loop {
    let budget = Budget {
        turns,
        time_ms: 20 * MINUTE,
    };
    Loop::new(budget, vec![Turn::text(Role::User, REQUEST)], START)
}

pub(crate) fn used(input: Input, usage: Usage) -> Input {
    match input {
        Input::Model(turn) => Input::Model(ModelTurn { usage, ..turn }),
        other => other,
    }
}

pub(crate) fn says(text: &str, stop: StopReason) -> Input {
    Input::Model(ModelTurn {
        parts: vec![Part::text(text)],
        stop,
        usage: Usage::default(),
    })
}

pub(crate) fn asks(tools: &[&str]) -> Input {
    let parts = tools
        .iter()
        .enumerate()
        .map(|(index, name)| Part::ToolCall {
            call_id: format!("c{index}"),
            name: (*name).into(),
            input: json!({}),
            extra: serde_json::Map::default(),
        });
    Input::Model(ModelTurn {
        parts: parts.collect(),
        stop: StopReason::ToolUse,
        usage: Usage::default(),
    })
}

/// Builds the outcome when a call ran in the sandbox.
pub(crate) fn outcome(ok: bool, infra: bool) -> ToolOutcome {
    let content = vec![ToolContent::Text {
        text: "pipe broke\nmore".into(),
    }];
    let sandbox = if infra {
        Sandbox::Failed
    } else {
        Sandbox::Works
    };
    ToolOutcome {
        call_id: "c0".into(),
        ok,
        sandbox,
        content,
    }
}

/// A call in the sandbox that succeeds.
pub(crate) fn done() -> Input {
    Input::Tools(vec![outcome(true, false)])
}

/// A call that the sandbox itself fails.
pub(crate) fn broke() -> Input {
    Input::Tools(vec![outcome(false, true)])
}

/// Feeds the inputs in order, and returns the actions after the last.
pub(crate) fn play<const N: usize>(run: &mut Loop, inputs: [Input; N]) -> Vec<Action> {
    inputs
        .into_iter()
        .fold(Vec::new(), |_, input| run.step(input, START))
}

/// Answers the only call in `asks(&["bash"])` with so much text.
pub(crate) fn output(chars: usize) -> Input {
    Input::Tools(vec![ToolOutcome {
        content: vec![ToolContent::Text {
            text: "o".repeat(chars),
        }],
        ..outcome(true, false)
    }])
}

pub(crate) fn results_of(calls: &[ToolCall], chars: usize, infra: bool) -> Input {
    let content = vec![ToolContent::Text {
        text: "o".repeat(chars),
    }];
    let outcomes = calls.iter().map(|call| ToolOutcome {
        call_id: call.call_id.clone(),
        content: content.clone(),
        ..outcome(!infra, infra)
    });
    Input::Tools(outcomes.collect())
}

pub(crate) fn message(seq: u64, text: &str) -> Steered {
    Steered {
        seq: Some(seq),
        text: text.into(),
        attachments: Vec::new(),
        files: Vec::new(),
        source: None,
    }
}

pub(crate) fn notes(actions: &[Action]) -> Vec<NoteKind> {
    let kinds = actions.iter().filter_map(|action| match action {
        Action::Publish(EventBody::RunNote { kind, .. }) => Some(*kind),
        _ => None,
    });
    kinds.collect()
}

/// Returns the texts of the `input` events.
pub(crate) fn inputs(actions: &[Action]) -> Vec<&str> {
    let texts = actions.iter().filter_map(|action| match action {
        Action::Publish(EventBody::Input { text, .. }) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn ending(actions: &[Action]) -> Option<&RunOutcome> {
    match actions.last() {
        Some(Action::Finish(ending)) => Some(ending),
        _ => None,
    }
}

pub(crate) fn status(actions: &[Action]) -> RunStatus {
    ending(actions)
        .unwrap_or_else(|| panic!("no ending in {actions:?}"))
        .status
}

pub(crate) fn answer(actions: &[Action]) -> &str {
    let ending = ending(actions).unwrap_or_else(|| panic!("no ending in {actions:?}"));
    ending.answer.as_deref().unwrap_or_default()
}

pub(crate) fn is_call(actions: &[Action], wanted: Purpose) -> bool {
    matches!(actions.last(), Some(Action::CallModel { purpose, .. }) if *purpose == wanted)
}

pub(crate) fn closing_call(actions: &[Action]) -> bool {
    matches!(
        actions.last(),
        Some(Action::CallModel {
            purpose: Purpose::Close,
            limit_ms: CLOSING_CALL_MS
        })
    )
}

/// All parts in order with their speakers, as a provider receives them.
pub(crate) fn flat(turns: &[Turn]) -> Vec<(Role, &Part)> {
    turns
        .iter()
        .flat_map(|turn| turn.parts.iter().map(|part| (turn.role, part)))
        .collect()
}

pub(crate) fn texts(turns: &[Turn]) -> String {
    let texts = turns
        .iter()
        .flat_map(|turn| &turn.parts)
        .filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
    texts.collect::<Vec<_>>().join("\n")
}

pub(crate) fn call_ids(turn: &Turn) -> Vec<String> {
    let ids = turn.parts.iter().filter_map(|part| match part {
        Part::ToolCall { call_id, .. } => Some(call_id.clone()),
        _ => None,
    });
    ids.collect()
}

pub(crate) fn result_ids(turn: &Turn) -> Vec<String> {
    let ids = turn.parts.iter().filter_map(|part| match part {
        Part::ToolResult { call_id, .. } => Some(call_id.clone()),
        _ => None,
    });
    ids.collect()
}

/// The providers' rule: results follow their calls at once, and nothing else is a result.
pub(crate) fn is_paired(turns: &[Turn]) -> bool {
    turns.first().is_none_or(|turn| result_ids(turn).is_empty())
        && turns
            .windows(2)
            .all(|pair| call_ids(&pair[0]) == result_ids(&pair[1]))
}
