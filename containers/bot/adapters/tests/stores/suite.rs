//! What callers may rely on, whichever adapter they were given.

use ars_bot_adapters::stores::Proposal;
use ars_bot_core::ports::StoreErrorKind;
use ars_wire::runs::{Cursor, ListRequest, Policy};
use serde_json::{Value, json};

use crate::fixture::{self, DAY, Fixture, NOW, record, run};

/// Runs a case over both adapters.
macro_rules! over_both {
    ($($case:ident),+ $(,)?) => {
        mod over_embedded {
            $(#[tokio::test]
            async fn $case() {
                super::$case(super::fixture::embedded(super::proposal())).await;
            })+
        }

        mod over_worker {
            $(#[tokio::test]
            async fn $case() {
                super::$case(super::fixture::worker(super::proposal()).await).await;
            })+
        }
    };
}

over_both!(
    a_record_is_read_back_as_it_was_put,
    an_unknown_run_is_none_everywhere,
    a_later_record_of_a_run_replaces_it_whole,
    lists_page_filter_and_show_sizes,
    a_predicate_hides_what_it_does_not_allow,
    events_come_in_pages,
    a_run_too_old_is_not_stored_and_says_so,
    the_proposed_policy_is_kept,
    a_refused_request_is_permanent_and_named_alike,
    a_record_over_the_fence_is_permanent,
    writes_at_once_are_all_kept,
);

fn proposal() -> Option<Proposal> {
    let policy = Policy { retention_days: Some(10), max_runs: Some(40), max_bytes: None };
    Some(Proposal { policy, updated_at: NOW })
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["id"].as_str().unwrap()).collect()
}

async fn listed(fixture: &Fixture, request: ListRequest) -> Vec<String> {
    let page = fixture.store.list(&request).await.unwrap();
    ids(&page.items).into_iter().map(str::to_owned).collect()
}

async fn a_record_is_read_back_as_it_was_put(fixture: Fixture) {
    let sent = record("r1", NOW);
    assert!(fixture.store.put(&sent).await.unwrap().stored);
    assert_eq!(fixture.store.get(&run("r1")).await.unwrap(), Some(sent));
}

async fn an_unknown_run_is_none_everywhere(fixture: Fixture) {
    assert_eq!(fixture.store.get(&run("no")).await.unwrap(), None);
    assert_eq!(fixture.store.events(&run("no"), 0, 10).await.unwrap(), None);
    assert_eq!(listed(&fixture, ListRequest::default()).await, Vec::<String>::new());
}

async fn a_later_record_of_a_run_replaces_it_whole(fixture: Fixture) {
    fixture.store.put(&record("r1", NOW - 5)).await.unwrap();
    let mut last = record("r1", NOW);
    last.label = None;
    last.events.truncate(1);
    fixture.store.put(&last).await.unwrap();
    assert_eq!(fixture.store.get(&run("r1")).await.unwrap(), Some(last));
}

async fn lists_page_filter_and_show_sizes(fixture: Fixture) {
    for (id, at) in [("a", NOW), ("b", NOW - 1), ("c", NOW - 2)] {
        fixture.store.put(&record(id, at)).await.unwrap();
    }
    let page = fixture.store.list(&ListRequest { limit: Some(2), ..ListRequest::default() }).await.unwrap();
    assert_eq!(ids(&page.items), ["a", "b"]);
    assert_eq!(page.next_before, Some(Cursor { finished_at: NOW - 1, id: run("b") }));
    let whole = serde_json::to_string(&record("a", NOW)).unwrap();
    assert_eq!((&page.items[0]["bytes"], page.items[0].get("events")), (&json!(whole.len()), None));
    let next = ListRequest { before: Some(NOW - 1), before_id: Some(run("b")), ..ListRequest::default() };
    assert_eq!(listed(&fixture, next).await, ["c"]);
    let other = ListRequest { agent: Some("general".into()), ..ListRequest::default() };
    assert_eq!(listed(&fixture, other).await, Vec::<String>::new());
    let since = ListRequest { since_ms: Some(NOW - 1), channel: Some("C1".into()), ..ListRequest::default() };
    assert_eq!(listed(&fixture, since).await, ["a", "b"]);
}

async fn a_predicate_hides_what_it_does_not_allow(fixture: Fixture) {
    fixture.store.put(&record("r1", NOW)).await.unwrap();
    let ask = |filter: Value| ListRequest { visible_to: Some(filter), ..ListRequest::default() };
    let mine = json!({ "kind": "or", "of": [{ "kind": "none" }, { "kind": "user-is", "userId": "U1" }] });
    assert_eq!(listed(&fixture, ask(mine)).await, ["r1"]);
    assert_eq!(
        listed(&fixture, ask(json!({ "kind": "user-is", "userId": "U2" }))).await,
        Vec::<String>::new()
    );
}

async fn events_come_in_pages(fixture: Fixture) {
    let sent = record("r1", NOW);
    fixture.store.put(&sent).await.unwrap();
    let first = fixture.store.events(&run("r1"), 0, 2).await.unwrap().unwrap();
    assert_eq!((&first.events[..], first.next_after_seq), (&sent.events[..2], Some(2)));
    let last = fixture.store.events(&run("r1"), 2, 2).await.unwrap().unwrap();
    assert_eq!((&last.events[..], last.next_after_seq), (&sent.events[2..], None));
}

async fn a_run_too_old_is_not_stored_and_says_so(fixture: Fixture) {
    assert!(!fixture.store.put(&record("old", NOW - 11 * DAY)).await.unwrap().stored);
    fixture.store.put(&record("r1", NOW)).await.unwrap();
    fixture.clock.set(NOW + 10 * DAY + 1);
    assert_eq!(fixture.store.get(&run("r1")).await.unwrap(), None);
}

async fn the_proposed_policy_is_kept(fixture: Fixture) {
    for n in 0..45 {
        fixture.store.put(&record(&format!("r{n:02}"), NOW + n)).await.unwrap();
    }
    let found = listed(&fixture, ListRequest { limit: Some(200), ..ListRequest::default() }).await;
    assert_eq!((found.len(), found[39].as_str()), (40, "r05"));
}

async fn a_refused_request_is_permanent_and_named_alike(fixture: Fixture) {
    let error =
        fixture.store.list(&ListRequest { limit: Some(0), ..ListRequest::default() }).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Permanent);
    assert_eq!(error.message, "400: limit must be an integer of at least 1");
    let mut broken = record("r1", NOW);
    broken.diagnosis = json!({});
    let error = fixture.store.put(&broken).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Permanent);
    assert_eq!(error.message, "400: record.diagnosis.findings must be an array");
}

async fn a_record_over_the_fence_is_permanent(fixture: Fixture) {
    let mut large = record("r1", NOW);
    large.label = Some("x".repeat(2_097_152));
    assert_eq!(fixture.store.put(&large).await.unwrap_err().kind, StoreErrorKind::Permanent);
    assert_eq!(fixture.store.get(&run("r1")).await.unwrap(), None);
}

async fn writes_at_once_are_all_kept(fixture: Fixture) {
    let puts = (0..32).map(|n| {
        let (store, record) = (fixture.store.clone(), record(&format!("r{n:02}"), NOW + n));
        tokio::spawn(async move { store.put(&record).await.unwrap().stored })
    });
    for put in puts.collect::<Vec<_>>() {
        assert!(put.await.unwrap());
    }
    assert_eq!(listed(&fixture, ListRequest::default()).await.len(), 32);
}
