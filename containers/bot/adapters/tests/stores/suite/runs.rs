//! Run history, whichever store it is in.

use ars_runs::StoredRun;
use ars_wire::{
    Moment,
    runs::{Cursor, ListRequest},
};
use serde_json::{Value, json};

use super::{Fixture, record, refusal, run};

fn ids(items: &[StoredRun]) -> Vec<&str> {
    items.iter().map(|item| item.id.as_str()).collect()
}

async fn listed(fixture: &Fixture, request: ListRequest) -> Vec<String> {
    let page = fixture.runs.list(&request).await.unwrap();
    ids(&page.items).into_iter().map(str::to_owned).collect()
}

pub async fn put_record_is_read_back(fixture: Fixture) {
    let sent = fixture.record("r1");
    assert!(fixture.runs.put(&sent).await.unwrap().stored);
    assert_eq!(fixture.runs.get(&run("r1")).await.unwrap(), Some(sent));
}

pub async fn unknown_run_is_none(fixture: Fixture) {
    assert_eq!(fixture.runs.get(&run("no")).await.unwrap(), None);
    assert_eq!(fixture.runs.summary(&run("no")).await.unwrap(), None);
    assert_eq!(fixture.runs.events(&run("no"), 0, 10).await.unwrap(), None);
    assert_eq!(
        listed(&fixture, ListRequest::default()).await,
        Vec::<String>::new()
    );
}

pub async fn summary_omits_the_events(fixture: Fixture) {
    let record = fixture.record("r1");
    fixture.runs.put(&record).await.unwrap();
    let mut expected = serde_json::to_value(&record).unwrap();
    let whole = expected.to_string().len();
    expected.as_object_mut().unwrap().remove("events");
    expected["bytes"] = json!(whole);
    assert_eq!(
        fixture.runs.summary(&run("r1")).await.unwrap(),
        Some(expected)
    );
}

pub async fn delete_may_be_repeated(fixture: Fixture) {
    fixture.runs.put(&fixture.record("r1")).await.unwrap();
    assert!(fixture.runs.delete(&run("r1")).await.unwrap());
    assert_eq!(fixture.runs.get(&run("r1")).await.unwrap(), None);
    assert_eq!(fixture.runs.events(&run("r1"), 0, 10).await.unwrap(), None);
    assert!(!fixture.runs.delete(&run("r1")).await.unwrap());
}

pub async fn list_pages_and_filters(fixture: Fixture) {
    let now = fixture.now;
    for (id, at) in [("a", now), ("b", now - 1), ("c", now - 2)] {
        fixture.runs.put(&record(id, at)).await.unwrap();
    }
    let page = fixture
        .runs
        .list(&ListRequest {
            limit: Some(2),
            ..ListRequest::default()
        })
        .await
        .unwrap();
    assert_eq!(ids(&page.items), ["a", "b"]);
    assert_eq!(
        page.next_before,
        Some(Cursor {
            finished_at: Moment::from(now - 1),
            id: run("b")
        })
    );
    let whole = serde_json::to_string(&record("a", now)).unwrap();
    assert_eq!(page.items[0].bytes, Some(whole.len().into()));
    let before = Some(Moment::from(now - 1));
    let next = ListRequest {
        before,
        before_id: Some(run("b")),
        ..ListRequest::default()
    };
    assert_eq!(listed(&fixture, next).await, ["c"]);
    let other = ListRequest {
        agent: Some("general".into()),
        ..ListRequest::default()
    };
    assert_eq!(listed(&fixture, other).await, Vec::<String>::new());
    let since = ListRequest {
        since_ms: before,
        channel: Some("C1".into()),
        ..ListRequest::default()
    };
    assert_eq!(listed(&fixture, since).await, ["a", "b"]);
}

pub async fn diagnosis_is_listed_on_request(fixture: Fixture) {
    let sent = fixture.record("r1");
    fixture.runs.put(&sent).await.unwrap();
    for diagnosis in [None, Some(true), Some(false)] {
        let request = ListRequest {
            diagnosis,
            ..ListRequest::default()
        };
        let page = fixture.runs.list(&request).await.unwrap();
        let expected = Some(&sent.diagnosis).filter(|_| diagnosis != Some(false));
        assert_eq!(page.items[0].diagnosis.as_ref(), expected, "{diagnosis:?}");
        assert_eq!(page.items[0].thread_key.as_ref(), Some(&sent.thread_key));
    }
}

