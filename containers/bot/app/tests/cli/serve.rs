//! Tests `ars serve` from the first line to an answered request.

use ars_testkit::Reply;
use serde_json::{Value, json};

use crate::support::{CANARY, Machine, SERVE, Server, answering, nobody, run};

#[tokio::test]
async fn server_prints_its_address_and_serves() {
    let (machine, fake) = answering([Reply::text("at your service")]).await;
    let server = machine.serve(&fake.url()).await;
    let (status, body) = server.ask(&json!({"text": "hi"})).await;
    assert_eq!((status, &body["reply"]), (200, &json!("at your service")));

    let health = server.health().await;
    assert_eq!(
        (&health["ok"], &health["draining"]),
        (&json!(true), &json!(false))
    );
    let commit = option_env!("ARS_BUILD_COMMIT").unwrap_or("unknown");
    assert_eq!(health["build"]["commit"], commit);

    let ended = server.terminate().await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, "", "only the one line of the start");
    let record = machine.record().await;
    assert_eq!(
        body["run"],
        json!({"id": record["id"], "status": "completed"})
    );
    assert_eq!(record["userId"], "http:ann");
}

#[tokio::test]
async fn idempotency_key_outlasts_the_process() {
    let (machine, fake) = answering([Reply::text("only once")]).await;
    let server = machine.serve(&fake.url()).await;
    let first = server.ask_once("k", &json!({"text": "hi"})).await;
    assert_eq!((first.0, &first.1["reply"]), (200, &json!("only once")));
    server.terminate().await.assert_code(0);

    let server = machine.serve(&fake.url()).await;
    assert_eq!(server.ask_once("k", &json!({"text": "hi"})).await, first);
    assert_eq!(server.ask_once("k", &json!({"text": "ho"})).await.0, 422);
    server.terminate().await.assert_code(0);
    assert_eq!(machine.record().await["id"], first.1["run"]["id"]);
}

/// `none` and `file` have no ledger, and `none` has no records.
#[tokio::test]
async fn history_and_ledger_can_be_off() {
    for (store, history, records) in [("none", "off", 0), ("file", "records", 1)] {
        let (machine, fake) = answering([Reply::text("done")]).await;
        let config = machine.file("ars.toml", &format!("[runHistory]\nstore = \"{store}\"\n"));
        let config = config.to_str().unwrap();
        let arguments = [&SERVE[..], &["--config", config]].concat();
        let mut server = Server::start(&mut machine.ars_with(&fake.url(), &arguments)).await;
        let line = server.running.wait_for("\"listening\"").await;
        assert!(
            line.contains(&format!("\"history\":\"{history}\"")),
            "{line}"
        );
        assert_eq!(server.health().await.get("generation"), None);
        let (status, body) = server.ask(&json!({"text": "hi"})).await;
        assert_eq!((status, &body["run"]["status"]), (200, &json!("completed")));
        server.terminate().await.assert_code(0);
        assert_eq!(machine.records().await.len(), records, "{store}");

        let doctor = run(&mut machine.ars_with(&fake.url(), &["doctor", "--config", config])).await;
        doctor.assert_code(0);
        let words = if records == 0 {
            "run history is off"
        } else {
            "without a ledger"
        };
        assert!(doctor.stdout.contains(words), "{}", doctor.stdout);
    }
}

#[tokio::test]
async fn log_lines_are_json_without_secrets() {
    let (machine, fake) = answering([]).await;
    fake.push([Reply::error(
        400,
        "invalid_request_error",
        format!("bad key {CANARY}-key and {CANARY}-token"),
    )]);
    let mut ars = machine.ars_with(&fake.url(), &SERVE);
    let server = Server::start(ars.env("RUST_LOG", "trace")).await;
    let (status, body) = server.ask(&json!({"text": "hi"})).await;
    assert_eq!((status, &body["run"]["status"]), (200, &json!("failed")));
    let ended = server.terminate().await;
    assert!(ended.stderr.contains("model call failed"), "{ended:#?}");
    for line in ended.stderr.lines() {
        assert!(
            serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object()),
            "{line}"
        );
        assert!(!line.contains(CANARY), "{line}");
    }
}

#[tokio::test]
async fn server_starts_without_a_model() {
    let machine = Machine::new();
    let server = Server::start(&mut machine.ars(&SERVE)).await;
    let (status, body) = server.ask(&json!({"text": "hi"})).await;
    assert_eq!((status, &body["run"]), (200, &Value::Null));
    assert!(
        body["reply"]
            .as_str()
            .unwrap()
            .contains("ANTHROPIC_API_KEY"),
        "{body}"
    );
    server.terminate().await.assert_code(0);
}

#[tokio::test]
async fn invalid_token_map_disables_the_ingress() {
    for (tokens, word) in [
        (
            format!("[\"{CANARY}\"]"),
            "a JSON array instead of an object",
        ),
        (
            format!("{{\"{CANARY}\":{{\"subjct\":\"me\"}}}}"),
            "`subject`",
        ),
    ] {
        let machine = Machine::new();
        let mut ars = machine.ars(&SERVE);
        let server = Server::start_as_is(ars.env("SERVICE_INGRESS_TOKENS", tokens)).await;
        let (status, _) = server.ask(&json!({"text": "hi"})).await;
        assert_eq!(status, 503);
        let ended = server.terminate().await;
        assert!(
            ended.stderr.contains(word) && ended.stderr.contains("wait until"),
            "{ended:#?}"
        );
        assert!(!ended.stderr.contains(CANARY), "{ended:#?}");
    }
}

