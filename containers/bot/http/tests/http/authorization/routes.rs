//! Tests every route with every caller kind.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use ars_bot_http::routes;
use reqwest::Method;
use serde_json::{Value, json};

use super::callers::{
    Credential::{self, Bearer, Header, Session},
    Viewer, access, bot, locally, send,
};
use crate::support::{Bot, surfaces};

const AUTHORIZE: &str = "/admin/restart/authorize";

/// The table's columns. The viewer is a member in channel `ci`.
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

// The statuses by their reason.
/// The route served the request.
const DONE: u16 = 200;
/// The health probe answered, as for every path without a route.
const PROBE: u16 = 200;
/// The process ends after the answer.
const CRASHING: u16 = 202;
/// The session has ended.
const SIGNED_OUT: u16 = 303;
/// No ingress token is valid.
const NO_TOKEN: u16 = 401;
/// The token lacks the scope.
const NO_SCOPE: u16 = 403;
/// The dashboard's gate refused the caller.
const GATE: u16 = 403;
/// The form had no valid secret.
const NO_SECRET: u16 = 403;
/// The run is answered like an unknown run.
const HIDDEN: u16 = 404;
/// There is no such run or route.
const UNKNOWN: u16 = 404;
/// The mode has no sessions.
const NO_FORM: u16 = 404;
/// The route has another method.
const METHOD: u16 = 405;
/// The installation lacks the subsystem.
const ABSENT: u16 = 503;

/// Statuses in mode `token`, in [`CALLERS`] order.
type Callers = [u16; 9];

/// For ingress token holders. The tokens have no scope, `dispatch` among others, or only
/// `deploy:write`.
const fn machine(scopeless: u16, dispatch: u16, deployer: u16) -> Callers {
    let [none, wrong, look, session] = [NO_TOKEN; 4];
    [
        none, wrong, scopeless, dispatch, dispatch, dispatch, deployer, look, session,
    ]
}

/// Behind the gate in mode `token`.
const fn gated(status: u16) -> Callers {
    [GATE, GATE, GATE, GATE, GATE, GATE, GATE, status, status]
}

/// Not behind the gate.
const fn all(status: u16) -> Callers {
    [status; 9]
}

/// Statuses in the other dashboard modes. In mode `access`: without an assertion, with a forged
/// assertion, with that of a service and of a person. In mode `none`: on this machine and through a
/// proxy.
type Modes = [u16; 6];

/// Not behind the gate.
const fn open(status: u16) -> Modes {
    [status; 6]
}

/// Behind the gate, for people.
const fn pages(status: u16) -> Modes {
    [GATE, GATE, GATE, status, status, GATE]
}

/// Behind the gate, for people and services.
const fn api(status: u16) -> Modes {
    [GATE, GATE, status, status, status, GATE]
}

/// Methods for a route without writes.
const READ: &str = "GET HEAD";
/// Methods on a route that checks the method itself, beside `GET` and `POST`.
const OTHERS: &str = "PUT DELETE PATCH HEAD OPTIONS TRACE";

/// Other methods on a route that checks the method itself and has no writes.
const CHANGE: &str = "POST PUT DELETE PATCH OPTIONS TRACE";
/// Route for a single resident's page.
const RESIDENT: &str = "/residents/{owner}/{name}";

/// A request, and the status for each caller and in each mode.
#[derive(Clone, Copy)]
pub struct Row {
    /// Path of the route, or [`FALLBACK`].
    pub route: &'static str,
    /// A method, or several with the same statuses.
    pub method: &'static str,
    pub path: &'static str,
    pub callers: Callers,
    pub modes: Modes,
}

const fn row(
    method: &'static str,
    route: &'static str,
    path: &'static str,
    callers: Callers,
    modes: Modes,
) -> Row {
    Row {
        route,
        method,
        path,
        callers,
        modes,
    }
}

/// Stands for every other path.
const FALLBACK: &str = "-";

