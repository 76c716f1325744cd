//! Registry commands: on the configured stores, and on a service over `/api`.

use ars_testkit::{OPERATOR_CONFIG, Reply};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};

use crate::support::{Ended, Machine, SERVE, Server, answering, nobody, run};

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A service that gives these answers, each to a single connection. Returns the requests.
async fn scripted<const N: usize>(
    answers: [(&'static str, &'static str); N],
) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut requests = Vec::new();
        for (head, body) in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(request(&mut stream).await);
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
        requests
    });
    (url, serving)
}

/// Reads a request with the body.
async fn request(stream: &mut tokio::net::TcpStream) -> String {
    let mut text = String::new();
    loop {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).await.unwrap();
        text.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if length.is_none_or(|length| body.len() >= length.parse().unwrap()) {
            return text;
        }
    }
}

#[tokio::test]
async fn stored_runs_are_read_without_a_model_key() {
    let (machine, fake) = answering([Reply::text("done")]).await;
    run(&mut machine.ars_with(&fake.url(), &["ask", "hi"]))
        .await
        .assert_code(0);
    let config = machine.file("ars.toml", "[defaults]\nmodel = \"anthropic/any\"\n");
    let config = config.to_str().unwrap();
    let arguments = [
        "runs", "list", "--status", "finished", "--json", "--config", config,
    ];
    let listed = run(&mut machine.ars(&arguments)).await;
    listed.assert_code(0);
    assert!(
        listed.stdout.ends_with("}\n") && listed.stdout.lines().count() == 1,
        "{}",
        listed.stdout
    );
    let id = json_of(&listed.stdout)["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let text = run(&mut machine.ars(&["runs", "list", "--status=all"])).await;
    text.assert_code(0);
    assert!(
        text.stdout.contains("completed") && json_text(&text).is_none(),
        "{}",
        text.stdout
    );
    let got = run(&mut machine.ars(&["runs", "get", &id, "--json"])).await;
    got.assert_code(0);
    assert_eq!(json_of(&got.stdout)["id"], json!(id));
    // A list shortens the id, and a beginning names the run.
    assert!(
        text.stdout.contains(&id[..8]) && !text.stdout.contains(&id),
        "{}",
        text.stdout
    );
    let got = run(&mut machine.ars(&["runs", "get", &id[..8]])).await;
    got.assert_code(0);
    for line in [
        &format!("run           {id}\n"),
        "title         ",
        "\n\ndone\n",
    ] {
        assert!(got.stdout.contains(line), "{line:?} in {}", got.stdout);
    }
    run(&mut machine.ars(&["runs", "get", "unknown"]))
        .await
        .assert_refused(1, "not_found", &["not found"]);
}

/// Those in the state Worker are shared with the service, so the failure names what the stores here
/// lack.
#[tokio::test]
async fn configured_stores_are_used_without_a_service() {
    let machine = Machine::new();
    let worker = "[runHistory]\nstore = \"worker\"\n[runHistory.worker]\nbaseUrl = \"https://state.example\"\n";
    let config = machine.file("ars.toml", worker);
    let config = config.to_str().unwrap();
    for arguments in [
        &["runs", "list", "--config", config][..],
        &["ask", "runs list", "--config", config],
    ] {
        run(&mut machine.ars(arguments)).await.assert_refused(
            2,
            "invalid_input",
            &["MEMORY_TOKEN"],
        );
    }
}

fn json_text(ended: &Ended) -> Option<Value> {
    serde_json::from_str(&ended.stdout).ok()
}

#[tokio::test]
async fn invalid_input_exits_2() {
    let machine = Machine::new();
    for (arguments, word) in [
        (&["runs", "stop", "r1"][..], "mode"),
        (&["runs", "list", "--limit", "0"], "limit"),
        (
            &["runs", "list", "--colour", "red"],
            "--colour is not an option",
        ),
        (
            &["runs", "list", "--stauts", "all"],
            "did you mean --status?",
        ),
        (&["runs", "list", "surplus"], "no arguments"),
        (&["runs", "list", "--server"], "--server"),
        (&["runs", "list", "--server", "host"], "--server"),
    ] {
        run(&mut machine.ars(arguments))
            .await
            .assert_refused(2, "invalid_input", &[word]);
    }
    for (arguments, word) in [
        (&["runs", "fly"][..], "unrecognized subcommand 'fly'"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["ask"], "required arguments"),
        (&["ask", "hi", "--effort", "enormous"], "low, medium, high"),
        (
            &["runs", "watch", "a b", "--server", "http://h"],
            "invalid value",
        ),
    ] {
        run(&mut machine.ars(arguments))
            .await
            .assert_refused(2, "invalid_input", &[word]);
    }
    let version = run(&mut machine.ars(&["--version"])).await;
    version.assert_code(0);
    assert!(version.stdout.starts_with("ars "), "{version:?}");
}

#[tokio::test]
async fn configuration_is_changed_and_shown() {
    let machine = Machine::new();
    let set = [
        "config",
        "set",
        "me",
        "--models.coding",
        "anthropic/some",
        "--effort",
        "high",
    ];
    run(&mut machine.ars(&set)).await.assert_code(0);
    let shown = run(&mut machine.ars(&["config", "show", "--json"])).await;
    shown.assert_code(0);
    assert!(shown.stdout.contains("anthropic/some"), "{}", shown.stdout);
}

#[tokio::test]
async fn server_gets_the_command_with_the_token() {
    let machine = Machine::new();
    let body = r#"{"runs":[],"storeUnavailable":true}"#;
    let of_another_version = r#"{"items":[]}"#;
    let (url, serving) = scripted([
        ("200 OK", body),
        ("200 OK", body),
        ("200 OK", of_another_version),
    ])
    .await;
    let mut ars = machine.ars(&[
        "runs",
        "list",
        "--since-ms",
        "5",
        "--json",
        "--server",
        &url,
    ]);
    let ended = run(ars.env("ARS_TOKEN", "one-token")).await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, format!("{body}\n"));
    let mut ars = machine.ars(&["runs", "list"]);
    let ended = run(ars.env("ARS_SERVER", &url)).await;
    ended.assert_code(0);
    assert!(
        ended
            .stdout
            .starts_with("no runs\nthe run history is not available"),
        "{}",
        ended.stdout
    );
    let ended = run(machine.ars(&["runs", "list"]).env("ARS_SERVER", &url)).await;
    ended.assert_code(0);
    assert_eq!(json_of(&ended.stdout), json_of(of_another_version));
    let requests = serving.await.unwrap();
    assert!(
        requests[0].starts_with("POST /api/runs.list HTTP/1.1\r\n"),
        "{}",
        requests[0]
    );
    assert!(
        requests[0].contains("authorization: Bearer one-token\r\n"),
        "{}",
        requests[0]
    );
    assert!(
        requests[0].contains("content-type: application/json\r\n"),
        "{}",
        requests[0]
    );
    let (_, sent) = requests[0].split_once("\r\n\r\n").unwrap();
    assert_eq!(json_of(sent)["sinceMs"], 5);
    assert!(!requests[1].contains("authorization"), "{}", requests[1]);
    assert!(!machine.path("data").exists(), "no store is opened");
}