pub async fn cursor_keeps_fractions_of_times(fixture: Fixture) {
    // Neighbouring doubles, some of which differ only in the seventeenth digit.
    let mut at = fixture.now as f64 - 1000.0;
    let mut expected = Vec::new();
    for n in 0..30 {
        let mut record = serde_json::to_value(fixture.record(&format!("r{n:02}"))).unwrap();
        record["finishedAt"] = json!(at);
        let put = fixture
            .raw(
                "/runs/put",
                json!({ "storeKey": "runs:default", "record": record }),
            )
            .await;
        assert_eq!(put.status, 200, "{}", put.text);
        expected.insert(0, (format!("r{n:02}"), at));
        at = at.next_up();
    }
    let mut found = Vec::new();
    let mut request = ListRequest {
        limit: Some(4),
        ..ListRequest::default()
    };
    loop {
        let page = fixture.runs.list(&request).await.unwrap();
        found.extend(
            page.items
                .iter()
                .map(|item| (item.id.to_string(), item.finished_at.millis())),
        );
        let Some(Cursor { finished_at, id }) = page.next_before else {
            break;
        };
        request.before = Some(finished_at);
        request.before_id = Some(id);
    }
    assert_eq!(found, expected);
    for (index, (_, at)) in expected.iter().enumerate() {
        let since = ListRequest {
            since_ms: Moment::new(*at),
            ..ListRequest::default()
        };
        assert_eq!(
            listed(&fixture, since).await.len(),
            index + 1,
            "since is inclusive at {at}"
        );
    }
    let rounded = expected[0].1.round() as i64;
    assert_eq!(
        fixture
            .runs
            .get(&run("r29"))
            .await
            .unwrap()
            .unwrap()
            .finished_at,
        rounded
    );
}

pub async fn predicate_filters_the_list(fixture: Fixture) {
    fixture.runs.put(&fixture.record("r1")).await.unwrap();
    let ask = |filter: Value| ListRequest {
        visible_to: Some(filter),
        ..ListRequest::default()
    };
    let mine =
        json!({ "kind": "or", "of": [{ "kind": "none" }, { "kind": "user-is", "userId": "U1" }] });
    assert_eq!(listed(&fixture, ask(mine)).await, ["r1"]);
    assert_eq!(
        listed(&fixture, ask(json!({ "kind": "user-is", "userId": "U2" }))).await,
        Vec::<String>::new()
    );
}

pub async fn events_are_paged(fixture: Fixture) {
    let sent = fixture.record("r1");
    fixture.runs.put(&sent).await.unwrap();
    let first = fixture
        .runs
        .events(&run("r1"), 0, 2)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (&first.events[..], first.next_after_seq),
        (&sent.events[..2], Some(2))
    );
    let last = fixture
        .runs
        .events(&run("r1"), 2, 2)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (&last.events[..], last.next_after_seq),
        (&sent.events[2..], None)
    );
}

pub async fn proposed_policy_is_applied(fixture: Fixture) {
    for n in 0..45 {
        fixture
            .runs
            .put(&record(&format!("r{n:02}"), fixture.now + n))
            .await
            .unwrap();
    }
    let found = listed(
        &fixture,
        ListRequest {
            limit: Some(200),
            ..ListRequest::default()
        },
    )
    .await;
    assert_eq!((found.len(), found[39].as_str()), (40, "r05"));
}

pub async fn rejected_request_names_the_field(fixture: Fixture) {
    let none = ListRequest {
        limit: Some(0),
        ..ListRequest::default()
    };
    assert_eq!(
        refusal(fixture.runs.list(&none).await),
        "400: limit must be an integer of at least 1"
    );
    let mut broken = fixture.record("r1");
    broken.diagnosis = json!({});
    assert_eq!(
        refusal(fixture.runs.put(&broken).await),
        "400: record.diagnosis.findings must be an array"
    );
}

pub async fn oversized_record_is_not_sent(fixture: Fixture) {
    let mut large = fixture.record("r1");
    large.label = Some("x".repeat(2_097_152));
    assert!(refusal(fixture.runs.put(&large).await).contains("over the store's limit"));
    assert_eq!(fixture.runs.get(&run("r1")).await.unwrap(), None);
}

pub async fn concurrent_writes_are_all_kept(fixture: Fixture) {
    let puts = (0..32).map(|n| {
        let (store, record) = (
            fixture.runs.clone(),
            record(&format!("r{n:02}"), fixture.now + n),
        );
        tokio::spawn(async move { store.put(&record).await.unwrap().stored })
    });
    for put in puts.collect::<Vec<_>>() {
        assert!(put.await.unwrap());
    }
    assert_eq!(listed(&fixture, ListRequest::default()).await.len(), 32);
}
