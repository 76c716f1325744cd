//! Tests the migrations in `migrations/friction-ledger`.

use ars_friction::records::{FrictionStore, MIGRATIONS};
use ars_sql::{Migration, Sql, migrate};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_testkit::migrations;

use crate::support::{Store, record};

#[test]
fn migrations_produce_the_schema() {
    migrations::assert_matches_folder("friction-ledger", MIGRATIONS);
}

#[test]
fn newer_store_serves_an_older_binary() {
    let newer = NativeSql::in_memory().unwrap();
    let later = Migration {
        name: "9999_later",
        sql: "ALTER TABLE friction_records ADD COLUMN later TEXT;\n",
    };
    migrate(&newer, &[MIGRATIONS, &[later]].concat()).unwrap();
    let older = Store(FrictionStore::open(newer).unwrap());
    assert_eq!(older.record(&record("a", 1.0)), 1);
}

#[test]
fn reads_use_the_index() {
    let store = crate::support::store();
    for columns in ["rowid", "record"] {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT {columns} FROM friction_records WHERE ledger_key = 'a' \
             AND finished_at >= 1 ORDER BY finished_at DESC, run_id DESC LIMIT 500"
        );
        let rows = store.0.sql().query(&sql, &[]).unwrap();
        let plan: Vec<_> = rows
            .into_iter()
            .map(|row| row.into_text(3).unwrap())
            .collect();
        let plan = plan.join("; ");
        assert!(
            plan.contains("friction_records_newest") && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
    }
}
