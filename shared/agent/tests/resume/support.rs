//! Reclaimed runs with the fields that a test needs.

use ars_agent::{Effects, Part, Role, ToolContent, Turn, resume::encode};
use ars_wire::{
    ledger::{Call, Reclaimed, StepRecord},
    transcript::Transcript,
};
use serde_json::{Map, Value, json};

/// The new process's tools.
pub fn effects(tool: &str) -> Option<Effects> {
    match tool {
        "read_file" | "search" | "web_fetch" => Some(Effects::None),
        "write_file" | "update_status" | "submit_verdict" => Some(Effects::RerunSafe),
        "bash" | "edit_file" => Some(Effects::Mutating),
        _ => None,
    }
}

/// A model's turn that makes these calls, `(id, tool)`.
pub fn calls(calls: &[(&str, &str)]) -> Turn {
    let call = |(id, tool): &(&str, &str)| Part::ToolCall {
        call_id: (*id).into(),
        name: (*tool).into(),
        input: json!({ "for": id }),
        extra: Map::new(),
    };
    let parts = std::iter::once(Part::text("let me see")).chain(calls.iter().map(call));
    Turn {
        role: Role::Assistant,
        parts: parts.collect(),
    }
}

/// The user turn that answers these calls.
pub fn results(ids: &[&str]) -> Turn {
    let result = |id: &&str| Part::ToolResult {
        call_id: (*id).into(),
        ok: true,
        content: vec![ToolContent::Text {
            text: format!("result of {id}"),
        }],
    };
    Turn {
        role: Role::User,
        parts: ids.iter().map(result).collect(),
    }
}

pub fn request() -> Turn {
    Turn::text(Role::User, "do it")
}

/// Returns a step record at `turns` turns with these calls in flight.
pub fn record(step: u64, turns: u64, in_flight: &[(&str, &str)]) -> StepRecord {
    let call = |(id, tool): &(&str, &str)| Call {
        call_id: (*id).into(),
        tool: (*tool).into(),
    };
    StepRecord {
        step,
        seq: 20,
        turn_index: turns,
        in_flight: in_flight.iter().map(call).collect(),
        inbox_consumed_seq: 2,
        remaining_ms: 60_000,
        turn: 3,
        iteration: 4,
        extra: Map::from_iter([("loop".to_owned(), json!({ "warned": true }))]),
    }
}

pub fn transcript(turns: &[Turn]) -> Transcript {
    let encoded = encode(0, turns, 0).unwrap();
    Transcript {
        rows: encoded.rows,
        attachments: encoded.attachments,
    }
}

/// Returns a reclaimed run, with `changes` in place of a healthy row's fields.
pub fn reclaimed(from: &str, last_step: Option<StepRecord>, changes: Value) -> Reclaimed {
    let mut row = json!({ "runId": "r1", "threadKey": "http:t1", "ownerGen": "g2", "leaseUntil": 1, "startedAt": 0,
        "phase": "live", "stop": null, "meta": {}, "card": null, "system": "You are", "tools": [], "state": {} });
    if let (Value::Object(row), Value::Object(changes)) = (&mut row, changes) {
        row.extend(changes);
    }
    let run =
        json!({ "row": row, "reclaimedFrom": from, "lastStep": null, "inbox": [], "jobs": [] });
    Reclaimed {
        last_step,
        ..serde_json::from_value(run).unwrap()
    }
}
