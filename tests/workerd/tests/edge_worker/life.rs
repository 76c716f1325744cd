//! The container's life as the object leads it: when it is started, what is answered while it is not up, and what ends it
//! (document 1 sections 4.6 and 7, resident supplement 13). Not here: what replaces it (`versions`).

use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Answer, Running, edge_with_containers};
use ars_workerd::{Settings, TICK_ROUTE};
use serde_json::{Value, json};

use crate::engine::{Engine, Health, Manner, PATIENCE, Port};

/// One token, whose subject may restart the bot.
pub const TOKENS: &str = r#"{"good":{"subject":"ann","scopes":["deploy:write"]}}"#;
/// Between two looks at a condition.
const LOOK: Duration = Duration::from_millis(20);
/// Longer than the object takes for two looks at a container whose watch failed.
const SOME_LOOKS: Duration = Duration::from_millis(2_500);

pub fn world(manner: Manner) -> (Engine, Running) {
    let engine = Engine::start();
    engine.set(|state| state.manner = manner);
    let edge = edge_with_containers(engine.socket(), |settings| {
        Settings { ticks: true, ..settings }.secret("SERVICE_INGRESS_TOKENS", TOKENS)
    });
    (engine, edge)
}

pub fn restart(edge: &Running, body: &Value) -> Answer {
    edge.client.post("/admin/restart", "good", body)
}

/// The number of the container that answers.
pub fn number(edge: &Running) -> Value {
    let answer = edge.client.get("/anything");
    assert_eq!(answer.status, 200, "{answer:?}\n{}", edge.log());
    answer.body["number"].clone()
}

/// Asks until an answer is as wanted.
#[track_caller]
pub fn asked_until(edge: &Running, what: &str, holds: impl Fn(&Answer) -> bool) -> Answer {
    let began = Instant::now();
    loop {
        let answer = edge.client.get("/anything");
        if holds(&answer) {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "not in time: {what}: {answer:?}\n{}", edge.log());
        thread::sleep(LOOK);
    }
}

#[test]
fn the_first_request_starts_the_container_and_is_answered_by_it() {
    let (engine, edge) = world(Manner::Willing);
    assert_eq!(number(&edge), json!(1));
    assert!(engine.state().started[0].contains(&"PORT=8080".to_owned()));
}

#[test]
fn the_container_hears_the_name_by_which_its_caller_asked() {
    let (engine, edge) = world(Manner::Willing);
    let names = ["bot.example.com", "bot.example.com:8443", "127.0.0.1:1"];
    for name in names {
        let answer = edge.client.send("GET", "/anything", &[("host", name)], b"");
        assert_eq!(answer.status, 200, "{answer:?}\n{}", edge.log());
    }
    assert_eq!(engine.state().hosts, names);
}

#[test]
fn a_bot_that_crashes_time_and_again_is_told_with_a_longer_and_longer_time_to_come_back() {
    let (engine, edge) = world(Manner::Fails(1));
    let mut told = Vec::new();
    for starts in 2..=4 {
        // The first crash is followed at once by the next start; each further one waits.
        let answer = asked_until(&edge, "another start", |answer| {
            assert_eq!(answer.status, 503, "{answer:?}");
            engine.state().started.len() == starts
        });
        let body = json!({
            "error": "unavailable",
            "code": "unavailable",
            "detail": "the bot is not running or is starting; try again",
        });
        assert_eq!((answer.content_type.as_str(), &answer.body), ("application/json", &body));
        told.extend(answer.retry_after);
    }
    assert_eq!(told, [1, 2, 4], "{}", edge.log());
    engine.set(|state| state.manner = Manner::Willing);
    asked_until(&edge, "a bot that no longer crashes", |answer| answer.status == 200);
}

#[test]
fn the_minutes_tick_starts_the_container_and_starts_it_again_after_an_end() {
    let (engine, edge) = world(Manner::Willing);
    for starts in 1..=2 {
        let began = Instant::now();
        // One that comes before the end was noticed finds nobody; in a minute there is the next.
        while engine.state().started.len() < starts {
            let tick = edge.client.get(TICK_ROUTE);
            assert_eq!((tick.status, &tick.body["outcome"]), (200, &json!("ok")), "{tick:?}\n{}", edge.log());
            assert!(began.elapsed() < PATIENCE, "not started by a tick\n{}", edge.log());
        }
        engine.end(0);
    }
}

