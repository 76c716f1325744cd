//! Outputs fence untrusted text at every depth, and input validates against the command's own type.

use std::sync::Arc;

use ars_auth::Set;
use ars_bot_core::settings::{ProposalSettings, Settings};
use ars_commands::{Definition, Field, Kind, RawInput, Surface};
use ars_types::RepoSlug;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Map, Value, json};

use super::support::{desk, desk_with, granted, on};
use crate::{
    commands::schedules,
    support::{MemoryHost, MemoryResidents, Move, OUTPUT, with_host, with_residents},
};

/// Removes text inside fences.
fn unfenced(json: &str) -> String {
    let mut rest = json;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("<untrusted-text>") {
        text.push_str(before);
        rest = after
            .split_once("</untrusted-text>")
            .map_or("", |(_, after)| after);
    }
    text + rest
}

#[tokio::test]
async fn free_text_is_fenced_at_every_depth() {
    let desk = desk();
    desk.memory.remember("org:acme", &["canary memory"]).await;
    desk.runs.seed("r1", 1_000_000, |record| {
        record["events"] = json!([
            { "type": "input", "text": "canary", "seq": 1 },
            { "type": "context", "text": "canary", "seq": 2 },
            { "type": "assistant", "text": "canary", "seq": 3 },
            { "type": "tool_call", "tool": "bash", "summary": "canary", "command": "canary", "seq": 4 },
            { "type": "tool_result", "tool": "bash", "ok": true, "summary": "canary", "output": "canary", "seq": 5 },
            { "type": "run_note", "kind": "wrap_up", "summary": "canary", "seq": 6 },
            { "type": "answer", "text": "canary", "raw": "canary", "seq": 7 },
            { "type": "span_end", "name": "x", "spanId": "s", "error": "canary", "seq": 8 },
            { "type": "pr_opened", "url": "canary", "seq": 9 },
        ]);
        record["eventCount"] = json!(9);
        record["storedEventCount"] = json!(9);
        record["diagnosis"]["findings"] = json!([
            { "category": "retry", "severity": "low", "summary": "canary", "eventIndex": 0 },
        ]);
    });
    let caller = granted(&[], Set::All);
    for (id, body) in [
        ("runs.list", json!({ "status": "all" })),
        ("runs.get", json!({ "id": "r1", "include": "messages" })),
        ("runs.events", json!({ "id": "r1" })),
        ("runs.friction", json!({ "id": "r1" })),
        ("memory.list", json!({})),
        ("friction.report", json!({ "minRuns": 1 })),
    ] {
        let json = desk.invoke(&caller, id, body).await.unwrap().json;
        assert!(id == "runs.list" || json.contains("canary"), "{id}: {json}");
        let bare = unfenced(&json);
        assert!(!bare.contains("canary"), "{id}: {bare}");
        assert!(!json.contains('\n'), "{id}: JSON in one line");
    }
}

/// The same for the commands that need a code host, residents or a model.
#[tokio::test]
async fn texts_of_writes_are_fenced() {
    let (host, residents) = (
        Arc::new(MemoryHost::default()),
        MemoryResidents::with_one("acme/app"),
    );
    *host.diff.lock().unwrap() = Some("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+canary\n".to_owned());
    let capable = |capabilities| with_host(&host)(with_residents(&residents)(capabilities));
    let settings = |settings| Settings {
        proposals: ProposalSettings {
            repository: RepoSlug::parse("acme/app").ok(),
            ..ProposalSettings::default()
        },
        ..settings
    };
    let desk = desk_with(vec![Move::Say("canary")], capable, settings);
    for (run, at) in [("r1", 1_000_000), ("r2", 1_000_010)] {
        desk.runs.seed(run, at, |record| {
            record["agent"] = json!("review");
            record["repo"] = json!("acme/app");
            record["events"][0] =
                json!({ "type": "run_meta", "agent": "review", "pr": 7, "seq": 1 });
            record["diagnosis"]["findings"] = json!([{
                "category": "slow_tool", "severity": "high", "tool": "bash", "eventIndex": 1,
                "durationMs": 60_000, "summary": "bash took 60.0s: $ canary",
            }]);
        });
    }
    let caller = granted(&["friction:write", "review:write", "repo:exec"], Set::All);
    for (id, body, text) in [
        ("friction.propose", json!({ "dryRun": true }), "canary"),
        (
            "review.abridge",
            json!({ "id": "r1", "wait": true }),
            "canary",
        ),
        ("repo.test", json!({ "slug": "acme/app" }), OUTPUT),
    ] {
        let json = desk.invoke(&caller, id, body).await.unwrap().json;
        assert!(json.contains(text), "{id}: {json}");
        let bare = unfenced(&json);
        assert!(!bare.contains(text), "{id}: {bare}");
    }
}

