//! The migrations in `migrations/run-store` and `migrations/run-transcript` (migrations/README.md).

use ars_runs::{MIGRATIONS, RunStore, TRANSCRIPT_MIGRATIONS};
use ars_sql::{Migration, Sql, migrate};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_testkit::migrations;
use serde_json::json;

use crate::support::{NOW, Store, record};

#[test]
fn migration_files_produce_the_schema() {
    migrations::assert_matches_folder("run-store", MIGRATIONS);
    migrations::assert_matches_folder("run-transcript", TRANSCRIPT_MIGRATIONS);
}

#[test]
fn a_newer_store_serves_an_older_binary() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite3");
    let newer = NativeSql::open(&path).unwrap();
    let later = Migration {
        name: "9999_later",
        sql: "ALTER TABLE runs ADD COLUMN later TEXT;\nCREATE TABLE later (x);\n",
    };
    migrate(&newer, &[MIGRATIONS, &[later]].concat()).unwrap();
    drop(newer);
    let older = Store(RunStore::open(NativeSql::open(&path).unwrap()).unwrap());
    assert_eq!(older.put(record("r", NOW))["stored"], true);
    assert_eq!(older.listed(json!({})), ["r"]);
}

#[test]
fn failed_step_rolls_back_and_can_be_repaired() {
    let sql = NativeSql::in_memory().unwrap();
    let broken = Migration {
        name: MIGRATIONS[0].name,
        sql: format!("{}\nSELECT nothing;\n", MIGRATIONS[0].sql).leak(),
    };
    assert!(migrate(&sql, &[broken]).is_err());
    let left = sql
        .query(
            "SELECT name FROM sqlite_master WHERE name NOT LIKE '%migrations%'",
            &[],
        )
        .unwrap();
    assert_eq!(left, []);
    assert!(RunStore::open(sql).is_ok());
}

#[test]
fn reopening_a_store_keeps_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite3");
    let open = || Store(RunStore::open(NativeSql::open(&path).unwrap()).unwrap());
    open().put(record("r", NOW));
    assert_eq!(open().get("r")["id"], "r");
}

#[test]
fn list_searches_its_index_from_the_cursor() {
    let store = crate::support::store();
    let plan = |condition: &str| {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT record FROM runs WHERE {condition} ORDER BY finished_at DESC, id DESC LIMIT 50"
        );
        let rows = store.0.sql().query(&sql, &[]).unwrap();
        rows.into_iter()
            .map(|row| row.into_text(3).unwrap())
            .collect::<Vec<_>>()
            .join("; ")
    };
    for (index, condition) in [
        ("runs_newest", "(finished_at, id) > (1, 'a')"),
        (
            "runs_newest",
            "(finished_at, id) > (SELECT max(floor_at, 1), floor_id FROM retention)",
        ),
        (
            "runs_of_agent",
            "(finished_at, id) > (1, 'a') AND (finished_at, id) < (2, 'b') AND agent = 'x'",
        ),
        (
            "runs_of_channel",
            "(finished_at, id) > (1, 'a') AND channel_id = 'x'",
        ),
    ] {
        let plan = plan(condition);
        assert!(
            plan.starts_with(&format!("SEARCH runs USING INDEX {index}"))
                && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
    }
}