/// A local server's case: its address, and nothing else.
#[tokio::test]
async fn listed_model_of_a_server_is_used() {
    let machine = Machine::new();
    let one = r#"{"object":"list","data":[{"id":"llama3","object":"model"}]}"#;
    let two = r#"{"data":[{"id":"llama3"},{"id":"qwen"}]}"#;
    let refusal = r#"{"error":{"message":"no"}}"#;
    let (url, serving) = scripted([
        ("200 OK", one),
        ("400 Bad Request", refusal),
        ("200 OK", two),
        ("404 Not Found", ""),
    ])
    .await;
    let ask = async || run(machine.ars(&["ask", "hi"]).env("OPENAI_BASE_URL", &url)).await;
    ask().await.assert_refused(1, "failed", &[]);
    ask()
        .await
        .assert_refused(2, "invalid_input", &["--model: openai/llama3, openai/qwen"]);
    ask()
        .await
        .assert_refused(2, "invalid_input", &["--model openai/NAME", "404"]);
    let requests = serving.await.unwrap();
    assert!(
        requests[0].starts_with("GET /v1/models HTTP/1.1\r\n"),
        "{}",
        requests[0]
    );
    let (_, asked) = requests[1].split_once("\r\n\r\n").unwrap();
    assert_eq!(json_of(asked)["model"], "llama3");
}

