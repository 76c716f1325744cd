//! The native store and the transcripts as a test subject.
//!
//! Called like the Worker's shell calls them, and reopened on the same databases after a crash.

use std::cell::RefCell;

use ars_runs::{RunStore, TranscriptStore};
use ars_sql::{Row, Sql as _};
use ars_sql_native::NativeSql;
use ars_store::{Store, StoreFailure, key_of};
use ars_testkit::faulty::{Fault, Faulty};
use ars_testkit::ledger::{Outcome, Subject};
use ars_wire::state::Route;
use serde_json::{Value, json};

type Sql = Faulty<NativeSql>;

/// A table with rows.
pub type Table = (String, Vec<Row>);

thread_local! {
    /// Databases from finished sequences for reuse, because creating a database takes longer than a
    /// sequence.
    static SPARE: RefCell<Vec<Databases>> = const { RefCell::new(Vec::new()) };
}

/// An in-memory run store and embedded transcript store.
pub struct Native {
    runs: RunStore<Sql>,
    transcripts: TranscriptStore<Sql>,
    databases: Databases,
}

#[derive(Clone)]
struct Databases {
    runs: Sql,
    transcripts: Sql,
}

impl Native {
    /// Returns an empty store.
    pub fn new() -> Self {
        let databases = SPARE
            .with_borrow_mut(Vec::pop)
            .map_or_else(Databases::new, Databases::emptied);
        Self {
            runs: RunStore::open(databases.runs.clone()).unwrap(),
            transcripts: TranscriptStore::open(databases.transcripts.clone()).unwrap(),
            databases,
        }
    }

    /// Returns every row in every table.
    pub fn dump(&self) -> Vec<Table> {
        [self.dump_of_runs(), tables(&self.databases.transcripts)].concat()
    }

    /// Returns every row except transcript rows, which are independent from the ledger.
    pub fn dump_of_runs(&self) -> Vec<Table> {
        tables(&self.databases.runs)
    }

    fn answer(&self, path: &str, body: &str, now: i64) -> Result<String, StoreFailure> {
        let route = Route::from_path(path).unwrap();
        key_of(body, route.key())?;
        match route {
            Route::Runs(verb) => self.runs.answer(verb, body, now),
            Route::Transcript(verb) => self.transcripts.answer(verb, body, now),
            Route::Memory(_) | Route::Friction(_) | Route::Schedules(_) | Route::Config(_) => {
                panic!("{path} is not the ledger's")
            }
        }
    }

    fn open_again(&mut self) {
        self.runs = RunStore::open(self.databases.runs.clone()).unwrap();
        self.transcripts = TranscriptStore::open(self.databases.transcripts.clone()).unwrap();
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // A sequence that panicked may have left a fault or a transaction behind.
        if !std::thread::panicking() {
            SPARE.with_borrow_mut(|spare| spare.push(self.databases.clone()));
        }
    }
}

impl Databases {
    fn new() -> Self {
        let sql = || Faulty::new(NativeSql::in_memory().unwrap());
        Self {
            runs: sql(),
            transcripts: sql(),
        }
    }

    /// Deletes the rows that sequences write; a new store's own rows (history, policy) never
    /// change.
    fn emptied(self) -> Self {
        for sql in [&self.runs, &self.transcripts] {
            for (table, _) in tables(sql)
                .iter()
                .filter(|(table, _)| !INITIAL_TABLES.contains(&table.as_str()))
            {
                sql.execute(&format!("DELETE FROM {table}"), &[]).unwrap();
            }
        }
        self
    }
}

/// Tables with rows in a new store.
const INITIAL_TABLES: [&str; 2] = ["_migrations", "retention"];

fn tables(sql: &Sql) -> Vec<Table> {
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let names = sql
        .query(names, &[])
        .unwrap()
        .into_iter()
        .map(|row| row.into_text(0).unwrap());
    names
        .map(|name| {
            (
                name.clone(),
                sql.query(&format!("SELECT * FROM {name}"), &[]).unwrap(),
            )
        })
        .collect()
}

#[test]
fn reused_databases_are_empty() {
    let fresh = Native::new().dump();
    let record = json!({
        "id": "r1", "channelId": "C", "userId": "U", "threadKey": "t", "startedAt": 1, "finishedAt": 1,
        "status": "completed", "eventCount": 0, "storedEventCount": 0, "truncated": false, "events": [],
        "diagnosis": { "findings": [], "eventCount": 0, "verdict": "", "byCategory": {} },
    });
    let mut native = Native::new();
    assert_eq!(
        native
            .call(
                "/runs/put",
                &json!({ "storeKey": "k", "record": record }),
                1
            )
            .0,
        200
    );
    assert_ne!(native.dump(), fresh);
    drop(native);
    assert_eq!(Native::new().dump(), fresh);
}

impl Subject for Native {
    fn call(&mut self, path: &str, body: &Value, now: i64) -> (u16, Value) {
        match self.answer(path, &body.to_string(), now) {
            Ok(text) => (200, serde_json::from_str(&text).unwrap()),
            Err(StoreFailure::Refusal(refusal)) => (
                refusal.status(),
                serde_json::from_str(&refusal.body()).unwrap(),
            ),
            Err(StoreFailure::Fault(fault)) => (500, json!({ "error": fault.to_string() })),
        }
    }

    fn call_and_crash(&mut self, path: &str, body: &Value, now: i64, fault: Fault) -> Outcome {
        self.databases.runs.arm(fault);
        self.databases.transcripts.arm(fault);
        let (status, answer) = self.call(path, body, now);
        let fired = self.databases.runs.disarm() | self.databases.transcripts.disarm();
        self.open_again();
        if fired {
            assert_eq!(
                status, 500,
                "{path} answered {answer} over a fault ({fault:?})"
            );
            Outcome::Lost {
                kept: fault.keeps(),
            }
        } else {
            Outcome::Answered(status, answer)
        }
    }

    fn sweep(&mut self, now: i64) {
        self.runs.sweep(now).unwrap();
    }
}
