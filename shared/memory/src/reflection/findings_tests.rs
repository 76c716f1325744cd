//! Tests answers, well-formed and hostile.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::samples::record;

fn read(answer: &str) -> Option<Findings> {
    let shown = [
        record("org:acme", 0, "CI runs nightly"),
        record("user:ann", 7, "Likes tabs"),
    ];
    Findings::read(answer, &shown, str::to_owned)
}

/// Returns the fact in an envelope with a single entry.
fn fact(entry: &Json) -> Option<Fact> {
    let mut facts = read(&json!({ "facts": [entry] }).to_string())
        .unwrap()
        .facts;
    assert!(facts.len() <= 1);
    facts.pop()
}

fn with(field: &str, value: Json) -> Option<Fact> {
    let mut entry = json!({ "text": "CI runs hourly", "confidence": 0.8 });
    entry[field] = value;
    fact(&entry)
}

#[test]
fn complete_answer_is_parsed() {
    let answer = json!({
        "facts": [{
            "text": " CI runs hourly\n", "confidence": 0.9, "keywords": ["CI", "Hourly"], "audience": "repo",
            "supersedes": "mem:org:acme:0", "more": true,
        }],
        "summary": "CI was sped up.",
    });
    let fact = Fact {
        text: "CI runs hourly".into(),
        confidence: 0.9,
        keywords: vec!["ci".into(), "hourly".into()],
        audience: Scope::Repo,
        supersedes: Some("mem:org:acme:0".into()),
    };
    let expected = Findings {
        facts: vec![fact],
        summary: Some("CI was sped up.".into()),
    };
    assert_eq!(read(&answer.to_string()).as_ref(), Some(&expected));
    for fence in ["```json\n", "```\n", "```"] {
        assert_eq!(
            read(&format!("\n{fence}{answer}\n```\n")).as_ref(),
            Some(&expected)
        );
    }
}

#[test]
fn answer_without_envelope_is_none() {
    for answer in [
        "",
        "I would remember that CI runs nightly.",
        "null",
        "[]",
        "\"facts\"",
        "{}",
        "{\"summary\": \"x\"}",
        "{\"facts\": null, \"summary\": \"x\"}",
        "{\"facts\": {\"text\": \"x\", \"confidence\": 1}}",
        "{\"facts\": \"x\"}",
        "{\"facts\": []} and more",
        "Sure: {\"facts\": []}",
        "{\"facts\": [",
        "{\"facts\": [{\"text\": \"x\", \"confidence\": 1e400}]}",
    ] {
        assert_eq!(read(answer), None, "{answer}");
    }
    assert_eq!(read("{\"facts\": []}"), Some(Findings::default()));
}

