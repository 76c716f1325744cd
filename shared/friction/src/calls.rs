//! Pairs tool calls with their results.
//!
//! By call id or span if both sides have them, else with the tool's oldest open call. A result with
//! an unknown id never pairs with a call that has another id: the right call was lost with a
//! trimmed head.

use std::collections::{HashMap, VecDeque};

use crate::{
    install::installer,
    intervals::Interval,
    reading::{CallKey, Event, EventKind},
    spans::{Span, SpanTime},
    turns::MODEL_TURN,
    work,
};

/// Tool that runs shell commands.
const SHELL_TOOL: &str = "bash";
/// Tools that change files.
const EDIT_TOOLS: [&str; 2] = ["edit_file", "write_file"];
/// The note from a process that continues a run.
const RESUMED: &str = "resumed";
/// Prefix before the command in a shell call's summary.
const PROMPT: &str = "$ ";

/// A tool call with the outcome, or a result without a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    /// Index of the anchoring event.
    pub(crate) index: usize,
    /// The call itself is in the stream.
    pub(crate) called: bool,
    pub(crate) at: Option<i64>,
    pub(crate) tool: &'a str,
    pub(crate) summary: &'a str,
    /// The command installs or clones.
    pub(crate) installs: bool,
    /// The call repeats a failed call, with no edit in between.
    pub(crate) retry: bool,
    /// The process ended before the result.
    pub(crate) interrupted: bool,
    pub(crate) outcome: Option<Outcome>,
}

/// How a call turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) ok: bool,
    pub(crate) infra: bool,
    /// The service answered for a process that had ended, so the outcome is not the tool's.
    pub(crate) synthetic: bool,
    pub(crate) interval: Option<Interval>,
}

