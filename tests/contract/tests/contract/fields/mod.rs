//! Every field on every route: values at the limits are accepted, others are rejected by field
//! name.
//!
//! Validation is the same code in every shell, so it runs only against the stores in this process.

mod live;
mod rule;

use ars_testkit::NativeState;
use ars_tests_contract::{
    WRONG,
    records::{record, with},
};
use ars_wire::state::{Key, Route};
use serde_json::{Value, json};

use live::{ledger, transcripts};
use rule::{
    ANY, Field, Rule, array, each, flag, integer, number, object, optional, required, rule, run_id,
    text, word,
};

/// A route, an accepted body, and the body's fields.
type Sheet = (&'static str, Value, Vec<Field>);

fn memory() -> Vec<Sheet> {
    let fact = json!({ "kind": "fact", "text": "a", "sourceThreadKey": "t" });
    let query = || text(0, 4000);
    let keywords = rule(
        [
            json!(WRONG),
            json!({}),
            json!(vec!["k"; 21]),
            json!([""]),
            json!(["k", null]),
            json!(["é".repeat(65)]),
        ],
        [json!([]), json!(vec!["é".repeat(64); 20])],
    );
    vec![
        (
            "/retrieve",
            json!({ "query": "a", "limit": 5 }),
            vec![
                required("query", query()),
                required("limit", integer(1, 50)),
            ],
        ),
        (
            "/list",
            json!({ "limit": 5, "query": "a" }),
            vec![
                optional("query", query()),
                required("limit", integer(1, 50)),
            ],
        ),
        (
            "/write",
            json!({ "records": [fact, fact], "cap": 5 }),
            vec![
                required("records", array().and_not([json!(vec![&fact; 51])])),
                optional("records", rule([], [json!([]), json!(vec![&fact; 50])])),
                optional("records[1]", object()),
                required("records[1].kind", word(&["fact", "summary"])),
                required(
                    "records[1].text",
                    text(1, 4000).and_not([json!(" \t\n\u{a0}\u{3000}")]),
                ),
                required("records[1].sourceThreadKey", text(1, 200)),
                optional("records[1].keywords", keywords),
                optional("records[1].sourceRunId", text(0, 200)),
                optional("records[1].supersedes", text(0, 200)),
                optional(
                    "records[1].confidence",
                    rule(
                        [json!(-0.01), json!(1.01), json!("0.5"), json!(true)],
                        [json!(0), json!(1.0)],
                    ),
                ),
                optional("cap", integer(1, 10_000)),
            ],
        ),
        (
            "/forget",
            json!({ "id": "mem:a:0" }),
            vec![required(
                "id",
                text(1, 200).and_not(["a b", "a\u{0}", "a\u{a0}b", "a\u{200b}"].map(Value::from)),
            )],
        ),
    ]
}

/// Returns a diagnosis's fields, with bad totals for a category.
fn diagnosis(totals: &[Value]) -> Vec<Field> {
    let totals = totals
        .iter()
        .map(|total| json!({ "retry": { "count": 1, "durationMs": 1 }, "later": total }));
    vec![
        required("record.diagnosis", object()),
        required("record.diagnosis.findings", array()),
        required("record.diagnosis.eventCount", number()),
        required("record.diagnosis.verdict", text(0, ANY)),
        required("record.diagnosis.byCategory", object().and_not(totals)),
        optional("record.diagnosis.runMs", number()),
    ]
}

fn small_stores() -> Vec<Sheet> {
    let outcomes = [
        "completed",
        "failed",
        "stopped_soft",
        "stopped_hard",
        "no-run",
        "ingress-error",
        "misconfigured",
    ];
    let firing = json!({ "schedule": "s", "firedAt": 1, "outcome": "failed" });
    let friction = json!({ "runId": "r", "finishedAt": 1, "label": "", "diagnosis": record("r", 1)["diagnosis"] });
    // A record with this many characters, each two bytes.
    let sized = |characters: usize| {
        let bare = friction.to_string().chars().count();
        with(
            friction.clone(),
            json!({ "label": "é".repeat(characters - bare) }),
        )
    };
    let mut recorded = diagnosis(&[json!(7), json!(null), json!([])]);
    recorded.extend([
        required("record", object().and_not([sized(65_537)])),
        optional("record", rule([], [sized(65_536)])),
        required("record.runId", text(1, 200)),
        required("record.finishedAt", number()),
        optional("record.label", text(0, ANY)),
        optional("record.agent", text(0, ANY)),
    ]);
    vec![
        ("/friction/record", json!({ "record": friction }), recorded),
        (
            "/friction/recent",
            json!({}),
            vec![
                optional("limit", integer(1, 1000)),
                optional(
                    "sinceMs",
                    rule([json!("5"), json!([]), json!(-0.5)], [json!(0), json!(0.5)]),
                ),
            ],
        ),
        (
            "/schedules/record",
            json!({ "firing": firing }),
            vec![
                required(
                    "firing",
                    object().and_not([with(firing.clone(), json!({ "later": 1 }))]),
                ),
                required("firing.schedule", text(1, 200)),
                required("firing.firedAt", number()),
                required(
                    "firing.outcome",
                    word(&outcomes).and_not([json!({ "failed": null })]),
                ),
                optional("firing.runId", text(0, 200)),
                optional("firing.detail", text(0, 300)),
            ],
        ),
        ("/schedules/latest", json!([]), vec![]),
        ("/config/get", json!({}), vec![]),
        (
            "/config/put",
            json!({ "document": {}, "expectedVersion": 0 }),
            vec![
                required("document", object()),
                required("expectedVersion", integer(0, i64::MAX)),
            ],
        ),
    ]
}

/// Returns the fields in a run's record and in the policy beside it.
fn record_fields() -> Vec<Field> {
    let shape = json!({ "windowMs": 1, "gettingReadyMs": 0, "thinkingMs": 0, "toolsMs": 0, "finishingUpMs": 0,
        "overheadMs": 1, "notRecordedMs": 0, "notLoadedMs": 0 });
    let mut broken = shape.clone();
    broken["toolsMs"] = json!(null);
    let statuses = [
        "completed",
        "stopped_soft",
        "stopped_hard",
        "failed",
        "interrupted",
    ];
    let mut fields = diagnosis(&[
        json!(null),
        json!({ "count": 1 }),
        json!({ "count": "1", "durationMs": 1 }),
    ]);
    fields.extend(each(
        "record.channelId record.userId record.threadKey",
        required,
        || text(0, ANY),
    ));
    fields.extend(each(
        "record.label record.agent record.model record.repo record.activity record.sourceUrl record.userName",
        optional,
        || text(0, ANY),
    ));
    let numbers = "record.startedAt record.finishedAt record.eventCount record.storedEventCount";
    fields.extend(each(numbers, required, number));
    fields.extend(each("record.receivedAt record.sealedAt", optional, number));
    fields.extend(each("record.stepCount record.schema", optional, || {
        integer(0, i64::MAX)
    }));
    fields.extend(each(
        "policy.retentionDays policy.maxRuns policy.maxBytes",
        optional,
        || integer(1, i64::MAX),
    ));
    fields.extend([
        required("record", object()),
        required(
            "record.id",
            Rule {
                good: vec![],
                ..run_id()
            },
        ),
        required("record.status", word(&statuses)),
        required("record.truncated", flag()),
        optional("record.replyOk", flag()),
        optional(
            "record.channelVisibility",
            word(&["public", "private", "dm", "machine", "unknown"]),
        ),
        required("record.events", array()),
        optional(
            "record.events[1]",
            object().and_not([json!({}), json!({ "type": 7 })]),
        ),
        optional(
            "record.diagnosis.shape",
            object().and_not([json!({}), broken]),
        ),
        optional("record.diagnosis.shape", rule([], [shape])),
        optional("policy", object()),
        required(
            "policyUpdatedAt",
            rule([json!(-1), json!("5"), json!([])], [json!(0), json!(0.5)]),
        ),
    ]);
    fields
}

/// A record and a policy.
fn put() -> Value {
    let events = [json!({ "type": "a" }), json!({ "type": "b" })];
    json!({ "record": with(record("r", 1), json!({ "events": events })), "policy": {}, "policyUpdatedAt": 1 })
}

fn runs() -> Vec<Sheet> {
    let id = || vec![required("id", run_id())];
    let page = [
        optional("limit", integer(1, 5000)),
        optional("afterSeq", integer(0, i64::MAX)),
    ];
    let bad_predicates = [
        json!({}),
        json!({ "kind": "ALL" }),
        json!({ "kind": ["all"] }),
    ];
    vec![
        ("/runs/put", put(), record_fields()),
        ("/runs/get", json!({ "id": "r" }), id()),
        ("/runs/summary", json!({ "id": "r" }), id()),
        ("/runs/delete", json!({ "id": "r" }), id()),
        (
            "/runs/events",
            json!({ "id": "r" }),
            id().into_iter().chain(page).collect(),
        ),
        (
            "/runs/list",
            json!({}),
            vec![
                optional("limit", integer(1, i64::MAX)),
                optional("before", number()),
                optional("beforeId", run_id()),
                optional("sinceMs", number()),
                optional("agent", text(0, 200)),
                optional("channel", text(0, 200)),
                // The grammar is tested with the parser.
                optional("visibleTo", object().and_not(bad_predicates)),
                optional("diagnosis", flag()),
                optional("maxScanned", integer(1, i64::MAX)),
            ],
        ),
    ]
}

/// Returns the body with a field replaced, or removed.
fn changed(body: &Value, path: &str, value: Option<&Value>) -> Value {
    let mut body = body.clone();
    let pointer = format!(
        "/{}",
        path.replace('[', "/").replace(']', "").replace('.', "/")
    );
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = body
        .pointer_mut(parent)
        .unwrap_or_else(|| panic!("no {parent} in the body"));
    match (parent, value) {
        (Value::Object(fields), Some(value)) => drop(fields.insert(name.to_owned(), value.clone())),
        (Value::Object(fields), None) => assert!(fields.shift_remove(name).is_some(), "{path}"),
        (Value::Array(entries), Some(value)) => {
            entries[name.parse::<usize>().unwrap()] = value.clone();
        }
        _ => panic!("{path} cannot be removed"),
    }
    body
}

fn call(route: Route, body: &Value) -> (u16, Value) {
    let mut body = body.clone();
    if let (Key::Named(field) | Key::Slug(field), Value::Object(fields)) = (route.key(), &mut body)
    {
        fields.entry(field).or_insert_with(|| json!("of-fields"));
    }
    let (status, text) = NativeState::new(None).call(route, &body.to_string(), 1_700_000_000_000);
    (status, serde_json::from_str(&text).unwrap())
}

fn assert_refused(route: Route, body: &Value, path: &str, why: &str) {
    let (status, answer) = call(route, body);
    let error = answer["error"].as_str().unwrap_or_default();
    let named = error
        .strip_prefix(path)
        .is_some_and(|rest| rest.starts_with([' ', '.', '[']));
    let clean = answer.as_object().unwrap().len() == 1 && !error.contains(WRONG);
    assert!(
        status == 400 && named && clean,
        "{} with {path} {why}: {status} {answer}",
        route.path()
    );
}

#[test]
fn every_field_is_validated_by_name() {
    let sheets = [memory(), small_stores(), runs(), ledger(), transcripts()];
    let sheets: Vec<_> = sheets.into_iter().flatten().collect();
    for (path, body, fields) in &sheets {
        let route = Route::from_path(path).unwrap();
        assert_ne!(call(route, body).0, 400, "{path} {body}");
        for (field, is_required, Rule { bad, good }) in fields {
            if *is_required {
                assert_refused(route, &changed(body, field, None), field, "absent");
            }
            for value in bad {
                assert_refused(
                    route,
                    &changed(body, field, Some(value)),
                    field,
                    &brief(value),
                );
            }
            for value in good {
                let (status, answer) = call(route, &changed(body, field, Some(value)));
                assert_ne!(
                    status,
                    400,
                    "{path} with {field} {}: {answer}",
                    brief(value)
                );
            }
            if !matches!(field.as_str(), "run.card") && !bad.is_empty() {
                assert_refused(
                    route,
                    &changed(body, field, Some(&Value::Null)),
                    field,
                    "null",
                );
            }
        }
    }
    let tested: Vec<_> = sheets.iter().map(|(path, ..)| *path).collect();
    assert!(
        Route::all().all(|route| tested.contains(&route.path())),
        "a route has no sheet"
    );
}

fn brief(value: &Value) -> String {
    value.to_string().chars().take(80).collect()
}
