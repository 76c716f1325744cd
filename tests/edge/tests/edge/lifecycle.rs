//! The container's lifecycle in the object: start, responses while it is down, and end. Not here:
//! replacing it by another version (`versions`).

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Answer, Running, edge_with_containers};
use ars_workerd::{Settings, TICK_ROUTE};
use serde_json::{Value, json};

use crate::engine::{Behavior, Engine, Health, Port, TIMEOUT};

/// A token with the right to restart the bot.
pub const TOKENS: &str = r#"{"good":{"subject":"ann","scopes":["deploy:write"]}}"#;
/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Longer than two probes when a container's watch has failed.
const TWO_PROBES: Duration = Duration::from_millis(2_500);

pub fn world(behavior: Behavior) -> (Engine, Running) {
    world_of(behavior, edge_with_containers)
}

/// Starts a Worker with an engine by `start`.
pub fn world_of(
    behavior: Behavior,
    start: impl FnOnce(&Path, fn(Settings) -> Settings) -> Running,
) -> (Engine, Running) {
    let engine = Engine::start();
    engine.set(|state| state.behavior = behavior);
    let edge = start(engine.socket(), |settings| {
        Settings {
            ticks: true,
            ..settings
        }
        .secret("SERVICE_INGRESS_TOKENS", TOKENS)
    });
    (engine, edge)
}

pub fn restart(edge: &Running, body: &Value) -> Answer {
    edge.client.post("/admin/restart", "good", body)
}

/// Returns the number of the container that answers.
pub fn number(edge: &Running) -> Value {
    let answer = edge.client.get("/anything");
    assert_eq!(answer.status, 200, "{answer:?}\n{}", edge.log());
    answer.body["number"].clone()
}

/// Repeats a request until the response satisfies a condition.
#[track_caller]
pub fn request_until(edge: &Running, what: &str, holds: impl Fn(&Answer) -> bool) -> Answer {
    let began = Instant::now();
    loop {
        let answer = edge.client.get("/anything");
        if holds(&answer) {
            return answer;
        }
        assert!(
            began.elapsed() < TIMEOUT,
            "not in time: {what}: {answer:?}\n{}",
            edge.log()
        );
        thread::sleep(POLL_INTERVAL);
    }
}

#[test]
fn first_request_starts_the_container() {
    let (engine, edge) = world(Behavior::Graceful);
    assert_eq!(number(&edge), json!(1));
    assert!(engine.state().started[0].contains(&"PORT=8080".to_owned()));
}

#[test]
fn container_receives_the_callers_host() {
    let (engine, edge) = world(Behavior::Graceful);
    let names = ["bot.example.com", "bot.example.com:8443", "127.0.0.1:1"];
    for name in names {
        let answer = edge.client.send("GET", "/anything", &[("host", name)], b"");
        assert_eq!(answer.status, 200, "{answer:?}\n{}", edge.log());
    }
    assert_eq!(engine.state().hosts, names);
}

#[test]
fn repeated_crashes_increase_retry_after() {
    let (engine, edge) = world(Behavior::Exits(1));
    let mut retry_after = Vec::new();
    for starts in 2..=4 {
        // The first crash is followed by an immediate restart, later crashes by a delayed restart.
        let answer = request_until(&edge, "another start", |answer| {
            assert_eq!(answer.status, 503, "{answer:?}");
            engine.state().started.len() == starts
        });
        let body = json!({
            "error": "unavailable",
            "code": "unavailable",
            "detail": "the bot is not running or is starting; try again",
        });
        assert_eq!(
            (answer.content_type.as_str(), &answer.body),
            ("application/json", &body)
        );
        retry_after.extend(answer.retry_after);
    }
    assert_eq!(retry_after, [1, 2, 4], "{}", edge.log());
    engine.set(|state| state.behavior = Behavior::Graceful);
    request_until(&edge, "a bot that no longer crashes", |answer| {
        answer.status == 200
    });
}

