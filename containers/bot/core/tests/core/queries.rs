//! Run queries in a process while another process on the same ledger owns the runs.

use std::sync::{Arc, atomic::Ordering};

use ars_auth::{Actor, Denied, Grants, Set, Viewer};
use ars_bot_core::queries::{
    Change, EventStream, Found, PageRequest, QueryError, Reader, RunFilter, Selection,
};
use ars_bot_ports::StoreErrorKind;
use ars_types::{RunId, RunStatus, StopMode};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::*;

const LIMIT: usize = 25;

/// Two processes on a single ledger, the first of which drives a run.
struct Pair {
    ledger: Arc<ScriptedLedger>,
    owner: Arc<World>,
    other: World,
    id: RunId,
    token: String,
    running: JoinHandle<()>,
}

fn process(ledger: &Arc<ScriptedLedger>, generation: &str, moves: Vec<Move>) -> World {
    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    world_with(moves, ledger.capability(generation, channels))
}

impl Pair {
    /// Waits until the run calls the model and is stored. The ledger has the events, and both
    /// processes' histories have the provisional record.
    async fn new() -> Self {
        let ledger = Arc::new(ScriptedLedger::default());
        let owner = Arc::new(process(&ledger, "g1", vec![Move::SayWhenReleased("done")]));
        let other = process(&ledger, "g2", Vec::new());
        owner.keep_ledger();
        let running = tokio::spawn({
            let owner = Arc::clone(&owner);
            async move { owner.dispatch("hello", &Arc::default()).await }
        });
        owner.model.called.notified().await;
        while owner.records().is_empty() {
            tokio::task::yield_now().await;
        }
        other.store.puts.lock().unwrap().extend(owner.records());
        let id = owner.core.registry().list()[0].id.clone();
        let token = owner.core.registry().get(&id).unwrap().token;
        ledger
            .until(|ledger| !ledger.runs()[&id].events.is_empty())
            .await;
        Self {
            ledger,
            owner,
            other,
            id,
            token,
            running,
        }
    }

    /// Ends the run, and waits until both histories have the record.
    async fn end(&mut self) {
        self.owner.model.release.notify_one();
        (&mut self.running).await.unwrap();
        self.owner.settle().await;
        self.other
            .store
            .puts
            .lock()
            .unwrap()
            .extend(self.ledger.records.lock().unwrap().clone());
        self.expire_listing();
    }

    /// Moves the clock beyond a listing's maximum age.
    fn expire_listing(&self) {
        for _ in 0..2_000 {
            self.other.core.clock().now();
        }
    }
}

fn member() -> Viewer {
    Viewer::new(Actor::browser("access:ann").with(&Grants {
        channels: Set::All,
        ..Grants::default()
    }))
}

fn stranger() -> Viewer {
    Viewer::new(Actor::browser("access:eve"))
}

fn operator() -> Viewer {
    let grants = Grants {
        actions: Set::only(&["runs:write"]),
        channels: Set::All,
        ..Grants::default()
    };
    Viewer::new(Actor::browser("access:ops").with(&grants))
}

fn reader<'r>(viewer: &'r Viewer, token: &'r str) -> Reader<'r> {
    Reader {
        viewer,
        token,
        route: "test",
    }
}

/// A message needs the thread's row, and pages share a listing for two seconds.
#[tokio::test(start_paused = true)]
async fn message_reads_the_row_of_its_thread() {
    let mut pair = Pair::new().await;
    let before = pair.ledger.listings.load(Ordering::SeqCst);
    let rows = pair.ledger.count("live");
    let io = pair.other.ask("and this").await;
    assert!(io.said()[0].starts_with('↪'), "{:?}", io.said());
    assert!(pair.ledger.count("live") > rows);
    assert_eq!(pair.ledger.listings.load(Ordering::SeqCst), before);
    pair.end().await;
}

#[tokio::test(start_paused = true)]
async fn one_listing_serves_two_seconds() {
    let mut pair = Pair::new().await;
    let queries = pair.other.core.queries();
    let listings = || pair.ledger.listings.load(Ordering::SeqCst);
    let list = async || {
        drop(
            queries
                .list(&member(), Selection::All, &RunFilter::default(), LIMIT)
                .await,
        );
    };
    list().await;
    let (first, began) = (listings(), pair.other.core.clock().now());
    while pair.other.core.clock().now() < began + 1_900 {
        list().await;
    }
    assert_eq!(listings(), first);
    while pair.other.core.clock().now() < began + 2_100 {}
    list().await;
    assert_eq!(listings(), first + 1);
    pair.end().await;
}

