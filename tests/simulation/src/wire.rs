//! A process's connection to the stores: lost, repeated and late requests, and lost responses.

use std::sync::{Arc, atomic::Ordering};

use ars_bot_adapters::stores::{StoreResponse, Transport};
use ars_bot_ports::{StoreError, StoreErrorKind};
use ars_wire::state::{MemoryVerb, Route, RunVerb, TranscriptVerb};
use async_trait::async_trait;
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep, sleep_until};

use crate::{
    evidence::{Evidence, RunSeen, StepSeen},
    lifetime::Lifetime,
    script,
    world::{Reach, World},
};

/// Timeout for a store client.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A single process's connection.
pub(crate) struct Wire(pub(crate) Arc<Lifetime>);

#[async_trait]
impl Transport for Wire {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        let life = &self.0;
        let call = life.begin(route.path()).await;
        if route == Route::Runs(RunVerb::Claim) {
            note_claiming(&life.world, call.number, &body);
        }
        if route == Route::Runs(RunVerb::State) {
            note_ending(life, &body);
        }
        let permit_for = (route == Route::Runs(RunVerb::Finishing)).then(|| body.clone());
        if route == Route::Transcript(TranscriptVerb::Write) {
            note_asked(&life.world, &serde_json::from_str(&body).unwrap());
        }
        let outcome = match (call.late_ms, life.world.reach()) {
            // A tombstone that arrives after the final record replaces it, because the stores keep the last of two
            // puts. The writer is responsible for their order (docs/reference/runs.md#tombstones).
            (Some(_), _) if route == Route::Runs(RunVerb::Put) => Err(lost("no answer in time")),
            (Some(ms), _) => {
                deliver_late(&life.world, route, body, ms);
                Err(lost("no answer in time"))
            }
            (None, Reach::Unreachable) => Err(lost("unreachable")),
            (None, Reach::AnswerLost) => {
                deliver(&life.world, route, &body, false);
                Err(lost("connection lost"))
            }
            (None, Reach::Hanging { until, after }) => {
                if after {
                    deliver(&life.world, route, &body, false);
                }
                // A request that hung when the store recovered gets no response, because its
                // connection is dead.
                sleep_until(until.min(Instant::now() + TIMEOUT)).await;
                Err(lost("timed out"))
            }
            (None, Reach::Up) => {
                if call.is_repeated {
                    deliver(&life.world, route, &body, true);
                }
                Ok(deliver(&life.world, route, &body, true))
            }
        };
        life.world.evidence().failed_requests += u64::from(outcome.is_err());
        life.end_call(&call).await;
        match &outcome {
            Ok(answer) => note_answer(life, permit_for.as_deref(), answer),
            Err(_) => {
                life.world.evidence().unanswered.insert(life.name.clone());
            }
        }
        outcome
    }
}

fn lost(message: &str) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Transient,
        message: message.to_owned(),
    }
}

fn deliver_late(world: &Arc<World>, route: Route, body: String, ms: i64) {
    world.late.fetch_add(1, Ordering::SeqCst);
    let world = Arc::clone(world);
    tokio::spawn(async move {
        sleep(Duration::from_millis(ms.unsigned_abs())).await;
        deliver(&world, route, &body, false);
        world.late.fetch_sub(1, Ordering::SeqCst);
    });
}

/// Applies the request and records the effects.
fn deliver(world: &World, route: Route, body: &str, is_answered: bool) -> StoreResponse {
    let (status, text) = world.deliver(route, body);
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    match route {
        Route::Runs(verb) if status == 200 => {
            note(world, verb, &read(body), &read(&text), is_answered);
        }
        Route::Memory(MemoryVerb::Write) if status == 200 => note_learned(world, &read(body)),
        Route::Transcript(TranscriptVerb::Write) if status == 200 => note_turns(world, &read(body)),
        _ => {}
    }
    StoreResponse { status, text }
}

fn note(world: &World, verb: RunVerb, request: &Value, answer: &Value, is_answered: bool) {
    let mut evidence = world.evidence();
    match verb {
        RunVerb::Claim => {
            let at_ms = world.at_ms();
            let seen = evidence.run(text(&request["run"]["runId"]));
            if !seen.is_claimed {
                seen.claimed_ms = at_ms;
            }
            seen.is_claimed = true;
            seen.hold = request["run"]["meta"]["holdMicroUsd"].as_u64();
            seen.claimed
                .get_or_insert_with(|| (world.calls(), text(&request["run"]["gen"]).to_owned()));
            seen.request =
                script::ids(request["run"]["meta"]["label"].as_str().unwrap_or_default()).pop();
        }
        RunVerb::Flush => {
            if is_answered {
                evidence
                    .flushed_runs
                    .push(request["runs"].as_array().map_or(0, Vec::len));
            }
            note_flushed(&mut evidence, request, answer, is_answered);
        }
        RunVerb::Step if is_answered && answer["ok"] == true => {
            let number = world.calls();
            let seen = evidence.run(text(&request["runId"]));
            seen.cap = request["record"]["loop"]["limits"]["cap"]["runMicrousd"].as_u64();
            seen.steps.push((number, text(&request["gen"]).to_owned()));
            note_step(seen, text(&request["gen"]), &request["record"]);
        }
        RunVerb::State if answer["ok"] == true && says_its_end(request) => {
            let seen = evidence.run(text(&request["runId"]));
            seen.end_stored_by.insert(text(&request["gen"]).to_owned());
        }
        RunVerb::Reclaim => {
            let number = world.calls();
            for run in answer["runs"].as_array().into_iter().flatten() {
                let seen = evidence.run(text(&run["row"]["runId"]));
                seen.reclaimed_at.push(number);
                seen.reclaimers.push(text(&request["gen"]).to_owned());
                seen.was_resumable.push(is_resumable(run, seen.turns));
            }
        }
        RunVerb::Inbox if answer["ok"] == true => {
            let run = text(&request["runId"]);
            for id in script::ids(request["message"]["text"].as_str().unwrap_or_default()) {
                evidence.kept.entry(id).or_default().insert(run.to_owned());
            }
        }
        RunVerb::Put | RunVerb::Finish => {
            let record = &request["record"];
            let is_final = verb == RunVerb::Finish || record["finishedAt"] != record["startedAt"];
            let number = world.calls();
            let seen = evidence.run(text(&record["id"]));
            if verb == RunVerb::Finish {
                seen.finished
                    .get_or_insert_with(|| (number, text(&request["gen"]).to_owned()));
            }
            if is_final && !seen.finals.contains(record) {
                seen.finals.push(record.clone());
            }
        }
        _ => {}
    }
}

