//! Properties that hold for every finished run, whatever happens to its processes.

use std::collections::BTreeSet;

use ars_tests_drills::{Machine, Traces};
use serde_json::Value;

/// Returns the only record, from a run that broke no vendor rule and ran no command twice.
pub fn only_record(machine: &Machine) -> Result<Value, String> {
    let mut records = machine.state.records();
    no_command_ran_twice(machine)?;
    require(records.len() == 1, || format!("{} records", records.len()))?;
    let record = records.remove(0);
    stream_is_whole(&record)?;
    Ok(record)
}

/// Checks that vendor rules are kept, and each command left a line at most once.
pub fn no_command_ran_twice(machine: &Machine) -> Result<(), String> {
    let violations = machine.vendor.take_violations();
    require(violations.is_empty(), || {
        format!("requests break the vendor's rules: {violations:?}")
    })?;
    let lines = Traces::read(machine).lines;
    let distinct: BTreeSet<_> = lines.iter().collect();
    require(distinct.len() == lines.len(), || {
        format!("a command ran twice: {lines:?}")
    })
}

/// Events are numbered from 1 without a gap, and no call is announced twice. No call has two
/// results from the same process. A process that reclaims a run may settle a call that had a result
/// in the stream and not yet in the conversation: the second result then reports unknown effects.
fn stream_is_whole(record: &Value) -> Result<(), String> {
    let events = record["events"].as_array().unwrap();
    let seqs: Vec<_> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    let published = &record["eventCount"];
    let expected: Vec<_> = (1..=published.as_u64().unwrap_or_default()).collect();
    require(seqs == expected, || {
        format!("seqs {seqs:?} of {published} events")
    })?;
    require(record["truncated"] == false, || {
        "the record is said to be truncated".into()
    })?;
    let is_resumed = |event: &Value| event["type"] == "run_note" && event["kind"] == "resumed";
    once_each(events, "tool_call")?;
    events
        .split(is_resumed)
        .try_for_each(|part| once_each(part, "tool_result"))
}

fn once_each(events: &[Value], kind: &str) -> Result<(), String> {
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    let ids: Vec<_> = of_kind.map(|event| event["callId"].to_string()).collect();
    let distinct: BTreeSet<_> = ids.iter().collect();
    require(distinct.len() == ids.len(), || {
        format!("two {kind} events of one call: {ids:?}")
    })
}

/// There is a single answer, and each command ran once or has unknown effects.
pub fn work_is_done(record: &Value, traces: &Traces, wanted: &[String]) -> Result<(), String> {
    let answers = record["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "answer")
        .count();
    require(answers == 1, || format!("{answers} answers"))?;
    let commands: Vec<_> = traces
        .commands
        .iter()
        .map(|(line, _)| line.clone())
        .collect();
    require(commands == wanted, || format!("commands {commands:?}"))?;
    for (line, is_unknown) in &traces.commands {
        require(*is_unknown || traces.lines.contains(line), || {
            format!("{line} was not done and not reported")
        })?;
    }
    Ok(())
}

/// A condition as a result.
pub fn require(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}
