//! Tests only the embedded store: files and sweep.

use std::{path::Path, sync::Arc};

use ars_bot_adapters::stores::{Embedded, EmbeddedStores};
use ars_bot_ports::{Memory, RunStore, StoreErrorKind};
use ars_memory::RETIRED_MAX_AGE_MS;
use ars_sql::Sql;
use ars_sql_native::NativeSql;
use ars_types::StoreKey;
use ars_wire::{memory::Candidate, runs::ListRequest};
use serde_json::json;

use crate::{
    clock::{ManualClock, NOW},
    suite::{DAY, Fixture, record, run},
};

/// Stores in a separate directory.
pub async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let stores = Embedded::open(folder.path(), ManualClock::at(NOW)).unwrap();
    Fixture::over(Arc::new(stores), NOW, folder)
}

fn open(folder: &Path, now: i64) -> EmbeddedStores {
    EmbeddedStores::open(folder, ManualClock::at(now), None).unwrap()
}

#[tokio::test]
async fn runs_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data/here");
    let store = open(&data, NOW);
    store.put(&record("r1", NOW)).await.unwrap();
    drop(store);
    let files: Vec<_> = std::fs::read_dir(&data)
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert_eq!(files, ["store.sqlite3"], "the log was folded in");
    assert_eq!(
        open(&data, NOW).get(&run("r1")).await.unwrap(),
        Some(record("r1", NOW))
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[tokio::test]
async fn expired_runs_are_swept_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), NOW)
        .put(&record("r1", NOW))
        .await
        .unwrap();
    let store = open(folder.path(), NOW + 31 * DAY);
    // The sweep precedes the first answer.
    RunStore::list(&store, &ListRequest::default())
        .await
        .unwrap();
    let sql = NativeSql::open(&folder.path().join("store.sqlite3")).unwrap();
    let rows = "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM run_events)";
    assert_eq!(sql.query(rows, &[]).unwrap()[0].integer(0), Ok(0));
}

#[tokio::test]
async fn expired_run_is_hidden_before_the_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let store = EmbeddedStores::open(folder.path(), clock.clone(), None).unwrap();
    store.put(&record("r1", NOW)).await.unwrap();
    clock.set(NOW + 30 * DAY + 1);
    assert_eq!(store.get(&run("r1")).await.unwrap(), None);
}

#[tokio::test]
async fn failing_store_is_transient() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), NOW);
    store.put(&record("r1", NOW)).await.unwrap();
    let sql = NativeSql::open(&folder.path().join("store.sqlite3")).unwrap();
    sql.execute("ALTER TABLE run_events RENAME TO elsewhere", &[])
        .unwrap();
    let error = store.put(&record("r2", NOW)).await.unwrap_err();
    // Equals the state Worker's answer.
    assert_eq!(
        (error.kind, error.message.as_str()),
        (StoreErrorKind::Transient, "500: internal")
    );
    sql.execute("ALTER TABLE elsewhere RENAME TO run_events", &[])
        .unwrap();
    assert_eq!(store.get(&run("r2")).await.unwrap(), None);
    assert!(store.put(&record("r2", NOW)).await.unwrap().stored);
}

fn fact(text: &str) -> Candidate {
    serde_json::from_value(json!({ "kind": "fact", "text": text, "sourceThreadKey": "t" })).unwrap()
}

#[tokio::test]
async fn memory_scopes_are_separate_anonymous_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), NOW);
    // More than the open scope limit, so that some are closed and opened again.
    let scopes: Vec<_> = (0..40)
        .map(|n| StoreKey::parse(format!("user:../n{n}")).unwrap())
        .collect();
    for _ in 0..2 {
        for scope in &scopes {
            store
                .write(scope, &[fact(&format!("{scope} likes tea"))])
                .await
                .unwrap();
        }
    }
    drop(store);
    let files = std::fs::read_dir(folder.path().join("memory")).unwrap();
    let names: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let is_digest = |name: &String| {
        name.len() == "0".repeat(64).len() + ".sqlite3".len() && name.ends_with(".sqlite3")
    };
    assert!(
        names.len() == 40 && names.iter().all(is_digest),
        "{names:?}"
    );
    let store = open(folder.path(), NOW);
    for scope in &scopes {
        let kept = Memory::list(&store, scope, None, 5).await.unwrap();
        assert_eq!((kept.len(), kept[0].use_count), (1, 1), "{scope}");
    }
}

