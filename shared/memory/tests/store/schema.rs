//! The steps in `migrations/memory-scope` (migrations/README.md).

use ars_memory::{MIGRATIONS, MemoryStore};
use ars_sql::{Migration, Row, Sql, migrate};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use serde_json::json;

use crate::support::{Store, texts};

const SCHEMA: &str = include_str!("../../../../migrations/memory-scope/schema.sql");

/// Tables, indexes, views and triggers. An added column leaves other blanks behind than one that was always there.
fn everything(sql: &NativeSql) -> Vec<String> {
    let master = "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_master \
                  ORDER BY type, name";
    let plain = |row: Row| row.into_text(0).unwrap().split_whitespace().collect::<Vec<_>>().join("");
    sql.query(master, &[]).unwrap().into_iter().map(plain).collect()
}

#[test]
fn all_steps_add_up_to_the_schema() {
    let stepped = NativeSql::in_memory().unwrap();
    migrate(&stepped, MIGRATIONS).unwrap();
    let whole = NativeSql::in_memory().unwrap();
    migrate(&whole, &[Migration { name: "schema", sql: SCHEMA }]).unwrap();
    assert_eq!(everything(&stepped), everything(&whole));
}

#[test]
fn every_file_of_the_folder_is_a_step_in_order() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/memory-scope");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "schema.sql")
        .collect();
    files.sort();
    let steps: Vec<_> = MIGRATIONS.iter().map(|step| format!("{}.sql", step.name)).collect();
    assert_eq!(files, steps);
}

#[test]
fn a_newer_store_serves_an_older_binary() {
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
fn the_index_can_be_built_anew_from_the_rows() {
    let store = crate::support::store();
    store.write_texts(&["alpha", "beta", "alpha beta"]);
    store.forget(&crate::support::id(0));
    store.rows("INSERT INTO memory_index (memory_index) VALUES ('rebuild')", &[]);
    store.assert_index_in_step();
    assert_eq!(store.retrieve("alpha").len(), 1);
}
