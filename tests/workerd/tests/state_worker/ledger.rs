//! The deployed ledger against the executable model, with the same sequences as in `shared/runs`.
//! The model is `ars_testkit::ledger`. Requests pass through HTTP, objects and the runtime's SQLite. Some sequences
//! contain a SIGKILL.
//!
//! The Worker uses its own clock, so no sequence depends on its duration. Not here: crashes within a request (native),
//! and kills under parallel writers (`crash`).

use std::cell::RefCell;

use ars_testkit::faulty::Fault;
use ars_testkit::ledger::{Outcome, Sequence, Subject, Twin, World, play, sequences};
use ars_tests_workerd::{Running, TOKEN, state_worker};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};
use serde_json::{Value, json};

use crate::records::now;

/// How many sequences are run.
const CASES: u32 = 300;
/// Maximum duration of a request and a preceding restart. Leases start when the Worker reads its clock.
const SLACK_MS: i64 = 20_000;

#[test]
fn deployed_ledger_matches_the_model() {
    let edge = RefCell::new(Edge {
        worker: state_worker(),
        sequence: 0,
        kills: 0,
    });
    let world = World::on_the_edge(i64::try_from(now()).unwrap());
    let config = Config {
        source_file: Some(file!()),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        // A shrinking step takes as long as a sequence, and few steps are enough for a readable result.
        max_shrink_iters: 500,
        ..Config::with_cases(CASES)
    };
    let played = TestRunner::new(config).run(&sequences(&world), |sequence| {
        assert_matches_model(&mut edge.borrow_mut(), &world, &sequence).map_err(TestCaseError::fail)
    });
    if let Err(failure) = played {
        panic!("{failure}");
    }
    assert!(edge.borrow().kills > 0, "no sequence met a kill");
}

fn assert_matches_model(edge: &mut Edge, world: &World, sequence: &Sequence) -> Result<(), String> {
    edge.begin();
    let mut twin = Twin::with_slack(SLACK_MS);
    play(edge, &mut twin, world, sequence)?;
    twin.audit(edge, world, world.base)
}

/// The built Worker on workerd, with a store key for each sequence.
struct Edge {
    worker: Running,
    sequence: u32,
    kills: u32,
}

impl Edge {
    /// Selects an empty store.
    fn begin(&mut self) {
        self.sequence += 1;
        // Transcripts are keyed by run, not by store.
        for run in World::RUNS {
            assert_eq!(
                self.call("/runs/transcript/clear", &json!({ "runId": run }), 0)
                    .0,
                200
            );
        }
    }
}

impl Subject for Edge {
    fn call(&mut self, path: &str, body: &Value, _: i64) -> (u16, Value) {
        let mut body = body.clone();
        body["storeKey"] = json!(format!("runs:{}", self.sequence));
        let answer = self.worker.client.post(path, TOKEN, &body);
        (answer.status, answer.body)
    }

    /// Kills the process right after the response. A client cannot choose a point within the
    /// request.
    fn call_and_crash(&mut self, path: &str, body: &Value, now: i64, _: Fault) -> Outcome {
        let (status, answer) = self.call(path, body, now);
        self.worker.kill_and_restart();
        self.kills += 1;
        Outcome::Answered(status, answer)
    }

    fn sweep(&mut self, _: i64) {
        panic!("an alarm of the object's own sweeps; no sequence of the edge asks for it");
    }

    fn now(&self, _: i64) -> i64 {
        i64::try_from(now()).unwrap()
    }
}
