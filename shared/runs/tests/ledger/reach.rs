//! Coverage by the random sequences: a guarantee that is never put to the test would always hold.

use std::collections::BTreeMap;

use ars_testkit::ledger::{Attempt, Observer, Outcome, World, play, sequences};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::native::Native;

/// Number of examined sequences.
const SEQUENCES: usize = 500;
/// How often each situation must occur at least.
const MIN_OCCURRENCES: usize = 10;

#[test]
fn sequences_cover_every_situation() {
    let mut tally = Tally::default();
    for world in [World::crashing(), World::of_transcripts()] {
        let mut runner = TestRunner::deterministic();
        let strategy = sequences(&world);
        for _ in 0..SEQUENCES {
            let sequence = strategy.new_tree(&mut runner).unwrap().current();
            play(&mut Native::new(), &mut tally, &world, &sequence).unwrap();
        }
    }
    for situation in SITUATIONS {
        let times = tally.0.get(*situation).copied().unwrap_or_default();
        assert!(
            times >= MIN_OCCURRENCES,
            "{situation}: {times} times; found {:#?}",
            tally.0
        );
    }
}

const SITUATIONS: &[&str] = &[
    "claim ok",
    "claim thread-live",
    "claim 400",
    "claim kept",
    "claim undone",
    "heartbeat ok",
    "heartbeat fenced",
    "heartbeat unknown-run",
    "append ok",
    "append fenced",
    "append unknown-run",
    "append 400",
    "append kept",
    "append undone",
    "flush ok",
    "flush 400",
    "flush kept",
    "flush undone",
    "flushed ok",
    "flushed fenced",
    "flushed unknown-run",
    "flushed with messages",
    "step ok",
    "step fenced",
    "step 400",
    "state ok",
    "state fenced",
    "inbox ok",
    "inbox false",
    "stop ok",
    "stop false",
    "stop 400",
    "handoff ok",
    "finishing ok",
    "finishing fenced",
    "finishing kept",
    "finish ok",
    "finish fenced",
    "finish unknown-run",
    "finish 400",
    "finish kept",
    "finish undone",
    "reclaim ok",
    "reclaim kept",
    "reclaim undone",
    "reclaimed from live",
    "reclaimed from handoff",
    "reclaimed from finishing",
    "reclaimed with a step",
    "reclaimed with messages",
    "put ok",
    "put not stored",
    "put rewritten",
    "delete ok",
    "transcript/owner ok",
    "transcript/write ok",
    "transcript/write fenced",
    "transcript/write unknown-run",
    "transcript/write kept",
    "transcript/write undone",
    "transcript/clear ok",
    "transcript/clear fenced",
];

/// Counts how often each situation occurs.
#[derive(Default)]
struct Tally(BTreeMap<String, usize>);

impl Tally {
    fn count(&mut self, situation: String) {
        *self.0.entry(situation).or_default() += 1;
    }
}

impl Observer<Native> for Tally {
    fn after(&mut self, _: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt {
            operation, outcome, ..
        } = attempt;
        let path = operation
            .path()
            .unwrap_or("sweep")
            .trim_start_matches("/runs/");
        let body = match outcome {
            Outcome::Lost { kept } => {
                self.count(format!("{path} {}", if *kept { "kept" } else { "undone" }));
                return Ok(());
            }
            Outcome::Answered(_, body) => body,
        };
        let word = match (outcome, body["reason"].as_str(), &body["ok"]) {
            (Outcome::Answered(400, _), ..) => "400",
            (_, Some(reason), _) => reason,
            (_, None, ok) if ok == false => "false",
            _ => "ok",
        };
        self.count(format!("{path} {word}"));
        for flag in ["stored", "rewritten"]
            .into_iter()
            .filter(|flag| body[flag] == (*flag == "rewritten"))
        {
            self.count(format!(
                "{path} {}{flag}",
                if flag == "stored" { "not " } else { "" }
            ));
        }
        for run in body["runs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|run| run["ok"].is_boolean())
        {
            self.count(format!(
                "flushed {}",
                run["reason"].as_str().unwrap_or("ok")
            ));
            if run["inbox"][0].is_object() {
                self.count("flushed with messages".into());
            }
        }
        for run in body["runs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|run| run["reclaimedFrom"].is_string())
        {
            self.count(format!(
                "reclaimed from {}",
                run["reclaimedFrom"].as_str().unwrap_or_default()
            ));
            for (found, detail) in [
                (run["lastStep"].is_object(), "a step"),
                (run["inbox"][0].is_object(), "messages"),
            ] {
                if found {
                    self.count(format!("reclaimed with {detail}"));
                }
            }
        }
        Ok(())
    }
}
