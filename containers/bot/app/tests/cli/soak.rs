//! A soak drill for the bot on embedded stores: short runs, and viewers who come and go.
//!
//! The short form runs in CI, and `cargo xtask drill soak` runs the long form (docs/testing.md).

use std::{fs, path::Path};

use ars_sql::Sql as _;
use ars_sql_native::NativeSql;
use ars_testkit::{
    FakeAnthropic, Reply,
    gauges::{MEMORY_SLACK_KIB, Soak, Watched},
};
use serde_json::json;

use crate::support::{Machine, SERVE, Server};

/// Runs per round in the short form.
const UNITS: usize = 6;
/// Every run is shown to this machine, and no request limit ends the drill.
const CONFIG: &str =
    "[grants.\"access:loopback\"]\nchannels = \"all\"\n[limits]\nrequestsPerMinute = 0\n";
/// The stored history, which grows by design until its retention.
const HISTORY: [&str; 1] = ["store.sqlite3"];
/// Counts everything that a run leaves beside the record.
const LIVE: &str = "SELECT (SELECT count(*) FROM live_runs) + (SELECT count(*) FROM live_specs) \
    + (SELECT count(*) FROM live_steps) + (SELECT count(*) FROM live_inbox) + (SELECT count(*) FROM live_jobs) \
    + (SELECT count(*) FROM transcript_owners) + (SELECT count(*) FROM transcript_rows)";

/// Counts a store's live rows.
fn rows(store: &Path) -> u64 {
    let sql = NativeSql::open(store).unwrap();
    u64::try_from(sql.query(LIVE, &[]).unwrap()[0].integer(0).unwrap()).unwrap()
}

/// Follows a run through the index link. Every other viewer leaves after the first bytes.
async fn view(server: &Server, run: &str, stays: bool) {
    let index = server.page("/runs").await.text().await.unwrap();
    let link = index
        .split_once(&format!("/runs/{run}?t="))
        .and_then(|(_, rest)| rest.split(['"', '&']).next());
    // A run that has ended is shown without a token.
    let query = link.map(|token| format!("?t={token}")).unwrap_or_default();
    let mut stream = server.page(&format!("/runs/{run}/events{query}")).await;
    assert!(stream.status().is_success(), "{run}: {}", stream.status());
    while stream.chunk().await.unwrap().is_some() && stays {}
}

// A look blocks the thread, and the round's connections end meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn soak_of_runs_and_viewers_is_flat() {
    let machine = Machine::new();
    let fake = FakeAnthropic::answering(|_| Reply::text("done")).await;
    let (temporary, config) = (machine.path("tmp"), machine.file("soak.toml", CONFIG));
    fs::create_dir(&temporary).unwrap();
    let mut ars = machine.ars_with(&fake.url(), &SERVE);
    // A long drill's log would fill the pipe.
    let ars = ars
        .env("SERVICE_CONFIG", config)
        .env("TMPDIR", temporary)
        .env("RUST_LOG", "error");
    let server = Server::start(ars).await;
    let watched = Watched {
        pid: server.running.pid(),
        folder: machine.path(""),
        history: &HISTORY,
        memory_slack_kib: MEMORY_SLACK_KIB,
    };
    let mut soak = Soak::new(watched, UNITS, |name| std::env::var(name).ok());
    for round in 0..soak.rounds() {
        for unit in 0..soak.units() {
            let body =
                json!({ "text": "hi", "thread": format!("soak-{round}-{unit}"), "async": true });
            let (status, accepted) = server.ask(&body).await;
            assert_eq!(status, 202, "{accepted}");
            view(&server, accepted["runId"].as_str().unwrap(), unit % 2 == 0).await;
        }
        server.health_when(|health| health["inFlight"] == 0).await;
        soak.look(|| rows(&machine.path("data/store.sqlite3")));
    }
    soak.finish("runs and viewers");
    server.terminate().await.assert_code(0);
}
