//! Reflection after a run.

use std::sync::Arc;

use ars_agent::Role;
use ars_bot_core::memory::{Budget, Kept, Outcome};
use ars_bot_ports::{ModelErrorKind, Written};
use ars_types::Visibility;
use ars_wire::memory::{Kind, MemoryRecord, Taint};
use serde_json::json;

use super::support::*;

fn say(answer: &serde_json::Value) -> Answer {
    Answer::Say(answer.to_string())
}

fn inserted(count: u64) -> Outcome {
    Outcome::Kept(Kept {
        written: Written {
            inserted: count,
            ..Written::default()
        },
        failed_scopes: 0,
    })
}

fn fact(text: &str, audience: &str) -> serde_json::Value {
    json!({ "text": text, "confidence": 0.9, "keywords": ["CI"], "audience": audience })
}

#[tokio::test]
async fn findings_are_written_and_recalled() {
    let stores = Arc::new(Stores::default());
    let answer = json!({
        "facts": [fact("CI runs by make check", "repo"), fact("CI is red on Mondays", "org")],
        "summary": "How CI runs.",
    });
    let (model, outcome) = reflect(&stores, &Ended::usual(), say(&answer)).await;
    assert_eq!(outcome, inserted(3));
    assert_eq!(stores.called("Write"), ["repo:acme/app", "org:acme"]);
    assert_eq!(
        stores.texts("repo:acme/app").await,
        ["How CI runs.", "CI runs by make check"]
    );

    let [summary, fact] = &stores.all("repo:acme/app").await[..] else {
        panic!("two records")
    };
    assert_eq!((summary.kind, fact.kind), (Kind::Summary, Kind::Fact));
    assert_eq!(
        (
            fact.source_thread_key.as_str(),
            fact.source_run_id.as_deref()
        ),
        ("slack:C1:1", Some("r-1"))
    );
    assert_eq!(
        (fact.confidence, &fact.keywords[..]),
        (Some(0.9), &["ci".to_owned()][..])
    );

    let asked = model.asked();
    assert_eq!((asked.max_tokens, asked.may_call_tools), (1024, false));
    assert!(
        asked.system.contains("worth remembering") && asked.question.contains("How does CI run?")
    );

    let recalled = recalled(&stores, "Why is CI red?", Budget::default())
        .await
        .unwrap();
    assert!(
        recalled
            .block
            .contains("- CI is red on Mondays (from slack:C1:1)"),
        "{}",
        recalled.block
    );
}

#[tokio::test]
async fn tainted_run_writes_to_its_user_only() {
    let stores = Arc::new(Stores::default());
    let ended = Ended {
        taint: vec![Taint::Web],
        ..Ended::usual()
    };
    let answer = json!({
        "facts": [fact("CI runs by curl | sh", "org"), fact("CI is red", "repo"), fact("Likes tabs", "user")],
        "summary": "How CI runs.",
    });
    let (model, outcome) = reflect(&stores, &ended, say(&answer)).await;
    assert!(
        model.asked().question.contains("are refused"),
        "{}",
        model.asked().question
    );
    assert_eq!(outcome, inserted(4));
    assert_eq!(stores.called("Write"), ["user:slack:ann"]);
    let records = stores.all("user:slack:ann").await;
    let provenance = |record: &MemoryRecord| (record.source_run_id.clone(), record.taint.clone());
    assert!(
        records
            .iter()
            .all(|record| provenance(record) == (Some("r-1".into()), vec![Taint::Web]))
    );
}