const TABLE: &[Row] = &[
    row(
        "POST",
        "/ingress",
        "/ingress",
        machine(NO_SCOPE, DONE, NO_SCOPE),
        open(NO_TOKEN),
    ),
    row("GET", "/ingress", "/ingress", all(METHOD), open(METHOD)),
    row(OTHERS, "/ingress", "/ingress", all(METHOD), open(METHOD)),
    // The matrix has no webhooks. Their signature is the credential (`cli::webhooks`).
    row(
        "POST",
        "/ingress/github",
        "/ingress/github",
        all(ABSENT),
        open(ABSENT),
    ),
    row(
        "GET",
        "/ingress/github",
        "/ingress/github",
        all(METHOD),
        open(METHOD),
    ),
    row(
        OTHERS,
        "/ingress/github",
        "/ingress/github",
        all(METHOD),
        open(METHOD),
    ),
    row(
        "POST",
        "/mcp",
        "/mcp",
        machine(DONE, DONE, DONE),
        open(NO_TOKEN),
    ),
    row("GET", "/mcp", "/mcp", all(METHOD), open(METHOD)),
    row(OTHERS, "/mcp", "/mcp", all(METHOD), open(METHOD)),
    row(
        "POST",
        "/admin/crash",
        "/admin/crash",
        machine(NO_SCOPE, NO_SCOPE, CRASHING),
        open(NO_TOKEN),
    ),
    row(
        "GET",
        "/admin/crash",
        "/admin/crash",
        all(METHOD),
        open(METHOD),
    ),
    row(
        OTHERS,
        "/admin/crash",
        "/admin/crash",
        all(METHOD),
        open(METHOD),
    ),
    row(
        "POST",
        AUTHORIZE,
        AUTHORIZE,
        machine(NO_SCOPE, NO_SCOPE, DONE),
        open(NO_TOKEN),
    ),
    row("GET", AUTHORIZE, AUTHORIZE, all(METHOD), open(METHOD)),
    row(OTHERS, AUTHORIZE, AUTHORIZE, all(METHOD), open(METHOD)),
    row(READ, "/runs", "/runs", gated(DONE), pages(DONE)),
    row(READ, "/runs/", "/runs/", gated(DONE), pages(DONE)),
    row(READ, "/runs/docs", "/runs/docs", gated(DONE), pages(DONE)),
    row(
        READ,
        "/runs/assets/{name}",
        "/runs/assets/style.css",
        gated(DONE),
        pages(DONE),
    ),
    row(
        READ,
        "/runs/{id}",
        "/runs/http-ci",
        gated(DONE),
        pages(DONE),
    ),
    row(
        READ,
        "/runs/{id}",
        "/runs/unknown",
        gated(UNKNOWN),
        pages(UNKNOWN),
    ),
    row(
        READ,
        "/runs/{id}/events",
        "/runs/http-ci/events",
        gated(DONE),
        pages(DONE),
    ),
    row(
        READ,
        "/runs/{id}/friction",
        "/runs/http-ci/friction",
        gated(DONE),
        pages(DONE),
    ),
    row(
        READ,
        "/runs/outcomes",
        "/runs/outcomes",
        gated(DONE),
        pages(DONE),
    ),
    row(
        READ,
        "/runs/scheduled",
        "/runs/scheduled",
        gated(DONE),
        pages(DONE),
    ),
    row(READ, "/schedules", "/schedules", gated(DONE), pages(DONE)),
    row(
        READ,
        "/runs/{id}/earlier",
        "/runs/http-ci/earlier",
        gated(DONE),
        pages(DONE),
    ),
    // A member may read the run, and neither steer nor stop it.
    row(
        "POST",
        "/runs/{id}/steer",
        "/runs/http-ci/steer",
        gated(HIDDEN),
        pages(HIDDEN),
    ),
    row(
        "POST",
        "/runs/{id}/stop",
        "/runs/http-ci/stop?mode=soft",
        gated(HIDDEN),
        pages(HIDDEN),
    ),
    row(
        READ,
        "/runs/sign-in",
        "/runs/sign-in",
        all(DONE),
        pages(NO_FORM),
    ),
    row(
        "POST",
        "/runs/sign-in",
        "/runs/sign-in",
        all(NO_SECRET),
        pages(NO_FORM),
    ),
    row(
        READ,
        "/runs/sign-in/style.css",
        "/runs/sign-in/style.css",
        all(DONE),
        open(DONE),
    ),
    row(
        READ,
        "/runs/sign-in/script.js",
        "/runs/sign-in/script.js",
        all(DONE),
        open(DONE),
    ),
    row(
        "POST",
        "/runs/sign-out",
        "/runs/sign-out",
        all(SIGNED_OUT),
        pages(NO_FORM),
    ),
    row("GET", "/healthz", "/healthz", all(PROBE), open(PROBE)),
    row("POST", "/healthz", "/healthz", all(PROBE), open(PROBE)),
    row(OTHERS, "/healthz", "/healthz", all(PROBE), open(PROBE)),
    row(READ, "/metrics", "/metrics", gated(DONE), pages(DONE)),
    // Each command has a row in the other tables.
    row(
        "GET",
        "/api/{command}",
        "/api/help.show",
        gated(DONE),
        api(DONE),
    ),
    row(
        "POST",
        "/api/{command}",
        "/api/help.show",
        gated(DONE),
        api(DONE),
    ),
    row(
        OTHERS,
        "/api/{command}",
        "/api/help.show",
        gated(METHOD),
        api(METHOD),
    ),
    row(
        "GET",
        "/api/openapi.json",
        "/api/openapi.json",
        gated(DONE),
        api(DONE),
    ),
    row(
        "POST",
        "/api/openapi.json",
        "/api/openapi.json",
        gated(METHOD),
        api(METHOD),
    ),
    row(
        OTHERS,
        "/api/openapi.json",
        "/api/openapi.json",
        gated(METHOD),
        api(METHOD),
    ),
    row(READ, "/residents", "/residents", gated(DONE), pages(DONE)),
    row(
        CHANGE,
        "/residents",
        "/residents",
        gated(METHOD),
        pages(METHOD),
    ),
    row(
        READ,
        RESIDENT,
        "/residents/acme/app",
        gated(DONE),
        pages(DONE),
    ),
    row(
        READ,
        RESIDENT,
        "/residents/acme/none",
        gated(UNKNOWN),
        pages(UNKNOWN),
    ),
    row(
        CHANGE,
        RESIDENT,
        "/residents/acme/app",
        gated(METHOD),
        pages(METHOD),
    ),
    // A malformed slug is no page.
    row(
        READ,
        RESIDENT,
        "/residents/-a/b",
        gated(PROBE),
        pages(PROBE),
    ),
    row("GET", FALLBACK, "//Residents/", gated(DONE), pages(DONE)),
    row("GET", FALLBACK, "/costs", gated(ABSENT), pages(ABSENT)),
    row(
        "GET",
        FALLBACK,
        "/costs/main.json",
        gated(ABSENT),
        pages(ABSENT),
    ),
    row(
        "GET",
        FALLBACK,
        "/mcp/connect/nonce",
        gated(ABSENT),
        pages(ABSENT),
    ),
    row("GET", FALLBACK, "//runs", gated(UNKNOWN), pages(UNKNOWN)),
    row(
        "GET",
        FALLBACK,
        "/schedules/",
        gated(UNKNOWN),
        pages(UNKNOWN),
    ),
    row("GET", FALLBACK, "/api", gated(UNKNOWN), api(UNKNOWN)),
    row(
        "GET",
        FALLBACK,
        "/%61PI/help.show",
        gated(UNKNOWN),
        api(UNKNOWN),
    ),
    row(
        "POST",
        FALLBACK,
        "/admin/restart",
        all(UNKNOWN),
        open(UNKNOWN),
    ),
    row("GET", FALLBACK, "/mcp/x", all(UNKNOWN), open(UNKNOWN)),
    row("GET", FALLBACK, "/", all(PROBE), open(PROBE)),
];