#[tokio::test(start_paused = true)]
async fn remote_run_is_listed_as_live() {
    let pair = Pair::new().await;
    let page = pair
        .other
        .core
        .queries()
        .list(&member(), Selection::All, &RunFilter::default(), LIMIT)
        .await;
    let ids: Vec<_> = page.active.iter().map(|run| &run.id).collect();
    assert_eq!((ids, page.finished.len()), (vec![&pair.id], 0));
    assert_eq!(
        (page.active[0].finished, page.active[0].token.as_ref()),
        (None, Some(&pair.token))
    );
    let hidden = pair
        .other
        .core
        .queries()
        .list(&stranger(), Selection::All, &RunFilter::default(), LIMIT)
        .await;
    assert!(hidden.active.is_empty() && hidden.finished.is_empty());
}

#[tokio::test(start_paused = true)]
async fn remote_run_opens_with_its_token_only() {
    let pair = Pair::new().await;
    let (queries, viewer) = (pair.other.core.queries(), member());
    for token in ["", "wrong"] {
        let found = queries.get(&reader(&viewer, token), &pair.id).await;
        assert_eq!(found.err(), Some(QueryError::NotFound), "{token}");
        let friction = queries.friction(&reader(&viewer, token), &pair.id).await;
        assert_eq!(friction.err(), Some(QueryError::NotFound), "{token}");
    }
    let found = queries
        .get(&reader(&viewer, &pair.token), &pair.id)
        .await
        .unwrap();
    let Found::Live(view) = found else {
        unreachable!("the run is live")
    };
    assert!(view.finished.is_none() && !view.events.is_empty());
    let friction = queries
        .friction(&reader(&viewer, &pair.token), &pair.id)
        .await
        .unwrap();
    assert!(!friction.finished);
}