/// A value that the kind accepts.
fn valid(kind: &Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Text { min, max } => prop::collection::vec(any::<char>(), *min..=(*max).min(12))
            .prop_map(|chars| Value::String(chars.into_iter().collect()))
            .boxed(),
        Kind::Rest { .. } => "\\PC{0,12}".prop_map(Value::String).boxed(),
        Kind::Integer { min, max } => (*min..=*max).prop_map(Value::from).boxed(),
        Kind::Duration => (0.0..1e12f64).prop_map(Value::from).boxed(),
        Kind::Boolean => any::<bool>().prop_map(Value::from).boxed(),
        Kind::Choice(words) => prop::sample::select(*words).prop_map(Value::from).boxed(),
        Kind::Name(name) => Just(Value::from(sample(name.placeholder))).boxed(),
        Kind::Map { value, .. } => valid(value)
            .prop_map(|value| json!({ "coding": value.clone(), "review": value }))
            .boxed(),
    }
}

fn sample(placeholder: &str) -> &'static str {
    match placeholder {
        "RUN" => "r-1",
        "OWNER/NAME" => "acme/app",
        "REF" => "main",
        "PROVIDER/MODEL" => "a/b",
        "AGENT" => "coding",
        "CHANNEL" => "slack:C1",
        _ => "mem:org:acme:0",
    }
}

fn fields(definition: &'static Definition) -> Vec<&'static Field> {
    definition.fields().collect()
}

/// Input that a definition accepts fits the command's type, so that none ends in an internal error.
#[test]
fn valid_input_fits_the_commands_own_type() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let residents = MemoryResidents::frozen("acme/app");
    let capable =
        |capabilities| with_residents(&residents)(schedules::with_schedules(capabilities));
    let desk = runtime.block_on(async { desk_with(Vec::new(), capable, |settings| settings) });
    let caller = ars_bot_core::commands::Caller::cli();
    let commands = desk.commands();
    for definition in commands.registry().on(Surface::Cli) {
        let fields = fields(definition);
        let values: Vec<_> = fields
            .iter()
            .map(|field| {
                let value = valid(&field.kind).prop_map(Some);
                if field.is_required() {
                    value.boxed()
                } else {
                    prop_oneof![value, Just(None)].boxed()
                }
            })
            .collect();
        let check = |values: Vec<Option<Value>>| {
            let given = fields
                .iter()
                .zip(values)
                .filter_map(|(field, value)| Some((field.name.to_owned(), value?)));
            let body: Map<String, Value> = given.collect();
            let shown = format!("{} {body:?}", definition.id);
            let surface = if definition.surfaces.contain(Surface::Api) {
                Surface::Api
            } else {
                Surface::Cli
            };
            let result = runtime.block_on(commands.invoke(
                &on(&caller, surface),
                definition.id,
                &RawInput::Object(body),
            ));
            let code = result.as_ref().err().map(|failure| failure.code.as_str());
            prop_assert_ne!(code, Some("internal"), "{}", shown);
            Ok(())
        };
        let mut runner = TestRunner::new(ProptestConfig {
            cases: 32,
            ..ProptestConfig::default()
        });
        runner.run(&values, check).unwrap();
    }
}