/// Returns the table with a row per method.
pub fn rows() -> impl Iterator<Item = Row> {
    TABLE
        .iter()
        .flat_map(|row| row.method.split(' ').map(|method| Row { method, ..*row }))
}

#[test]
fn every_route_has_a_row() {
    let rows = rows()
        .filter(|row| row.route != FALLBACK)
        .map(|row| (row.method, row.route));
    assert_eq!(
        rows.collect::<BTreeSet<_>>(),
        routes(&surfaces()).into_iter().collect()
    );
}

/// Returns the status for the row's request.
pub async fn status(bot: &Bot, credential: &Credential, row: &Row) -> u16 {
    let method = Method::from_bytes(row.method.as_bytes()).unwrap();
    send(bot, credential, method, row.path, body(row).as_ref())
        .await
        .status
}

fn body(row: &Row) -> Option<Value> {
    match (row.method, row.path) {
        ("POST", "/ingress") => Some(json!({"text": "help"})),
        ("POST", "/mcp") => Some(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        ("POST", "/runs/http-ci/steer") => Some(json!({"text": "more"})),
        ("POST", path) if path.starts_with("/api/") => Some(json!({})),
        _ => None,
    }
}

#[tokio::test]
async fn callers_get_the_status_of_the_table() {
    let bot = bot(Viewer::Member).await;
    let mut wrong = Vec::new();
    for row in rows() {
        let mut found = Vec::new();
        for caller in CALLERS {
            found.push(status(&bot, &caller, &row).await);
        }
        if found != row.callers {
            wrong.push(format!(
                "{} {}: {found:?}, not {:?}",
                row.method, row.path, row.callers
            ));
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
        (
            &access,
            Header("cf-access-jwt-assertion", assertions.service),
        ),
        (
            &access,
            Header("cf-access-jwt-assertion", assertions.person),
        ),
        (&local, Credential::None),
        (&local, Header("x-forwarded-for", "192.0.2.1".to_owned())),
    ];
    let mut wrong = Vec::new();
    for row in rows() {
        let mut found = Vec::new();
        for (bot, credential) in &requests {
            found.push(status(bot, credential, &row).await);
        }
        if found != row.modes {
            wrong.push(format!(
                "{} {}: {found:?}, not {:?}",
                row.method, row.path, row.modes
            ));
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
                let unknown =
                    send(&bot, &caller, method.clone(), &of("unknown"), body.as_ref()).await;
                assert!([400, 404].contains(&unknown.status), "{path}");
                for hidden in ["http-ci", &live] {
                    let denied =
                        send(&bot, &caller, method.clone(), &of(hidden), body.as_ref()).await;
                    assert_eq!(denied, unknown, "{viewer:?} {path} {hidden}");
                }
            }
        }
    }
}
