//! Tests `ars watch`, `ars runs watch` and `ars diff`.

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
};

use ars_sql::{Sql as _, SqlError};
use ars_sql_native::NativeSql;
use ars_testkit::{Block, FakeAnthropic, Reply};
use serde_json::json;

use crate::support::{Machine, Running, SERVE, Server, answering, gated, nobody, run};

#[tokio::test]
async fn watch_shows_steps_and_answer() {
    let (machine, fake) = answering([
        Reply::tool("update_status", json!({"text": "thinking"})),
        Reply::text("it is done"),
    ])
    .await;
    let server = machine.serve_openly(&fake.url()).await;
    let (_, body) = server.ask(&json!({"text": "hi"})).await;
    let page = format!(
        "{}/runs/{}",
        server.url(),
        body["run"]["id"].as_str().unwrap()
    );
    let ended = run(&mut machine.ars(&["watch", &page])).await;
    ended.assert_code(0);
    let (steps, answer) = ended.stdout.split_once("\n\n").unwrap();
    assert_eq!(answer, "it is done\n");
    assert!(
        steps.contains("general") && steps.contains("update_status"),
        "{steps}"
    );
    let unknown = format!("{}/runs/none", server.url());
    run(&mut machine.ars(&["watch", &unknown]))
        .await
        .assert_refused(1, "not_found", &["404"]);
    server.terminate().await.assert_code(0);
}

/// A viewer for every channel, with a secret as the credential.
const VIEWER: &str = "[dashboard]\nauth = \"token\"\n[dashboard.token]\nactor = \"access:ops\"\n\
                      [grants.\"access:ops\"]\nchannels = \"all\"\n";

/// The command starts while the model has not answered yet.
#[tokio::test]
async fn live_run_is_followed_to_its_status() {
    let (machine, fake) = answering([
        Reply::text("it is done"),
        Reply::error(400, "invalid_request_error", "no such model"),
    ])
    .await;
    let config = machine.file("ars.toml", VIEWER);
    for (status, code) in [("completed", 0), ("failed", 1)] {
        let (gate, model) = gated(&fake.url()).await;
        let mut ars = machine.ars_with(&model, &SERVE);
        let ars = ars
            .env("SERVICE_CONFIG", &config)
            .env("DASHBOARD_TOKEN", "look");
        let server = Server::start(ars).await;
        let (accepted, body) = server.ask(&json!({"text": "hi", "async": true})).await;
        assert_eq!(accepted, 202);
        let watch = |id: &str| {
            let mut ars = machine.ars(&["runs", "watch", id]);
            ars.env("ARS_SERVER", server.url()).env("ARS_TOKEN", "look");
            ars
        };
        let mut watched = Running::start(&mut watch(body["runId"].as_str().unwrap()));
        assert!(watched.line().await.contains("general"));
        gate.open();
        let ended = watched.ended().await;
        ended.assert_code(code);
        match code {
            0 => assert!(ended.stdout.ends_with("\nit is done\n"), "{ended:#?}"),
            _ => {
                assert!(ended.stderr.contains(&format!(
                    "error (failed): the status of the run is {status}"
                )));
            }
        }
        run(&mut watch("unknown"))
            .await
            .assert_refused(1, "not_found", &["not found"]);
        server.terminate().await.assert_code(0);
    }
}

/// Rejects writes to a store until the channel's other end is dropped.
fn lock(store: &Path, until: mpsc::Receiver<()>) {
    let sql = NativeSql::open(store).unwrap();
    let (locked, is_locked) = mpsc::channel();
    std::thread::spawn(move || {
        sql.transaction(|| {
            sql.execute("DELETE FROM runs WHERE 0", &[])?;
            drop(locked);
            let _ = until.recv();
            Ok::<_, SqlError>(())
        })
    });
    assert!(is_locked.recv() == Err::<(), _>(mpsc::RecvError));
}

/// The process dies with events that the store does not have. The next process gives their seqs to
/// others.
#[tokio::test]
async fn watch_shows_the_events_that_replace_lost_ones() {
    let machine = Machine::new();
    let store = machine.path("data/store.sqlite3");
    let (unlock, until) = mpsc::channel::<()>();
    let (until, asked) = (Mutex::new(Some(until)), AtomicU32::new(0));
    let fake = FakeAnthropic::answering(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::tool("update_status", json!({"text": "thinking"})),
        1 => {
            lock(&store, until.lock().unwrap().take().unwrap());
            let (name, input) = ("update_status".to_owned(), json!({"text": "on"}));
            Reply::blocks(vec![
                Block::Text("lost words".to_owned()),
                Block::Tool { name, input },
            ])
        }
        _ => Reply::text("it is done"),
    })
    .await;
    let config = machine.file("ars.toml", VIEWER);
    let serve = async |listen: &str| {
        let mut ars = machine.ars_with(&fake.url(), &["serve", "--listen", listen]);
        Server::start(
            ars.env("SERVICE_CONFIG", &config)
                .env("DASHBOARD_TOKEN", "look"),
        )
        .await
    };
    let server = serve("127.0.0.1:0").await;
    let url = server.url().to_owned();
    let (_, body) = server.ask(&json!({"text": "hi", "async": true})).await;
    let mut ars = machine.ars(&["runs", "watch", body["runId"].as_str().unwrap()]);
    let mut watched = Running::start(ars.env("ARS_SERVER", &url).env("ARS_TOKEN", "look"));
    while !watched.line().await.contains("lost words") {}
    server.kill().await;
    drop(unlock);
    let server = serve(url.trim_start_matches("http://")).await;
    let ended = watched.ended().await;
    ended.assert_code(0);
    assert!(
        ended.stdout.lines().any(|line| line.starts_with("! ")),
        "no note of the resume: {ended:#?}"
    );
    assert!(ended.stdout.ends_with("\nit is done\n"), "{ended:#?}");
    server.terminate().await.assert_code(0);
}

#[tokio::test]
async fn watch_says_what_is_wrong_with_its_address() {
    let machine = Machine::new();
    let nowhere = format!("{}/runs/a", nobody());
    run(&mut machine.ars(&["watch", &nowhere]))
        .await
        .assert_refused(1, "unavailable", &["reached"]);
    let no_page = ["watch", "http://127.0.0.1:1/elsewhere"];
    run(&mut machine.ars(&no_page))
        .await
        .assert_refused(2, "invalid_input", &["/runs/<id>"]);
}

#[tokio::test]
async fn diff_shows_what_a_threads_tree_has_changed() {
    let machine = Machine::new();
    let project = machine.project();
    let fake = FakeAnthropic::start().await;
    fake.push([
        Reply::tool(
            "write_file",
            json!({"path": "greeting.txt", "content": "hello\n"}),
        ),
        Reply::text("done"),
    ]);
    let arguments = [
        "ask",
        "mend it",
        "--thread",
        "one",
        "--repo",
        project.to_str().unwrap(),
    ];
    run(&mut machine.ars_with(&fake.url(), &arguments))
        .await
        .assert_code(0);
    let ended = run(&mut machine.ars(&["diff", "cli:one"])).await;
    ended.assert_code(0);
    assert!(ended.stdout.contains("-helo\n+hello\n"), "{}", ended.stdout);
    for (thread, word) in [
        ("cli:two", "working tree"),
        ("one", "cli:mine"),
        ("cli:", "cli:mine"),
    ] {
        run(&mut machine.ars(&["diff", thread]))
            .await
            .assert_refused(2, "invalid_input", &[word]);
    }
}