#[tokio::test]
async fn server_errors_keep_code_and_text() {
    let machine = Machine::new();
    let (url, serving) = scripted([
        (
            "404 Not Found",
            r#"{"error":"there is no such run","code":"not_found"}"#,
        ),
        (
            "400 Bad Request",
            r#"{"error":"limit must be smaller","code":"invalid_input"}"#,
        ),
        ("403 Forbidden", "forbidden"),
        ("502 Bad Gateway", "<html>"),
        ("200 OK", "<html>"),
    ])
    .await;
    for (code, error, word) in [
        (1, "not_found", "there is no such run"),
        (2, "invalid_input", "limit must be smaller"),
        (1, "unauthorized", "ARS_TOKEN"),
        (1, "unavailable", "502"),
        (1, "unavailable", "without JSON"),
    ] {
        let ended = run(&mut machine.ars(&["runs", "get", "r1", "--json", "--server", &url])).await;
        ended.assert_refused(code, error, &[word]);
    }
    serving.await.unwrap();
    let nowhere = nobody();
    let ended = run(&mut machine.ars(&["runs", "list", "--server", &nowhere])).await;
    ended.assert_refused(1, "unavailable", &["reached"]);
}

/// A real service's gate, with no token and with a wrong token.
#[tokio::test]
async fn rejected_caller_learns_of_the_token() {
    let machine = Machine::new();
    let config = machine.file("ars.toml", OPERATOR_CONFIG);
    let mut serve = machine.ars(&SERVE);
    let server = Server::start_as_is(
        serve
            .arg("--config")
            .arg(config)
            .env("DASHBOARD_TOKEN", "look"),
    )
    .await;
    for arguments in [&["runs", "list"][..], &["runs", "watch", "r1"]] {
        for token in [None, Some("wrong")] {
            let mut ars = machine.ars(arguments);
            ars.env("ARS_SERVER", server.url())
                .envs(token.map(|token| ("ARS_TOKEN", token)));
            run(&mut ars)
                .await
                .assert_refused(1, "forbidden", &["set ARS_TOKEN"]);
        }
    }
    server.terminate().await.assert_code(0);
}

#[tokio::test]
async fn token_is_sent_only_encrypted_or_locally() {
    let machine = Machine::new();
    for arguments in [
        &["runs", "list", "--server", "http://x.example"][..],
        &["runs", "watch", "r1", "--server=http://x.example"],
        &["watch", "http://x.example/runs/r1?t=x"],
    ] {
        let mut ars = machine.ars(arguments);
        let ended = run(ars
            .env("ARS_TOKEN", "one-token")
            .env("ARS_SERVER", "http://x.example"))
        .await;
        ended.assert_refused(2, "invalid_input", &["https://"]);
    }
    let (url, serving) =
        scripted([("302 Found\r\nlocation: http://127.0.0.1:1/runs/r1", "")]).await;
    let mut ars = machine.ars(&["watch", &format!("{url}/runs/r1?t=x")]);
    run(ars.env("ARS_TOKEN", "one-token"))
        .await
        .assert_refused(1, "unavailable", &["302"]);
    assert!(serving.await.unwrap()[0].contains("authorization: Bearer one-token\r\n"));
}

