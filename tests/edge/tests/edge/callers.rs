//! Rejected callers and an excess of waiting callers. Neither costs a container.

use std::thread;
use std::time::{Duration, Instant};

use ars_raw_http::Connection;
use ars_tests_edge::send;
use ars_tests_workerd::edge_with_containers;
use ars_wire::admin::{AUTHORIZE_ROUTE, CRASH_ROUTE, RESTART_ROUTE};
use serde_json::json;

use crate::{
    engine::{Behavior, Engine, Health, TIMEOUT},
    lifecycle::world,
};

/// Requests with a bearer that wait for a container at the same time.
const MAX_HELD: usize = 256;
/// Other requests that wait for it.
const MAX_HELD_ANONYMOUS: usize = 64;
/// Requests beyond each kind's limit.
const EXCESS: usize = 24;
/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[test]
fn rejected_caller_does_not_wake_the_object() {
    let (engine, edge) = world(Behavior::Graceful);
    for path in [
        "/ingress",
        "/mcp",
        CRASH_ROUTE,
        AUTHORIZE_ROUTE,
        RESTART_ROUTE,
    ] {
        assert_eq!(edge.client.get(path).status, 405, "{path}");
        for headers in [
            &[][..],
            &[("authorization", "Bearer goo")],
            &[("authorization", "Basic good")],
        ] {
            let answer = edge.client.send("POST", path, headers, b"{}");
            assert_eq!(answer.status, 401, "{path}: {answer:?}\n{}", edge.log());
            assert_eq!(answer.content_type, "application/json");
        }
    }
    let answer = edge
        .client
        .post("/ingress", "goo", &json!({ "text": "hello" }));
    assert_eq!(answer.body, json!({ "error": "unauthorized" }));
    // An object that is woken looks at the container.
    let state = engine.state();
    assert_eq!((state.inspected, state.started.len()), (0, 0));
    drop(state);
    let answer = edge
        .client
        .post("/ingress", "good", &json!({ "text": "hello" }));
    assert_eq!(
        (answer.status, &answer.body["number"]),
        (200, &json!(1)),
        "{answer:?}\n{}",
        edge.log()
    );
    assert!(engine.state().inspected > 0);
}

#[test]
fn edge_without_tokens_has_no_surface_with_a_bearer() {
    let engine = Engine::start();
    let edge = edge_with_containers(engine.socket(), |settings| settings);
    for path in ["/ingress", "/mcp", CRASH_ROUTE, RESTART_ROUTE] {
        assert_eq!(
            edge.client.post(path, "good", &json!({})).status,
            503,
            "{path}"
        );
    }
    assert_eq!(engine.state().started.len(), 0);
}

#[test]
fn requests_beyond_the_held_ones_are_refused() {
    let (engine, edge) = world(Behavior::Graceful);
    engine.set(|state| state.health = Health::Withheld);
    let anonymous = "GET /runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let known = "POST /ingress HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\n\
                   Connection: close\r\nContent-Length: 2\r\n\r\n{}";
    let status = |mut connection: Connection| {
        let answer = connection.read_until("}").unwrap();
        let status = answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse::<u16>().ok())
            .unwrap();
        assert_eq!(
            status == 503,
            answer.to_ascii_lowercase().contains("\r\nretry-after: "),
            "{answer}"
        );
        (status, engine.state().health)
    };
    let answers: Vec<_> = thread::scope(|scope| {
        let ask = |request| status(send(edge.client.address(), request));
        let kinds = [(anonymous, MAX_HELD_ANONYMOUS), (known, MAX_HELD)];
        let requests = kinds
            .into_iter()
            .flat_map(|(request, limit)| vec![request; limit + EXCESS]);
        let callers: Vec<_> = requests
            .map(|request| scope.spawn(move || ask(request)))
            .collect();
        // The container answers once every excess request has been refused.
        let began = Instant::now();
        while callers.iter().filter(|caller| caller.is_finished()).count() < 2 * EXCESS {
            assert!(
                began.elapsed() < TIMEOUT,
                "too few refusals\n{}",
                edge.log()
            );
            thread::sleep(POLL_INTERVAL);
        }
        engine.set(|state| state.health = Health::Normal);
        callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .collect()
    });
    let refused = answers.iter().filter(|(status, _)| *status == 503);
    assert!(
        refused
            .clone()
            .all(|(_, health)| *health == Health::Withheld),
        "{answers:?}"
    );
    assert_eq!(refused.count(), 2 * EXCESS);
    let passed = answers.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(passed, MAX_HELD + MAX_HELD_ANONYMOUS);
}
