//! No output has the capability token of a run.

use ars_commands::Surface;
use serde_json::{Value, json};

use super::support::read;
use crate::{
    remote_runs::{TOKEN, beside_another},
    support::{record, say},
};

/// Returns every key and every text of a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            found.push(key.clone());
            texts(value, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The runs are live here, live in another process, and stored.
#[tokio::test]
async fn no_read_has_a_token_at_any_depth() {
    let (bot, _ledger) = beside_another().await;
    let run = bot.run("live", "scripted/m");
    say(&run, "hello");
    bot.store.insert(record(
        "done",
        1_760_000_000_000,
        &[json!({ "type": "answer", "text": "x", "seq": 1 })],
    ));
    let tokens = [TOKEN.to_owned(), run.view().token];
    let commands = bot.core.commands();
    let reads = commands.registry().on(Surface::Api).filter(|definition| !definition.effect.is_write());
    for definition in reads {
        let queries: Vec<String> = match definition.id {
            "runs.get" | "runs.events" | "runs.friction" => {
                let ids = ["away", "done", run.id().as_str()];
                let more = if definition.id == "runs.get" { "&include=messages" } else { "" };
                ids.iter().map(|id| format!("id={id}{more}")).collect()
            }
            "runs.list" => vec!["status=all".into(), "status=active".into(), "status=finished".into()],
            "config.show" => vec!["channel=http:default".into()],
            _ => vec![String::new()],
        };
        for query in queries {
            let path = format!("/api/{}?{query}", definition.id);
            let answer = read(reqwest::get(bot.url(&path)).await.unwrap()).await;
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            let mut found = Vec::new();
            texts(&answer.json(), &mut found);
            for text in found {
                assert!(!tokens.iter().any(|token| text.contains(token.as_str())), "{path}: {text}");
                let lower = text.to_ascii_lowercase();
                assert!(!["token", "viewtoken", "t"].contains(&lower.as_str()), "{path}: {text}");
            }
        }
    }
    let all = read(reqwest::get(bot.url("/api/runs.list?status=all")).await.unwrap()).await.json();
    assert_eq!(all["runs"].as_array().unwrap().len(), 3, "each kind of run is listed: {all}");
    drop(run);
}
