//! `POST /admin/restart` before a scripted bot. Not here: every bot response
//! (`ars_container::restart`), and a restart that succeeds, which needs a container (`lifecycle`,
//! `tests/container`).

use std::io::Read as _;
use std::sync::{Arc, Mutex};

use ars_raw_http::{Call, Upstream};
use ars_tests_workerd::{Answer, Running, edge_worker};
use serde_json::{Value, json};

const TOKENS: &str =
    r#"{"good":{"subject":"ann ✓","scopes":["deploy:write"]},"weak":{"subject":"bo"}}"#;

/// A request to the bot: target, subject header, bearer.
type BotRequest = (String, Option<String>, Option<String>);

/// A bot with scripted permission and health that records requests.
#[derive(Clone, Default)]
struct Scripted {
    permission: Arc<Mutex<(u16, String)>>,
    health: Arc<Mutex<(u16, String)>>,
    requests: Arc<Mutex<Vec<BotRequest>>>,
}

impl Scripted {
    fn start() -> (Self, Running) {
        let script = Self::default();
        script.says(200, &json!({ "ok": true, "subject": "ann ✓" }).to_string());
        script.is(0, false);
        let bot = script.clone();
        let upstream = Upstream::start(move |mut call: Call<'_>| {
            let mut body = Vec::new();
            call.body.read_to_end(&mut body)?;
            let subject = call.head.field("x-ars-restart-subject").map(str::to_owned);
            let bearer = call.head.field("authorization").map(str::to_owned);
            let target = call.head.target().to_owned();
            let (status, text) = match target.as_str() {
                "/admin/restart/authorize" => bot.permission.lock().unwrap().clone(),
                "/healthz" => bot.health.lock().unwrap().clone(),
                _ => (404, "unknown route".to_owned()),
            };
            bot.requests.lock().unwrap().push((target, subject, bearer));
            call.reply
                .whole(status, "application/json", text.as_bytes())
        });
        let edge = edge_worker(&upstream.unwrap().url(), Some(TOKENS));
        (script, edge)
    }

    fn says(&self, status: u16, body: &str) {
        *self.permission.lock().unwrap() = (status, body.to_owned());
    }

    fn is(&self, in_flight: i64, draining: bool) {
        let health =
            json!({ "ok": true, "inFlight": in_flight, "draining": draining, "startedAt": "t0" });
        *self.health.lock().unwrap() = (200, health.to_string());
    }

    fn requests(&self) -> Vec<BotRequest> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

fn restart(edge: &Running, token: &str, body: &str) -> Answer {
    edge.client
        .post_bytes("/admin/restart", token, body.as_bytes())
}

#[track_caller]
fn failed(answer: &Answer, status: u16) {
    assert_eq!(
        (answer.status, &answer.body["ok"]),
        (status, &json!(false)),
        "{answer:?}"
    );
}

#[test]
fn unauthorized_restart_never_reaches_the_bot() {
    let (bot, edge) = Scripted::start();
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        failed(
            &edge.client.send(
                method,
                "/admin/restart",
                &[("authorization", "Bearer good")],
                b"",
            ),
            405,
        );
    }
    failed(&edge.client.send("POST", "/admin/restart", &[], b"{}"), 401);
    failed(&restart(&edge, "unknown", ""), 401);
    let endless = "x".repeat(2000);
    for body in [r#"{"force":1}"#, endless.as_str()] {
        failed(&restart(&edge, "good", body), 400);
    }
    assert_eq!(bot.requests(), []);
    let closed = edge_worker("http://127.0.0.1:9", None);
    failed(&restart(&closed, "good", ""), 503);
}

#[test]
fn similar_paths_belong_to_the_bot() {
    let (bot, edge) = Scripted::start();
    for path in [
        "/admin/restart/",
        "//admin/restart",
        "/admin/%72estart",
        "/?/admin/restart",
    ] {
        let answer = edge.client.post_bytes(path, "good", b"{}");
        assert_eq!(
            (answer.status, &answer.body),
            (404, &json!("unknown route")),
            "{path}"
        );
        assert_eq!(
            bot.requests(),
            [(path.to_owned(), None, Some("Bearer good".to_owned()))]
        );
    }
}

#[test]
fn bot_receives_the_subject_without_the_bearer() {
    let (bot, edge) = Scripted::start();
    restart(&edge, "good", "");
    let requests = bot.requests();
    let subject = Some("ann%20%E2%9C%93".to_owned());
    assert_eq!(
        requests[0],
        ("/admin/restart/authorize".to_owned(), subject, None)
    );
    assert_eq!(requests[1], ("/healthz".to_owned(), None, None));
}

#[test]
fn unexpected_permission_answers_are_rejections() {
    let (bot, edge) = Scripted::start();
    bot.says(403, r#"{"ok":false,"error":"because"}"#);
    let answer = restart(&edge, "good", "");
    failed(&answer, 403);
    assert_eq!(answer.body["error"], json!("because"));
    let permission = json!({ "ok": true, "subject": "ann ✓" }).to_string();
    let long = format!(
        r#"{{"ok":true,"subject":"ann ✓","more":"{}"}}"#,
        "x".repeat(70_000)
    );
    for (status, body) in [
        (200, r#"{"ok":true,"subject":"bo"}"#),
        (200, long.as_str()),
        (302, permission.as_str()),
    ] {
        bot.says(status, body);
        failed(&restart(&edge, "good", r#"{"force":true}"#), 503);
    }
    assert!(
        bot.requests()
            .iter()
            .all(|(target, ..)| target != "/healthz"),
        "its health was probed"
    );
    let absent = edge_worker("http://127.0.0.1:9", Some(TOKENS));
    failed(&restart(&absent, "good", ""), 503);
}

#[test]
fn only_force_restarts_a_busy_bot() {
    let (bot, edge) = Scripted::start();
    let refused = |problems: Value| {
        let answer = restart(&edge, "good", r#"{"force":false}"#);
        assert_eq!(answer.status, 409, "{answer:?}");
        assert_eq!(
            answer.body,
            json!({ "ok": false, "refused": true, "problems": problems })
        );
        // With force it fails only because there is no container.
        let answer = restart(&edge, "good", r#"{"force":true}"#);
        failed(&answer, 503);
        assert_eq!(
            answer.body["error"],
            json!("this bot was not started by the edge")
        );
    };
    bot.is(1, false);
    refused(json!(["1 run is in flight"]));
    *bot.health.lock().unwrap() = (200, "ok".to_owned());
    refused(json!(["the bot's health could not be read"]));
    bot.is(0, false);
    assert_eq!(
        restart(&edge, "good", "").body["error"],
        json!("this bot was not started by the edge")
    );
}
