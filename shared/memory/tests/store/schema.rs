//! Tests the migrations in `migrations/memory-scope`.

use ars_memory::{MIGRATIONS, MemoryStore};
use ars_sql::{Migration, migrate};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_testkit::migrations;
use serde_json::json;

use crate::support::{Store, texts};

#[test]
fn migrations_produce_the_schema() {
    migrations::assert_matches_folder("memory-scope", MIGRATIONS);
}

#[test]
fn newer_store_serves_an_older_binary() {
    let newer = NativeSql::in_memory().unwrap();
    let later = Migration {
        name: "9999_later",
        sql: "ALTER TABLE memory_records ADD COLUMN later TEXT;\nCREATE TABLE later (x);\n",
    };
    migrate(&newer, &[MIGRATIONS, &[later]].concat()).unwrap();
    let older = Store(MemoryStore::open(newer).unwrap());
    older.write_texts(&["alpha"]);
    assert_eq!(texts(&older.retrieve("alpha")), ["alpha"]);
}

#[test]
fn reopening_a_store_keeps_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scope.sqlite3");
    let open = || Store(MemoryStore::open(NativeSql::open(&path).unwrap()).unwrap());
    open().write_texts(&["alpha", "beta"]);
    assert_eq!(texts(&open().retrieve("beta")), ["beta"]);
    assert_eq!(open().list(json!({})).len(), 2);
}

#[test]
fn index_is_rebuilt_from_the_rows() {
    let store = crate::support::store();
    store.write_texts(&["alpha", "beta", "alpha beta"]);
    store.forget(&crate::support::id(0));
    store.rows(
        "INSERT INTO memory_index (memory_index) VALUES ('rebuild')",
        &[],
    );
    store.assert_index_in_step();
    assert_eq!(store.retrieve("alpha").len(), 1);
}
