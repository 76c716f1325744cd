//! Tests the migrations in `migrations/schedules` (migrations/README.md).

use ars_schedules::{MIGRATIONS, ScheduleStore};
use ars_sql::{Migration, Sql, migrate};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_testkit::migrations;

use crate::support::{Store, firing};

#[test]
fn migrations_add_up_to_the_schema() {
    migrations::assert_matches_folder("schedules", MIGRATIONS);
}

#[test]
fn a_newer_store_serves_an_older_binary() {
    let newer = NativeSql::in_memory().unwrap();
    let later = Migration {
        name: "9999_later",
        sql: "ALTER TABLE firings ADD COLUMN later TEXT;\n",
    };
    migrate(&newer, &[MIGRATIONS, &[later]].concat()).unwrap();
    let older = Store(ScheduleStore::open(newer).unwrap());
    assert_eq!(older.record(&firing("a", 1.0))["retained"], 1);
}

#[test]
fn queries_use_the_index() {
    let store = crate::support::store();
    let plan = |sql: &str| {
        let rows = store
            .0
            .sql()
            .query(&format!("EXPLAIN QUERY PLAN {sql}"), &[])
            .unwrap();
        rows.into_iter()
            .map(|row| row.into_text(3).unwrap())
            .collect::<Vec<_>>()
            .join("; ")
    };
    for sql in [
        "SELECT nth FROM firings WHERE schedule = 'a' ORDER BY fired_at DESC, nth DESC LIMIT -1 OFFSET 100",
        "SELECT count(*) FROM firings WHERE schedule = 'a'",
        "SELECT min(schedule) FROM firings WHERE schedule > 'a'",
        "SELECT firing FROM firings WHERE schedule = 'a' AND json_valid(firing) ORDER BY fired_at DESC, nth DESC",
    ] {
        let plan = plan(sql);
        assert!(
            plan.starts_with("SEARCH firings USING") && plan.contains("firings_newest"),
            "{plan}"
        );
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
}
