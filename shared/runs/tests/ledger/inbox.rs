//! Limits on a run's unread follow-ups.

use ars_runs::RunStore;
use ars_sql_native::NativeSql;
use ars_store::{Refusal, Store as _, StoreFailure};
use ars_wire::{ledger::MAX_UNREAD, state::RunVerb};
use serde_json::{Value, json};

use crate::flush::{NOW, claim};

struct Run(RunStore<NativeSql>);

impl Run {
    fn live() -> Self {
        let run = Self(RunStore::open(NativeSql::in_memory().unwrap()).unwrap());
        run.ask(RunVerb::Claim, claim("r1", "g1")).unwrap();
        run
    }

    fn ask(&self, verb: RunVerb, body: Value) -> Result<String, StoreFailure> {
        self.0.answer(verb, &body.to_string(), NOW)
    }

    fn queue(&self, text: &str) -> Result<String, StoreFailure> {
        self.ask(
            RunVerb::Inbox,
            json!({ "storeKey": "k", "runId": "r1", "message": { "text": text } }),
        )
    }

    /// Stores a step that has read the follow-ups up to this number.
    fn read_until(&self, step: u64, seq: u64) {
        let record = json!({ "step": step, "seq": 0, "turnIndex": 0, "inboxConsumedSeq": seq, "remainingMs": 0,
            "turn": 0, "iteration": 0, "inFlight": [] });
        self.ask(
            RunVerb::Step,
            json!({ "storeKey": "k", "runId": "r1", "gen": "g1", "record": record }),
        )
        .unwrap();
    }
}

fn is_full(answer: Result<String, StoreFailure>) -> bool {
    matches!(answer, Err(StoreFailure::Refusal(Refusal::TooLarge(_))))
}

#[test]
fn unread_messages_are_limited() {
    let run = Run::live();
    for _ in 0..MAX_UNREAD {
        run.queue("x").unwrap();
    }
    assert!(is_full(run.queue("x")));
    // Numbers count all messages, and only unread messages count towards the limits.
    run.read_until(1, 1);
    let next = MAX_UNREAD + 1;
    assert_eq!(
        run.queue("x").unwrap(),
        format!(r#"{{"ok":true,"seq":{next}}}"#)
    );
    assert!(is_full(run.queue("x")));
    run.read_until(2, u64::from(next));
    run.queue("x").unwrap();
}

#[test]
fn bytes_of_unread_messages_are_limited() {
    let run = Run::live();
    let half = "ü".repeat(300_000);
    run.queue(&half).unwrap();
    assert!(is_full(run.queue(&half)));
    run.queue("x").unwrap();
    run.read_until(1, 1);
    run.queue(&half).unwrap();
}
