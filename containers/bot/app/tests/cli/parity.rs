//! A command has the same output from the embedded store and from a service, as JSON and as text.
//! The JSON comes from the command route.

use std::{fs, path::Path};

use ars_testkit::{OPERATOR_CONFIG, Reply};
use serde_json::Value;

use crate::support::{Ended, Machine, SERVE, Server, answering, run};

const SECRET: &str = "look";
/// Placeholder in the words for the stored run's id.
const RUN: &str = "RUN";

/// The commands: words, input for the command route, and exit code. They are in order, because
/// later commands see the changes.
const ROWS: [(&str, &str, i32); 28] = [
    ("help show", "{}", 0),
    ("status show", "{}", 0),
    (
        "config show --channel http:default",
        r#"{"channel":"http:default"}"#,
        0,
    ),
    (
        "config set channel --channel http:default --effort low",
        r#"{"scope":"channel","channel":"http:default","effort":"low"}"#,
        0,
    ),
    (
        "config instructions channel --channel http:default be brief",
        r#"{"scope":"channel","channel":"http:default","text":"be brief"}"#,
        0,
    ),
    (
        "config show --channel http:default",
        r#"{"channel":"http:default"}"#,
        0,
    ),
    (
        "config clear channel --channel http:default",
        r#"{"scope":"channel","channel":"http:default"}"#,
        0,
    ),
    ("runs list --status all", r#"{"status":"all"}"#, 0),
    ("runs list --status active", r#"{"status":"active"}"#, 0),
    (
        "runs get RUN --include messages",
        r#"{"id":"RUN","include":"messages"}"#,
        0,
    ),
    ("runs events RUN --limit 1", r#"{"id":"RUN","limit":1}"#, 0),
    ("runs friction RUN", r#"{"id":"RUN"}"#, 0),
    ("runs outcomes", "{}", 0),
    ("memory list --scope org", r#"{"scope":"org"}"#, 0),
    ("friction report --min-runs 1", r#"{"minRuns":1}"#, 0),
    ("repo list", "{}", 0),
    (
        "repo onboard acme/app --ref a..b",
        r#"{"slug":"acme/app","ref":"a..b"}"#,
        2,
    ),
    ("repo offboard acme/app", r#"{"slug":"acme/app"}"#, 1),
    (
        "repo reconfigure acme/app --test true",
        r#"{"slug":"acme/app","test":"true"}"#,
        1,
    ),
    ("repo rebuild acme/app", r#"{"slug":"acme/app"}"#, 1),
    ("repo test acme/app", r#"{"slug":"acme/app"}"#, 1),
    ("repo build acme/app", r#"{"slug":"acme/app"}"#, 1),
    // No state Worker records firings here.
    ("schedule list", "{}", 1),
    ("runs get unknown", r#"{"id":"unknown"}"#, 1),
    (
        "runs stop RUN --mode soft",
        r#"{"id":"RUN","mode":"soft"}"#,
        1,
    ),
    ("runs restore RUN", r#"{"id":"RUN"}"#, 1),
    (
        "memory forget mem:org:acme:9",
        r#"{"id":"mem:org:acme:9"}"#,
        1,
    ),
    ("runs list --before-id RUN", r#"{"beforeId":"RUN"}"#, 2),
];

/// A data directory with a run, a service on a copy, and the run's id.
async fn world() -> (Machine, Server, String) {
    let (machine, fake) = answering([Reply::text("done")]).await;
    run(&mut machine.ars_with(&fake.url(), &["ask", "hi"]))
        .await
        .assert_code(0);
    let id = machine.record().await["id"].as_str().unwrap().to_owned();
    let served = machine.path("served");
    copy(&machine.path("data"), &served);
    let config = machine.file("ars.toml", OPERATOR_CONFIG);
    let mut serve = machine.ars(&SERVE);
    serve
        .arg("--data-dir")
        .arg(served)
        .arg("--config")
        .arg(config)
        .env("DASHBOARD_TOKEN", SECRET);
    let server = Server::start_as_is(&mut serve).await;
    (machine, server, id)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Returns an output without facts that depend on the process.
fn comparable(words: &str, text: &str) -> String {
    if words.starts_with("runs get ")
        && let Ok(mut json) = serde_json::from_str::<Value>(text)
    {
        // Only the caller who asked for the run has it: the local user.
        json.as_object_mut().unwrap().remove("title");
        return json.to_string();
    }
    if words != "status show" {
        return text.to_owned();
    }
    let Ok(mut json) = serde_json::from_str::<Value>(text) else {
        return text
            .lines()
            .filter(|line| line.starts_with("version"))
            .collect();
    };
    let members = json.as_object_mut().unwrap();
    assert!(
        members.remove("startedAt").is_some() && members.remove("inFlight").is_some(),
        "{text}"
    );
    json.to_string()
}

/// Returns a failure's line.
fn failure(ended: &Ended) -> Option<&str> {
    ended
        .stderr
        .lines()
        .find(|line| line.starts_with("error ("))
}

#[tokio::test]
async fn store_and_service_give_the_same_output() {
    let (machine, server, id) = world().await;
    let client = reqwest::Client::new();
    let described = client
        .get(format!("{}/api/openapi.json", server.url()))
        .bearer_auth(SECRET)
        .send()
        .await;
    let described: Value = described.unwrap().json().await.unwrap();
    assert!(
        !described["paths"]
            .as_object()
            .unwrap()
            .contains_key("/api/schedule.list")
    );
    let commands = described["paths"]
        .as_object()
        .unwrap()
        .keys()
        .filter_map(|path| path.strip_prefix("/api/"));
    for id in commands {
        let words = id.replace('.', " ");
        assert!(
            ROWS.iter().any(|(row, ..)| row.starts_with(&words)),
            "{words} has no row"
        );
    }
    for (words, input, code) in ROWS {
        let (words, input) = (words.replace(RUN, &id), input.replace(RUN, &id));
        let json = same(&machine, &server, &words, &["--json"], code).await;
        same(&machine, &server, &words, &[], code).await;
        if code == 0 {
            let id = words.split(' ').take(2).collect::<Vec<_>>().join(".");
            let request = client
                .post(format!("{}/api/{id}", server.url()))
                .bearer_auth(SECRET);
            let request = request
                .header("content-type", "application/json")
                .body(input);
            let answer = request.send().await.unwrap().text().await.unwrap();
            assert_eq!(
                comparable(&words, &format!("{answer}\n")),
                json,
                "{words} by HTTP"
            );
        }
    }
    server.terminate().await.assert_code(0);
}

/// Invokes a command on the store and on the service, and returns the output, which must be the same.
async fn same(
    machine: &Machine,
    server: &Server,
    words: &str,
    format: &[&str],
    code: i32,
) -> String {
    let arguments: Vec<&str> = words.split(' ').chain(format.iter().copied()).collect();
    let stored = run(machine
        .ars(&arguments)
        .arg("--config")
        .arg(machine.path("ars.toml")))
    .await;
    let mut remote = machine.ars(&arguments);
    let remote = run(remote
        .args(["--server", server.url()])
        .env("ARS_TOKEN", SECRET))
    .await;
    assert_eq!(
        (stored.code, remote.code),
        (Some(code), Some(code)),
        "{words}: {stored:?} {remote:?}"
    );
    let [stored_text, text] = [&stored, &remote].map(|ended| comparable(words, &ended.stdout));
    assert_eq!(stored_text, text, "{words} {format:?}");
    assert_eq!(failure(&stored), failure(&remote), "{words}");
    text
}