#[test]
fn tick_starts_and_restarts_the_container() {
    let (engine, edge) = world(Behavior::Graceful);
    for starts in 1..=2 {
        let began = Instant::now();
        // A tick before the end was noticed has no effect. The next tick comes in a minute.
        while engine.state().started.len() < starts {
            let tick = edge.client.get(TICK_ROUTE);
            assert_eq!(
                (tick.status, &tick.body["outcome"]),
                (200, &json!("ok")),
                "{tick:?}\n{}",
                edge.log()
            );
            assert!(
                began.elapsed() < TIMEOUT,
                "not started by a tick\n{}",
                edge.log()
            );
        }
        engine.end(0);
    }
}

#[test]
fn down_status_requires_the_scope() {
    let engine = Engine::start();
    engine.set(|state| state.behavior = Behavior::Exits(1));
    let tokens = r#"{"good":{"subject":"ann","scopes":["deploy:write"]},"weak":{"subject":"bo"}}"#;
    let edge = edge_with_containers(engine.socket(), |settings| {
        settings.secret("SERVICE_INGRESS_TOKENS", tokens)
    });
    for force in [false, true] {
        let ask = |token| {
            edge.client
                .post("/admin/restart", token, &json!({ "force": force }))
        };
        let answer = ask("good");
        assert_eq!(
            (answer.status, &answer.body["stopping"]),
            (200, &json!(false)),
            "{answer:?}"
        );
        let refused = ask("weak");
        assert_eq!(
            (refused.status, &refused.body["ok"]),
            (403, &json!(false)),
            "{refused:?}"
        );
        assert!(
            refused.body["error"]
                .as_str()
                .unwrap()
                .contains("deploy:write"),
            "{refused:?}"
        );
        assert_eq!(ask("unknown").status, 401);
    }
    assert_eq!(engine.state().started.len(), 0, "it started a container");
}

#[test]
fn second_force_destroys_an_unresponsive_bot() {
    let (engine, edge) = world(Behavior::IgnoresSignals);
    assert_eq!(number(&edge), json!(1));
    let forced = restart(&edge, &json!({ "force": true }));
    assert_eq!(
        (forced.status, &forced.body["forced"]),
        (202, &json!(true)),
        "{forced:?}"
    );
    engine.until("the signal", |state| state.signals == ["SIGTERM"]);
    assert_eq!(restart(&edge, &json!({})).status, 202);
    assert_eq!(number(&edge), json!(1), "it goes on answering");
    assert_eq!(engine.state().signals, ["SIGTERM"]);
    engine.set(|state| state.behavior = Behavior::Graceful);
    assert_eq!(restart(&edge, &json!({ "force": true })).status, 202);
    let answer = request_until(&edge, "the next bot", |answer| answer.status == 200);
    assert_eq!(answer.body["number"], json!(2), "{}", edge.log());
}

#[test]
fn restart_of_an_ended_bot_requires_the_scope() {
    let both = r#"{"good":{"subject":"ann","scopes":["deploy:write"]},"weak":{"subject":"bo"}}"#;
    // The permission may have arrived or not.
    for (token, body, answers, status) in [
        ("good", json!({}), true, 200),
        ("good", json!({ "force": true }), true, 200),
        ("good", json!({}), false, 200),
        ("weak", json!({}), false, 403),
    ] {
        let (engine, mut edge) = world(Behavior::Graceful);
        edge.deploy(|mut settings| {
            settings
                .secrets
                .retain(|(name, _)| name != "SERVICE_INGRESS_TOKENS");
            settings.secret("SERVICE_INGRESS_TOKENS", both)
        });
        assert_eq!(number(&edge), json!(1));
        engine.set(|state| state.withholds_permission = true);
        let answer = thread::scope(|scope| {
            let answer = scope.spawn(|| edge.client.post("/admin/restart", token, &body));
            engine.until("the permission request", |state| {
                state.permission_requests > 0
            });
            engine.end(0);
            let began = Instant::now();
            while !edge.log().contains("the container ended") {
                assert!(
                    began.elapsed() < TIMEOUT,
                    "its end was not noticed\n{}",
                    edge.log()
                );
                thread::sleep(POLL_INTERVAL);
            }
            engine.set(|state| state.withholds_permission = !answers);
            answer.join().unwrap()
        });
        engine.set(|state| state.withholds_permission = false);
        assert_eq!(answer.status, status, "{token} {body}: {answer:?}");
        assert_eq!(
            answer.body["stopping"],
            if status == 200 {
                json!(false)
            } else {
                json!(null)
            }
        );
        assert_eq!(engine.state().signals, Vec::<String>::new());
        assert_eq!(number(&edge), json!(2), "the next request starts it");
    }
}

