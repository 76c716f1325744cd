//! The steps in `migrations/run-store` (migrations/README.md).

use ars_runs::{MIGRATIONS, RunStore};
use ars_sql::{Migration, Row, Sql, migrate};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use serde_json::json;

use crate::support::{NOW, Store, record};

const SCHEMA: &str = include_str!("../../../../migrations/run-store/schema.sql");

/// Tables, indexes and triggers, and what the one row starts with. An added column leaves other blanks behind than
/// one that was always there.
fn everything(sql: &NativeSql) -> (Vec<String>, Vec<Row>) {
    let master = "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_master \
                  ORDER BY type, name";
    let plain = |row: Row| row.into_text(0).unwrap().split_whitespace().collect::<Vec<_>>().join("");
    (
        sql.query(master, &[]).unwrap().into_iter().map(plain).collect(),
        sql.query("SELECT * FROM retention", &[]).unwrap(),
    )
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
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/run-store");
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
fn a_failing_step_leaves_nothing_and_the_store_opens_once_it_is_repaired() {
    let sql = NativeSql::in_memory().unwrap();
    let broken = Migration {
        name: MIGRATIONS[0].name,
        sql: format!("{}\nSELECT nothing;\n", MIGRATIONS[0].sql).leak(),
    };
    assert!(migrate(&sql, &[broken]).is_err());
    let left = sql.query("SELECT name FROM sqlite_master WHERE name NOT LIKE '%migrations%'", &[]).unwrap();
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
fn a_list_searches_along_its_index_from_the_cursor() {
    let store = crate::support::store();
    let plan = |condition: &str| {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT record FROM runs WHERE {condition} ORDER BY finished_at DESC, id DESC LIMIT 50"
        );
        let rows = store.0.sql().query(&sql, &[]).unwrap();
        rows.into_iter().map(|row| row.into_text(3).unwrap()).collect::<Vec<_>>().join("; ")
    };
    for condition in [
        "(finished_at, id) > (1, 'a')",
        "(finished_at, id) > (SELECT max(floor_at, 1), floor_id FROM retention)",
        "(finished_at, id) > (1, 'a') AND (finished_at, id) < (2, 'b') AND agent = 'x'",
    ] {
        let plan = plan(condition);
        assert!(
            plan.starts_with("SEARCH runs USING INDEX runs_newest") && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
    }
}
