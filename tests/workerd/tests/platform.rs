//! Properties of the edge platform on which the code depends, on the real runtime (docs/platform.md lists them).
//!
//! Uses the fixture Worker. The shipped one is tested in `state_worker/main.rs`.

use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Answer, Client, Running, fixture};
use serde_json::{Value, json};

/// Timeout for an alarm, which is set at most 5 s ahead.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Duration of a slow request.
const SLOW: Duration = Duration::from_secs(1);

fn ask(client: &Client, path: &str) -> Value {
    let answer = client.post_bytes(path, "", b"");
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.body
}

#[test]
fn a_transaction_commits_everything() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/commit"), json!(["ok", 2]));
}

#[test]
fn failed_transaction_rolls_back_with_its_error() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/rollback"), json!(["on purpose", 0]));
    assert_eq!(ask(&worker.client, "/object/rollback-of-sqlite"), json!(["engine", 0]));
    // The object still works.
    assert_eq!(ask(&worker.client, "/object/commit"), json!(["ok", 2]));
}

#[test]
fn sql_text_cannot_begin_a_transaction() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/begin"), json!("refused"));
}

#[test]
fn full_text_search_ranks_by_bm25() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/search"), json!(["about", "passing"]));
}

#[test]
fn values_round_trip_and_parameters_are_doubles() {
    let worker = fixture();
    let expected =
        json!({ "unchanged": true, "column": "integer", "parameter": "real", "beyondRefused": true });
    assert_eq!(ask(&worker.client, "/object/values"), expected);
}

/// Waits until these alarms have fired, in this order.
fn fires(client: &Client, names: &[&str]) {
    let until = Instant::now() + TIMEOUT;
    loop {
        let fired = ask(client, "/object/alarm/fired");
        if fired == json!(names) {
            return;
        }
        assert!(Instant::now() < until, "not {names:?}: {fired}");
        thread::sleep(POLL_INTERVAL);
    }
}

#[test]
fn an_alarm_wakes_the_object() {
    let worker = fixture();
    ask(&worker.client, "/object/alarm/set");
    fires(&worker.client, &["first"]);
}

/// The platform keeps one alarm for an object, so this is `Alarms::rearm` at work.
#[test]
fn named_alarms_fire_in_order() {
    let worker = fixture();
    ask(&worker.client, "/object/alarm/set-three");
    fires(&worker.client, &["first", "second", "third"]);
}

#[test]
fn alarm_survives_a_kill() {
    let mut worker = fixture();
    // Far enough ahead that it cannot fire before the kill, near enough to wait for.
    ask(&worker.client, "/object/alarm/set-ahead");
    assert_eq!(ask(&worker.client, "/object/alarm/fired"), json!([]));
    worker.kill_and_restart();
    fires(&worker.client, &["ahead"]);
}

/// Asserts the fixed answer to a fault.
#[track_caller]
fn assert_internal(answer: &Answer) {
    assert_eq!((answer.status, &answer.body), (500, &json!({ "error": "internal" })), "{answer:?}");
}

/// Runs `fault` while two requests are in flight, one in the object and one in the Worker that waits for it, and asserts
/// that both succeed, and later ones too.
fn spares_neighbours(worker: &Running, fault: impl FnOnce(&Client)) {
    let client = &worker.client;
    assert_eq!(ask(client, "/object/note"), json!(1));
    thread::scope(|scope| {
        let slow: Vec<_> = (0..3).map(|_| scope.spawn(|| client.get("/serve/slow"))).collect();
        while ask(client, "/object/waiting") != json!(slow.len()) {
            thread::sleep(POLL_INTERVAL);
        }
        fault(client);
        assert_eq!(client.get("/healthz").status, 200);
        assert_eq!(ask(client, "/object/notes"), json!(2), "a panic rolls nothing back");
        for slow in slow {
            let Ok(answer) = slow.join() else { panic!("a request in flight panicked") };
            assert_eq!((answer.status, &answer.body), (200, &json!("slow")), "{}", worker.log());
        }
    });
    assert_eq!(ask(client, "/object/note"), json!(3));
    assert_eq!(client.get("/serve/slow").status, 200);
}

#[test]
fn panic_in_an_object_spares_its_neighbours() {
    let worker = fixture();
    spares_neighbours(&worker, |client| assert_internal(&client.post_bytes("/object/panic", "", b"")));
}

#[test]
fn abort_in_an_object_spares_its_neighbours() {
    let worker = fixture();
    spares_neighbours(&worker, |client| assert_internal(&client.post_bytes("/object/abort", "", b"")));
}

#[test]
fn panic_in_a_worker_spares_its_neighbours() {
    let worker = fixture();
    spares_neighbours(&worker, |client| {
        ask(client, "/object/note");
        assert_internal(&client.get("/worker/panic"));
    });
}

#[test]
fn abort_in_a_worker_spares_its_neighbours() {
    let worker = fixture();
    spares_neighbours(&worker, |client| {
        ask(client, "/object/note");
        assert_internal(&client.get("/worker/abort"));
    });
}

/// A future of the object panics after it was suspended, so no caller is on the stack.
#[test]
fn panic_in_a_future_fails_only_its_call() {
    let worker = fixture();
    spares_neighbours(&worker, |client| {
        ask(client, "/object/note");
        assert_internal(&client.get("/serve/panic"));
    });
}

#[test]
fn object_answers_after_a_stack_overflow() {
    let worker = fixture();
    assert_internal(&worker.client.post_bytes("/object/overflow", "", b""));
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
}

#[test]
fn repeated_panics_are_each_answered() {
    let worker = fixture();
    for panics in 1..=20 {
        assert_internal(&worker.client.post_bytes("/object/panic", "", b""));
        assert_internal(&worker.client.get("/worker/panic"));
        assert_eq!(ask(&worker.client, "/object/notes"), json!(panics));
    }
}

#[test]
fn transaction_panic_rolls_back() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
    assert_internal(&worker.client.post_bytes("/object/panic-in-transaction", "", b""));
    assert_eq!(ask(&worker.client, "/object/note"), json!(2));
}

#[test]
fn alarm_panic_keeps_the_object_and_retries() {
    let worker = fixture();
    ask(&worker.client, "/object/alarm/panic");
    // Each poll calls the object that has panicked, or is about to.
    fires(&worker.client, &["first"]);
    assert!(worker.log().contains("on purpose"), "{}", worker.log());
}

#[test]
fn streamed_answer_begins_at_once_and_beats() {
    let worker = fixture();
    let began = Instant::now();
    let (status, content_type, mut body) = worker.client.streamed("/serve/streamed");
    assert_eq!((status, content_type.as_str()), (200, "application/json"));
    assert!(began.elapsed() < SLOW, "the head waited for the document");
    let body = body.read_to_string().expect("a body");
    let (beats, document) = body.split_at(body.find('{').expect("a document"));
    assert!(beats.len() > 2 && beats.bytes().all(|byte| byte == b'\n'), "{body:?}");
    assert_eq!(serde_json::from_str::<Value>(&body).expect("JSON"), json!({ "done": true }), "{document}");
}
