//! Settles each call that was in flight when a run lost its process.
//!
//! See docs/reference/ledger.md#resume. A call runs again only where that is harmless. For any
//! other call the model learns that the effects are unknown. Not here: running calls.

use ars_events::{EventBody, NoteKind};

use crate::{Effects, Sandbox, ToolCall, ToolContent, ToolOutcome};

/// Tools that change something and may run again all the same.
/// The list is closed: a tool's own word is not enough.
pub const RERUN_SAFE: [&str; 5] = [
    "write_file",
    "update_status",
    "submit_verdict",
    "submit_pr_description",
    "submit_dispositions",
];

/// The result for a call with unknown effects.
const UNKNOWN: &str = "Note from the service: the process that ran this call was replaced before the call's result \
    was stored. The call may have had its effect, a part of it, or none. Check the present state before you repeat it.";

/// How a call is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settle {
    /// It runs again, without a second `tool_call` event.
    RunAgain,
    /// It does not run again, and the model has to check the effects.
    Unknown,
    /// The tool no longer exists.
    Gone,
}

/// A call that was under way, and how it is settled.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The call as the model made it.
    pub call: ToolCall,
    /// How the call is settled.
    pub how: Settle,
}

impl Settlement {
    /// Settles a call to a tool with these effects; none when the tool is not there.
    pub(super) fn new(call: ToolCall, effects: Option<Effects>) -> Self {
        let how = match effects {
            None => Settle::Gone,
            Some(Effects::None) => Settle::RunAgain,
            Some(Effects::RerunSafe | Effects::Mutating)
                if RERUN_SAFE.contains(&call.name.as_str()) =>
            {
                Settle::RunAgain
            }
            Some(Effects::RerunSafe | Effects::Mutating) => Settle::Unknown,
        };
        Self { call, how }
    }

    /// The synthetic result. A call that runs again has it only without an outcome.
    pub fn synthetic(&self) -> ToolOutcome {
        let text = match self.how {
            Settle::RunAgain | Settle::Unknown => UNKNOWN.to_owned(),
            Settle::Gone => format!(
                "Note from the service: the tool {} is unavailable since this run moved to another process.",
                self.call.name
            ),
        };
        ToolOutcome {
            call_id: self.call.call_id.clone(),
            ok: false,
            sandbox: Sandbox::Untouched,
            content: vec![ToolContent::Text { text }],
        }
    }
}

/// Returns a result per call, in call order: the second run's outcome, or the synthetic result.
pub fn outcomes(settlements: &[Settlement], mut reran: Vec<ToolOutcome>) -> Vec<ToolOutcome> {
    let mut settled = Vec::with_capacity(settlements.len());
    for settlement in settlements {
        let own = reran.iter().position(|outcome| {
            settlement.how == Settle::RunAgain && outcome.call_id == settlement.call.call_id
        });
        settled.push(own.map_or_else(|| settlement.synthetic(), |index| reran.remove(index)));
    }
    settled
}

/// Builds the `resumed` note for a run with these calls in flight.
pub fn resumed_note(settlements: &[Settlement]) -> EventBody {
    let of = |how| {
        settlements
            .iter()
            .filter(|settlement| settlement.how == how)
            .count()
    };
    let told = [
        (of(Settle::RunAgain), "run again"),
        (of(Settle::Unknown), "with unknown effects"),
        (of(Settle::Gone), "of tools no longer available"),
    ];
    let told: Vec<_> = told
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    let flight = match settlements.len() {
        0 => "no call was in flight".to_owned(),
        count => format!("{} in flight: {}", calls(count), told.join(", ")),
    };
    EventBody::note(
        NoteKind::Resumed,
        format!("resumed in another process; {flight}"),
    )
}

/// The `resumed` note before a step that had not started.
pub fn fresh_note(run: &[ToolCall]) -> EventBody {
    let summary = format!(
        "resumed in another process; {} had not started and run now",
        calls(run.len())
    );
    EventBody::note(NoteKind::Resumed, summary)
}

