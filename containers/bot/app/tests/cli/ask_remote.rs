//! `ars ask --server` and `ars doctor --server` against a real service.

use ars_testkit::{FakeAnthropic, OPERATOR_CONFIG, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{Ended, Machine, Running, SERVE, Server, TOKEN, answering, nobody, run, run_with_input};

/// A service whose run pages have this secret.
async fn service(machine: &Machine, fake: &FakeAnthropic, viewer: &str) -> Server {
    let config = machine.file("ars.toml", OPERATOR_CONFIG);
    let mut serve = machine.ars_with(&fake.url(), &SERVE);
    Server::start(serve.arg("--config").arg(config).env("DASHBOARD_TOKEN", viewer)).await
}

/// The client has neither a data directory nor a model.
fn client(machine: &Machine, server: &Server, arguments: &[&str]) -> Command {
    let mut ars = machine.ars(arguments);
    ars.args(["--server", server.url()]).env("ARS_TOKEN", TOKEN);
    ars
}

fn result(ended: &Ended) -> Value {
    serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap()
}

#[tokio::test]
async fn request_runs_on_the_service_and_is_followed() {
    let (machine, fake) = answering([Reply::text("forty-two")]).await;
    let server = service(&machine, &fake, TOKEN).await;
    let ended = run_with_input(&mut client(&machine, &server, &["ask", "-"]), "how many?").await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, "forty-two\n");
    for word in ["run: ", "(go on with --thread ask-", "claude-sonnet"] {
        assert!(ended.stderr.contains(word), "{word}: {ended:#?}");
    }
    fake.push([Reply::text("forty-three")]);
    let ended =
        run(&mut client(&machine, &server, &["ask", "again", "--json-lines", "--effort", "low"])).await;
    ended.assert_code(0);
    let mut events = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let input = events.find(|event| event["type"] == "input").unwrap();
    assert_eq!(input["text"], "again", "without the marks around texts from outside");
    assert_eq!(
        (&result(&ended)["reply"], &result(&ended)["type"]),
        (&json!("forty-three"), &json!("result"))
    );
    server.terminate().await.assert_code(0);
}

/// The answer comes by the request itself, so a token that may only start runs gets it too.
#[tokio::test]
async fn token_that_cannot_read_runs_gets_the_answer() {
    let (machine, fake) = answering([Reply::text("forty-two")]).await;
    let server = service(&machine, &fake, "another secret of the run pages").await;
    let ended = run(&mut client(&machine, &server, &["ask", "how many?"])).await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, "forty-two\n");
    assert!(ended.stderr.contains("no steps, because ARS_TOKEN may not read the run"), "{ended:#?}");
    fake.push([Reply::error(400, "invalid_request_error", "no")]);
    let failed = run(&mut client(&machine, &server, &["ask", "how many?", "--json"])).await;
    failed.assert_code(1);
    assert_eq!(result(&failed)["run"]["status"], "failed");
    server.terminate().await.assert_code(0);
}

#[tokio::test]
async fn command_and_refusal_have_their_exit_codes() {
    let (machine, fake) = answering([]).await;
    let server = service(&machine, &fake, TOKEN).await;
    let help = run(&mut client(&machine, &server, &["ask", "help"])).await;
    help.assert_code(0);
    assert!(help.stdout.starts_with("Agents:"), "{help:#?}");
    for (text, word) in [("runs lsit", "did you mean"), ("agent:painter hi", "no such agent")] {
        run(&mut client(&machine, &server, &["ask", text])).await.assert_refused(1, "refused", &[word]);
    }
    let mut ars = client(&machine, &server, &["ask", "hi"]);
    run(ars.env("ARS_TOKEN", "wrong")).await.assert_refused(1, "unauthorized", &["ARS_TOKEN"]);
    server.terminate().await.assert_code(0);
}

#[tokio::test]
async fn ctrl_c_stops_the_run_on_the_service() {
    let (machine, fake) = answering([Reply::silent()]).await;
    let server = service(&machine, &fake, TOKEN).await;
    let ars = Running::start(&mut client(&machine, &server, &["ask", "hi", "--json"]));
    fake.wait_for_requests(1).await;
    let listed = async || {
        let mut ars = client(&machine, &server, &["runs", "list", "--status", "all", "--json"]);
        serde_json::from_str::<Value>(&run(&mut ars).await.stdout).unwrap()["runs"][0].clone()
    };
    assert_eq!(listed().await["finished"], false);
    ars.signal(Signal::INT);
    let ended = ars.ended().await;
    ended.assert_code(130);
    assert_eq!(result(&ended)["run"]["status"], "stopped_hard");
    assert_eq!(listed().await["status"], "stopped_hard");
    server.terminate().await.assert_code(0);
}

#[tokio::test]
async fn doctor_checks_address_and_token() {
    let (machine, fake) = answering([]).await;
    let server = service(&machine, &fake, "another secret of the run pages").await;
    for (token, code, states) in [
        (TOKEN, 0, ["ok", "ok", "warning"]),
        ("another secret of the run pages", 0, ["ok", "warning", "ok"]),
        ("wrong", 1, ["ok", "failure", "failure"]),
    ] {
        let mut ars = client(&machine, &server, &["doctor", "--json"]);
        let ended = run(ars.env("ARS_TOKEN", token)).await;
        ended.assert_code(code);
        let found = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let found: Vec<Value> = found.collect();
        let seen: Vec<&str> = found.iter().filter_map(|finding| finding["state"].as_str()).collect();
        assert_eq!(seen, states, "{}", ended.stdout);
        assert!(!ended.stdout.contains(token) || token == "wrong", "{}", ended.stdout);
    }
    server.terminate().await.assert_code(0);
    let ended = run(&mut machine.ars(&["doctor", "--server", &nobody()])).await;
    ended.assert_code(1);
    assert!(ended.stdout.starts_with("failure  service: ") && ended.stdout.contains("mend: "), "{ended:#?}");
}
