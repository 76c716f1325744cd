//! `kill -9` at named points: a new process finishes the run or reports truthfully how it ended.

use ars_tests_drills::{Bot, Coding, Machine, TIMEOUT, Traces, comes_true, secrets, until};
use futures::StreamExt as _;
use serde_json::json;

use crate::{
    PROGRAM,
    checks::{no_command_ran_twice, only_record, require, work_is_done},
    points::{BEGINNING, ELSEWHERE, ENDING, End, MIDST, Point},
};

/// Variable that selects the full form.
const FULL: &str = "DRILLS_FULL";
/// Repetitions per point in the full form.
const FULL_TIMES: usize = 5;
/// Concurrent drills: half the time each waits for leases.
const AT_ONCE: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_before_the_first_step_closes_the_run() {
    drill_all(BEGINNING).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_during_work_repeats_no_command() {
    drill_all(MIDST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_at_the_end_leaves_one_record() {
    drill_all(ENDING).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_kill_during_reclaim_is_survived() {
    drill_all(ELSEWHERE).await;
}

/// Runs every point and collects the failures.
async fn drill_all(points: &[Point]) {
    let is_full = std::env::var_os(FULL).is_some();
    let times = if is_full { FULL_TIMES } else { 1 };
    let chosen = points
        .iter()
        .filter(|point| is_full || !is_covered(points, point));
    let drills = chosen.flat_map(|point| (1..=times).map(move |time| (point, time)));
    let drilled = futures::stream::iter(drills).map(|((deaths, end), time)| async move {
        let problem = drill(deaths, *end).await.err()?;
        Some(format!(
            "{} (time {time}): {problem}",
            deaths.join(", then ")
        ))
    });
    let wrong: Vec<_> = drilled
        .buffer_unordered(AT_ONCE)
        .filter_map(|problem| async { problem })
        .collect()
        .await;
    assert!(
        wrong.is_empty(),
        "{} drills failed:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Whether the kill after the same call has the same outcome.
/// The simulation kills the core before and after every call.
fn is_covered(points: &[Point], (deaths, end): &Point) -> bool {
    let [death] = deaths else { return false };
    let after = death.replace(".before:", ".after:");
    after != *death
        && points
            .iter()
            .any(|(other, outcome)| *other == [after.as_str()] && outcome == end)
}

async fn drill(deaths: &[&str], end: End) -> Result<(), String> {
    let machine = Machine::new(PROGRAM, Coding::answer).await;
    let (mut asked, mut logs) = (None, Vec::new());
    for death in deaths {
        let mut bot = machine.bot_that_dies_at(death).await;
        if asked.is_none() {
            asked = Some(bot.ask(&json!({ "text": "do the work", "async": true })));
        }
        if let Err(instead) = dies(&machine, &mut bot).await {
            let answer = match asked.take_if(|asked| asked.is_finished()) {
                Some(asked) => Some(asked.await),
                None => None,
            };
            return Err(format!(
                "{death}: {instead}; the request's answer: {answer:?}\n{}",
                bot.log()
            ));
        }
        logs.push(bot.log());
        lapse(&machine).await;
    }
    let mut last = machine.bot().await;
    let is_over = tokio::time::timeout(TIMEOUT, over(&machine)).await.is_ok();
    let status = last.terminate().await;
    logs.push(last.log());
    if !is_over {
        return Err(format!("the run does not end\n{}", logs.join("\n---\n")));
    }
    let said = secrets::seen_in(&logs.concat());
    let checked = check(&machine, end)
        .and_then(|()| {
            require(status.success(), || {
                format!("the last process ended with {status}")
            })
        })
        .and_then(|()| require(said.is_empty(), || format!("secrets in the log: {said:?}")));
    checked.map_err(|problem| format!("{problem}\n{}", logs.join("\n---\n")))
}

/// Waits for the bot's death; an error when the run ends first, or neither comes.
pub async fn dies(machine: &Machine, bot: &mut Bot) -> Result<(), String> {
    let mut was_live = false;
    let (mut is_dead, mut is_idle) = (false, false);
    let came = comes_true(|| {
        is_dead = bot.is_dead();
        let is_live = !machine.state.live().is_empty();
        was_live |= is_live;
        is_idle = was_live && !is_live;
        is_dead || is_idle
    })
    .await;
    require(came, || {
        format!("the bot lives on, with {:?} live", machine.state.live())
    })?;
    // A run may end and its process die right after.
    let is_dead = is_dead || tokio::time::timeout(TIMEOUT, bot.ended()).await.is_ok();
    require(is_dead, || "the run ended without a death".into())
}

/// Lets dead processes' leases lapse.
pub async fn lapse(machine: &Machine) {
    machine.state.shorten_leases();
    let latest = machine
        .state
        .live()
        .iter()
        .filter_map(|run| run["leaseUntil"].as_i64())
        .max();
    until("the leases lapse", || {
        latest.is_none_or(|latest| now() > latest)
    })
    .await;
}

fn now() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Waits until no run is live.
pub async fn over(machine: &Machine) {
    until("no run is live", || machine.state.live().is_empty()).await;
}

fn check(machine: &Machine, end: End) -> Result<(), String> {
    if end == End::NoRun {
        no_command_ran_twice(machine)?;
        let records = machine.state.records();
        return require(records.is_empty(), || {
            format!("there is a record: {records:?}")
        });
    }
    let record = only_record(machine)?;
    let status = record["status"].as_str().unwrap_or_default();
    let is_as_told = match end {
        End::Completed => status == "completed",
        End::Interrupted => status == "interrupted",
        End::EitherWay => ["completed", "interrupted"].contains(&status),
        End::NoRun => false,
    };
    require(is_as_told, || format!("{status} instead of {end:?}"))?;
    if status == "completed" {
        work_is_done(&record, &Traces::read(machine), &Coding::commands())
    } else {
        Ok(())
    }
}
