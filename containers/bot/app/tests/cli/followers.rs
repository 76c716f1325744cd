//! Tests of `ars watch`, `ars runs watch` and `ars diff`.

use ars_testkit::{FakeAnthropic, Reply};
use serde_json::json;

use crate::support::{Machine, Running, SERVE, Server, answering, gated, nobody, run};

#[tokio::test]
async fn watch_shows_steps_and_answer() {
    let (machine, fake) =
        answering([Reply::tool("update_status", json!({"text": "thinking"})), Reply::text("it is done")])
            .await;
    let server = machine.serve_openly(&fake.url()).await;
    let (_, body) = server.ask(&json!({"text": "hi"})).await;
    let page = format!("{}/runs/{}", server.url(), body["run"]["id"].as_str().unwrap());
    let ended = run(&mut machine.ars(&["watch", &page])).await;
    ended.assert_code(0);
    let (steps, answer) = ended.stdout.split_once("\n\n").unwrap();
    assert_eq!(answer, "it is done\n");
    assert!(steps.contains("general") && steps.contains("update_status"), "{steps}");
    let unknown = format!("{}/runs/none", server.url());
    run(&mut machine.ars(&["watch", &unknown])).await.assert_refused(1, "not_found", &["404"]);
    server.terminate().await.assert_code(0);
}

/// A viewer of every channel, with a secret as the credential.
const VIEWER: &str = "[dashboard]\nauth = \"token\"\n[dashboard.token]\nactor = \"access:ops\"\n\
                      [grants.\"access:ops\"]\nchannels = \"all\"\n";

/// The command starts while the model has not answered yet.
#[tokio::test]
async fn live_run_is_followed_to_its_status() {
    let (machine, fake) =
        answering([Reply::text("it is done"), Reply::error(400, "invalid_request_error", "no such model")])
            .await;
    let config = machine.file("ars.toml", VIEWER);
    for (status, code) in [("completed", 0), ("failed", 1)] {
        let (gate, model) = gated(&fake.url()).await;
        let mut ars = machine.ars_with(&model, &SERVE);
        let ars = ars.env("SERVICE_CONFIG", &config).env("DASHBOARD_TOKEN", "look");
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
                assert!(ended.stderr.contains(&format!("error (failed): the status of the run is {status}")));
            }
        }
        run(&mut watch("unknown")).await.assert_refused(1, "not_found", &["not found"]);
        server.terminate().await.assert_code(0);
    }
}

#[tokio::test]
async fn watch_says_what_is_wrong_with_its_address() {
    let machine = Machine::new();
    let nowhere = format!("{}/runs/a", nobody());
    run(&mut machine.ars(&["watch", &nowhere])).await.assert_refused(1, "unavailable", &["reached"]);
    let no_page = ["watch", "http://127.0.0.1:1/elsewhere"];
    run(&mut machine.ars(&no_page)).await.assert_refused(2, "invalid_input", &["/runs/<id>"]);
}

#[tokio::test]
async fn diff_shows_what_a_threads_tree_has_changed() {
    let machine = Machine::new();
    let project = machine.project();
    let fake = FakeAnthropic::start().await;
    fake.push([
        Reply::tool("write_file", json!({"path": "greeting.txt", "content": "hello\n"})),
        Reply::text("done"),
    ]);
    let arguments = ["ask", "mend it", "--thread", "one", "--repo", project.to_str().unwrap()];
    run(&mut machine.ars_with(&fake.url(), &arguments)).await.assert_code(0);
    let ended = run(&mut machine.ars(&["diff", "cli:one"])).await;
    ended.assert_code(0);
    assert!(ended.stdout.contains("-helo\n+hello\n"), "{}", ended.stdout);
    for (thread, word) in [("cli:two", "working tree"), ("one", "cli:mine"), ("cli:", "cli:mine")] {
        run(&mut machine.ars(&["diff", thread])).await.assert_refused(2, "invalid_input", &[word]);
    }
}