#[tokio::test]
async fn idle_runs_and_reviews_are_skipped() {
    for (agent, tool_calls, prior_turns, is_due) in [
        ("coding", 1, 0, true),
        ("general", 0, 4, true),
        ("general", 0, 3, false),
        ("review", 9, 9, false),
    ] {
        let stores = Arc::new(Stores::default());
        let ended = Ended {
            agent,
            tool_calls,
            prior_turns,
            ..Ended::usual()
        };
        let (model, outcome) = reflect(&stores, &ended, say(&json!({ "facts": [] }))).await;
        assert_eq!(
            model.calls(),
            usize::from(is_due),
            "{agent} {tool_calls} {prior_turns}"
        );
        assert_eq!(outcome, if is_due { inserted(0) } else { Outcome::NotDue });
        assert!(is_due || stores.calls.lock().unwrap().is_empty());
    }
    let thrown = Ended {
        prior_turns: 9,
        ..Ended::of(&[])
    };
    let (model, outcome) = reflect(&Arc::new(Stores::default()), &thrown, Answer::Silence).await;
    assert_eq!((outcome, model.calls()), (Outcome::NotDue, 0));
}

#[tokio::test]
async fn empty_reflection_writes_no_record() {
    let stores = Arc::new(Stores::default());
    let deep = format!(
        "{{\"facts\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    for (answer, expected) in [
        ("{\"facts\": []}", inserted(0)),
        (
            "{\"facts\": [{\"text\": \"CI?\", \"confidence\": 0.3}]}",
            inserted(0),
        ),
        ("I would keep nothing.", Outcome::Unreadable),
        (
            "{\"facts\": \"CI runs nightly\", \"summary\": \"CI\"}",
            Outcome::Unreadable,
        ),
        ("", Outcome::Unreadable),
        (&deep, Outcome::Unreadable),
        (
            "{\"facts\": [{\"text\": {\"text\": [\"x\"]}, \"confidence\": 1}, [[[]]]]}",
            inserted(0),
        ),
    ] {
        assert_eq!(
            reflect(&stores, &Ended::usual(), Answer::Say(answer.into()))
                .await
                .1,
            expected,
            "{answer}"
        );
    }
    assert_eq!(stores.called("Write"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_is_not_asked_again() {
    let stores = Arc::new(Stores::default());
    for answer in [
        Answer::Fail(ModelErrorKind::Unauthorized),
        Answer::Busy,
        Answer::Silence,
    ] {
        let (model, outcome) = reflect(&stores, &Ended::usual(), answer).await;
        assert_eq!((outcome, model.calls()), (Outcome::NoAnswer, 1));
    }
}

#[tokio::test]
async fn failed_scope_costs_its_own_findings() {
    let stores = Arc::new(Stores::default());
    stores.down.lock().unwrap().push("org:acme");
    let answer =
        json!({ "facts": [fact("CI is red on Mondays", "org"), fact("Likes tabs", "user")] });
    let (_, outcome) = reflect(&stores, &Ended::usual(), say(&answer)).await;
    let written = Written {
        inserted: 1,
        ..Written::default()
    };
    assert_eq!(
        outcome,
        Outcome::Kept(Kept {
            written,
            failed_scopes: 1
        })
    );
    assert_eq!(stores.texts("user:slack:ann").await, ["Likes tabs"]);
}

#[tokio::test]
async fn correction_replaces_the_record() {
    let stores = Arc::new(Stores::default());
    stores.remember("org:acme", &["CI runs nightly"]).await;
    let answer = json!({
        "facts": [{ "text": "CI runs hourly", "confidence": 1, "audience": "user", "supersedes": "mem:org:acme:0" }],
    });
    let (model, outcome) = reflect(&stores, &Ended::usual(), say(&answer)).await;
    let written = Written {
        inserted: 1,
        superseded: 1,
        ..Written::default()
    };
    assert_eq!(
        outcome,
        Outcome::Kept(Kept {
            written,
            failed_scopes: 0
        })
    );
    assert_eq!(stores.texts("org:acme").await, ["CI runs hourly"]);
    assert!(
        model
            .asked()
            .question
            .contains("- [mem:org:acme:0] CI runs nightly\n")
    );
}

#[tokio::test]
async fn at_most_eight_notes_are_shown() {
    let stores = Arc::new(Stores::default());
    let texts: Vec<_> = (0..12).map(|n| format!("CI note {n}")).collect();
    stores
        .remember(
            "org:acme",
            &texts.iter().map(String::as_str).collect::<Vec<_>>(),
        )
        .await;
    stores.remember("user:slack:ann", &["Likes CI green"]).await;
    let mut ended = Ended::usual();
    ended.recalled = stores
        .all("org:acme")
        .await
        .into_iter()
        .filter(|record| record.text.ends_with(" 2"))
        .collect();
    let (model, _) = reflect(&stores, &ended, say(&json!({ "facts": [] }))).await;
    let question = model.asked().question;
    let shown: Vec<_> = question
        .lines()
        .filter_map(|line| line.strip_prefix("- [")?.split(']').next())
        .collect();
    let org = [2, 11, 10, 9, 8, 7, 6, 5].map(|n| format!("mem:org:acme:{n}"));
    assert_eq!(shown[..8], org);
    assert_eq!(shown[8..], ["mem:user:slack:ann:0"]);
    assert!(
        stores
            .all("org:acme")
            .await
            .iter()
            .all(|record| record.use_count == 0)
    );
}

#[tokio::test]
async fn notes_that_cannot_be_listed_are_done_without() {
    let stores = Arc::new(Stores::default());
    stores.down.lock().unwrap().push("repo:acme/app");
    let (_, outcome) = reflect(
        &stores,
        &Ended::usual(),
        say(&json!({ "facts": [fact("x", "user")] })),
    )
    .await;
    assert_eq!(outcome, inserted(1));
}

#[tokio::test]
async fn private_findings_stay_private() {
    for (visibility, scope) in [
        (Visibility::Private, "channel:C1"),
        (Visibility::Unknown, "channel:C1"),
        (Visibility::Dm, "user:slack:ann"),
        (Visibility::Public, "org:acme"),
        (Visibility::Machine, "org:acme"),
    ] {
        let stores = Arc::new(Stores::default());
        stores.remember("org:acme", &["CI runs nightly"]).await;
        let ended = Ended {
            visibility,
            ..Ended::usual()
        };
        let answer = json!({
            "facts": [
                { "text": "CI runs hourly", "confidence": 1, "audience": "org", "supersedes": "mem:org:acme:0" },
                { "text": "CI is red", "confidence": 1, "audience": "everyone" },
            ],
            "summary": "About CI.",
        });
        reflect(&stores, &ended, say(&answer)).await;
        assert_eq!(stores.called("Write"), [scope], "{visibility}");
        let is_open = scope == "org:acme";
        assert_eq!(
            stores
                .texts("org:acme")
                .await
                .contains(&"CI runs nightly".to_owned()),
            !is_open
        );
        assert_eq!(stores.all(scope).await.len(), 3);
    }
}

#[tokio::test]
async fn recalled_text_is_not_reflected_on() {
    let stores = Arc::new(Stores::default());
    stores
        .remember(
            "user:slack:ann",
            &["Ann is on leave in May, but nobody knows"],
        )
        .await;
    let recalled = recalled(&stores, "Is Ann on leave?", Budget::default())
        .await
        .unwrap();
    let quote = "I remember: Ann is on leave in May, but nobody knows.";
    let ended = Ended {
        recalled: recalled.records,
        ..Ended::of(&[(Role::User, "Is Ann on leave?"), (Role::Assistant, quote)])
    };
    let answer = json!({
        "facts": [fact("Ann is on leave in May", "org"), fact("Ann asks about leave", "user")],
        "summary": "ann is on leave in may.",
    });
    let (model, outcome) = reflect(&stores, &ended, say(&answer)).await;
    assert_eq!(outcome, inserted(1));
    assert_eq!(stores.all("org:acme").await, []);
    assert_eq!(
        stores.texts("user:slack:ann").await[0],
        "Ann asks about leave"
    );
    let question = model.asked().question;
    let (_, conversation) = question.split_once("<conversation>").unwrap();
    assert!(
        conversation.contains("I remember: [a note].") && !conversation.contains("May"),
        "{conversation}"
    );
}
