//! The adapter against real SQLite: the properties on which every store depends.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use ars_sql::{Migration, Row, Sql, SqlError, Value, migrate};
use ars_sql_native::NativeSql;

fn store() -> NativeSql {
    let sql = NativeSql::in_memory().unwrap();
    sql.execute("CREATE TABLE t (n INTEGER, x REAL, s TEXT) STRICT", &[])
        .unwrap();
    sql
}

fn count(sql: &NativeSql) -> i64 {
    sql.query("SELECT count(*) FROM t", &[]).unwrap()[0]
        .integer(0)
        .unwrap()
}

fn insert(sql: &NativeSql, number: i64) -> Result<(), SqlError> {
    sql.execute("INSERT INTO t (n) VALUES (?)", &[Value::from(number)])
}

#[test]
fn values_round_trip() {
    let sql = store();
    let safe = (1_i64 << 53) - 1;
    for number in [0, 1, -1, safe, -safe] {
        let row = &sql
            .query(
                "INSERT INTO t (n) VALUES (?) RETURNING n",
                &[Value::from(number)],
            )
            .unwrap()[0];
        assert_eq!(row, &Row::new(vec![Value::Integer(number)]));
        assert_eq!(
            sql.query("SELECT ?", &[Value::from(number)]).unwrap()[0].integer(0),
            Ok(number)
        );
    }
    for text in ["", "é\u{1F980}", "a\0b", "'; DROP TABLE t; --"] {
        let row = sql
            .query(
                "INSERT INTO t (s) VALUES (?) RETURNING s",
                &[Value::from(text)],
            )
            .unwrap();
        assert_eq!(row[0].text(0), Ok(text));
    }
    let row = &sql.query("SELECT 0.5, NULL, ?", &[Value::Null]).unwrap()[0];
    assert_eq!(
        (row.real(0), row.is_null(1), row.is_null(2)),
        (Ok(0.5), true, true)
    );
}

#[test]
fn integer_beyond_a_double_is_an_error() {
    let sql = store();
    sql.execute("INSERT INTO t (n) VALUES (9007199254740993)", &[])
        .unwrap();
    assert!(matches!(
        sql.query("SELECT n FROM t", &[]),
        Err(SqlError::Shape(_))
    ));
    assert!(matches!(
        sql.query("SELECT x'00'", &[]),
        Err(SqlError::Shape(_))
    ));
}

#[test]
fn error_rolls_back_the_body() {
    let sql = store();
    let failed: Result<(), SqlError> = sql.transaction(|| {
        insert(&sql, 1)?;
        insert(&sql, 2)?;
        Err(SqlError::Engine("no".into()))
    });
    assert!(failed.is_err());
    assert_eq!(count(&sql), 0);
    sql.transaction(|| insert(&sql, 3)).unwrap();
    assert_eq!(count(&sql), 1);
}

#[test]
fn panic_rolls_back_and_connection_stays_usable() {
    let sql = store();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _: Result<(), SqlError> = sql.transaction(|| {
            insert(&sql, 1)?;
            panic!("midway");
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(count(&sql), 0);
    sql.transaction(|| insert(&sql, 1)).unwrap();
    assert_eq!(count(&sql), 1);
}

#[test]
fn transactions_do_not_nest() {
    let sql = store();
    let outer: Result<(), SqlError> = sql.transaction(|| {
        insert(&sql, 1)?;
        assert!(sql.transaction(|| insert(&sql, 2)).is_err());
        Ok(())
    });
    assert!(outer.is_ok());
    assert_eq!(count(&sql), 1);
}

#[test]
fn edge_limits_apply_natively() {
    let sql = store();
    for statement in [
        "BEGIN",
        " savepoint x",
        "PRAGMA user_version",
        "SELECT 1; SELECT 2",
    ] {
        assert!(sql.query(statement, &[]).is_err(), "{statement}");
    }
    let parameters = |n: usize| format!("SELECT {}", vec!["?"; n].join(","));
    assert!(sql.query(&parameters(100), &vec![Value::Null; 100]).is_ok());
    assert!(
        sql.query(&parameters(101), &vec![Value::Null; 101])
            .is_err()
    );
    assert!(sql.query("SELECT ?", &[]).is_err());
    assert!(
        sql.query("SELECT length(?)", &[Value::from("x".repeat(2_300_000))])
            .is_err()
    );
    let deep = vec!["?1"; 150].join(" OR ");
    assert!(
        sql.query(&format!("SELECT {deep}"), &[Value::Null])
            .is_err()
    );
}

#[test]
fn full_text_search_and_json_are_available() {
    let sql = store();
    sql.execute("CREATE VIRTUAL TABLE f USING fts5(body)", &[])
        .unwrap();
    sql.execute("INSERT INTO f (body) VALUES ('a crab'), ('a fish')", &[])
        .unwrap();
    let found = sql
        .query(
            "SELECT body FROM f WHERE f MATCH 'crab' ORDER BY bm25(f)",
            &[],
        )
        .unwrap();
    assert_eq!((found.len(), found[0].text(0)), (1, Ok("a crab")));
    let json = sql
        .query(
            "SELECT json_group_array(value) FROM json_each(?)",
            &[Value::from("[1,2]")],
        )
        .unwrap();
    assert_eq!(json[0].text(0), Ok("[1,2]"));
}

#[test]
fn files_are_private_and_durable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite3");
    let sql = NativeSql::open(&path).unwrap();
    sql.execute("CREATE TABLE t (n INTEGER) STRICT", &[])
        .unwrap();
    insert(&sql, 7).unwrap();
    // A second connection sees the row while the first is open, because it is in the log.
    assert_eq!(count(&NativeSql::open(&path).unwrap()), 1);
    drop(sql);
    assert_eq!(count(&NativeSql::open(&path).unwrap()), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(NativeSql::open(&folder.path().join("missing/store.sqlite3")).is_err());
}

#[test]
fn failed_step_rolls_back_and_newer_history_is_ignored() {
    let sql = NativeSql::in_memory().unwrap();
    let good = Migration {
        name: "0001_a",
        sql: "CREATE TABLE a (x);\n",
    };
    let bad = Migration {
        name: "0002_b",
        sql: "CREATE TABLE b (x);\nCREATE TABLE b (x);\n",
    };
    let error = migrate(&sql, &[good, bad]).unwrap_err();
    assert_eq!(error.to_string(), "migration 0002_b failed");
    let tables = || {
        sql.query(
            "SELECT name FROM sqlite_master WHERE name IN ('a', 'b')",
            &[],
        )
        .unwrap()
        .len()
    };
    assert_eq!(tables(), 1);
    let fixed = Migration {
        name: "0002_b",
        sql: "CREATE TABLE b (x);\n",
    };
    migrate(&sql, &[good, fixed]).unwrap();
    migrate(&sql, &[good, fixed]).unwrap();
    assert_eq!(tables(), 2);
    // The older binary knows only the first step.
    migrate(&sql, &[good]).unwrap();
}
