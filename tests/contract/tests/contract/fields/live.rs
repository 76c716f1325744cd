//! Fields in the live run ledger and in transcripts.

use ars_tests_contract::records::{run, step, with};
use serde_json::{Value, json};

use super::{
    Sheet, put, record_fields,
    rule::{
        ANY, Field, INEXACT, Rule, array, each, generation, integer, lease, number, object,
        optional, required, rule, run_id, text, word,
    },
};

/// The fields that every owner write has.
fn owned(more: impl IntoIterator<Item = Field>) -> Vec<Field> {
    [required("runId", run_id()), required("gen", generation())]
        .into_iter()
        .chain(more)
        .collect()
}

/// Returns an event that has this many JSON bytes, about half as many characters.
fn sized_event(bytes: usize) -> Value {
    let bare = json!({ "seq": 1, "type": "" }).to_string().len();
    let room = bytes - bare;
    json!({ "seq": 1, "type": format!("{}{}", "é".repeat(room / 2), "x".repeat(room % 2)) })
}

fn seq() -> Rule {
    integer(1, i64::MAX).and_not([json!(INEXACT)])
}

fn events(list: &str) -> Vec<Field> {
    let event = object().and_not([json!({}), sized_event(65_537)]);
    vec![
        required(list, array()),
        optional(
            &format!("{list}[1]"),
            Rule {
                good: vec![sized_event(65_536)],
                ..event
            },
        ),
        required(&format!("{list}[1].seq"), seq()),
    ]
}

fn two_events() -> Value {
    json!([{ "seq": 1, "type": "a" }, { "seq": 2, "type": "b" }])
}

fn flushed(id: &str) -> Value {
    json!({ "runId": id, "events": two_events(), "inboxAfter": 0 })
}

fn flush() -> Vec<Field> {
    let many = |count: usize| {
        (0..count)
            .map(|n| flushed(&format!("r{n}")))
            .collect::<Value>()
    };
    let mut fields = vec![
        required("gen", generation()),
        optional("leaseMs", lease()),
        required(
            "runs",
            Rule {
                good: vec![json!([]), many(500)],
                ..array().and_not([many(501)])
            },
        ),
        optional("runs[1]", object()),
        required("runs[1].runId", run_id().and_not([json!("r0")])),
        required("runs[1].inboxAfter", integer(0, i64::MAX)),
    ];
    fields.extend(events("runs[1].events"));
    fields
}