#[test]
fn while_the_bot_is_down_only_a_holder_of_the_scope_is_told_so() {
    let engine = Engine::start();
    engine.set(|state| state.manner = Manner::Fails(1));
    let tokens = r#"{"good":{"subject":"ann","scopes":["deploy:write"]},"weak":{"subject":"bo"}}"#;
    let edge =
        edge_with_containers(engine.socket(), |settings| settings.secret("SERVICE_INGRESS_TOKENS", tokens));
    for force in [false, true] {
        let ask = |token| edge.client.post("/admin/restart", token, &json!({ "force": force }));
        let told = ask("good");
        assert_eq!((told.status, &told.body["stopping"]), (200, &json!(false)), "{told:?}");
        let refused = ask("weak");
        assert_eq!((refused.status, &refused.body["ok"]), (403, &json!(false)), "{refused:?}");
        assert!(refused.body["error"].as_str().unwrap().contains("deploy:write"), "{refused:?}");
        assert_eq!(ask("nobody").status, 401);
    }
    assert_eq!(engine.state().started.len(), 0, "nobody was started by it");
}

#[test]
fn a_bot_that_ignores_the_signal_is_destroyed_by_a_second_force_and_by_nothing_less() {
    let (engine, edge) = world(Manner::Stubborn);
    assert_eq!(number(&edge), json!(1));
    let forced = restart(&edge, &json!({ "force": true }));
    assert_eq!((forced.status, &forced.body["forced"]), (202, &json!(true)), "{forced:?}");
    engine.until("the signal", |state| state.signals == ["SIGTERM"]);
    assert_eq!(restart(&edge, &json!({})).status, 202);
    assert_eq!(number(&edge), json!(1), "it goes on answering");
    assert_eq!(engine.state().signals, ["SIGTERM"]);
    engine.set(|state| state.manner = Manner::Willing);
    assert_eq!(restart(&edge, &json!({ "force": true })).status, 202);
    let answer = asked_until(&edge, "the next bot", |answer| answer.status == 200);
    assert_eq!(answer.body["number"], json!(2), "{}", edge.log());
}

#[test]
fn a_restart_of_a_bot_that_ends_while_it_is_asked_is_told_that_nothing_runs_to_whoever_may() {
    let both = r#"{"good":{"subject":"ann","scopes":["deploy:write"]},"weak":{"subject":"bo"}}"#;
    // Its leave may still have come, or not.
    for (token, body, answers, status) in [
        ("good", json!({}), true, 200),
        ("good", json!({ "force": true }), true, 200),
        ("good", json!({}), false, 200),
        ("weak", json!({}), false, 403),
    ] {
        let (engine, mut edge) = world(Manner::Willing);
        edge.deploy(|mut settings| {
            settings.secrets.retain(|(name, _)| name != "SERVICE_INGRESS_TOKENS");
            settings.secret("SERVICE_INGRESS_TOKENS", both)
        });
        assert_eq!(number(&edge), json!(1));
        engine.set(|state| state.silent = true);
        let answer = thread::scope(|scope| {
            let answer = scope.spawn(|| edge.client.post("/admin/restart", token, &body));
            engine.until("the question", |state| state.asked > 0);
            engine.end(0);
            let began = Instant::now();
            while !edge.log().contains("the container ended") {
                assert!(began.elapsed() < PATIENCE, "its end was not noticed\n{}", edge.log());
                thread::sleep(LOOK);
            }
            engine.set(|state| state.silent = !answers);
            answer.join().unwrap()
        });
        engine.set(|state| state.silent = false);
        assert_eq!(answer.status, status, "{token} {body}: {answer:?}");
        assert_eq!(answer.body["stopping"], if status == 200 { json!(false) } else { json!(null) });
        assert_eq!(engine.state().signals, Vec::<String>::new());
        assert_eq!(number(&edge), json!(2), "the next request starts it");
    }
}