/// Starts a container that keeps running after the engine lost the watch.
fn unwatched() -> (Engine, Running) {
    let (engine, edge) = world(Behavior::Graceful);
    assert_eq!(number(&edge), json!(1));
    engine.until("a watch", |state| state.watches > 0);
    engine.set(|state| state.lost_watches += 1);
    let began = Instant::now();
    // If the object mistook the failed watch for the container's end, every answer would show it.
    while !edge.log().contains("the container's monitor failed") || began.elapsed() < TWO_PROBES {
        assert_eq!(number(&edge), json!(1), "{}", edge.log());
        assert!(began.elapsed() < TIMEOUT, "nothing failed\n{}", edge.log());
        thread::sleep(POLL_INTERVAL);
    }
    assert_eq!(engine.state().started.len(), 1, "{}", edge.log());
    (engine, edge)
}

#[test]
fn unwatched_container_answers_until_it_ends() {
    let (engine, edge) = unwatched();
    engine.end(137);
    let answer = request_until(&edge, "the next bot", |answer| answer.status == 200);
    assert_eq!(answer.body["number"], json!(2));
}

#[test]
fn slow_or_verbose_unwatched_container_is_kept() {
    let (engine, edge) = unwatched();
    for health in [Health::TooLong, Health::Withheld] {
        engine.set(|state| (state.health, state.probed) = (health, 0));
        // Another probe shows that the object did not mistake the last for the container's end.
        engine.until("another probe", |state| state.probed > 1);
        assert_eq!(number(&edge), json!(1), "{health:?}: {}", edge.log());
        engine.set(|state| state.health = Health::Normal);
    }
    assert_eq!(engine.state().started.len(), 1, "{}", edge.log());
}

#[test]
fn unwatched_container_is_abandoned_after_several_failed_probes() {
    let (engine, edge) = unwatched();
    let port =
        |port| engine.set(|state| (state.port, state.inspected, state.probed) = (port, 0, 0));
    port(Port::Failing);
    engine.until("a third probe", |state| state.inspected > 2);
    // A successful probe resets the failure count.
    port(Port::Open);
    engine.until("an answered probe", |state| state.probed > 0);
    assert_eq!(number(&edge), json!(1), "{}", edge.log());
    port(Port::Failing);
    engine.until("a fifth probe", |state| state.inspected > 4);
    port(Port::Open);
    request_until(&edge, "the next bot", |answer| {
        answer.body["number"] == json!(2)
    });
}

#[test]
fn unwatched_container_with_closed_port_is_abandoned() {
    let (engine, edge) = unwatched();
    engine.set(|state| (state.port, state.inspected) = (Port::Closed, 0));
    engine.until("a fifth probe", |state| state.inspected > 4);
    engine.set(|state| state.port = Port::Open);
    request_until(&edge, "the next bot", |answer| {
        answer.body["number"] == json!(2)
    });
}

#[test]
fn unwatched_container_can_be_restarted() {
    let (engine, edge) = unwatched();
    assert_eq!(restart(&edge, &json!({})).status, 202, "{}", edge.log());
    let answer = request_until(&edge, "the next bot", |answer| {
        answer.body["number"] == json!(2)
    });
    assert_eq!((answer.status, engine.state().started.len()), (200, 2));
}

#[test]
fn container_with_developer_bot_is_a_configuration_error() {
    let engine = Engine::start();
    let edge = edge_with_containers(engine.socket(), |settings| {
        settings
            .secret("SERVICE_INGRESS_TOKENS", TOKENS)
            .secret("DEV_BOT_URL", "http://127.0.0.1:9")
    });
    for answer in [
        edge.client.get("/healthz"),
        restart(&edge, &json!({ "force": true })),
    ] {
        assert_eq!(answer.status, 500, "{answer:?}");
        let error = answer.body["error"].as_str().unwrap();
        assert!(
            error.contains("DEV_BOT_URL") && error.contains("container"),
            "{error}"
        );
    }
    assert_eq!(engine.state().started.len(), 0);
}
