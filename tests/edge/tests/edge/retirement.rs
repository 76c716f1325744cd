//! A panic while the object owns a container: there is never a second container. The module's next
//! instance owns it then. The fixture Worker has the edge's object and can panic on purpose.

use std::thread;

use ars_tests_workerd::{Running, fixture_with_containers};
use serde_json::json;

use crate::engine::{Behavior, Health};
use crate::lifecycle::{number, request_until, restart, world_of};

fn panic(edge: &Running) {
    assert_eq!(edge.client.get("/worker/panic").status, 500);
}

#[test]
fn container_outlives_a_panic() {
    let (engine, edge) = world_of(Behavior::Graceful, fixture_with_containers);
    assert_eq!(number(&edge), json!(1));
    panic(&edge);
    assert_eq!(number(&edge), json!(1));
    assert_eq!(engine.state().started.len(), 1);
    engine.end(137);
    request_until(&edge, "the next bot", |answer| {
        answer.body["number"] == json!(2)
    });
}

#[test]
fn held_request_moves_to_the_next_instance() {
    let (engine, edge) = world_of(Behavior::Graceful, fixture_with_containers);
    engine.set(|state| state.health = Health::Withheld);
    thread::scope(|scope| {
        let held = scope.spawn(|| number(&edge));
        engine.until("a probe", |state| state.probed > 0);
        panic(&edge);
        engine.until("a probe of the next instance", |state| state.probed > 1);
        engine.set(|state| state.health = Health::Normal);
        assert_eq!(held.join().unwrap(), json!(1));
    });
    assert_eq!(engine.state().started.len(), 1);
}

/// No request wakes the next instance: the retired instance hands the event over.
#[test]
fn restart_continues_after_a_panic() {
    let (engine, edge) = world_of(Behavior::IgnoresSignals, fixture_with_containers);
    assert_eq!(number(&edge), json!(1));
    assert_eq!(restart(&edge, &json!({})).status, 202);
    engine.until("the signal", |state| state.signals == ["SIGTERM"]);
    panic(&edge);
    engine.end(0);
    engine.until("the next container", |state| state.started.len() == 2);
}

#[test]
fn retired_instance_begins_no_restart() {
    let (engine, edge) = world_of(Behavior::Graceful, fixture_with_containers);
    assert_eq!(number(&edge), json!(1));
    engine.set(|state| state.withholds_permission = true);
    let answer = thread::scope(|scope| {
        let answer = scope.spawn(|| restart(&edge, &json!({})));
        engine.until("the permission request", |state| {
            state.permission_requests > 0
        });
        panic(&edge);
        engine.set(|state| state.withholds_permission = false);
        answer.join().unwrap()
    });
    assert_eq!(
        (answer.status, answer.retry_after),
        (503, Some(2)),
        "{answer:?}"
    );
    assert_eq!(engine.state().signals, Vec::<String>::new());
    assert_eq!(restart(&edge, &json!({})).status, 202, "the next instance");
}
