//! Every route with every kind of caller.

use std::collections::BTreeSet;

use ars_bot_http::paths;
use reqwest::Method;
use serde_json::{Value, json};

use super::callers::{
    Credential::{self, Bearer, Header, Session},
    Viewer, access, bot, locally, send,
};

/// The columns of the table. The viewer is a member of channel `ci`.
const CALLERS: [Credential; 9] = [
    Credential::None,
    Bearer("wrong"),
    Bearer("scopeless"),
    Bearer("dispatch"),
    Bearer("writes"),
    Bearer("other"),
    Bearer("deployer"),
    Bearer("look"),
    Session,
];

/// Behind the gate in mode `token`.
const fn gated(status: u16) -> [u16; 9] {
    [403, 403, 403, 403, 403, 403, 403, status, status]
}

/// The statuses in the other modes of the dashboard.
/// In mode `access`: without an assertion, with a forged one, with that of a service and that of a person. In mode
/// `none`: on this machine and through a proxy.
type Modes = [u16; 6];

/// Not behind the gate.
const fn open(status: u16) -> Modes {
    [status; 6]
}

/// Behind the gate, for people.
const fn pages(status: u16) -> Modes {
    [403, 403, 403, status, status, 403]
}

/// Behind the gate, for people and services.
const fn api(status: u16) -> Modes {
    [403, 403, status, status, status, 403]
}

/// Route, method, path, and the status for each caller and in each mode.
/// The route is `-` for the fallback.
const TABLE: &[(&str, &str, &str, [u16; 9], Modes)] = &[
    //                                          none wrong less disp write other depl look session
    ("/ingress", "POST", "/ingress", [401, 401, 403, 200, 200, 200, 403, 401, 401], open(401)),
    ("/mcp", "POST", "/mcp", [401, 401, 200, 200, 200, 200, 200, 401, 401], open(401)),
    ("/admin/crash", "POST", "/admin/crash", [401, 401, 403, 403, 403, 403, 202, 401, 401], open(401)),
    (
        "/admin/restart/authorize",
        "POST",
        "/admin/restart/authorize",
        [401, 401, 403, 403, 403, 403, 200, 401, 401],
        open(401),
    ),
    ("/runs", "GET", "/runs", gated(200), pages(200)),
    ("/runs/", "GET", "/runs/", gated(200), pages(200)),
    ("/runs/docs", "GET", "/runs/docs", gated(200), pages(200)),
    ("/runs/assets/{name}", "GET", "/runs/assets/style.css", gated(200), pages(200)),
    ("/runs/{id}", "GET", "/runs/http-ci", gated(200), pages(200)),
    ("/runs/{id}", "GET", "/runs/unknown", gated(404), pages(404)),
    ("/runs/{id}/events", "GET", "/runs/http-ci/events", gated(200), pages(200)),
    ("/runs/{id}/friction", "GET", "/runs/http-ci/friction", gated(200), pages(200)),
    ("/runs/scheduled", "GET", "/runs/scheduled", gated(200), pages(200)),
    ("/schedules", "GET", "/schedules", gated(200), pages(200)),
    ("/runs/{id}/earlier", "GET", "/runs/http-ci/earlier", gated(200), pages(200)),
    // A member may read the run, and neither steer nor stop it.
    ("/runs/{id}/steer", "POST", "/runs/http-ci/steer", gated(404), pages(404)),
    ("/runs/{id}/stop", "POST", "/runs/http-ci/stop?mode=soft", gated(404), pages(404)),
    ("/runs/sign-in", "GET", "/runs/sign-in", [200; 9], pages(404)),
    ("/runs/sign-in", "POST", "/runs/sign-in", [403; 9], pages(404)),
    ("/runs/sign-in/style.css", "GET", "/runs/sign-in/style.css", [200; 9], open(200)),
    ("/runs/sign-out", "POST", "/runs/sign-out", [303; 9], pages(404)),
    ("/healthz", "GET", "/healthz", [200; 9], open(200)),
    ("/metrics", "GET", "/metrics", gated(200), pages(200)),
    // Each command has its row in the other table.
    ("/api/{command}", "GET", "/api/help.show", gated(200), api(200)),
    ("/api/openapi.json", "GET", "/api/openapi.json", gated(200), api(200)),
    ("-", "GET", "/residents", gated(503), pages(503)),
    ("-", "GET", "/residents/acme/app", gated(503), pages(503)),
    ("-", "GET", "/costs", gated(503), pages(503)),
    ("-", "GET", "/costs/main.json", gated(503), pages(503)),
    ("-", "GET", "/mcp/connect/nonce", gated(503), pages(503)),
    ("-", "GET", "//runs", [200; 9], open(200)),
    ("-", "GET", "/schedules/", [200; 9], open(200)),
    ("-", "GET", "/api", gated(404), api(404)),
    ("-", "GET", "/%61PI/help.show", gated(404), api(404)),
    ("-", "POST", "/admin/restart", [404; 9], open(404)),
    ("-", "GET", "/mcp/x", [404; 9], open(404)),
    ("-", "GET", "/", [200; 9], open(200)),
];

