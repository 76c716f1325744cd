//! Memory, whichever store it is in.

use ars_bot_ports::Written;
use ars_wire::memory::{Candidate, Kind, MemoryRecord, Taint};

use super::{Fixture, key};

fn fact(text: &str) -> Candidate {
    Candidate {
        kind: Kind::Fact,
        text: text.into(),
        source_thread_key: "t:C1:1".into(),
        keywords: Vec::new(),
        source_run_id: None,
        confidence: None,
        supersedes: None,
        taint: Vec::new(),
    }
}

fn texts(records: &[MemoryRecord]) -> Vec<&str> {
    records.iter().map(|record| record.text.as_str()).collect()
}

pub async fn retrieve_counts_as_use(fixture: Fixture) {
    let scope = key("repo:acme/app");
    let summary = Candidate {
        kind: Kind::Summary,
        keywords: vec!["deploy".into()],
        source_run_id: Some("r1".into()),
        confidence: Some(0.75),
        taint: vec![Taint::Web],
        ..fact("Ships on Friday 🦀")
    };
    let written = fixture
        .memory
        .write(&scope, &[summary.clone(), fact("CI runs nightly")])
        .await
        .unwrap();
    assert_eq!(
        written,
        Written {
            inserted: 2,
            ..Written::default()
        }
    );
    let found = fixture
        .memory
        .retrieve(&scope, "when do we DEPLOY? (\"OR\" *", 5)
        .await;
    let [found] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (found.kind, &found.text, &found.keywords),
        (Kind::Summary, &summary.text, &summary.keywords)
    );
    assert_eq!(
        (&found.source_run_id, found.confidence),
        (&summary.source_run_id, Some(0.75))
    );
    assert_eq!((found.use_count, found.last_used_at.is_some()), (1, true));
    assert_eq!(found.taint, [Taint::Web]);
    assert_eq!(found.id, "mem:repo:acme/app:0");
    assert_eq!(
        fixture
            .memory
            .retrieve(&scope, "of nothing we know", 5)
            .await,
        []
    );
}

pub async fn list_is_newest_first_and_no_use(fixture: Fixture) {
    let scope = key("org:acme");
    for text in ["one of many", "two of many", "three"] {
        fixture.memory.write(&scope, &[fact(text)]).await.unwrap();
    }
    let all = fixture.memory.list(&scope, None, 50).await.unwrap();
    assert_eq!(texts(&all), ["three", "two of many", "one of many"]);
    assert!(
        all.iter()
            .all(|record| record.use_count == 0 && record.last_used_at.is_none())
    );
    assert_eq!(
        texts(&fixture.memory.list(&scope, Some("many"), 1).await.unwrap()),
        ["two of many"]
    );
    assert_eq!(
        fixture.memory.list(&scope, Some("?!"), 5).await.unwrap(),
        []
    );
}

pub async fn repeated_and_superseded_facts_are_one_record(fixture: Fixture) {
    let scope = key("user:http:ana");
    fixture
        .memory
        .write(&scope, &[fact("Likes tabs")])
        .await
        .unwrap();
    let again = fixture
        .memory
        .write(&scope, &[fact("  likes   TABS ")])
        .await
        .unwrap();
    assert_eq!(
        again,
        Written {
            deduped: 1,
            ..Written::default()
        }
    );
    let other = Candidate {
        supersedes: Some("mem:user:http:ana:0".into()),
        ..fact("Likes spaces")
    };
    let superseded = fixture.memory.write(&scope, &[other]).await.unwrap();
    assert_eq!(
        superseded,
        Written {
            inserted: 1,
            superseded: 1,
            ..Written::default()
        }
    );
    assert_eq!(
        texts(&fixture.memory.retrieve(&scope, "likes", 5).await),
        ["Likes spaces"]
    );
    for forgotten in [true, false] {
        assert_eq!(
            fixture
                .memory
                .forget(&scope, "mem:user:http:ana:1")
                .await
                .unwrap(),
            forgotten
        );
    }
    assert_eq!(fixture.memory.list(&scope, None, 5).await.unwrap(), []);
}

pub async fn cap_limits_a_scope(fixture: Fixture) {
    let scope = key("org:acme");
    let facts: Vec<_> = (0..8).map(|n| fact(&format!("fact {n}"))).collect();
    let written = fixture.memory.write(&scope, &facts).await.unwrap();
    assert_eq!(
        written,
        Written {
            inserted: 8,
            evicted: 3,
            ..Written::default()
        }
    );
    assert_eq!(
        fixture.memory.list(&scope, None, 50).await.unwrap().len(),
        5
    );
}

pub async fn any_query_and_id_is_accepted(fixture: Fixture) {
    let scope = key("org:acme");
    fixture
        .memory
        .write(&scope, &[fact("needle")])
        .await
        .unwrap();
    let (early, late) = (
        format!("needle{}", " 🦀".repeat(4000)),
        format!("{}needle", "🦀 ".repeat(4000)),
    );
    assert_eq!(fixture.memory.retrieve(&scope, &early, 5).await.len(), 1);
    assert_eq!(
        fixture.memory.retrieve(&scope, &late, 5).await,
        [],
        "what is beyond the cut is not asked for"
    );
    for query in ["", "\u{0}", "' OR 1=1 --", "text:needle NEAR(", "\"needle"] {
        fixture.memory.list(&scope, Some(query), 5).await.unwrap();
    }
    for id in ["", "a b", "\u{0}", &"x".repeat(201), "mem:org:acme:99"] {
        assert!(!fixture.memory.forget(&scope, id).await.unwrap(), "{id:?}");
    }
}
