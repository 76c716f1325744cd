//! Compares a store's steps with its folder in `migrations/` (migrations/README.md), in its tests.
//!
//! Not here: the check that a released step is never edited (`tests/architecture`), and applying steps (`ars-sql`).

use std::fs;
use std::path::Path;

use ars_sql::{Migration, Row, Sql, migrate};
use ars_sql_native::NativeSql;

/// The schema after all steps.
const SCHEMA: &str = "schema.sql";

/// Fails unless the steps are the folder's files, in order, and produce the `schema.sql`.
#[track_caller]
pub fn assert_matches_folder(store: &str, steps: &[Migration]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../migrations")
        .join(store);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the store's folder")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .into_string()
                .expect("a plain name")
        })
        .filter(|name| name != SCHEMA)
        .collect();
    files.sort();
    let named: Vec<_> = steps
        .iter()
        .map(|step| format!("{}.sql", step.name))
        .collect();
    assert_eq!(files, named, "every file of {store} is a step, in order");
    for (file, step) in files.iter().zip(steps) {
        assert_eq!(
            fs::read_to_string(folder.join(file)).expect("a step"),
            step.sql,
            "{store}/{file}"
        );
    }

    let schema = fs::read_to_string(folder.join(SCHEMA)).expect("the whole schema");
    let whole = [Migration {
        name: "schema",
        sql: schema.leak(),
    }];
    assert_eq!(
        everything(steps),
        everything(&whole),
        "the steps of {store} add up to its {SCHEMA}"
    );
}

/// Returns the schema and the tables' initial rows. The schema has no white space, which differs
/// between an added column and an original column.
fn everything(steps: &[Migration]) -> (Vec<String>, Vec<(String, Vec<Row>)>) {
    let sql = NativeSql::in_memory().expect("a database");
    migrate(&sql, steps).expect("the steps apply");
    let all = |statement: &str| sql.query(statement, &[]).expect("rows");
    let text = |row: Row| row.into_text(0).expect("a text");
    let master = all(
        "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_master \
                      ORDER BY type, name",
    );
    let master = master
        .into_iter()
        .map(|row| text(row).split_whitespace().collect())
        .collect();
    // Full-text indexes have internal tables with blobs and quoted names.
    let tables = all(
        "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE TABLE %' \
                      AND sql NOT LIKE 'CREATE TABLE ''%' AND name <> '_migrations' ORDER BY name",
    );
    let rows = |name: String| (name.clone(), all(&format!("SELECT * FROM {name}")));
    (master, tables.into_iter().map(text).map(rows).collect())
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn fails(steps: &[Migration]) -> String {
        let failed = catch_unwind(|| assert_matches_folder("run-store", steps)).unwrap_err();
        failed.downcast_ref::<String>().unwrap().clone()
    }

    #[test]
    fn missing_or_different_step_is_reported() {
        let steps = ars_runs::MIGRATIONS;
        assert_matches_folder("run-store", steps);
        assert!(fails(&steps[1..]).contains("every file of run-store is a step"));
        let edited = Migration {
            name: steps[0].name,
            sql: "CREATE TABLE runs (id);\n",
        };
        assert!(fails(&[&[edited], &steps[1..]].concat()).contains("run-store/0001_runs.sql"));
    }

    #[test]
    fn initial_rows_count_and_white_space_does_not() {
        let one = |sql| everything(&[Migration { name: "one", sql }]);
        let table = one("CREATE TABLE t (a TEXT, b TEXT);\n");
        let added = [
            Migration {
                name: "one",
                sql: "CREATE TABLE t (a TEXT);\n",
            },
            Migration {
                name: "two",
                sql: "ALTER TABLE t ADD COLUMN b TEXT;\n",
            },
        ];
        assert_eq!(everything(&added), table);
        assert_ne!(
            one("CREATE TABLE t (a TEXT, b TEXT);\nINSERT INTO t VALUES ('x', 'y');\n"),
            table
        );
        assert_ne!(one("CREATE TABLE t (a TEXT, b INTEGER);\n"), table);
    }
}