#[tokio::test]
async fn watch_continues_after_an_outage() {
    let machine = Machine::new();
    let live = ("200 OK", r#"{"finished":false}"#);
    let step = r#"{"events":[{"type":"tool_call","summary":"$ make","seq":1}],"nextAfterSeq":1}"#;
    let answer = r#"{"events":[{"type":"answer","text":"it is done","seq":2}]}"#;
    let none = ("200 OK", r#"{"events":[]}"#);
    let ended = r#"{"finished":true,"status":"stopped_soft"}"#;
    let (url, serving) = scripted([
        live,
        ("200 OK", step),
        ("502 Bad Gateway", ""),
        (
            "503 Unavailable",
            r#"{"error":"the run history is down","code":"unavailable"}"#,
        ),
        none,
        ("200 OK", ended),
        ("200 OK", answer),
        none,
    ])
    .await;
    let mut ars = machine.ars(&["runs", "watch", "r1", "--server", &url]);
    let watched = run(ars.env("ARS_TOKEN", "one-token")).await;
    watched.assert_code(0);
    assert_eq!(watched.stdout, "▸ $ make\n\nit is done\n");
    assert_eq!(
        watched.stderr,
        "connection lost: trying again for up to 5 minutes\nconnected again\n"
    );
    let requests = serving.await.unwrap();
    assert!(
        requests[0].starts_with("POST /api/runs.get HTTP/1.1\r\n"),
        "{}",
        requests[0]
    );
    assert!(
        requests[1].starts_with("POST /api/runs.events HTTP/1.1\r\n"),
        "{}",
        requests[1]
    );
    assert!(
        requests
            .iter()
            .all(|request| request.contains("authorization: Bearer one-token\r\n"))
    );
    let (_, sent) = requests[6].split_once("\r\n\r\n").unwrap();
    assert_eq!(json_of(sent), json!({"id": "r1", "afterSeq": 1}));
}

#[tokio::test]
async fn broken_stream_continues_after_its_last_event() {
    let machine = Machine::new();
    // The texts would clear the screen and set the title in a terminal that shows them raw.
    let first = "id: 1\ndata: {\"type\":\"tool_call\",\"summary\":\"\\u001b[2J$ make\"}\n\n";
    let second = "id: 2\ndata: {\"type\":\"answer\",\"text\":\"\\u001b]0;owned\\u0007it is done\"}\n\nevent: end\ndata: {}\n\n";
    // A deployment: the edge has a body, and the process that starts has none.
    let edge =
        r#"{"error":"unavailable","code":"unavailable","detail":"the bot is starting; try again"}"#;
    let restarting = [("503 Unavailable", edge), ("503 Unavailable", "")];
    let (url, serving) = scripted([
        ("200 OK", first),
        restarting[0],
        restarting[1],
        ("200 OK", second),
    ])
    .await;
    let ended = run(&mut machine.ars(&["watch", &format!("{url}/runs/r1?t=x")])).await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, "▸ $ make\n\nit is done\n");
    let requests = serving.await.unwrap();
    assert!(
        requests[0].starts_with("GET /runs/r1/events?t=x HTTP/1.1\r\n"),
        "{}",
        requests[0]
    );
    assert!(!requests[0].contains("last-event-id"), "{}", requests[0]);
    assert!(
        requests[3].contains("last-event-id: 1\r\n"),
        "{}",
        requests[2]
    );
}

#[tokio::test]
async fn help_has_the_configured_commands() {
    let machine = Machine::new();
    let text =
        "[memory]\nenabled = true\n[schedules.worker]\nbaseUrl = \"https://state.example\"\n";
    let config = machine.file("ars.toml", text);
    for group in ["memory", "schedule"] {
        run(&mut machine.ars(&[group, "list"]))
            .await
            .assert_refused(1, "not_found", &["off: set"]);
        run(&mut machine.ars(&[group, "--help"]))
            .await
            .assert_code(2);
        run(&mut machine.ars(&[group, "list", "--help"]))
            .await
            .assert_code(2);
        for (variable, value) in [
            ("SERVICE_CONFIG", config.to_str().unwrap()),
            ("ARS_SERVER", "http://h"),
        ] {
            let help = run(machine.ars(&[group, "--help"]).env(variable, value)).await;
            help.assert_code(0);
            assert!(help.stdout.contains("list"), "{help:?}");
        }
    }
    let listed = run(machine
        .ars(&["schedule", "list"])
        .env("SERVICE_CONFIG", &config))
    .await;
    listed.assert_refused(2, "invalid_input", &["schedules.worker.tokenEnv"]);
}

#[tokio::test]
async fn help_of_every_command_is_derived() {
    let machine = Machine::new();
    let group = run(&mut machine.ars(&["runs", "--help"])).await;
    group.assert_code(0);
    for verb in ["list", "get", "events", "friction", "stop", "watch"] {
        assert!(group.stdout.contains(verb), "{verb}: {}", group.stdout);
    }
    for (name, arguments) in [
        (
            "help_runs_list",
            &["runs", "list", "--nonsense", "--help"][..],
        ),
        ("help_config_set", &["config", "set", "-h"]),
        ("help_help_show", &["help", "show", "--help"]),
        ("help_friction_analyze", &["friction", "analyze", "--help"]),
    ] {
        let ended = run(machine.ars(arguments).env_remove("ARS_DATA_DIR")).await;
        ended.assert_code(0);
        insta::assert_snapshot!(name, ended.stdout);
    }
}

/// On a single machine the weekly schedule exists once everything that it needs is configured.
#[tokio::test]
async fn weekly_schedule_is_listed_on_one_machine() {
    let machine = Machine::new();
    let actor = "[grants.\"schedule:self-improvement\"]\nactions = [\"friction:write\"]\n";
    let text = format!("[selfImprovement]\nrepo = \"acme/app\"\n{actor}");
    let config = machine.file("ars.toml", &text);
    let listed = run(machine
        .ars(&["schedule", "list"])
        .env("SERVICE_CONFIG", &config)
        .env("GH_TOKEN", "t0ken"))
    .await;
    listed.assert_code(0);
    assert!(
        listed
            .stdout
            .contains("- self-improvement (`0 14 * * 1`): "),
        "{}",
        listed.stdout
    );
    let without = run(machine
        .ars(&["schedule", "list"])
        .env("SERVICE_CONFIG", &config))
    .await;
    without.assert_refused(
        1,
        "not_found",
        &["schedules are off", "selfImprovement.repo"],
    );
}