/// Keys by which an open call is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key<'a> {
    Call(&'a str),
    Span(&'a str),
    /// A call without id and span.
    Nameless(&'a str),
    /// Any call to the tool.
    Tool(&'a str),
}

/// Returns every call in order, with orphaned results at their place.
pub(crate) fn pair<'a>(events: &[Event<'a>], spans: &[Span<'a>]) -> Vec<Call<'a>> {
    let mut pairing = Pairing::new(spans);
    for (index, event) in events.iter().enumerate() {
        match event.kind {
            EventKind::Call {
                tool,
                summary,
                id,
                command,
            } => {
                pairing.call(index, event.at, tool, summary, id, command);
            }
            EventKind::Result {
                tool,
                ok,
                infra,
                id,
            } => {
                pairing.result(
                    index,
                    event.at,
                    tool,
                    Outcome {
                        ok,
                        infra,
                        synthetic: false,
                        interval: None,
                    },
                    id,
                );
            }
            EventKind::Note { kind: RESUMED, .. } => pairing.resumed(),
            EventKind::SpanStart {
                name: MODEL_TURN, ..
            } => pairing.is_settling = false,
            _ => {}
        }
    }
    pairing.calls
}

/// A call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// No edit changes the outcome: the environment failed, or an edit itself did.
    Lasting,
    /// It may succeed after an edit. Holds the number of edits before it began.
    Editable(u64),
}

struct Pairing<'a> {
    calls: Vec<Call<'a>>,
    /// The span that each call names, for timing.
    named_span: Vec<Option<&'a str>>,
    /// How many edits had succeeded before each call began.
    edits_before: Vec<u64>,
    open: HashMap<Key<'a>, VecDeque<usize>>,
    failed: HashMap<(&'a str, &'a str), Failure>,
    /// Number of successful edits so far.
    edits: u64,
    /// Number of calls before the last resume.
    resumed_at: usize,
    /// A resumed process settles calls, some of which were lost with the stream's end.
    is_settling: bool,
    span_times: HashMap<&'a str, Interval>,
}

impl<'a> Pairing<'a> {
    fn new(spans: &[Span<'a>]) -> Self {
        let of_a_tool =
            |span: &&Span<'a>| span.name.starts_with("tool.") || span.name.starts_with("mcp.");
        let timed = spans
            .iter()
            .filter(of_a_tool)
            .filter_map(|span| match span.time {
                SpanTime::Ended(interval, _) => Some((span.id, interval)),
                SpanTime::Open(_) | SpanTime::Untimed => None,
            });
        Self {
            calls: Vec::new(),
            named_span: Vec::new(),
            edits_before: Vec::new(),
            open: HashMap::new(),
            failed: HashMap::new(),
            edits: 0,
            resumed_at: 0,
            is_settling: false,
            span_times: timed.collect(),
        }
    }

    fn call(
        &mut self,
        index: usize,
        at: Option<i64>,
        tool: &'a str,
        summary: &'a str,
        id: CallKey<'a>,
        command: Option<&'a str>,
    ) {
        let position = self.calls.len();
        let shell = (tool == SHELL_TOOL)
            .then(|| command.or(summary.strip_prefix(PROMPT)))
            .flatten();
        self.calls.push(Call {
            index,
            called: true,
            at,
            tool,
            summary,
            installs: shell.is_some_and(|command| installer(command).is_some()),
            retry: self.repeats(tool, summary),
            interrupted: self.is_settling,
            outcome: None,
        });
        self.named_span.push(id.span);
        self.edits_before.push(self.edits);
        let nameless = (id == CallKey::default()).then_some(Key::Nameless(tool));
        let keys = [
            id.call.map(Key::Call),
            id.span.map(Key::Span),
            nameless,
            Some(Key::Tool(tool)),
        ];
        for key in keys.into_iter().flatten() {
            self.open.entry(key).or_default().push_back(position);
        }
    }

    fn result(
        &mut self,
        index: usize,
        at: Option<i64>,
        tool: &'a str,
        mut outcome: Outcome,
        id: CallKey<'a>,
    ) {
        let position = self.find(tool, id).unwrap_or_else(|| {
            self.calls.push(Call {
                index,
                called: false,
                at: None,
                tool,
                summary: "",
                installs: false,
                retry: false,
                interrupted: false,
                outcome: None,
            });
            self.named_span.push(None);
            self.edits_before.push(self.edits);
            self.calls.len() - 1
        });
        let call = &mut self.calls[position];
        let measured = id
            .span
            .into_iter()
            .chain(self.named_span[position])
            .find_map(|span| self.span_times.get(span).copied());
        // A call that ran again has a span.
        outcome.synthetic = call.interrupted && measured.is_none();
        outcome.interval =
            measured.or_else(|| Interval::between(call.at, at).filter(|_| !outcome.synthetic));
        call.outcome = Some(outcome);
        let is_edit = EDIT_TOOLS.contains(&call.tool);
        if call.called && !outcome.synthetic && (!outcome.ok || outcome.infra) {
            let is_lasting = outcome.infra || is_edit;
            let editable = Failure::Editable(self.edits_before[position]);
            let failure = if is_lasting {
                Failure::Lasting
            } else {
                editable
            };
            self.failed.insert((call.tool, call.summary), failure);
        } else if outcome.ok && is_edit {
            self.edits += 1;
        }
    }

    /// Returns whether the same call failed before, and no edit since may have mended it.
    /// To reproduce, fix and run again is work, not friction.
    fn repeats(&self, tool: &'a str, summary: &'a str) -> bool {
        self.failed
            .get(&(tool, summary))
            .is_some_and(|failure| match failure {
                Failure::Lasting => true,
                Failure::Editable(edits) => *edits == self.edits,
            })
    }

    /// Marks the calls in flight as interrupted, each call at most once.
    fn resumed(&mut self) {
        for call in &mut self.calls[self.resumed_at..] {
            work::step();
            call.interrupted = call.outcome.is_none();
        }
        self.resumed_at = self.calls.len();
        self.is_settling = true;
    }

    fn find(&mut self, tool: &'a str, id: CallKey<'a>) -> Option<usize> {
        if id == CallKey::default() {
            return self.oldest(Key::Tool(tool));
        }
        let by_call = id.call.and_then(|call| self.oldest(Key::Call(call)));
        let by_span = || id.span.and_then(|span| self.oldest(Key::Span(span)));
        by_call
            .or_else(by_span)
            .or_else(|| self.oldest(Key::Nameless(tool)))
    }

    /// Returns a key's oldest open call. Answered calls are removed on the way, each once per key.
    fn oldest(&mut self, key: Key<'a>) -> Option<usize> {
        let queue = self.open.get_mut(&key)?;
        while let Some(position) = queue.pop_front() {
            work::step();
            if self.calls[position].outcome.is_none() {
                return Some(position);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{reading, spans};

    fn paired(events: &[Value]) -> Vec<(usize, bool, Option<bool>)> {
        let events: Vec<_> = events.iter().map(reading::read).collect();
        let calls = pair(&events, &spans::read(&events));
        calls
            .into_iter()
            .map(|call| (call.index, call.called, call.outcome.map(|end| end.ok)))
            .collect()
    }

    fn call(id: &Value) -> Value {
        with(
            json!({"type": "tool_call", "tool": "bash", "summary": "$ ls"}),
            id,
        )
    }

    fn result(ok: bool, id: &Value) -> Value {
        with(json!({"type": "tool_result", "tool": "bash", "ok": ok}), id)
    }

    fn with(mut event: Value, id: &Value) -> Value {
        for (name, value) in id.as_object().unwrap() {
            event[name] = value.clone();
        }
        event
    }

    #[test]
    fn ids_pair_in_any_order() {
        let (a, b) = (json!({"callId": "a"}), json!({"callId": "b"}));
        let events = [call(&a), call(&b), result(false, &b), result(true, &a)];
        assert_eq!(
            paired(&events),
            [(0, true, Some(true)), (1, true, Some(false))]
        );
    }

    #[test]
    fn spans_pair_without_call_ids() {
        let (a, b) = (json!({"spanId": "s1"}), json!({"spanId": "s2"}));
        let events = [call(&a), call(&b), result(false, &b), result(true, &a)];
        assert_eq!(
            paired(&events),
            [(0, true, Some(true)), (1, true, Some(false))]
        );
    }

    #[test]
    fn nameless_result_pairs_with_oldest_open_call() {
        let none = &json!({});
        let events = [
            call(&json!({"callId": "a"})),
            call(none),
            result(true, &json!({"callId": "a"})),
            result(false, none),
        ];
        assert_eq!(
            paired(&events),
            [(0, true, Some(true)), (1, true, Some(false))]
        );
        let events = [call(&json!({"callId": "a"})), result(false, none)];
        assert_eq!(paired(&events), [(0, true, Some(false))]);
    }

    #[test]
    fn result_of_a_lost_call_stays_unpaired() {
        let events = [
            call(&json!({"callId": "a"})),
            result(false, &json!({"callId": "lost"})),
        ];
        assert_eq!(paired(&events), [(0, true, None), (1, false, Some(false))]);
    }

    #[test]
    fn span_times_win_over_stamps() {
        let events = [
            with(call(&json!({"spanId": "s1"})), &json!({"at": 0})),
            json!({"type": "span_end", "spanId": "s1", "name": "tool.bash", "startedAt": 5, "durationMs": 10}),
            with(result(true, &json!({"spanId": "s1"})), &json!({"at": 100})),
        ];
        let events: Vec<_> = events.iter().map(reading::read).collect();
        let calls = pair(&events, &spans::read(&events));
        assert_eq!(
            calls[0].outcome.unwrap().interval,
            Some(Interval { start: 5, end: 15 })
        );
    }
}
