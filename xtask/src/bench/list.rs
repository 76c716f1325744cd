//! `cargo xtask bench list`: a service's `runs.list` beside SQLite alone.
//!
//! Both read the same page from 100,000 stored runs in the same file. SQLite alone is measured
//! twice. `raw values` is the target's baseline: the same rows, and each value that a list row
//! shows, from the smallest form in which the store has it, so no list can read less. `raw texts`
//! selects the stored texts without their values, which is the rows' cost alone. `status.show`
//! reads no store, so it is the cost for HTTP, gate and command.
//!
//! Not here: the rows that a page reads, which a test bounds (`shared/runs/tests/store`).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use ars_raw_http::Connection;
use clap::Args;
use rusqlite::Connection as Database;
use serde_json::Value;

use super::aims::{LIST, Verdicts};
use super::bot::READS_ALL_RUNS;
use super::report::median;
use super::serve::Serve;
use super::state;
use crate::cargo::{self, Target};
use crate::terminal::Step;

/// The database of the embedded store, below the data directory.
const DATABASE: &str = "store.sqlite3";
/// Rows of a page.
const PAGE: u32 = 50;
/// Runs of the smallest measurement.
const SMOKE_RUNS: u32 = 2_000;
/// The rows of the page, newest first.
const PAGE_ROWS: &str = "FROM runs ORDER BY finished_at DESC, id DESC LIMIT ?1";
/// The values of a row that are not columns of the table.
const VALUES: [&str; 14] = [
    "model",
    "threadKey",
    "startedAt",
    "receivedAt",
    "sealedAt",
    "status",
    "replyOk",
    "stepCount",
    "schema",
    "storedEventCount",
    "truncated",
    "costMicroUsd",
    "userName",
    "sourceUrl",
];
/// Removes the limit on the number of runs.
const UNLIMITED: &str = "UPDATE retention SET max_runs = 1e9, max_bytes = 1e15";
/// Finished runs, one per second until `?1`. `?3` is the record of one.
const FILL: &str = "WITH RECURSIVE run (nth) AS (SELECT 0 UNION ALL SELECT nth + 1 FROM run WHERE nth + 1 < ?2) \
    INSERT INTO runs SELECT 'run-' || nth, ?1 - nth * 1000, 6, 4000, ?3 ->> 'agent', ?3 ->> 'channelId', \
    ?3 ->> 'userId', ?3 ->> 'repo', ?3 ->> 'channelVisibility', 1, record, 1, \
    json_remove(json_set(record, '$.bytes', 4000), '$.diagnosis') FROM (SELECT nth, json_set(?3, \
    '$.id', 'run-' || nth, '$.startedAt', ?1 - nth * 1000 - 184000, '$.finishedAt', ?1 - nth * 1000) AS record \
    FROM run)";

/// How long to measure, and where.
#[derive(Debug, Args)]
pub struct Options {
    /// Take about a tenth of the time
    #[arg(long)]
    quick: bool,
    /// Stored runs
    #[arg(long, default_value_t = 100_000)]
    runs: u32,
    /// Directory of the data; in memory by default, so that no disk is measured
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Fail when the list takes more than its target
    #[arg(long)]
    check: bool,
    /// Measure once, briefly, with the bot as tests start it: shows that it works, not how fast
    #[arg(long, conflicts_with_all = ["quick", "runs", "check"])]
    smoke: bool,
}

impl Options {
    /// The smallest measurement, which any machine can run.
    pub fn smoke(dir: &Path) -> Self {
        Self {
            quick: false,
            runs: SMOKE_RUNS,
            dir: dir.to_owned(),
            check: false,
            smoke: true,
        }
    }

    /// Returns the number of runs.
    const fn runs(&self) -> u32 {
        if self.smoke { SMOKE_RUNS } else { self.runs }
    }

    /// Returns the slices of each row, and the length of one.
    fn plan(&self) -> (usize, Duration) {
        let (rounds, ms) = match (self.smoke, self.quick) {
            (true, _) => (1, 50),
            (_, true) => (3, 300),
            _ => (10, 1000),
        };
        (rounds, Duration::from_millis(ms))
    }
}

/// Measures and prints the table.
pub fn run(options: &Options) -> Result<()> {
    let step = Step::begin("bot");
    let profile = if options.smoke { "dev" } else { "release" };
    let ars = cargo::build(
        Target {
            package: "ars",
            kind: "--bin",
            name: "ars",
            profile,
        },
        &step,
    )?;
    step.done("");
    let place = tempfile::tempdir_in(&options.dir)?;
    let service = serve(&ars, place.path())?;
    let address = service
        .url()
        .trim_start_matches("http://")
        .parse()
        .context("the bot's address")?;
    let step = Step::begin("filling");
    let database = filled(&place.path().join(DATABASE), options.runs())?;
    step.done(&format!("{} runs", options.runs()));
    let list = Request::post(address, "runs.list", r#"{"status":"finished"}"#)?;
    let base = Request::post(address, "status.show", "{}")?;
    check(&list, &database)?;

    let (rounds, length) = options.plan();
    let mut rows = ["raw values", "raw texts", "status.show", "runs.list"].map(Row::new);
    let [values_row, texts_row, base_row, list_row] = &mut rows;
    let (values, texts) = (values_sql(), format!("SELECT id, brief {PAGE_ROWS}"));
    let (mut base_connection, mut list_connection) = (base.connect()?, list.connect()?);
    // The first round does not count: it fills the caches.
    for round in 0..=rounds {
        if round == 1 {
            for row in [&mut *values_row, texts_row, base_row, list_row] {
                row.latencies.clear();
            }
        }
        values_row.slice(length, || read(&database, &values).map(drop))?;
        texts_row.slice(length, || read(&database, &texts).map(drop))?;
        base_row.slice(length, || base.send(&mut base_connection))?;
        list_row.slice(length, || list.send(&mut list_connection))?;
    }
    let mut verdicts = Verdicts::default();
    println!("{}", table(rows, options.runs(), &mut verdicts));
    if options.check {
        verdicts.check()
    } else {
        Ok(())
    }
}

/// Opens the service's database and adds the runs.
fn filled(file: &Path, runs: u32) -> Result<Database> {
    let mut database = Database::open(file)?;
    let newest = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())? - 60_000;
    let transaction = database.transaction()?;
    transaction.execute(UNLIMITED, ())?;
    let mut record = state::record("run", 0, newest, 0);
    record
        .as_object_mut()
        .map(|members| members.remove("events"));
    transaction.execute(FILL, (newest, runs, record.to_string()))?;
    transaction.commit()?;
    Ok(database)
}

