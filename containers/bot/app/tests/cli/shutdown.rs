//! Tests how `ars serve` shuts down. SIGTERM and SIGINT drain, a further SIGINT stops the runs, and
//! all leave records.

use ars_testkit::{FakeAnthropic, Reply};
use rustix::process::Signal;
use serde_json::json;

use crate::support::{Machine, Running, SERVE, Server, TIMEOUT, answering, gated};

#[tokio::test]
async fn sigterm_drains_and_leaves_a_record() {
    let (machine, fake) = answering([Reply::text("done at last")]).await;
    let (gate, model) = gated(&fake.url()).await;
    let server = machine.serve(&model).await;
    let (status, accepted) = server
        .ask(&json!({"text": "take your time", "async": true}))
        .await;
    assert_eq!(status, 202, "{accepted}");
    server.running.signal(Signal::TERM);
    let health = server
        .health_when(|health| health["draining"] == json!(true))
        .await;
    assert!(
        health["drainStartedAt"].is_string() && health["inFlight"] == json!(1),
        "{health}"
    );
    gate.open();
    let ended = server.running.ended().await;
    ended.assert_code(0);
    let record = machine.record().await;
    assert_eq!(
        (&record["id"], &record["status"]),
        (&accepted["runId"], &json!("completed"))
    );
}

#[tokio::test]
async fn sigint_drains_and_explains_the_stop() {
    let (machine, fake) = answering([Reply::text("done at last")]).await;
    let (gate, model) = gated(&fake.url()).await;
    let mut server = machine.serve(&model).await;
    assert_eq!(
        server
            .ask(&json!({"text": "take your time", "async": true}))
            .await
            .0,
        202
    );
    server.running.signal(Signal::INT);
    server
        .running
        .wait_for("waiting for requests in flight (1); Ctrl-C again stops them")
        .await;
    let health = server
        .health_when(|health| health["draining"] == json!(true))
        .await;
    assert_eq!(health["inFlight"], json!(1));
    let (status, refused) = server.ask(&json!({"text": "and I"})).await;
    assert_eq!((status, &refused["code"]), (503, &json!("unavailable")));
    gate.open();
    server.running.ended().await.assert_code(0);
    assert_eq!(machine.record().await["status"], "completed");
}

#[tokio::test]
async fn second_sigint_stops_live_runs() {
    let (machine, fake) = answering([Reply::silent(), Reply::silent()]).await;
    let server = machine.serve(&fake.url()).await;
    let waiting = server.ask_later(&json!({"text": "one", "thread": "one"}));
    fake.wait_for_requests(1).await;
    let (status, _) = server
        .ask(&json!({"text": "two", "thread": "two", "async": true}))
        .await;
    assert_eq!(status, 202);
    fake.wait_for_requests(2).await;
    server.running.signal(Signal::INT);
    server
        .health_when(|health| health["draining"] == json!(true))
        .await;
    server.running.signal(Signal::INT);
    let (status, body) = waiting.await.unwrap();
    assert_eq!(
        (status, &body["run"]["status"]),
        (200, &json!("stopped_hard"))
    );
    server.running.ended().await.assert_code(130);
    let records = machine.records().await;
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!(record["status"], "stopped_hard");
        let events = record["events"].as_array().unwrap();
        let asked = events
            .iter()
            .find(|event| event["kind"] == "stop_requested")
            .unwrap();
        assert_eq!(asked["actor"], json!({"kind": "cli", "id": "signal"}));
    }
    fake.wait_for_disconnects(2).await;
}

#[tokio::test]
async fn run_started_during_the_stop_is_stopped() {
    let machine = Machine::new();
    let fake = FakeAnthropic::answering(|_| Reply::silent()).await;
    let project = machine.project();
    let config = format!("[[repositories]]\nname = \"project\"\norigin = {project:?}\n");
    let config = machine.file("ars.toml", &config);
    let arguments = [&SERVE[..], &["--config", config.to_str().unwrap()]].concat();
    let mut ars = machine.ars_with(&fake.url(), &arguments);
    // The clone blocks, so the run does not exist yet when the signal comes.
    let clone = machine.gate_clones(&project);
    let mut server = Server::start(&mut ars).await;
    let waiting = server.ask_later(&json!({"text": "agent:coding repo:project hi"}));
    clone.wait_until_begun().await;
    server.running.signal(Signal::TERM);
    server.running.wait_for("shutting down").await;
    server.running.signal(Signal::INT);
    server.running.wait_for("stopping the runs in flight").await;
    clone.open();
    let (status, body) = waiting.await.unwrap();
    assert_eq!(
        (status, &body["run"]["status"]),
        (200, &json!("stopped_hard")),
        "{body}"
    );
    server.running.ended().await.assert_code(130);
    assert_eq!(machine.record().await["status"], "stopped_hard");
}

#[tokio::test]
async fn sigint_while_runs_are_stopped_leaves_at_once() {
    let (machine, fake) = answering([]).await;
    // The state Worker accepts and never answers, so stopped runs' records stay pending.
    let worker = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", worker.local_addr().unwrap());
    fake.push([Reply::silent()]);
    let arguments = [&SERVE[..], &["--state-url", &url]].concat();
    let mut ars = machine.ars_with(&fake.url(), &arguments);
    let mut server = Server::start(ars.env("MEMORY_TOKEN", "state-token")).await;
    assert_eq!(
        server.ask(&json!({"text": "hi", "async": true})).await.0,
        202
    );
    fake.wait_for_requests(1).await;
    let began = std::time::Instant::now();
    server.running.signal(Signal::INT);
    server.running.wait_for("shutting down").await;
    server.running.signal(Signal::INT);
    server.running.wait_for("stopping the runs in flight").await;
    server.running.signal(Signal::INT);
    let ended = server.running.ended().await;
    ended.assert_code(130);
    // The record's timeout alone is ten seconds.
    assert!(
        began.elapsed() < std::time::Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn signal_during_the_start_ends_it() {
    let machine = Machine::new();
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
        // The state Worker accepts and never answers; the start would wait for it for twenty seconds.
        let worker = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", worker.local_addr().unwrap());
        let arguments = [
            &SERVE[..],
            &["--config", "state://base", "--state-url", &url],
        ]
        .concat();
        let running = Running::start(machine.ars(&arguments).env("MEMORY_TOKEN", "state-token"));
        let asked = tokio::time::timeout(TIMEOUT, worker.accept())
            .await
            .expect("it asks for its configuration");
        running.signal(signal);
        let ended = running.ended().await;
        ended.assert_code(code);
        assert_eq!(ended.stdout, "", "it never listened");
        drop(asked);
    }
}