fn note_flushed(evidence: &mut Evidence, request: &Value, answer: &Value, is_answered: bool) {
    let runs = request["runs"].as_array().into_iter().flatten();
    for (run, flushed) in runs.zip(answer["runs"].as_array().into_iter().flatten()) {
        if flushed["ok"] != true {
            continue;
        }
        let seen = evidence.run(text(&run["runId"]));
        for event in run["events"].as_array().into_iter().flatten() {
            let seq = event["seq"].as_u64().unwrap();
            let last = seen
                .flushed
                .entry(text(&request["gen"]).to_owned())
                .or_default();
            *last = seq.max(*last);
            if is_answered {
                seen.acknowledged.insert(seq, event.clone());
            }
        }
    }
}

fn note_step(seen: &mut RunSeen, process: &str, record: &Value) {
    let calls = record["inFlight"].as_array().into_iter().flatten();
    let step = StepSeen {
        process: process.to_owned(),
        seq: record["seq"].as_u64().unwrap(),
        turns: record["turnIndex"].as_u64().unwrap(),
        calls: calls.map(|call| text(&call["callId"]).to_owned()).collect(),
    };
    seen.stored.insert(record["step"].as_u64().unwrap(), step);
}

/// Records the tool calls in turns that a process tries to store.
fn note_asked(world: &World, request: &Value) {
    let mut evidence = world.evidence();
    let seen = evidence.run(text(&request["runId"]));
    for row in request["rows"].as_array().into_iter().flatten() {
        let turn = (
            row["idx"].as_u64().unwrap(),
            text(&request["gen"]).to_owned(),
        );
        let calls = seen.asked.entry(turn).or_default();
        let part = &serde_json::from_str::<Value>(text(&row["json"])).unwrap()["part"];
        let call = part["callId"]
            .as_str()
            .filter(|call| part["kind"] == "tool_call" && !calls.iter().any(|made| made == call));
        calls.extend(call.map(str::to_owned));
    }
}

fn note_turns(world: &World, request: &Value) {
    let mut evidence = world.evidence();
    let seen = evidence.run(text(&request["runId"]));
    let stored = request["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["idx"].as_u64());
    seen.turns = stored
        .map(|turn| turn + 1)
        .max()
        .unwrap_or_default()
        .max(seen.turns);
}

/// Returns whether a reclaimed run can be resumed. A step is stored, with its turns or the next
/// step's, the run's end is not stored, and no hard stop is requested.
fn is_resumable(run: &Value, turns: u64) -> bool {
    let row = &run["row"];
    let recorded = run["lastStep"]["turnIndex"].as_u64();
    recorded.is_some_and(|recorded| turns == recorded || turns == recorded + 2)
        && run["reclaimedFrom"] != "finishing"
        && row["stop"] != "hard"
        && row["state"]["finalStatus"].is_null()
        && row["state"]["unresumable"].is_null()
}

fn note_claiming(world: &World, number: u64, body: &str) {
    let request: Value = serde_json::from_str(body).unwrap();
    let at_ms = world.at_ms();
    let mut evidence = world.evidence();
    evidence
        .run(text(&request["run"]["runId"]))
        .claiming
        .get_or_insert((number, at_ms));
}

/// Records that a process tries to store how the run ends.
fn note_ending(life: &Lifetime, body: &str) {
    let request: Value = serde_json::from_str(body).unwrap();
    if says_its_end(&request) {
        let at_ms = life.world.at_ms();
        let mut evidence = life.world.evidence();
        evidence
            .run(text(&request["runId"]))
            .ending
            .entry(life.name.clone())
            .or_insert(at_ms);
    }
}

fn says_its_end(request: &Value) -> bool {
    !request["state"]["finalStatus"].is_null()
}

/// Records a response that reached the process.
fn note_answer(life: &Lifetime, permit_for: Option<&str>, answer: &StoreResponse) {
    let world = &life.world;
    let by = &life.name;
    let number = world.calls();
    let mut evidence = world.evidence();
    evidence.last_answer.insert(by.clone(), number);
    evidence.unanswered.remove(by);
    let Some(request) = permit_for.filter(|_| answer.status == 200) else {
        return;
    };
    let [request, answer] =
        [request, &answer.text].map(|json| serde_json::from_str::<Value>(json).unwrap());
    if answer["ok"] == true {
        evidence
            .run(text(&request["runId"]))
            .has_permit
            .insert(by.clone());
    }
}

fn note_learned(world: &World, request: &Value) {
    let mut evidence = world.evidence();
    for record in request["records"].as_array().into_iter().flatten() {
        let learned = evidence
            .learned
            .entry(text(&record["sourceRunId"]).to_owned())
            .or_default();
        learned.insert(text(&record["text"]).to_owned());
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("an id")
}