/// Returns the statement of each value that the page shows.
fn values_sql() -> String {
    let values = VALUES
        .map(|name| format!("brief ->> '$.{name}'"))
        .join(", ");
    format!(
        "SELECT id, finished_at, event_count, bytes, agent, channel_id, user_id, repo, visibility, {values} {PAGE_ROWS}"
    )
}

/// Reads a page with SQLite alone. Returns its ids.
fn read(database: &Database, statement: &str) -> Result<Vec<String>> {
    let mut statement = database.prepare_cached(statement)?;
    let columns = statement.column_count();
    let mut rows = statement.query([PAGE])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        for column in 1..columns {
            // A copy, because a value lives as long as its row.
            let _value: rusqlite::types::Value = row.get(column)?;
        }
        ids.push(row.get(0)?);
    }
    Ok(ids)
}

/// Checks that both sides answer the same page.
fn check(list: &Request, database: &Database) -> Result<()> {
    let mut connection = list.connect()?;
    connection.send(&list.bytes)?;
    let answer = connection.answer("POST")?;
    let body: Value = serde_json::from_slice(&answer.body).context("the answer is not JSON")?;
    let shown = body["runs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|run| run["id"].as_str());
    ensure!(
        shown.eq(read(database, &values_sql())?.iter().map(String::as_str)),
        "the pages differ: {body:.300}"
    );
    Ok(())
}

/// A row of the table.
struct Row {
    name: &'static str,
    latencies: Vec<Duration>,
}

impl Row {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            latencies: Vec::new(),
        }
    }

    /// Repeats the call for this long.
    fn slice(&mut self, length: Duration, mut call: impl FnMut() -> Result<()>) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < length {
            let sent = Instant::now();
            call()?;
            self.latencies.push(sent.elapsed());
        }
        Ok(())
    }
}

fn table(rows: [Row; 4], runs: u32, verdicts: &mut Verdicts) -> String {
    let names = rows.each_ref().map(|row| row.name);
    let p50 = rows.map(|row| median(row.latencies));
    let [values, texts, base, list] = p50.map(|time| time.as_secs_f64());
    let mut text = format!("A page of {PAGE} among {runs} stored runs, p50:\n");
    for (name, time) in names.iter().zip(p50) {
        text += &format!("  {name:<12} {:>8.3} ms\n", time.as_secs_f64() * 1000.0);
    }
    text += &verdicts.hold(LIST, "", list / values);
    let alone = (list - base).max(0.0);
    text + &format!(
        "\n  without status.show: {:.2}; beside raw texts: {:.2}",
        alone / values,
        alone / texts
    )
}

/// A request, and where it goes.
struct Request {
    address: SocketAddr,
    bytes: Vec<u8>,
}

impl Request {
    fn post(address: SocketAddr, command: &str, body: &str) -> Result<Self> {
        let head = format!(
            "POST /api/{command} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json"
        );
        let bytes = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
        Ok(Self { address, bytes })
    }

    fn connect(&self) -> Result<Connection> {
        Ok(Connection::open(self.address)?)
    }

    fn send(&self, connection: &mut Connection) -> Result<()> {
        let (status, _) = connection.exchange(&self.bytes)?;
        ensure!(status == 200, "the service answered {status}");
        Ok(())
    }
}

/// Starts the bot with an embedded store.
fn serve(ars: &Path, data: &Path) -> Result<Serve> {
    let config = data.join("ars.toml");
    std::fs::write(&config, READS_ALL_RUNS)?;
    Serve::start(ars, data, |command| {
        command
            .args(["--store", "embedded", "--data-dir"])
            .arg(data)
            .arg("--config")
            .arg(config)
            .env_clear();
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_the_ratios() {
        let row = |name, ms| Row {
            name,
            latencies: vec![Duration::from_millis(ms); 3],
        };
        let rows = |list| {
            [
                row("raw values", 2),
                row("raw texts", 1),
                row("status.show", 1),
                row("runs.list", list),
            ]
        };
        let mut verdicts = Verdicts::default();
        let met = table(rows(5), 10, &mut verdicts);
        assert!(
            met.contains("runs.list / raw values, p50: 2.50 times, at most 3 times: ok"),
            "{met}"
        );
        assert!(
            met.ends_with("without status.show: 2.00; beside raw texts: 4.00"),
            "{met}"
        );
        assert!(verdicts.check().is_ok());
        table(rows(7), 10, &mut verdicts);
        assert!(verdicts.check().is_err());
    }
}