/// A skipped entry does not stop the others, and the log names the field and the missing origin.
#[tokio::test]
async fn second_serve_on_a_data_directory_is_refused() {
    let machine = Machine::new();
    let config = machine.file(
        "ars.toml",
        "[[repositories]]\nname = \"app\"\norigin = \"/nope\"\n",
    );
    let tokens = r#"{"one-token-of-ann-00000":{"subject":"ann"},"t":{"subject":""}}"#;
    let mut ars = machine.ars(&SERVE);
    let ars = ars
        .arg("--config")
        .arg(config)
        .env("SERVICE_INGRESS_TOKENS", tokens);
    let server = Server::start_as_is(ars).await;
    let second = run(&mut machine.ars(&SERVE)).await;
    let process = format!("(process {})", server.running.pid());
    second.assert_refused(
        1,
        "conflict",
        &["in use by another `ars serve`", &process, "--data-dir"],
    );
    let ended = server.terminate().await;
    for word in ["\"entry\":2", "`subject` must be", "\"repository\":\"app\""] {
        assert!(ended.stderr.contains(word), "{word} in {ended:#?}");
    }
}

#[tokio::test]
async fn unreachable_state_worker_loses_only_the_record() {
    let (machine, fake) = answering([Reply::text("all the same")]).await;
    let worker = nobody();
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "worker",
        "--state-url",
        &worker,
    ];
    let mut ars = machine.ars_with(&fake.url(), &arguments);
    let mut server = Server::start(ars.env("MEMORY_TOKEN", format!("{CANARY}-memory"))).await;
    let (status, body) = server.ask(&json!({"text": "hi"})).await;
    assert_eq!((status, &body["reply"]), (200, &json!("all the same")));
    let line = server.running.wait_for("run record lost").await;
    assert!(line.contains(body["run"]["id"].as_str().unwrap()), "{line}");
    let ended = server.terminate().await;
    ended.assert_code(0);
    assert!(!ended.stderr.contains(CANARY), "{ended:#?}");
}

#[tokio::test]
async fn failed_start_names_the_fault() {
    let machine = Machine::new();
    let config = |name: &str, text: &str| machine.file(name, text).to_str().unwrap().to_owned();
    let worker = config(
        "worker.toml",
        "[run_history]\nstore = \"worker\"\n[run_history.worker]\nbase_url = \"https://state.example\"\n",
    );
    let uncounted = config(
        "uncounted.toml",
        "[runHistory]\nstore = \"none\"\n[money]\nday = \"5\"\n",
    );
    let no_address = config("no_address.toml", "[run_history]\nstore = \"worker\"\n");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, code, error, words) in [
        (
            vec!["--config", &worker],
            2,
            "invalid_input",
            vec!["MEMORY_TOKEN"],
        ),
        (
            vec!["--config", &no_address],
            2,
            "invalid_input",
            vec!["--state-url"],
        ),
        (
            vec!["--config", &uncounted],
            2,
            "invalid_input",
            vec!["money.day", "runHistory.store"],
        ),
        (
            vec!["--store", "worker"],
            2,
            "invalid_input",
            vec!["--state-url"],
        ),
        (
            vec!["--state-url", "http://state.example"],
            2,
            "invalid_input",
            vec!["https"],
        ),
        (
            vec!["--state-url", "http://127.0.0.1:80@state.example"],
            2,
            "invalid_input",
            vec!["https"],
        ),
        (vec!["--listen", &taken], 1, "unavailable", vec![&taken]),
    ] {
        let arguments = [&["serve"], &arguments[..]].concat();
        // A free port, unless the case tests the address.
        let ended = run(machine.ars(&arguments).env("PORT", "0")).await;
        ended.assert_refused(code, error, &words);
    }
    let ended = run(machine.ars(&["serve"]).env("PORT", "http")).await;
    ended.assert_refused(2, "invalid_input", &["PORT"]);
    let ended = run(machine
        .ars(&["serve"])
        .env("PORT", "0")
        .env("PUBLIC_BASE_URL", "bot.example"))
    .await;
    ended.assert_refused(2, "invalid_input", &["PUBLIC_BASE_URL"]);
}

#[tokio::test]
async fn requested_crash_ends_the_process() {
    let machine = Machine::new();
    let tokens = r#"{"deployer":{"subject":"ann","scopes":["deploy:write"]}}"#;
    let mut ars = machine.ars(&SERVE);
    let server = Server::start_as_is(ars.env("SERVICE_INGRESS_TOKENS", tokens)).await;
    let crash = reqwest::Client::new()
        .post(format!("{}/admin/crash", server.url()))
        .bearer_auth("deployer");
    let answer = crash.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 202);
    let body: Value = answer.json().await.unwrap();
    assert!(
        body["ok"] == json!(true) && body["generation"].is_string() && body["pid"].is_u64(),
        "{body}"
    );
    server.running.ended().await.assert_code(137);
}

/// Only a process that an edge started tells whether a subject may restart it.
#[tokio::test]
async fn subject_is_judged_behind_an_edge_only() {
    let tokens = r#"{"deployer":{"subject":"ann","scopes":["deploy:write"]}}"#;
    for (secret, status) in [(None, 404), (Some("s3cret-of-the-edge"), 200)] {
        let machine = Machine::new();
        let mut ars = machine.ars(&SERVE);
        ars.env("SERVICE_INGRESS_TOKENS", tokens);
        if let Some(secret) = secret {
            ars.env("EDGE_SECRET", secret);
        }
        let server = Server::start_as_is(&mut ars).await;
        let asked = reqwest::Client::new()
            .post(format!("{}/admin/restart/authorize", server.url()))
            .header("x-ars-restart-subject", "ann")
            .header("x-ars-edge-secret", "s3cret-of-the-edge");
        assert_eq!(
            asked.send().await.unwrap().status().as_u16(),
            status,
            "{secret:?}"
        );
    }
}
