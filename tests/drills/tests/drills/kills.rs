//! `kill -9` at named points: whatever the moment, a new process finishes the run or says honestly how it ended.

use std::{collections::BTreeSet, time::Duration};

use ars_tests_drills::{Bot, Coding, Machine, PATIENCE, Traces, until};
use serde_json::{Value, json};

use crate::{
    PROGRAM,
    points::{BEGINNING, ELSEWHERE, ENDING, End, MIDST, Point},
};

/// Set for the full form.
const FULL: &str = "DRILLS_FULL";
/// How often each point is drilled in the full form.
const FULL_TIMES: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_killed_before_its_first_step_is_stored_is_closed_honestly_or_was_never_begun() {
    drill_all(BEGINNING).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_killed_in_the_midst_of_its_work_goes_on_and_repeats_no_command() {
    drill_all(MIDST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_killed_at_its_end_has_one_record_and_is_not_said_to_have_replied_when_nobody_knows() {
    drill_all(ENDING).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_killed_again_while_it_is_taken_over_goes_on_in_the_next_process() {
    drill_all(ELSEWHERE).await;
}

/// Every point, then what went wrong at which.
async fn drill_all(points: &[Point]) {
    let times = if std::env::var_os(FULL).is_some() { FULL_TIMES } else { 1 };
    let mut wrong = Vec::new();
    for (deaths, end) in points {
        for time in 1..=times {
            if let Err(problem) = drill(deaths, *end).await {
                wrong.push(format!("{} (time {time}): {problem}", deaths.join(", then ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} drills failed:\n{}", wrong.len(), wrong.join("\n"));
}

async fn drill(deaths: &[&str], end: End) -> Result<(), String> {
    let machine = Machine::new(PROGRAM, Coding::answer).await;
    let (mut asked, mut logs) = (None, Vec::new());
    for death in deaths {
        let mut bot = machine.bot_that_dies_at(death).await;
        if asked.is_none() {
            asked = Some(bot.ask(&json!({ "text": "do the work", "async": true })));
        }
        if !dies(&machine, &mut bot).await {
            let text = format!("{death} is not reached\n{}", bot.log().await);
            return Err(text);
        }
        logs.push(bot.log().await);
        lapse(&machine).await;
    }
    let mut last = machine.bot().await;
    let is_over = tokio::time::timeout(PATIENCE, over(&machine)).await.is_ok();
    let status = last.terminate().await;
    logs.push(last.log().await);
    if !is_over {
        return Err(format!("the run does not end\n{}", logs.join("\n---\n")));
    }
    let checked = check(&machine, end).and_then(|()| {
        status.success().then_some(()).ok_or_else(|| format!("the last process ended with {status}"))
    });
    checked.map_err(|problem| format!("{problem}\n{}", logs.join("\n---\n")))
}

/// Waits for the bot's death; false when its run ended first.
async fn dies(machine: &Machine, bot: &mut Bot) -> bool {
    let mut was_live = false;
    let (mut is_dead, mut is_idle) = (false, false);
    until("the bot dies or its run ends", || {
        is_dead = bot.is_dead();
        let is_live = !machine.state.live().is_empty();
        was_live |= is_live;
        is_idle = was_live && !is_live;
        is_dead || is_idle
    })
    .await;
    // A run may end and its process die right after.
    is_dead || tokio::time::timeout(Duration::from_secs(2), bot.ended()).await.is_ok()
}

/// Lets the leases of the dead lapse.
async fn lapse(machine: &Machine) {
    machine.state.shorten_leases();
    let latest = machine.state.live().iter().filter_map(|run| run["leaseUntil"].as_i64()).max();
    until("the leases lapse", || latest.is_none_or(|latest| now() > latest)).await;
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Waits until no run is live.
async fn over(machine: &Machine) {
    until("no run is live", || machine.state.live().is_empty()).await;
}

fn check(machine: &Machine, end: End) -> Result<(), String> {
    let records = machine.state.records();
    let traces = Traces::of(machine);
    let distinct: BTreeSet<_> = traces.lines.iter().collect();
    let violations = machine.vendor.take_violations();
    require(violations.is_empty(), || format!("requests break the vendor's rules: {violations:?}"))?;
    require(distinct.len() == traces.lines.len(), || format!("a command ran twice: {:?}", traces.lines))?;
    if end == End::NoRun {
        return require(records.is_empty(), || format!("there is a record: {records:?}"));
    }
    let [record] = records.as_slice() else { return Err(format!("{} records", records.len())) };
    let status = record["status"].as_str().unwrap_or_default();
    let is_as_told = match end {
        End::Completed => status == "completed",
        End::Interrupted => status == "interrupted",
        End::EitherWay => ["completed", "interrupted"].contains(&status),
        End::NoRun => false,
    };
    require(is_as_told, || format!("{status} instead of {end:?}"))?;
    stream_is_whole(record)?;
    if status == "completed" { work_is_done(record, &traces) } else { Ok(()) }
}

/// Events are numbered from 1 without a gap; no call is announced twice, and none has two results of one process. A
/// process that takes over may settle a call whose result was in the stream and not yet in the conversation: the model
/// then learns less than the stream showed, which the second result says.
fn stream_is_whole(record: &Value) -> Result<(), String> {
    let events = record["events"].as_array().unwrap();
    let seqs: Vec<_> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    let expected: Vec<_> = (1..=events.len() as u64).collect();
    require(seqs == expected, || format!("seqs {seqs:?}"))?;
    let is_resumed = |event: &Value| event["type"] == "run_note" && event["kind"] == "resumed";
    once_each(events, "tool_call")?;
    events.split(is_resumed).try_for_each(|part| once_each(part, "tool_result"))
}

fn once_each(events: &[Value], kind: &str) -> Result<(), String> {
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    let ids: Vec<_> = of_kind.map(|event| event["callId"].to_string()).collect();
    let distinct: BTreeSet<_> = ids.iter().collect();
    require(distinct.len() == ids.len(), || format!("two {kind} events of one call: {ids:?}"))
}

/// One answer, and each command done once or told to have effects that nobody knows.
fn work_is_done(record: &Value, traces: &Traces) -> Result<(), String> {
    let answers =
        record["events"].as_array().unwrap().iter().filter(|event| event["type"] == "answer").count();
    require(answers == 1, || format!("{answers} answers"))?;
    let commands: Vec<_> = traces.commands.iter().map(|(line, _)| line.clone()).collect();
    require(commands == Coding::commands(), || format!("commands {commands:?}"))?;
    for (line, is_unknown) in &traces.commands {
        require(*is_unknown || traces.lines.contains(line), || {
            format!("{line} was not done, and nobody was told")
        })?;
    }
    Ok(())
}

fn require(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}
