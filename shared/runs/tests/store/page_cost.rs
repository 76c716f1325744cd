//! The cost of a page among 100,000 stored runs, in steps of SQLite's virtual machine.
//!
//! Reading a row is several steps, so their number bounds the rows read, and unlike a time it is
//! the same on every machine.

use std::cell::Cell;

use ars_runs::RunStore;
use ars_sql::{Row, Sql, SqlError, Value as Bound};
use ars_store::Store as _;
use rusqlite::{Connection, StatementStatus, types::ValueRef};
use serde_json::{Value, json};

use crate::support::NOW;

/// Rows per page.
const PAGE: i64 = 50;
/// Maximum steps per row in a page: the index entry, the row, and the text that is joined.
const MAX_STEPS_PER_ROW: i64 = 150;
/// Most steps for a row that a filter skips, which reads the index alone.
const MAX_STEPS_PER_SKIPPED_ROW: i64 = 25;
/// Maximum steps for a page without a row: the statement, the retention, and the index end.
const MAX_STEPS_OF_EMPTY_PAGE: i64 = 200;

/// A database that counts the steps its statements take.
struct Counting {
    connection: Connection,
    steps: Cell<i64>,
}

fn engine(error: rusqlite::Error) -> SqlError {
    SqlError::Engine(error.to_string())
}

fn value(value: ValueRef<'_>) -> Bound {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => Bound::Null,
        ValueRef::Integer(number) => Bound::Integer(number),
        ValueRef::Real(number) => Bound::Real(number),
        ValueRef::Text(text) => Bound::Text(String::from_utf8(text.to_vec()).unwrap()),
    }
}

impl Sql for Counting {
    type Text = String;