#[tokio::test(start_paused = true)]
async fn remote_events_are_followed_to_the_end() {
    let mut pair = Pair::new().await;
    let viewer = member();
    let queries = pair.other.core.queries();
    let stream = queries
        .events(&reader(&viewer, &pair.token), &pair.id, 0)
        .await
        .unwrap();
    let EventStream::Remote(mut events) = stream else {
        unreachable!("the run is remote")
    };
    assert!(!events.next().await.unwrap().is_empty());
    pair.end().await;
    assert!(events.next().await.is_none());
    let stream = queries
        .events(&reader(&viewer, &pair.token), &pair.id, 0)
        .await
        .unwrap();
    assert!(matches!(stream, EventStream::Stored(view) if !view.events.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn finished_remote_run_is_read_from_the_history() {
    let mut pair = Pair::new().await;
    pair.end().await;
    let (queries, viewer) = (pair.other.core.queries(), member());
    let found = queries.get(&reader(&viewer, ""), &pair.id).await.unwrap();
    let Found::Finished(view) = found else {
        unreachable!("the run has finished")
    };
    assert_eq!(
        view.finished.map(|(_, status)| status),
        Some(RunStatus::Completed)
    );
    let denied = queries.get(&reader(&stranger(), ""), &pair.id).await;
    assert_eq!(denied.err(), Some(QueryError::Denied(Denied::NotMember)));
}

#[tokio::test(start_paused = true)]
async fn stop_reaches_a_remote_run() {
    let mut pair = Pair::new().await;
    let (queries, viewer) = (pair.other.core.queries(), member());
    let wrong = queries
        .stop(&reader(&viewer, "wrong"), &pair.id, StopMode::Soft)
        .await;
    assert_eq!(wrong, Err(QueryError::NotFound));
    assert_eq!(pair.ledger.runs()[&pair.id].row.stop, None);
    assert_eq!(
        queries
            .stop(&reader(&viewer, &pair.token), &pair.id, StopMode::Soft)
            .await,
        Ok(())
    );
    assert_eq!(pair.ledger.runs()[&pair.id].row.stop, Some(StopMode::Soft));
    let listed = queries
        .list(&viewer, Selection::Active, &RunFilter::default(), LIMIT)
        .await;
    assert_eq!(listed.active[0].stop, Some(StopMode::Soft));
    pair.end().await;
    let ops = operator();
    let ended = queries
        .stop(&reader(&ops, ""), &pair.id, StopMode::Soft)
        .await;
    assert_eq!(ended, Err(QueryError::AlreadyFinished));
}

#[tokio::test(start_paused = true)]
async fn stop_without_token_needs_the_permission() {
    let pair = Pair::new().await;
    let actor = || serde_json::from_value(json!({"kind": "cli", "id": "cli:ops"})).unwrap();
    for process in [&pair.other, &*pair.owner] {
        let queries = process.core.queries();
        let denied = queries
            .stop_as(&reader(&member(), ""), &pair.id, StopMode::Hard, actor())
            .await;
        assert_eq!(denied, Err(QueryError::Denied(Denied::MissingGrant)));
        assert_eq!(pair.ledger.count("stop"), 0);
    }
    let ops = operator();
    let stopped = pair
        .other
        .core
        .queries()
        .stop_as(&reader(&ops, ""), &pair.id, StopMode::Hard, actor())
        .await;
    assert_eq!(stopped, Ok(()));
    assert_eq!(pair.ledger.runs()[&pair.id].row.stop, Some(StopMode::Hard));
}

#[tokio::test(start_paused = true)]
async fn unreadable_row_still_hides_its_record() {
    let pair = Pair::new().await;
    pair.ledger
        .runs()
        .get_mut(&pair.id)
        .unwrap()
        .row
        .meta
        .clear();
    let (queries, viewer) = (pair.other.core.queries(), member());
    let page = queries
        .list(&viewer, Selection::All, &RunFilter::default(), LIMIT)
        .await;
    assert!(page.active.is_empty() && page.finished.is_empty());
    let found = queries.get(&reader(&viewer, ""), &pair.id).await;
    assert_eq!(found.err(), Some(QueryError::NotFound));
}

/// A listing serves queries for two seconds. A failed listing leaves the registry and the history's
/// final records.
#[tokio::test(start_paused = true)]
async fn ledger_outage_leaves_registry_and_history() {
    let pair = Pair::new().await;
    let queries = pair.other.core.queries();
    let mut ended = pair.owner.records().remove(0);
    (ended.id, ended.status) = (RunId::parse("ended").unwrap(), RunStatus::Completed);
    pair.other.store.puts.lock().unwrap().push(ended);
    pair.ledger
        .script("live", vec![Fault::Fail(StoreErrorKind::Permanent); 1]);
    let before = pair.ledger.count("live");
    for _ in 0..2 {
        let page = queries
            .list(&member(), Selection::All, &RunFilter::default(), LIMIT)
            .await;
        let finished: Vec<_> = page.finished.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(
            (page.active.len(), finished, page.store_unavailable),
            (0, vec!["ended"], true)
        );
    }
    // The absence of live runs is never shown as knowledge.
    let active = queries
        .list(&member(), Selection::Active, &RunFilter::default(), LIMIT)
        .await;
    assert!(active.active.is_empty() && active.store_unavailable);
    for finished in [false, true] {
        let request = PageRequest {
            active: true,
            finished,
            limit: LIMIT,
            ..PageRequest::default()
        };
        let page = queries.list_entries(&member(), &request).await;
        assert_eq!(
            (page.runs.len(), page.store_unavailable),
            (usize::from(finished), true)
        );
    }
    assert_eq!(pair.ledger.count("live") - before, 1);
    pair.expire_listing();
    let page = queries
        .list(&member(), Selection::All, &RunFilter::default(), LIMIT)
        .await;
    assert_eq!(
        (
            page.active.len(),
            page.finished.len(),
            page.store_unavailable
        ),
        (1, 1, false)
    );
}

#[tokio::test(start_paused = true)]
async fn failed_listing_is_repeated_once() {
    let pair = Pair::new().await;
    let queries = pair.other.core.queries();
    pair.ledger
        .script("live", [Fault::Fail(StoreErrorKind::Transient)]);
    let page = queries
        .list(&member(), Selection::All, &RunFilter::default(), LIMIT)
        .await;
    assert_eq!((page.active.len(), page.finished.len()), (1, 0));
}

/// The run may be live. An unknown run has the same answer.
#[tokio::test(start_paused = true)]
async fn remote_run_is_unavailable_during_a_ledger_outage() {
    let pair = Pair::new().await;
    let (queries, ops) = (pair.other.core.queries(), operator());
    pair.ledger
        .script("live", [Fault::Fail(StoreErrorKind::Transient); 2]);
    let unknown = RunId::parse("unknown").unwrap();
    for (id, token) in [
        (&pair.id, pair.token.as_str()),
        (&pair.id, ""),
        (&unknown, ""),
    ] {
        let reader = reader(&ops, token);
        assert_eq!(
            queries.get(&reader, id).await.err(),
            Some(QueryError::Unavailable)
        );
        assert_eq!(
            queries.events(&reader, id, 0).await.err(),
            Some(QueryError::Unavailable)
        );
        let stopped = queries.stop(&reader, id, StopMode::Soft).await;
        assert_eq!(stopped, Err(QueryError::Unavailable));
        let actor = serde_json::from_value(json!({"kind": "cli", "id": "cli:ops"})).unwrap();
        let stopped = queries.stop_as(&reader, id, StopMode::Soft, actor).await;
        assert_eq!(stopped, Err(QueryError::Unavailable));
    }
    pair.expire_listing();
    assert!(matches!(
        queries.get(&reader(&ops, &pair.token), &pair.id).await,
        Ok(Found::Live(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn remote_stream_survives_a_ledger_outage() {
    let mut pair = Pair::new().await;
    let viewer = member();
    let stream = pair
        .other
        .core
        .queries()
        .events(&reader(&viewer, &pair.token), &pair.id, 0)
        .await
        .unwrap();
    let EventStream::Remote(mut events) = stream else {
        unreachable!("the run is remote")
    };
    let first = events.next().await.unwrap().len() as u64;
    pair.expire_listing();
    pair.ledger
        .script("live", [Fault::Fail(StoreErrorKind::Transient); 2]);
    let mut next = tokio::spawn(async move { events.next().await.is_none() });
    // The poll during the outage, and reading the events behind it.
    pair.ledger
        .until(|ledger| ledger.read_after.lock().unwrap().len() > 1)
        .await;
    assert!(
        tokio::time::timeout(std::time::Duration::from_secs(1), &mut next)
            .await
            .is_err()
    );
    assert_eq!(
        *pair.ledger.read_after.lock().unwrap(),
        [0, first],
        "only the new events are read"
    );
    pair.end().await;
    assert!(next.await.unwrap(), "the stream ends with the run");
}

#[tokio::test(start_paused = true)]
async fn ledger_outage_removes_no_remote_run() {
    let pair = Pair::new().await;
    let mut changes = pair
        .other
        .core
        .queries()
        .changes(member(), RunFilter::default());
    assert_eq!(changes.next().await.unwrap().len(), 1);
    pair.expire_listing();
    let before = pair.ledger.count("live");
    pair.ledger
        .script("live", [Fault::Fail(StoreErrorKind::Transient); 2]);
    let following = tokio::spawn(async move { changes.next().await });
    pair.ledger
        .until(|ledger| ledger.count("live") > before + 1)
        .await;
    tokio::task::yield_now().await;
    assert!(!following.is_finished());
}

#[tokio::test(start_paused = true)]
async fn own_run_is_listed_once() {
    let pair = Pair::new().await;
    let page = pair
        .owner
        .core
        .queries()
        .list(&member(), Selection::All, &RunFilter::default(), LIMIT)
        .await;
    assert_eq!((page.active.len(), page.finished.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn changes_follow_remote_runs() {
    let mut pair = Pair::new().await;
    let mut changes = pair
        .other
        .core
        .queries()
        .changes(member(), RunFilter::default());
    let first = changes.next().await.unwrap();
    assert!(
        matches!(&first[..], [Change::Upsert(run)] if run.id == pair.id && run.finished.is_none())
    );
    pair.end().await;
    assert_eq!(
        changes.next().await,
        Some(vec![Change::Removed(pair.id.clone())])
    );
}