#[test]
fn endless_answers_are_none() {
    let deep = format!(
        "{{\"facts\": [{}1{}]}}",
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    assert_eq!(read(&deep), None);
    let junk =
        json!({ "facts": [[[{"text": {"text": ["x"]}, "confidence": [1]}]], 7, null, true, "x"] });
    assert_eq!(read(&junk.to_string()), Some(Findings::default()));
    let endless = json!({ "facts": [], "summary": "x".repeat(MAX_ANSWER_BYTES) });
    assert_eq!(read(&endless.to_string()), None);
}

#[test]
fn first_five_valid_facts_are_kept() {
    let many: Vec<_> = (0..10_000)
        .map(|n| json!({ "text": n.to_string(), "confidence": n % 2 }))
        .collect();
    let facts = read(&json!({ "facts": many }).to_string()).unwrap().facts;
    assert_eq!(
        facts
            .iter()
            .map(|fact| fact.text.as_str())
            .collect::<Vec<_>>(),
        ["1", "3", "5", "7", "9"]
    );
}

#[test]
fn confidence_out_of_bounds_drops_the_fact() {
    for confidence in [json!(0.6), json!(1), json!(1.0), json!(0.75)] {
        assert_eq!(
            with("confidence", confidence.clone()).map(|fact| fact.confidence),
            confidence.as_f64()
        );
    }
    for confidence in [
        json!(1e9),
        json!(1.000_001),
        json!(0.599),
        json!(0),
        json!(-1),
        json!("0.9"),
        json!(null),
        json!([0.9]),
    ] {
        assert_eq!(with("confidence", confidence.clone()), None, "{confidence}");
    }
    assert_eq!(fact(&json!({ "text": "x" })), None);
}

#[test]
fn unacceptable_text_drops_the_fact() {
    for text in [
        json!(""),
        json!(" \n"),
        json!(null),
        json!(1),
        json!(["x"]),
        json!("é".repeat(4001)),
    ] {
        assert_eq!(with("text", text), None);
    }
    assert!(with("text", json!("é".repeat(4000))).is_some());
    for summary in [
        json!(""),
        json!(7),
        json!("é".repeat(4001)),
        json!({ "text": "x" }),
    ] {
        let answer = json!({ "facts": [], "summary": summary });
        assert_eq!(read(&answer.to_string()), Some(Findings::default()));
    }
}

#[test]
fn unknown_audience_is_org() {
    for (audience, scope) in [
        ("user", Scope::User),
        ("repo", Scope::Repo),
        ("channel", Scope::Channel),
    ] {
        assert_eq!(with("audience", json!(audience)).unwrap().audience, scope);
    }
    for audience in [
        json!("org"),
        json!("User"),
        json!("everybody"),
        json!(null),
        json!(["user"]),
    ] {
        assert_eq!(with("audience", audience).unwrap().audience, Scope::Org);
    }
    assert_eq!(
        fact(&json!({ "text": "x", "confidence": 1 }))
            .unwrap()
            .audience,
        Scope::Org
    );
}

#[test]
fn only_shown_records_are_superseded() {
    assert_eq!(
        with("supersedes", json!("mem:user:ann:7"))
            .unwrap()
            .supersedes,
        Some("mem:user:ann:7".into())
    );
    for id in [
        json!("mem:user:ann:8"),
        json!("mem:user:bob:7"),
        json!("mem:org:acme:00"),
        json!(" mem:org:acme:0"),
        json!("CI runs nightly"),
        json!(""),
        json!(0),
        json!(["mem:org:acme:0"]),
    ] {
        let fact = with("supersedes", id.clone()).unwrap();
        assert_eq!(fact.supersedes, None, "{id}");
    }
}

#[test]
fn keywords_are_normalized_and_bounded() {
    let keywords = |value: Json| with("keywords", value).unwrap().keywords;
    assert_eq!(
        keywords(json!(["CI", "ci", " Ci ", "a  B", 7, null, "", ["x"]])),
        ["ci", "a b"]
    );
    let many: Vec<_> = (0..30).map(|n| n.to_string()).collect();
    assert_eq!(keywords(json!(many)), many[..10]);
    assert_eq!(
        keywords(json!(["x".repeat(65), "y".repeat(64)])),
        ["y".repeat(64)]
    );
    for value in [json!("ci"), json!(null), json!({ "0": "ci" })] {
        assert_eq!(keywords(value), Vec::<String>::new());
    }
}

#[test]
fn texts_are_cleaned_first() {
    let answer = json!({
        "facts": [
            { "text": "token Ab\u{1}c", "confidence": 1, "keywords": ["Ab\u{1}c", "XYZ", "ci"] },
            { "text": "\u{1}", "confidence": 1 },
        ],
        "summary": "about Ab\u{1}c",
    });
    let clean = |text: &str| {
        text.replace('\u{1}', "")
            .replace("Abc", "[gone]")
            .replace("xyz", "[gone]")
    };
    let findings = Findings::read(&answer.to_string(), &[], clean).unwrap();
    let [fact] = &findings.facts[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(
        (fact.text.as_str(), &fact.keywords[..]),
        ("token [gone]", &["[gone]".into(), "ci".into()][..])
    );
    assert_eq!(findings.summary.as_deref(), Some("about [gone]"));
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "\\PC{0,8}".prop_map(Json::from),
        Just(Json::from("mem:org:acme:0")),
        Just(Json::from("user")),
    ];
    leaf.prop_recursive(4, 40, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
            prop::collection::vec(
                (
                    prop::sample::select(vec![
                        "facts",
                        "summary",
                        "text",
                        "confidence",
                        "keywords",
                        "audience",
                        "supersedes",
                    ]),
                    inner,
                ),
                0..7,
            )
            .prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_answer_stays_within_limits(facts in any_json(), summary in any_json()) {
        if let Some(findings) = read(&json!({ "facts": facts, "summary": summary }).to_string()) {
            prop_assert!(findings.facts.len() <= MAX_FACTS);
            for fact in findings.facts {
                prop_assert!(CONFIDENCE.contains(&fact.confidence) && !fact.text.trim().is_empty());
                prop_assert!(fact.keywords.len() <= MAX_KEYWORDS);
                prop_assert!(fact.supersedes.is_none_or(|id| id == "mem:org:acme:0"));
            }
        }
    }
}