    fn each(
        &self,
        sql: &str,
        params: &[Bound],
        mut handle: impl FnMut(Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut statement = self.connection.prepare(sql).map_err(engine)?;
        for (index, param) in (1..).zip(params) {
            let bound = match param {
                Bound::Null => statement.raw_bind_parameter(index, rusqlite::types::Null),
                Bound::Integer(number) => statement.raw_bind_parameter(index, *number as f64),
                Bound::Real(number) => statement.raw_bind_parameter(index, number),
                Bound::Text(text) => statement.raw_bind_parameter(index, text),
            };
            bound.map_err(engine)?;
        }
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(engine)? {
            handle(Row::new(
                (0..columns)
                    .map(|index| value(row.get_ref(index).unwrap()))
                    .collect(),
            ))?;
        }
        drop(rows);
        let steps = i64::from(statement.get_status(StatementStatus::VmStep));
        self.steps.set(self.steps.get() + steps);
        Ok(())
    }

    fn text(&self, sql: &str, params: &[Bound]) -> Result<Option<String>, SqlError> {
        let row = self.query(sql, params)?.into_iter().next();
        row.filter(|row| !row.is_null(0))
            .map(|row| row.into_text(0))
            .transpose()
    }

    fn transaction<T, E: From<SqlError>>(
        &self,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.connection.execute_batch("BEGIN").map_err(engine)?;
        let value = body()?;
        self.connection.execute_batch("COMMIT").map_err(engine)?;
        Ok(value)
    }
}

/// Returns a store with this many runs, one per second, in 100 channels, without a limit that hides
/// any.
fn store(runs: i64) -> RunStore<Counting> {
    let connection = Connection::open_in_memory().unwrap();
    let store = RunStore::open(Counting {
        connection,
        steps: Cell::new(0),
    })
    .unwrap();
    let sql = store.sql();
    sql.execute(
        "UPDATE retention SET retention_days = 365, max_runs = 1000000, max_bytes = 1e15",
        &[],
    )
    .unwrap();
    sql.execute(
        "WITH RECURSIVE run (nth) AS (SELECT 0 UNION ALL SELECT nth + 1 FROM run WHERE nth + 1 < ?2) \
         INSERT INTO runs SELECT 'r' || nth, ?1 - nth * 1000, 1, 500, 'coding', 'http:c' || (nth % 100), 'http:ann', \
         '', 'machine', 1, json_object('id', 'r' || nth, 'channelId', 'http:c' || (nth % 100), 'userId', 'http:ann', \
         'threadKey', 't', 'startedAt', ?1 - nth * 1000, 'finishedAt', ?1 - nth * 1000, 'status', 'completed', \
         'eventCount', 1, 'storedEventCount', 1, 'truncated', json('false'), 'diagnosis', json('{}')), 1, NULL FROM run",
        &[Bound::from(NOW), Bound::from(runs)],
    )
    .unwrap();
    store
}

/// Returns a page's ids and steps.
fn page(store: &RunStore<Counting>, mut request: Value) -> (Vec<String>, i64) {
    request["limit"] = json!(PAGE);
    store.sql().steps.set(0);
    let answer: Value =
        serde_json::from_str(&store.list(&request.to_string(), NOW).unwrap()).unwrap();
    let items = answer["items"].as_array().unwrap();
    let ids = items
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect();
    (ids, store.sql().steps.get())
}

#[test]
fn page_costs_the_same_among_more_runs() {
    let (few, many) = (store(1_000), store(100_000));
    let members =
        json!({ "visibleTo": { "kind": "channels-in", "channelIds": ["http:c1", "http:c51"] } });
    for (name, request) in [
        ("newest", json!({})),
        (
            "behind a cursor",
            json!({ "before": NOW - 500_000, "beforeId": "r500" }),
        ),
        ("since", json!({ "sinceMs": NOW - 900_000 })),
    ] {
        let (ids, steps) = page(&many, request.clone());
        assert_eq!(
            (ids.len() as i64, steps),
            (PAGE, page(&few, request).1),
            "{name}"
        );
        assert!(steps <= PAGE * MAX_STEPS_PER_ROW, "{name}: {steps} steps");
    }
    // A page's depth does not matter.
    let behind = |nth: i64| json!({ "before": NOW - nth * 1_000, "beforeId": format!("r{nth}") });
    let (ids, steps) = page(&many, behind(90_000));
    assert_eq!(
        (ids[0].as_str(), steps),
        ("r90001", page(&many, behind(500)).1)
    );
    // A viewer who sees every fiftieth run reads the index up to the page's end.
    let (ids, steps) = page(&many, members);
    assert_eq!(ids.last().map(String::as_str), Some("r2451"));
    assert!(
        steps <= PAGE * MAX_STEPS_PER_ROW + 2_451 * MAX_STEPS_PER_SKIPPED_ROW,
        "{steps} steps"
    );
}

#[test]
fn filter_without_a_match_reads_nothing() {
    let store = store(100_000);
    for request in [
        json!({ "agent": "general" }),
        json!({ "channel": "http:c100" }),
        json!({ "agent": "general", "channel": "http:c100" }),
    ] {
        let (ids, steps) = page(&store, request.clone());
        assert!(ids.is_empty(), "{request}");
        assert!(steps <= MAX_STEPS_OF_EMPTY_PAGE, "{request}: {steps} steps");
    }
}

#[test]
fn filtered_page_costs_as_much_as_another() {
    let store = store(100_000);
    let (_, plain) = page(&store, json!({}));
    for (request, last) in [
        (json!({ "agent": "coding" }), "r49"),
        (json!({ "channel": "http:c7" }), "r4907"),
    ] {
        let (ids, steps) = page(&store, request.clone());
        assert_eq!(
            (ids.len() as i64, ids[49].as_str()),
            (PAGE, last),
            "{request}"
        );
        assert!(
            steps <= plain + PAGE * 5,
            "{request}: {steps} steps, {plain} without a filter"
        );
    }
}

/// A predicate without a match reads each index entry once, or as many as the request allows.
#[test]
fn scan_limit_bounds_a_search() {
    let (runs, scanned) = (20_000, 1_000);
    let store = store(runs);
    let nobody = json!({ "kind": "user-is", "userId": "http:bob" });
    for request in [
        json!({ "visibleTo": nobody }),
        json!({ "channel": "http:c7", "visibleTo": nobody }),
        json!({ "channel": "http:c7", "agent": "general" }),
    ] {
        let matching = if request.get("channel").is_some() {
            runs / 100
        } else {
            runs
        };
        let (ids, steps) = page(&store, request.clone());
        assert!(
            ids.is_empty() && steps <= matching * MAX_STEPS_PER_SKIPPED_ROW,
            "{request}: {steps} steps"
        );
        let limited = crate::support::with(request.clone(), json!({ "maxScanned": scanned }));
        let most = scanned.min(matching) * MAX_STEPS_PER_SKIPPED_ROW * 2 + MAX_STEPS_OF_EMPTY_PAGE;
        let (ids, steps) = page(&store, limited);
        assert!(ids.is_empty() && steps <= most, "{request}: {steps} steps");
    }
}
