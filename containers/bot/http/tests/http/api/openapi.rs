//! Tests the route description.

use std::collections::BTreeSet;

use ars_auth::Set;
use ars_commands::Surface;
use serde_json::{Value, json};

use super::support::{bot, get, read};
use crate::support::Bot;

const PATH: &str = "/api/openapi.json";
/// The routes that are no commands.
const OTHERS: [&str; 4] = [
    "/ingress",
    "/runs/{id}/events",
    "/runs/{id}/steer",
    "/runs/{id}/stop",
];

/// Returns every reference's target.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(members) => members.iter().for_each(|(key, value)| match value {
            Value::String(text) if key == "$ref" => found.push(text.clone()),
            other => references(other, found),
        }),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[tokio::test]
async fn description_has_every_command() {
    let bot = bot(Set::default(), Set::default()).await;
    let document = get(&bot, PATH).await.json();
    assert_eq!(document["openapi"], "3.1.1");
    assert_eq!(document["security"], json!([{ "token": [] }]));
    let commands = bot.core.commands();
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(
        paths.len(),
        commands.registry().on(Surface::Api).count() + OTHERS.len()
    );
    for path in OTHERS {
        assert!(paths[path].is_object(), "{path}");
    }
    assert_eq!(
        paths["/ingress"]["post"]["security"],
        json!([{ "ingress": [] }])
    );
    let mut operations = BTreeSet::new();
    for definition in commands.registry().on(Surface::Api) {
        let item = paths[&format!("/api/{}", definition.id)]
            .as_object()
            .unwrap();
        let methods: Vec<&String> = item.keys().collect();
        let expected = if definition.effect.is_write() {
            vec!["post"]
        } else {
            vec!["post", "get"]
        };
        assert_eq!(methods, expected, "{}", definition.id);
        for (method, operation) in item {
            let is_new = operations.insert(operation["operationId"].as_str().unwrap().to_owned());
            assert!(is_new, "{} {method}", definition.id);
            for status in ["200", "400", "403", "404", "409", "500", "503"] {
                assert!(
                    operation["responses"][status].is_object(),
                    "{} {method} {status}",
                    definition.id
                );
            }
        }
        let input = &document["components"]["schemas"][format!("{}.input", definition.id)];
        assert_eq!(
            *input,
            definition.strict_input_schema(),
            "{}",
            definition.id
        );
    }
}

#[tokio::test]
async fn answers_beside_commands_are_complete() {
    let bot = bot(Set::default(), Set::default()).await;
    let document = get(&bot, PATH).await.json();
    let responses = |path: &str| document["paths"][path]["post"]["responses"].clone();
    assert!(responses("/ingress")["409"].is_object());
    for status in ["403", "503"] {
        let content = &responses("/runs/{id}/steer")[status]["content"];
        let types: Vec<&String> = content.as_object().unwrap().keys().collect();
        assert_eq!(types, ["text/plain", "application/json"], "{status}");
    }
}

#[tokio::test]
async fn every_reference_resolves() {
    let bot = bot(Set::default(), Set::default()).await;
    let document = get(&bot, PATH).await.json();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let schemas = document["components"]["schemas"].to_string();
    assert!(
        !schemas.contains("$defs") && !schemas.contains("$schema"),
        "{schemas}"
    );
}

#[tokio::test]
async fn query_parameters_are_the_fields() {
    let bot = bot(Set::default(), Set::default()).await;
    let document = get(&bot, PATH).await.json();
    let parameters = &document["paths"]["/api/runs.events"]["get"]["parameters"];
    let named: Vec<(&str, bool)> = parameters
        .as_array()
        .unwrap()
        .iter()
        .map(|field| {
            (
                field["name"].as_str().unwrap(),
                field["required"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(named, [("id", true), ("afterSeq", false), ("limit", false)]);
    let body = &document["paths"]["/api/runs.stop"]["post"]["requestBody"];
    assert_eq!(body["required"], true);
    assert_eq!(
        body["content"]["application/json"]["schema"],
        json!({ "$ref": "#/components/schemas/runs.stop.input" })
    );
}

#[tokio::test]
async fn mode_none_needs_no_credential() {
    let bot = Bot::start().await;
    let document = read(reqwest::get(bot.url(PATH)).await.unwrap())
        .await
        .json();
    assert_eq!(document["security"], json!([]));
    assert_eq!(document["paths"].get("/api/memory.list"), None);
}
