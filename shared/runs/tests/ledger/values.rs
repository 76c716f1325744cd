//! Values that random sequences lack: unusual texts and numbers, large follow-ups, orders, a policy.

use ars_testkit::ledger::Subject as _;
use serde_json::{Value, json};

use crate::native::Native;

const NOW: i64 = 1_700_000_000_000;
/// Characters beyond ASCII, a NUL and quotes.
const ODD: &str = "\u{1f600} \u{0}\"\n";

struct Store(Native);

impl Store {
    /// Returns a store with these runs, owned by `g1`, that started at these times.
    fn with(runs: &[(&str, f64)]) -> Self {
        let mut store = Self(Native::new());
        for (id, at) in runs {
            let run = json!({ "runId": id, "threadKey": id, "gen": "g1", "leaseMs": 1000, "startedAt": at, "meta": {},
                "system": "", "tools": [] });
            store.ok("/runs/claim", json!({ "run": run }));
        }
        store
    }

    fn call(&mut self, path: &str, body: Value) -> (u16, Value) {
        let mut body = body;
        body["storeKey"] = json!("k");
        self.0.call(path, &body, NOW)
    }

    fn ok(&mut self, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(path, body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Sends a write by `g1` to run `r`.
    fn write(&mut self, path: &str, field: &str, value: Value) -> Value {
        self.ok(path, json!({ "runId": "r", "gen": "g1", field: value }))
    }

    /// Reclaims every run there is.
    fn reclaimed(&mut self) -> Vec<Value> {
        let body = json!({ "gen": "g2", "leaseMs": 1000, "now": NOW + 1000 });
        self.ok("/runs/reclaim", body)["runs"]
            .as_array()
            .unwrap()
            .clone()
    }
}

fn ids(runs: &[Value]) -> Vec<&str> {
    runs.iter()
        .map(|run| run.get("row").unwrap_or(run)["runId"].as_str().unwrap())
        .collect()
}

#[test]
fn claim_is_stored_unchanged() {
    let mut store = Store::with(&[]);
    let run = json!({
        "runId": "r", "threadKey": ODD, "gen": "g1", "leaseMs": 1000.0, "startedAt": 2.5, "ofALaterVersion": true,
        "meta": { "agent": { "name": "x" }, "deep": [1.5, null, ODD] }, "card": { "channel": "C", "ts": "1", "more": 1 },
        "system": ODD, "tools": [{ "name": "bash" }, 7], "state": { "a": ODD },
    });
    store.ok("/runs/claim", json!({ "run": run }));
    let mut expected = run.clone();
    let fields = expected.as_object_mut().unwrap();
    for name in ["gen", "leaseMs", "ofALaterVersion"] {
        fields.shift_remove(name);
    }
    fields.extend(
        json!({ "ownerGen": "g1", "leaseUntil": NOW + 1000, "phase": "live", "stop": null })
            .as_object()
            .unwrap()
            .clone(),
    );
    assert_eq!(
        store.ok("/runs/live", json!({})),
        json!({ "runs": [expected] })
    );
    // A conflict omits an agent that is no text.
    let mut other = run;
    other["runId"] = json!("r2");
    let conflict =
        json!({ "ok": false, "reason": "thread-live", "live": { "runId": "r", "startedAt": 2.5 } });
    assert_eq!(
        store.call("/runs/claim", json!({ "run": other })),
        (409, conflict)
    );
}

#[test]
fn idempotency_key_expires_after_a_day() {
    let mut store = Store::with(&[]);
    let day = 86_400_000;
    let claim = |id: &str, key: &str| {
        let idempotency = json!({ "subject": ODD, "key": key, "fingerprint": "0".repeat(64) });
        let run = json!({ "runId": id, "threadKey": id, "gen": "g1", "leaseMs": 1000, "startedAt": 1, "meta": {},
            "system": "", "tools": [], "idempotency": idempotency });
        json!({ "storeKey": "k", "run": run })
    };
    let rows = |store: &Store| {
        let tables = store.0.dump_of_runs();
        tables
            .iter()
            .find(|(table, _)| table == "idempotency_keys")
            .unwrap()
            .1
            .len()
    };
    for number in 0..20 {
        let (id, key) = (format!("r{number}"), format!("k{number}"));
        assert_eq!(store.0.call("/runs/claim", &claim(&id, &key), NOW).0, 200);
    }
    let first = json!({ "runId": "r0", "fingerprint": "0".repeat(64) });
    let lookup = json!({ "storeKey": "k", "subject": ODD, "key": "k0" });
    let conflict = json!({ "ok": false, "reason": "repeated-key", "first": first });
    assert_eq!(
        store
            .0
            .call("/runs/claim", &claim("s", "k0"), NOW + day - 1),
        (409, conflict)
    );
    assert_eq!(
        store.0.call("/runs/first-use", &lookup, NOW + day - 1).1,
        json!({ "first": first })
    );
    assert_eq!(
        store.0.call("/runs/first-use", &lookup, NOW + day).1,
        json!({ "first": null })
    );
    // Each claim with a key deletes a bounded number of expired keys.
    for (id, left) in [("s", 5), ("t", 2)] {
        assert_eq!(
            store.0.call("/runs/claim", &claim(id, id), NOW + day).0,
            200
        );
        assert_eq!(rows(&store), left, "{id}");
    }
}

#[test]
fn runs_are_listed_and_reclaimed_by_start_then_id() {
    let mut store = Store::with(&[("late", 3.5), ("b", 2.0), ("a", 2.0), ("early", -1.0)]);
    let expected = ["early", "a", "b", "late"];
    assert_eq!(
        ids(store.ok("/runs/live", json!({}))["runs"]
            .as_array()
            .unwrap()),
        expected
    );
    for thread in ["a", "late", "none"] {
        let listed = store.ok("/runs/live", json!({ "threadKey": thread }));
        let expected: Vec<_> = expected.into_iter().filter(|id| *id == thread).collect();
        assert_eq!(ids(listed["runs"].as_array().unwrap()), expected);
    }
    assert_eq!(ids(&store.reclaimed()), expected);
}

#[test]
fn lease_ends_at_a_fraction_of_a_millisecond() {
    let mut store = Store::with(&[("r", 1.0)]);
    for (ahead, reclaimed) in [(999.5, 0), (1000.0, 1)] {
        let body = json!({ "gen": "g2", "leaseMs": 1000, "now": NOW as f64 + ahead });
        assert_eq!(
            store.ok("/runs/reclaim", body)["runs"]
                .as_array()
                .unwrap()
                .len(),
            reclaimed,
            "{ahead}"
        );
    }
}

#[test]
fn steps_are_numbers_and_kept_unchanged() {
    let mut store = Store::with(&[("r", 1.0)]);
    let step = |number: Value| {
        json!({ "step": number, "seq": 9e15, "turnIndex": 0, "inboxConsumedSeq": 1.0, "remainingMs": 0, "turn": 0,
            "iteration": 0, "inFlight": [{ "callId": "c", "tool": ODD, "more": 1 }], "later": [null] })
    };
    for number in [json!(9), json!(10.0), json!(2)] {
        store.write("/runs/step", "record", step(number));
    }
    for text in ["one", ODD] {
        store.ok(
            "/runs/inbox",
            json!({ "runId": "r", "message": { "text": text, "deep": [1.5, null] } }),
        );
    }
    let reclaimed = &store.reclaimed()[0];
    assert_eq!(reclaimed["lastStep"], step(json!(10.0)));
    assert_eq!(
        reclaimed["inbox"],
        json!([{ "seq": 2, "message": { "text": ODD, "deep": [1.5, null] } }])
    );
}

#[test]
fn events_are_kept_unchanged() {
    let mut store = Store::with(&[("r", 1.0), ("s", 1.0)]);
    let odd = [
        json!({ "type": "of a later age", "seq": 4.0, "deep": { "a": [1.5, null, ODD] } }),
        json!({ "type": 7, "seq": 5 }),
        json!({ "type": "great", "seq": 9_007_199_254_740_991_i64 }),
    ];
    store.write("/runs/append", "events", json!(odd));
    let shown = json!({ "events": [odd[0], odd[2]] });
    assert_eq!(
        store.ok("/runs/live-events", json!({ "runId": "r" })),
        shown
    );
    let entry = json!({ "runId": "s", "inboxAfter": 0, "events": odd });
    store.ok("/runs/flush", json!({ "gen": "g1", "runs": [entry] }));
    assert_eq!(
        store.ok("/runs/live-events", json!({ "runId": "s" })),
        shown
    );
    let newer = store.ok("/runs/live-events", json!({ "runId": "s", "afterSeq": 4 }));
    assert_eq!(newer, json!({ "events": [odd[2]] }));
    let many: Vec<_> = (10..1510)
        .map(|seq| json!({ "type": "a", "seq": seq }))
        .collect();
    store.write("/runs/append", "events", json!(many));
    let all = store.ok("/runs/live-events", json!({ "runId": "r" }));
    assert_eq!(all["events"].as_array().unwrap().len(), 1502);
}

#[test]
fn large_inboxes_are_returned_in_parts() {
    let mut store = Store::with(&[("r", 1.0)]);
    // Together less than a run's unread follow-ups may have.
    for n in 0..104 {
        let text = format!("{n}{}", "é".repeat(5_000));
        store.ok(
            "/runs/inbox",
            json!({ "runId": "r", "message": { "text": text } }),
        );
    }
    for (after, expected) in [
        (0, Vec::from_iter(1..=100)),
        (100, Vec::from_iter(101..=104)),
    ] {
        let runs = json!([{ "runId": "r", "inboxAfter": after, "events": [] }]);
        let answer = store.ok("/runs/flush", json!({ "gen": "g1", "runs": runs }));
        let inbox = answer["runs"][0]["inbox"].as_array().unwrap();
        assert_eq!(
            inbox
                .iter()
                .map(|left| left["seq"].as_i64().unwrap())
                .collect::<Vec<_>>(),
            expected
        );
    }
}

#[test]
fn finish_applies_its_policy() {
    let record = |id: &str, at: i64| {
        json!({ "id": id, "channelId": "C", "userId": "U", "threadKey": "t", "startedAt": at, "finishedAt": at,
            "status": "completed", "eventCount": 0, "storedEventCount": 0, "truncated": false, "events": [],
            "diagnosis": { "findings": [], "eventCount": 0, "verdict": "", "byCategory": {} } })
    };
    let mut store = Store::with(&[("r", 1.0)]);
    store.ok("/runs/put", json!({ "record": record("older", NOW - 1) }));
    let finish = json!({ "runId": "r", "gen": "g1", "record": record("r", NOW), "policy": { "maxRuns": 1 },
        "policyUpdatedAt": 1 });
    assert_eq!(
        store.ok("/runs/finish", finish),
        json!({ "ok": true, "stored": true })
    );
    assert_eq!(
        store.ok("/runs/get", json!({ "id": "older" })),
        json!({ "record": null })
    );
}

#[test]
fn transcript_texts_are_opaque() {
    let mut store = Store::with(&[]);
    let owned = json!({ "runId": "r", "gen": "g1" });
    store.ok("/runs/transcript/owner", owned);
    let rows = json!([{ "idx": 0, "part": 0, "json": "" }, { "idx": 2, "part": 9, "json": ODD },
        { "idx": 2, "part": 10, "json": "{no json" }, { "idx": 10, "part": 9_007_199_254_740_991_i64, "json": "x" }]);
    let attachments = json!([{ "ref": "", "mediaType": "", "data": ODD }]);
    let mut shuffled = rows.as_array().unwrap().clone();
    shuffled.reverse();
    let body = json!({ "runId": "r", "gen": "g1", "rows": shuffled, "attachments": attachments });
    store.ok("/runs/transcript/write", body);
    let read = store.ok("/runs/transcript/read", json!({ "runId": "r" }));
    assert_eq!(read, json!({ "rows": rows, "attachments": attachments }));
}
