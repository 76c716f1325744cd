//! Runs that exceed their limits: large outputs, a model that stays overloaded, an expensive answer.

use ars_agent::{ModelTurn, Part, StopReason, Turn, Usage, context::estimate_turns};
use serde_json::json;

use super::{call, ids, message_ids, request, steps_made, texts};

/// Word in a request for such a run.
pub(crate) const BOUNDED: &str = "bounded";
/// The file with a large output.
pub(crate) const LARGE: &str = "ledger.txt";

/// Steps in a run without a limit.
const STEPS: usize = 20;
/// The step at which the first model is overloaded.
const OVERLOADED_AT: usize = 4;
/// The step at which a model attempt breaks off after it reported usage.
const BREAKS_AT: usize = 2;
/// The step in the second request with an answer above the run's cap.
const DEAR_AT: usize = 3;
const DEAR: &str = "m1";

/// Text in a summary request, and in a summary before the step count.
const SUM_UP: &str = "outgrow your window";
const SO_FAR: &str = "Steps so far: ";

/// Tokens in a call besides the conversation, and in the answer.
const FIXED_TOKENS: u64 = 500;
const SAID_TOKENS: u64 = 200;
const DEAR_TOKENS: u64 = 20_000;

/// Returns the step count, including steps replaced by a summary.
pub(super) fn progress(turns: &[Turn]) -> usize {
    let first = request(turns);
    let summed_up = first.rsplit_once(SO_FAR).map_or("0", |(_, rest)| rest);
    let digits: String = summed_up.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<usize>().unwrap_or_default() + steps_made(turns)
}

/// Returns whether the model is overloaded at this point in the conversation.
pub(crate) fn is_overloaded(model: &str, turns: &[Turn]) -> bool {
    model == "m" && is_asked(turns) && progress(turns) == OVERLOADED_AT
}

/// Returns the usage of an attempt that breaks off before the attempt that succeeds.
pub(crate) fn broken(turns: &[Turn]) -> Option<Usage> {
    (is_asked(turns) && progress(turns) == BREAKS_AT).then(|| Usage {
        output_tokens: 1,
        ..read(turns)
    })
}

fn is_asked(turns: &[Turn]) -> bool {
    request(turns).contains(BOUNDED)
}

pub(super) fn answer(turns: &[Turn], may_call_tools: bool) -> ModelTurn {
    let step = progress(turns);
    let heard = message_ids(turns);
    let mut usage = Usage {
        output_tokens: SAID_TOKENS,
        ..read(turns)
    };
    let says = |text: String| ModelTurn {
        parts: vec![Part::text(text)],
        stop: StopReason::EndTurn,
        usage,
    };
    let is_summary = texts(turns.last()).iter().any(|text| text.contains(SUM_UP));
    if !may_call_tools && is_summary {
        return says(format!("Heard: {heard}. {SO_FAR}{step}."));
    }
    if !may_call_tools || step >= STEPS {
        return says(format!("Done. Heard: {heard}"));
    }
    let asked = ids(&request(turns)).into_iter().next().unwrap_or_default();
    if asked == DEAR && step == DEAR_AT {
        usage.output_tokens = DEAR_TOKENS;
    }
    let id = |index| format!("{asked}t{step}c{index}");
    let mut parts = vec![call(id(0), "read_file", json!({ "path": LARGE }))];
    if step % 2 == 1 {
        parts.push(call(
            id(1),
            "bash",
            json!({ "command": format!("effect {}", id(1)) }),
        ));
    }
    ModelTurn {
        parts,
        stop: StopReason::ToolUse,
        usage,
    }
}

fn read(turns: &[Turn]) -> Usage {
    Usage {
        input_tokens: FIXED_TOKENS + estimate_turns(turns),
        ..Usage::default()
    }
}