#[test]
fn every_route_has_a_row() {
    let rows: BTreeSet<&str> = TABLE.iter().map(|row| row.0).filter(|path| *path != "-").collect();
    assert_eq!(rows, paths().into_iter().collect());
}

fn body(path: &str) -> Option<Value> {
    match path {
        "/ingress" => Some(json!({"text": "help"})),
        "/mcp" => Some(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        "/runs/http-ci/steer" => Some(json!({"text": "more"})),
        _ => None,
    }
}

#[tokio::test]
async fn callers_get_the_status_of_the_table() {
    let bot = bot(Viewer::Member).await;
    let mut wrong = Vec::new();
    for (_, method, path, expected, _) in TABLE {
        let body = body(path);
        let mut found = Vec::new();
        for caller in CALLERS {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            found.push(send(&bot, &caller, method, path, body.as_ref()).await.status);
        }
        if found != expected {
            wrong.push(format!("{method} {path}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn modes_give_the_status_of_the_table() {
    let (access, assertions) = access().await;
    let local = locally().await;
    let forged = Header("cf-access-jwt-assertion", format!("{}x", assertions.person));
    let requests = [
        (&access, Credential::None),
        (&access, forged),
        (&access, Header("cf-access-jwt-assertion", assertions.service)),
        (&access, Header("cf-access-jwt-assertion", assertions.person)),
        (&local, Credential::None),
        (&local, Header("x-forwarded-for", "192.0.2.1".to_owned())),
    ];
    let mut wrong = Vec::new();
    for (_, method, path, _, expected) in TABLE {
        let mut found = Vec::new();
        for (bot, credential) in &requests {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            found.push(send(bot, credential, method, path, body(path).as_ref()).await.status);
        }
        if found != expected {
            wrong.push(format!("{method} {path}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Status, headers and body.
#[tokio::test]
async fn denied_run_equals_an_unknown_one() {
    for viewer in [Viewer::Plain, Viewer::Other] {
        let bot = bot(viewer).await;
        let live = bot.run("live", "scripted/m");
        let live = live.id().to_string();
        for (method, path) in [
            (Method::GET, "/runs/{id}"),
            (Method::GET, "/runs/{id}/events"),
            (Method::GET, "/runs/{id}/friction"),
            (Method::GET, "/runs/{id}/earlier"),
            (Method::POST, "/runs/{id}/steer"),
            (Method::POST, "/runs/{id}/stop?mode=hard"),
            (Method::POST, "/runs/{id}/stop?mode=no"),
            (Method::GET, "/runs/{id}?t=0123456789abcdef"),
        ] {
            for caller in [Bearer("look"), Session] {
                let of = |id: &str| path.replace("{id}", id);
                let body = path.ends_with("/steer").then(|| json!({"text": "more"}));
                let unknown = send(&bot, &caller, method.clone(), &of("unknown"), body.as_ref()).await;
                assert!([400, 404].contains(&unknown.status), "{path}");
                for hidden in ["http-ci", &live] {
                    let denied = send(&bot, &caller, method.clone(), &of(hidden), body.as_ref()).await;
                    assert_eq!(denied, unknown, "{viewer:?} {path} {hidden}");
                }
            }
        }
    }
}
