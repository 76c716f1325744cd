//! `ars ask --server` and `ars doctor --server` against a real service.

use ars_testkit::{FakeAnthropic, OPERATOR_CONFIG, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
    process::Command,
};

use crate::support::{
    Ended, Machine, Running, SERVE, Server, TOKEN, answering, gated, nobody, run, run_with_input,
};

/// A service with run pages that have this secret.
async fn service(machine: &Machine, fake: &FakeAnthropic, viewer: &str) -> Server {
    let config = machine.file("ars.toml", OPERATOR_CONFIG);
    let mut serve = machine.ars_with(&fake.url(), &SERVE);
    Server::start(
        serve
            .arg("--config")
            .arg(config)
            .env("DASHBOARD_TOKEN", viewer),
    )
    .await
}

/// The client has neither a data directory nor a model.
fn client(machine: &Machine, server: &Server, arguments: &[&str]) -> Command {
    client_of(machine, server.url(), arguments)
}

fn client_of(machine: &Machine, url: &str, arguments: &[&str]) -> Command {
    let mut ars = machine.ars(arguments);
    ars.args(["--server", url]).env("ARS_TOKEN", TOKEN);
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
    let ended = run(&mut client(
        &machine,
        &server,
        &["ask", "again", "--json-lines", "--effort", "low"],
    ))
    .await;
    ended.assert_code(0);
    let mut events = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let input = events.find(|event| event["type"] == "input").unwrap();
    assert_eq!(
        input["text"], "again",
        "without the marks around texts from outside"
    );
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
    assert!(
        ended
            .stderr
            .contains("no steps, because ARS_TOKEN may not read the run"),
        "{ended:#?}"
    );
    fake.push([Reply::error(400, "invalid_request_error", "no")]);
    let failed = run(&mut client(
        &machine,
        &server,
        &["ask", "how many?", "--json"],
    ))
    .await;
    failed.assert_code(1);
    assert_eq!(result(&failed)["run"]["status"], "failed");
    server.terminate().await.assert_code(0);
}

#[tokio::test]
async fn command_and_refusal_have_their_exit_codes() {
    let (machine, fake) = answering([]).await;
    let viewer = "another secret of the run pages";
    let server = service(&machine, &fake, viewer).await;
    let help = run(&mut client(&machine, &server, &["ask", "help"])).await;
    help.assert_code(0);
    assert!(help.stdout.starts_with("Agents:"), "{help:#?}");
    for (text, word) in [
        ("runs lsit", "did you mean"),
        ("agent:painter hi", "no such agent"),
    ] {
        run(&mut client(&machine, &server, &["ask", text]))
            .await
            .assert_refused(1, "refused", &[word]);
    }
    for (token, word) in [
        ("wrong", "401"),
        (viewer, "takes one of SERVICE_INGRESS_TOKENS"),
    ] {
        let mut ars = client(&machine, &server, &["ask", "hi"]);
        run(ars.env("ARS_TOKEN", token)).await.assert_refused(
            1,
            "unauthorized",
            &[word, "set ARS_TOKEN"],
        );
    }
    run(&mut client_of(&machine, &nobody(), &["ask", "hi"]))
        .await
        .assert_refused(1, "unavailable", &[]);
    server.terminate().await.assert_code(0);
}

#[tokio::test]
async fn ctrl_c_stops_the_run_on_the_service() {
    let (machine, fake) = answering([Reply::silent()]).await;
    let server = service(&machine, &fake, TOKEN).await;
    let ars = Running::start(&mut client(&machine, &server, &["ask", "hi", "--json"]));
    fake.wait_for_requests(1).await;
    let listed = async || {
        let mut ars = client(
            &machine,
            &server,
            &["runs", "list", "--status", "all", "--json"],
        );
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

/// The service has the request, and confirms it only when the gate opens.
#[tokio::test]
async fn ctrl_c_before_the_confirmation_stops_the_run_too() {
    let (machine, fake) = answering([Reply::silent()]).await;
    let server = service(&machine, &fake, TOKEN).await;
    for is_confirmed in [false, true] {
        let (gate, url) = gated(server.url()).await;
        let mut ars = Running::start(&mut client_of(
            &machine,
            &url,
            &["ask", "hi", "--thread", "mine"],
        ));
        gate.wait_until_begun().await;
        ars.signal(Signal::INT);
        ars.wait_for("stopping as soon as the service names the run")
            .await;
        if is_confirmed {
            gate.open();
        } else {
            ars.signal(Signal::INT);
        }
        let ended = ars.ended().await;
        ended.assert_code(130);
        let last = if is_confirmed {
            "\nstopped\n"
        } else {
            "may be running on the service, in the thread mine\n"
        };
        assert!(ended.stderr.ends_with(last), "{ended:#?}");
    }
    server.terminate().await.assert_code(0);
    assert_eq!(machine.record().await["status"], "stopped_hard");
}

/// Returns the address of a service that loses the first answer.
async fn losing_an_answer(to: &str) -> String {
    let to = to.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut server = TcpStream::connect(&to).await.unwrap();
        let (mut answer, mut to_server) = server.split();
        tokio::select! {
            _ = tokio::io::copy(&mut client, &mut to_server) => {}
            _ = answer.read_u8() => {}
        }
        drop((client, server));
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(&to).await.unwrap();
            tokio::spawn(async move {
                drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
            });
        }
    });
    url
}

#[tokio::test]
async fn request_with_a_lost_answer_is_repeated_and_runs_once() {
    let (machine, fake) = answering([Reply::text("forty-two")]).await;
    let server = service(&machine, &fake, TOKEN).await;
    let url = losing_an_answer(server.url()).await;
    let ended = run(&mut client_of(&machine, &url, &["ask", "how many?"])).await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, "forty-two\n");
    assert!(ended.stderr.contains("connection lost"), "{ended:#?}");
    let url = losing_an_answer(server.url()).await;
    let command = run(&mut client_of(&machine, &url, &["ask", "runs list"])).await;
    command.assert_refused(
        1,
        "unavailable",
        &["may be running on the service, in the thread ask-"],
    );
    server.terminate().await.assert_code(0);
    assert_eq!(machine.record().await["status"], "completed");
}

#[tokio::test]
async fn doctor_checks_address_and_token() {
    let (machine, fake) = answering([]).await;
    let server = service(&machine, &fake, "another secret of the run pages").await;
    for (token, code, states) in [
        (TOKEN, 0, ["ok", "ok", "warning"]),
        (
            "another secret of the run pages",
            0,
            ["ok", "warning", "ok"],
        ),
        ("wrong", 1, ["ok", "failure", "failure"]),
    ] {
        let mut ars = client(&machine, &server, &["doctor", "--json"]);
        let ended = run(ars.env("ARS_TOKEN", token)).await;
        ended.assert_code(code);
        let found = ended
            .stdout
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let found: Vec<Value> = found.collect();
        let seen: Vec<&str> = found
            .iter()
            .filter_map(|finding| finding["state"].as_str())
            .collect();
        assert_eq!(seen, states, "{}", ended.stdout);
        assert!(
            !ended.stdout.contains(token) || token == "wrong",
            "{}",
            ended.stdout
        );
    }
    server.terminate().await.assert_code(0);
    let ended = run(&mut machine.ars(&["doctor", "--server", &nobody()])).await;
    ended.assert_code(1);
    assert!(
        ended.stdout.starts_with("failure  service: ") && ended.stdout.contains("mend: "),
        "{ended:#?}"
    );
}