pub fn ledger() -> Vec<Sheet> {
    let owner = |fields: Value| with(json!({ "runId": "r", "gen": "g1" }), fields);
    let two = two_events();
    let cards = [
        json!(7),
        json!([]),
        json!({ "channel": "c" }),
        json!({ "channel": 7, "ts": "1" }),
    ];
    let call = json!({ "callId": "c", "tool": "t" });
    let keyed = json!({ "subject": "ann", "key": "k", "fingerprint": "0".repeat(64) });
    let long = |length: usize| json!("x".repeat(length));
    let key = || {
        rule(
            [json!(7), json!(""), json!("a b"), json!("é"), long(256)],
            [json!("~!"), long(255)],
        )
    };
    let digits = [
        "0".repeat(63),
        "0".repeat(65),
        "A".repeat(64),
        "g".repeat(64),
    ];
    let digest =
        rule([json!(7)], [json!("9f".repeat(32))]).and_not(digits.map(|digits| json!(digits)));
    let counters = "record.step record.seq record.turnIndex record.inboxConsumedSeq record.remainingMs record.turn \
                    record.iteration";
    let mut stepped = each(counters, required, || integer(0, i64::MAX));
    stepped.extend([
        required("record", object()),
        required("record.inFlight", array()),
        optional(
            "record.inFlight[1]",
            object().and_not([
                json!({ "callId": "c" }),
                json!({ "callId": 1, "tool": "t" }),
            ]),
        ),
    ]);
    let mut finished = record_fields();
    finished.extend([
        required(
            "runId",
            Rule {
                good: vec![],
                ..run_id()
            },
        ),
        required("gen", generation()),
        // The record is the run's.
        required("record.id", rule([json!("r2")], [])),
    ]);
    vec![
        (
            "/runs/claim",
            json!({ "run": with(run("r", "t", "g1"), json!({ "card": null, "state": {}, "idempotency": keyed })) }),
            vec![
                required("run", object()),
                required("run.runId", run_id()),
                required("run.threadKey", text(1, 256)),
                required("run.gen", generation()),
                required("run.leaseMs", lease()),
                required("run.startedAt", number()),
                required("run.meta", object()),
                optional("run.card", rule(cards, [])),
                required("run.system", text(0, ANY)),
                required("run.tools", array()),
                optional("run.state", object()),
                optional("run.idempotency", object()),
                required("run.idempotency.subject", text(1, ANY)),
                required("run.idempotency.key", key()),
                required("run.idempotency.fingerprint", digest),
            ],
        ),
        (
            "/runs/first-use",
            json!({ "subject": "ann", "key": "k" }),
            vec![required("subject", text(1, ANY)), required("key", key())],
        ),
        (
            "/runs/live",
            json!({}),
            vec![optional("threadKey", text(0, 256))],
        ),
        (
            "/runs/step",
            owner(json!({ "record": with(step(0), json!({ "inFlight": [call, call] })) })),
            owned(stepped),
        ),
        (
            "/runs/heartbeat",
            owner(json!({ "leaseMs": 1000 })),
            owned([required("leaseMs", lease())]),
        ),
        (
            "/runs/append",
            owner(json!({ "events": two })),
            owned(events("events")),
        ),
        (
            "/runs/state",
            owner(json!({ "state": {} })),
            owned([required("state", object())]),
        ),
        (
            "/runs/stop",
            json!({ "runId": "r", "mode": "soft" }),
            vec![
                required("runId", run_id()),
                required("mode", word(&["soft", "hard"])),
            ],
        ),
        (
            "/runs/handoff",
            json!({ "gen": "g1", "runIds": ["r", "s"] }),
            vec![
                required("gen", generation()),
                required("runIds", array()),
                optional("runIds[1]", run_id()),
            ],
        ),
        ("/runs/finishing", owner(json!({})), owned([])),
        ("/runs/finish", owner(put()), finished),
        (
            "/runs/reclaim",
            json!({ "gen": "g2", "leaseMs": 1000, "except": ["r", "s"] }),
            vec![
                required("gen", generation()),
                required("leaseMs", lease()),
                optional("now", number()),
                optional("except", array()),
                optional("except[1]", run_id()),
            ],
        ),
        (
            "/runs/live-events",
            json!({ "runId": "r" }),
            vec![
                required("runId", run_id()),
                optional("afterSeq", integer(0, i64::MAX)),
            ],
        ),
        (
            "/runs/inbox",
            json!({ "runId": "r", "message": {} }),
            vec![required("runId", run_id()), required("message", object())],
        ),
        (
            "/runs/flush",
            json!({ "gen": "g1", "leaseMs": 1000, "runs": [flushed("r0"), flushed("r1")] }),
            flush(),
        ),
    ]
}

pub fn transcripts() -> Vec<Sheet> {
    let owner = |fields: Value| with(json!({ "runId": "r", "gen": "g1" }), fields);
    let row = json!({ "idx": 0, "part": 0, "json": "" });
    let file = json!({ "ref": "", "mediaType": "", "data": "" });
    let place = || integer(0, i64::MAX).and_not([json!(INEXACT)]);
    let large = |more: &str| json!(format!("{}{more}", "é".repeat(750_000)));
    let mut written = owned([
        required("rows", array()),
        optional("rows[1]", object()),
        required("rows[1].idx", place()),
        required("rows[1].part", place()),
        required(
            "rows[1].json",
            Rule {
                good: vec![large("")],
                ..text(0, ANY).and_not([large("x")])
            },
        ),
        required("attachments", array()),
        optional("attachments[1]", object()),
    ]);
    written.extend(each(
        "attachments[1].ref attachments[1].mediaType attachments[1].data",
        required,
        || text(0, ANY),
    ));
    let bare = || vec![required("runId", run_id())];
    vec![
        ("/runs/transcript/owner", owner(json!({})), owned([])),
        (
            "/runs/transcript/write",
            owner(json!({ "rows": [row, row], "attachments": [file, file] })),
            written,
        ),
        ("/runs/transcript/read", json!({ "runId": "r" }), bare()),
        (
            "/runs/transcript/clear",
            json!({ "runId": "r" }),
            vec![required("runId", run_id()), optional("gen", generation())],
        ),
    ]
}
