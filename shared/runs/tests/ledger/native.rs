//! The native store and its transcripts as a subject: asked as the Worker's shell asks them, and opened again on the
//! same databases after a crash.

use ars_runs::{RunStore, TranscriptStore};
use ars_sql::{Row, Sql as _};
use ars_sql_native::NativeSql;
use ars_store::{Store, StoreFailure, key_of};
use ars_testkit::faulty::{Fault, Faulty};
use ars_testkit::ledger::{Outcome, Subject};
use ars_wire::state::Route;
use serde_json::{Value, json};

type Sql = Faulty<NativeSql>;

/// One run store and one embedded transcript store, in memory.
pub struct Native {
    runs: RunStore<Sql>,
    transcripts: TranscriptStore<Sql>,
    runs_sql: Sql,
    transcripts_sql: Sql,
}

impl Native {
    pub fn new() -> Self {
        let sql = || Faulty::new(NativeSql::in_memory().unwrap());
        let (runs_sql, transcripts_sql) = (sql(), sql());
        Self {
            runs: RunStore::open(runs_sql.clone()).unwrap(),
            transcripts: TranscriptStore::open(transcripts_sql.clone()).unwrap(),
            runs_sql,
            transcripts_sql,
        }
    }

    /// Every row of every table of the run store but these, by table.
    pub fn dump_without(&self, left_out: &[&str]) -> Vec<(String, Vec<Row>)> {
        let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let names =
            self.runs_sql.query(tables, &[]).unwrap().into_iter().map(|row| row.into_text(0).unwrap());
        let all = |name: &str| self.runs_sql.query(&format!("SELECT * FROM {name}"), &[]).unwrap();
        names
            .filter(|name| !left_out.contains(&name.as_str()))
            .map(|name| (name.clone(), all(&name)))
            .collect()
    }

    /// Every row of every table.
    pub fn dump(&self) -> Vec<(String, Vec<Row>)> {
        let mut rows = self.dump_without(&[]);
        let transcripts = |table| self.transcripts_sql.query(&format!("SELECT * FROM {table}"), &[]).unwrap();
        let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        for table in self.transcripts_sql.query(tables, &[]).unwrap() {
            let table = table.into_text(0).unwrap();
            rows.push((table.clone(), transcripts(table)));
        }
        rows
    }

    fn answer(&self, path: &str, body: &str, now: i64) -> Result<String, StoreFailure> {
        let route = Route::of(path).unwrap();
        key_of(body, route.key())?;
        match route {
            Route::Runs(verb) => self.runs.answer(verb, body, now),
            Route::Transcript(verb) => self.transcripts.answer(verb, body, now),
            Route::Memory(_) | Route::Friction(_) | Route::Schedules(_) => {
                panic!("{path} is not the ledger's")
            }
        }
    }

    fn open_again(&mut self) {
        self.runs = RunStore::open(self.runs_sql.clone()).unwrap();
        self.transcripts = TranscriptStore::open(self.transcripts_sql.clone()).unwrap();
    }
}

impl Subject for Native {
    fn call(&mut self, path: &str, body: &Value, now: i64) -> (u16, Value) {
        match self.answer(path, &body.to_string(), now) {
            Ok(text) => (200, serde_json::from_str(&text).unwrap()),
            Err(StoreFailure::Refusal(refusal)) => {
                (refusal.status(), serde_json::from_str(&refusal.body()).unwrap())
            }
            Err(StoreFailure::Fault(fault)) => (500, json!({ "error": fault.to_string() })),
        }
    }

    fn call_and_crash(&mut self, path: &str, body: &Value, now: i64, fault: Fault) -> Outcome {
        self.runs_sql.arm(fault);
        self.transcripts_sql.arm(fault);
        let (status, answer) = self.call(path, body, now);
        let fired = self.runs_sql.disarm() | self.transcripts_sql.disarm();
        self.open_again();
        if fired {
            assert_eq!(status, 500, "{path} answered {answer} over a fault ({fault:?})");
            Outcome::Lost { kept: fault.keeps() }
        } else {
            Outcome::Answered(status, answer)
        }
    }

    fn sweep(&mut self, now: i64) {
        self.runs.sweep(now).unwrap();
    }
}
