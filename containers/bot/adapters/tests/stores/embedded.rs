//! What only the store in this process does: files, and the sweep.

use std::{path::Path, sync::Arc};

use ars_bot_adapters::stores::{Embedded, EmbeddedStores};
use ars_bot_ports::{Memory, RunStore, StoreErrorKind};
use ars_sql::Sql;
use ars_sql_native::NativeSql;
use ars_types::StoreKey;
use ars_wire::{memory::Candidate, runs::ListRequest};
use serde_json::json;

use crate::{
    clock::{ManualClock, NOW},
    suite::{DAY, Fixture, record, run},
};

/// Stores in a directory of their own.
pub async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let stores = Embedded::open(folder.path(), ManualClock::at(NOW)).unwrap();
    Fixture::over(Arc::new(stores), NOW, folder)
}

fn open(folder: &Path, now: i64) -> EmbeddedStores {
    EmbeddedStores::open(folder, ManualClock::at(now), None).unwrap()
}

#[tokio::test]
async fn runs_survive_a_restart_and_a_closed_store_leaves_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data/here");
    let store = open(&data, NOW);
    store.put(&record("r1", NOW)).await.unwrap();
    drop(store);
    let files: Vec<_> = std::fs::read_dir(&data).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["store.sqlite3"], "the log was folded in");
    assert_eq!(open(&data, NOW).get(&run("r1")).await.unwrap(), Some(record("r1", NOW)));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[tokio::test]
async fn what_expired_while_the_bot_was_away_is_swept_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), NOW).put(&record("r1", NOW)).await.unwrap();
    let store = open(folder.path(), NOW + 31 * DAY);
    // The sweep comes before the first answer.
    RunStore::list(&store, &ListRequest::default()).await.unwrap();
    let sql = NativeSql::open(&folder.path().join("store.sqlite3")).unwrap();
    let rows = "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM run_events)";
    assert_eq!(sql.query(rows, &[]).unwrap()[0].integer(0), Ok(0));
}

#[tokio::test]
async fn a_run_too_old_is_hidden_before_it_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let store = EmbeddedStores::open(folder.path(), clock.clone(), None).unwrap();
    store.put(&record("r1", NOW)).await.unwrap();
    clock.set(NOW + 30 * DAY + 1);
    assert_eq!(store.get(&run("r1")).await.unwrap(), None);
}

#[tokio::test]
async fn a_store_that_fails_is_worth_another_try_and_never_claims_success() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), NOW);
    store.put(&record("r1", NOW)).await.unwrap();
    let sql = NativeSql::open(&folder.path().join("store.sqlite3")).unwrap();
    sql.execute("ALTER TABLE run_events RENAME TO elsewhere", &[]).unwrap();
    let error = store.put(&record("r2", NOW)).await.unwrap_err();
    // To the word what the state Worker says.
    assert_eq!((error.kind, error.message.as_str()), (StoreErrorKind::Transient, "500: internal"));
    sql.execute("ALTER TABLE elsewhere RENAME TO run_events", &[]).unwrap();
    assert_eq!(store.get(&run("r2")).await.unwrap(), None);
    assert!(store.put(&record("r2", NOW)).await.unwrap().stored);
}

fn fact(text: &str) -> Candidate {
    serde_json::from_value(json!({ "kind": "fact", "text": text, "sourceThreadKey": "t" })).unwrap()
}

#[tokio::test]
async fn each_scope_of_memory_is_a_file_of_its_own_that_does_not_show_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), NOW);
    // More than are open at once, so that some are closed and opened again.
    let scopes: Vec<_> = (0..40).map(|n| StoreKey::parse(format!("user:../n{n}")).unwrap()).collect();
    for _ in 0..2 {
        for scope in &scopes {
            store.write(scope, &[fact(&format!("{scope} likes tea"))]).await.unwrap();
        }
    }
    drop(store);
    let files = std::fs::read_dir(folder.path().join("memory")).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let is_digest =
        |name: &String| name.len() == "0".repeat(64).len() + ".sqlite3".len() && name.ends_with(".sqlite3");
    assert!(names.len() == 40 && names.iter().all(is_digest), "{names:?}");
    let store = open(folder.path(), NOW);
    for scope in &scopes {
        let kept = Memory::list(&store, scope, None, 5).await.unwrap();
        assert_eq!((kept.len(), kept[0].use_count), (1, 1), "{scope}");
    }
}

#[tokio::test]
async fn a_scope_whose_file_is_broken_costs_no_other_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (broken, sound) = (StoreKey::parse("org:broken").unwrap(), StoreKey::parse("org:sound").unwrap());
    open(folder.path(), NOW).write(&broken, &[fact("tea")]).await.unwrap();
    let file = std::fs::read_dir(folder.path().join("memory")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(file, "not a database, but long enough to look like one").unwrap();
    let store = open(folder.path(), NOW);
    assert_eq!(store.retrieve(&broken, "tea", 5).await, []);
    assert_eq!(store.write(&broken, &[fact("tea")]).await.unwrap_err().kind, StoreErrorKind::Transient);
    store.write(&sound, &[fact("tea")]).await.unwrap();
    assert_eq!(store.retrieve(&sound, "tea", 5).await.len(), 1);
}

#[test]
fn a_data_directory_that_cannot_be_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    let open = |path: &Path| EmbeddedStores::open(path, ManualClock::at(NOW), None).err().unwrap();
    assert_eq!(open(&file).kind, StoreErrorKind::Permanent);
    std::fs::write(folder.path().join("store.sqlite3"), "not a database, but long enough to look like one")
        .unwrap();
    assert_eq!(open(folder.path()).kind, StoreErrorKind::Permanent);
}

#[tokio::test]
async fn an_answer_nobody_waits_for_does_not_stop_the_work() {
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