/// A world whose container runs on although the engine no longer tells of its end.
fn lost() -> (Engine, Running) {
    let (engine, edge) = world(Manner::Willing);
    assert_eq!(number(&edge), json!(1));
    engine.until("a watch", |state| state.watches > 0);
    engine.set(|state| state.lost += 1);
    let began = Instant::now();
    // What the failure of a watch was once taken for, an end, is what every answer here would show.
    while !edge.log().contains("the watch of the container failed") || began.elapsed() < SOME_LOOKS {
        assert_eq!(number(&edge), json!(1), "{}", edge.log());
        assert!(began.elapsed() < PATIENCE, "nothing failed\n{}", edge.log());
        thread::sleep(LOOK);
    }
    assert_eq!(engine.state().started.len(), 1, "{}", edge.log());
    (engine, edge)
}

#[test]
fn a_container_whose_watch_failed_goes_on_answering_until_it_ends_and_is_then_followed() {
    let (engine, edge) = lost();
    engine.end(137);
    let answer = asked_until(&edge, "the next bot", |answer| answer.status == 200);
    assert_eq!(answer.body["number"], json!(2));
}

#[test]
fn a_lost_container_that_is_slow_or_says_too_much_is_there_all_the_same() {
    let (engine, edge) = lost();
    for health in [Health::TooLong, Health::KeptBack] {
        engine.set(|state| (state.health, state.probed) = (health, 0));
        // The next look comes only when the last one, which told nothing, was not taken for an end.
        engine.until("a look after another", |state| state.probed > 1);
        assert_eq!(number(&edge), json!(1), "{health:?}: {}", edge.log());
        engine.set(|state| state.health = Health::Told);
    }
    assert_eq!(engine.state().started.len(), 1, "{}", edge.log());
}

#[test]
fn a_lost_container_is_given_up_when_several_looks_in_a_row_failed_and_no_earlier() {
    let (engine, edge) = lost();
    let port = |port| engine.set(|state| (state.port, state.inspected, state.probed) = (port, 0, 0));
    port(Port::Untold);
    engine.until("a third look", |state| state.inspected > 2);
    // One that is answered makes good for those before it.
    port(Port::Open);
    engine.until("a look that is answered", |state| state.probed > 0);
    assert_eq!(number(&edge), json!(1), "{}", edge.log());
    port(Port::Untold);
    engine.until("a fifth look", |state| state.inspected > 4);
    port(Port::Open);
    asked_until(&edge, "the next bot", |answer| answer.body["number"] == json!(2));
}

#[test]
fn a_lost_container_at_whose_port_nobody_listens_is_given_up_too() {
    let (engine, edge) = lost();
    engine.set(|state| (state.port, state.inspected) = (Port::Closed, 0));
    engine.until("a fifth look", |state| state.inspected > 4);
    engine.set(|state| state.port = Port::Open);
    asked_until(&edge, "the next bot", |answer| answer.body["number"] == json!(2));
}

#[test]
fn a_container_whose_watch_failed_is_restarted_all_the_same() {
    let (engine, edge) = lost();
    assert_eq!(restart(&edge, &json!({})).status, 202, "{}", edge.log());
    let answer = asked_until(&edge, "the next bot", |answer| answer.body["number"] == json!(2));
    assert_eq!((answer.status, engine.state().started.len()), (200, 2));
}

#[test]
fn an_edge_that_has_a_container_and_a_developers_bot_passes_nothing_on_and_says_why() {
    let engine = Engine::start();
    let edge = edge_with_containers(engine.socket(), |settings| {
        settings.secret("SERVICE_INGRESS_TOKENS", TOKENS).secret("DEV_BOT_URL", "http://127.0.0.1:9")
    });
    for answer in [edge.client.get("/healthz"), restart(&edge, &json!({ "force": true }))] {
        assert_eq!(answer.status, 500, "{answer:?}");
        let told = answer.body["error"].as_str().unwrap();
        assert!(told.contains("DEV_BOT_URL") && told.contains("container"), "{told}");
    }
    assert_eq!(engine.state().started.len(), 0);
}