fn calls(count: usize) -> String {
    match count {
        1 => "1 call".to_owned(),
        count => format!("{count} calls"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str) -> ToolCall {
        ToolCall {
            call_id: id.into(),
            name: name.into(),
            input: json!({ "path": "a" }),
        }
    }

    fn outcome(id: &str) -> ToolOutcome {
        let content = vec![ToolContent::Text {
            text: format!("result of {id}"),
        }];
        ToolOutcome {
            call_id: id.into(),
            ok: true,
            sandbox: Sandbox::Works,
            content,
        }
    }

    fn words(outcome: &ToolOutcome) -> &str {
        match &outcome.content[0] {
            ToolContent::Text { text } => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_harmless_calls_run_again() {
        let table = [
            ("read_file", Some(Effects::None), Settle::RunAgain),
            ("web_fetch", Some(Effects::None), Settle::RunAgain),
            ("write_file", Some(Effects::RerunSafe), Settle::RunAgain),
            ("update_status", Some(Effects::RerunSafe), Settle::RunAgain),
            ("submit_verdict", Some(Effects::RerunSafe), Settle::RunAgain),
            (
                "submit_pr_description",
                Some(Effects::RerunSafe),
                Settle::RunAgain,
            ),
            (
                "submit_dispositions",
                Some(Effects::Mutating),
                Settle::RunAgain,
            ),
            ("edit_file", Some(Effects::Mutating), Settle::Unknown),
            ("bash", Some(Effects::Mutating), Settle::Unknown),
            (
                "calls_itself_safe",
                Some(Effects::RerunSafe),
                Settle::Unknown,
            ),
            ("write_file", None, Settle::Gone),
            ("mcp_tool", None, Settle::Gone),
        ];
        for (name, effects, how) in table {
            assert_eq!(Settlement::new(call("c", name), effects).how, how, "{name}");
        }
    }

    #[test]
    fn every_call_gets_one_result_in_call_order() {
        let settle = |id, name, effects| Settlement::new(call(id, name), effects);
        let settlements = [
            settle("1", "bash", Some(Effects::Mutating)),
            settle("2", "read_file", Some(Effects::None)),
            settle("3", "gone", None),
            settle("4", "write_file", Some(Effects::RerunSafe)),
            settle("5", "read_file", Some(Effects::None)),
        ];
        // The last call has no outcome, and two outcomes belong to calls that did not run again.
        let reran = vec![outcome("4"), outcome("1"), outcome("2"), outcome("9")];
        let settled = outcomes(&settlements, reran);
        let ids: Vec<_> = settled
            .iter()
            .map(|outcome| outcome.call_id.as_str())
            .collect();
        assert_eq!(ids, ["1", "2", "3", "4", "5"]);
        let ok: Vec<_> = settled.iter().map(|outcome| outcome.ok).collect();
        assert_eq!(ok, [false, true, false, true, false]);
        assert_eq!(words(&settled[1]), "result of 2");
        assert!(words(&settled[0]).contains("Check the present state"));
        assert!(words(&settled[2]).contains("the tool gone is unavailable"));
        assert_eq!(words(&settled[4]), words(&settled[0]));
        assert!(
            settled
                .iter()
                .all(|outcome| outcome.sandbox != Sandbox::Failed)
        );
    }

    #[test]
    fn the_note_counts_the_calls() {
        let summary = |note| match note {
            EventBody::RunNote {
                kind: NoteKind::Resumed,
                summary,
                ..
            } => summary,
            other => panic!("{other:?}"),
        };
        let settle = |how| Settlement {
            call: call("c", "t"),
            how,
        };
        let mixed = [
            Settle::Unknown,
            Settle::RunAgain,
            Settle::Gone,
            Settle::RunAgain,
        ]
        .map(settle);
        assert_eq!(
            summary(resumed_note(&[])),
            "resumed in another process; no call was in flight"
        );
        assert_eq!(
            summary(resumed_note(&mixed)),
            "resumed in another process; 4 calls in flight: 2 run again, 1 with unknown effects, \
             1 of tools no longer available"
        );
        assert_eq!(
            summary(resumed_note(&mixed[..1])),
            "resumed in another process; 1 call in flight: 1 with unknown effects"
        );
        assert_eq!(
            summary(fresh_note(&[call("c", "t")])),
            "resumed in another process; 1 call had not started and run now"
        );
    }
}