/// Each run reads the thread's scope, so a file for it would stay for each thread.
#[tokio::test]
async fn memory_scope_has_no_file_before_its_first_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), NOW);
    let [read, written] = ["user:read", "user:written"].map(|key| StoreKey::parse(key).unwrap());
    assert!(
        Memory::list(&store, &read, None, 5)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        !Memory::forget(&store, &read, "mem:user:read:0")
            .await
            .unwrap()
    );
    assert!(!folder.path().join("memory").exists());
    store.write(&written, &[fact("likes tea")]).await.unwrap();
    assert_eq!(
        Memory::list(&store, &written, None, 5).await.unwrap().len(),
        1
    );
    assert_eq!(
        std::fs::read_dir(folder.path().join("memory"))
            .unwrap()
            .count(),
        3,
        "a file and its log"
    );
}

/// A start sweeps every scope, in parts.
#[tokio::test]
async fn forgotten_memory_is_purged_at_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), NOW);
    for n in 0..40 {
        let scope = StoreKey::parse(format!("user:n{n}")).unwrap();
        store
            .write(&scope, &[fact("gone"), fact("kept")])
            .await
            .unwrap();
        assert!(
            Memory::forget(&store, &scope, &format!("mem:{scope}:0"))
                .await
                .unwrap()
        );
    }
    drop(store);
    let later = open(folder.path(), NOW + RETIRED_MAX_AGE_MS);
    let texts = || {
        let files = std::fs::read_dir(folder.path().join("memory"))
            .unwrap()
            .map(|file| file.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "sqlite3"));
        let rows = files.map(|path| {
            let select = "SELECT count(*) FROM memory_records WHERE record LIKE '%gone%'";
            NativeSql::open(&path).unwrap().query(select, &[]).unwrap()[0]
                .integer(0)
                .unwrap()
        });
        rows.sum::<i64>()
    };
    while texts() > 0 {
        tokio::task::yield_now().await;
    }
    let kept = Memory::list(&later, &StoreKey::parse("user:n7").unwrap(), None, 5)
        .await
        .unwrap();
    assert_eq!(
        kept.iter()
            .map(|record| record.text.as_str())
            .collect::<Vec<_>>(),
        ["kept"]
    );
}

#[tokio::test]
async fn broken_scope_does_not_affect_others() {
    let folder = tempfile::tempdir().unwrap();
    let (broken, sound) = (
        StoreKey::parse("org:broken").unwrap(),
        StoreKey::parse("org:sound").unwrap(),
    );
    open(folder.path(), NOW)
        .write(&broken, &[fact("tea")])
        .await
        .unwrap();
    let file = std::fs::read_dir(folder.path().join("memory"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(file, "not a database, but long enough to look like one").unwrap();
    let store = open(folder.path(), NOW);
    assert_eq!(store.retrieve(&broken, "tea", 5).await, []);
    assert_eq!(
        store.write(&broken, &[fact("tea")]).await.unwrap_err().kind,
        StoreErrorKind::Transient
    );
    store.write(&sound, &[fact("tea")]).await.unwrap();
    assert_eq!(store.retrieve(&sound, "tea", 5).await.len(), 1);
}

#[test]
fn unusable_data_directory_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    let open = |path: &Path| {
        EmbeddedStores::open(path, ManualClock::at(NOW), None)
            .err()
            .unwrap()
    };
    assert_eq!(open(&file).kind, StoreErrorKind::Permanent);
    std::fs::write(
        folder.path().join("store.sqlite3"),
        "not a database, but long enough to look like one",
    )
    .unwrap();
    assert_eq!(open(folder.path()).kind, StoreErrorKind::Permanent);
}

#[tokio::test]
async fn request_without_a_receiver_is_executed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path(), NOW));
    let put = tokio::spawn({
        let store = store.clone();
        async move { store.put(&record("r1", NOW)).await }
    });
    put.abort();
    drop(put.await);
    assert!(store.put(&record("r2", NOW)).await.unwrap().stored);
}
