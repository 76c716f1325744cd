//! Edge platform properties that the code depends on, on the real runtime (docs/platform.md).
//!
//! Uses the fixture Worker. The shipped Worker is tested in `state_worker/main.rs`.

#![expect(
    clippy::expect_used,
    reason = "what fails in a test's helper fails the test"
)]

use std::io::Read as _;
use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Answer, Client, Running, fixture, fixture_with};
use ars_workerd::{Settings, TICK_ROUTE};
use serde_json::{Value, json};
use ureq::Body;

/// Timeout for an alarm, which is set at most 5 s ahead.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// More module instances than an isolate has address space for.
const MANY_INSTANCES: usize = 200;

fn ask(client: &Client, path: &str) -> Value {
    let answer = client.post_bytes(path, "", b"");
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.body
}

#[test]
fn failed_transaction_rolls_back_with_its_error() {
    let worker = fixture();
    assert_eq!(
        ask(&worker.client, "/object/rollback"),
        json!(["on purpose", 0])
    );
    assert_eq!(
        ask(&worker.client, "/object/rollback-of-sqlite"),
        json!(["engine", 0])
    );
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
    assert_eq!(
        ask(&worker.client, "/object/search"),
        json!(["about", "passing"])
    );
}

#[test]
fn values_round_trip_and_parameters_are_doubles() {
    let worker = fixture();
    let expected = json!({ "unchanged": true, "column": "integer", "parameter": "real", "beyondRefused": true });
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
    assert_eq!(
        (answer.status, &answer.body),
        (500, &json!({ "error": "internal" })),
        "{answer:?}"
    );
}

/// Runs `fault` during requests in the object and its Worker. These and later ones must succeed.
fn spares_neighbours(worker: &Running, fault: impl FnOnce(&Client)) {
    let client = &worker.client;
    thread::scope(|scope| {
        let slow: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| client.get("/serve/slow")))
            .collect();
        while ask(client, "/object/waiting") != json!(slow.len()) {
            thread::sleep(POLL_INTERVAL);
        }
        fault(client);
        assert_eq!(client.get("/healthz").status, 200);
        for slow in slow {
            let Ok(answer) = slow.join() else {
                panic!("a request in flight panicked")
            };
            assert_eq!(
                (answer.status, &answer.body),
                (200, &json!("slow")),
                "{}",
                worker.log()
            );
        }
    });
    assert_eq!(
        ask(client, "/object/waiting"),
        json!(0),
        "the object is a new instance's"
    );
    assert_eq!(client.get("/serve/slow").status, 200);
}

/// No caller is on the last panic's stack: its future was suspended before.
#[test]
fn panic_abort_or_overflow_spares_its_neighbours() {
    let faults = [
        "/object/panic",
        "/object/abort",
        "/object/overflow",
        "/worker/panic",
        "/worker/abort",
    ];
    for path in faults.into_iter().chain(["/serve/panic"]) {
        spares_neighbours(&fixture(), |client| assert_internal(&client.get(path)));
    }
}

#[test]
fn task_panic_fails_its_caller_only() {
    spares_neighbours(&fixture(), |client| {
        assert_eq!(client.get("/serve/task-panic").body, json!("trapped"));
    });
}

/// The first fault reaches the platform's caller at once, the second in a microtask.
#[test]
fn tick_panic_fails_its_tick_only() {
    for fault in ["call", "task"] {
        let worker = fixture_with(|settings| {
            Settings {
                ticks: true,
                ..settings
            }
            .secret("TICK", fault)
        });
        spares_neighbours(&worker, |client| {
            assert_eq!(
                client.get(TICK_ROUTE).body["outcome"],
                json!("exception"),
                "{fault}"
            );
        });
    }
}

/// Objects that wait for their next call keep no retired instance in memory, or memory would run out.
#[test]
fn repeated_panics_are_each_answered() {
    let worker = fixture();
    for number in 0..MANY_INSTANCES {
        assert_eq!(
            ask(&worker.client, &format!("/object/note?idle-{number}")),
            json!(1)
        );
        assert_internal(&worker.client.get("/worker/panic"));
        assert_internal(&worker.client.get(&format!("/object/panic?idle-{number}")));
    }
    assert_eq!(
        ask(&worker.client, "/object/notes?idle-0"),
        json!(2),
        "a panic rolls nothing back"
    );
}

#[test]
fn transaction_panic_rolls_back() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
    assert_internal(
        &worker
            .client
            .post_bytes("/object/panic-in-transaction", "", b""),
    );
    assert_eq!(ask(&worker.client, "/object/note"), json!(2));
}

#[test]
fn faulty_alarms_are_retried_and_delay_no_other() {
    let worker = fixture();
    ask(&worker.client, "/object/alarm/set-faulty");
    fires(&worker.client, &["first", "panic", "fail"]);
    let log = worker.log();
    assert!(
        log.contains("the handler of the alarm fail failed"),
        "{log}"
    );
}

#[test]
fn alarm_error_keeps_the_instance() {
    let worker = fixture();
    assert_eq!(worker.client.get("/serve/slow").status, 200);
    ask(&worker.client, "/object/alarm/error");
    // The platform repeats the alarm.
    fires(&worker.client, &["first"]);
    assert!(worker.log().contains("on purpose"), "{}", worker.log());
    assert_eq!(
        ask(&worker.client, "/object/waiting"),
        json!(1),
        "its state in memory"
    );
}

#[test]
fn heartbeats_of_a_streamed_answer_arrive_one_by_one() {
    let worker = fixture();
    let (status, content_type, body) = worker.client.streamed("/serve/streamed");
    assert_eq!((status, content_type.as_str()), (200, "application/json"));
    let document = streamed(body, || drop(ask(&worker.client, "/object/stream/finish")));
    assert_eq!(document, json!({ "done": true }));
}

#[test]
fn stream_panic_ends_it_with_an_error() {
    let worker = fixture();
    spares_neighbours(&worker, |client| {
        let (_, _, body) = client.streamed("/serve/streamed");
        let document = streamed(body, || drop(ask(client, "/object/stream/panic")));
        assert_eq!(document, json!({ "error": "internal" }));
    });
}

#[test]
fn streamed_operation_learns_that_its_client_left() {
    let worker = fixture();
    let (_, _, body) = worker.client.streamed("/serve/streamed");
    // The unread rest makes the client close its connection.
    drop(body);
    let until = Instant::now() + TIMEOUT;
    while ask(&worker.client, "/object/stream/left") != json!(true) {
        assert!(Instant::now() < until, "the operation goes on");
        thread::sleep(POLL_INTERVAL);
    }
}

/// Reads heartbeats while the operation runs, lets `end` end it, and returns the document.
fn streamed(body: Body, end: impl FnOnce()) -> Value {
    let mut body = body.into_reader();
    for _ in 0..3 {
        let mut heartbeat = [0];
        body.read_exact(&mut heartbeat).expect("a heartbeat");
        assert_eq!(&heartbeat, b"\n");
    }
    end();
    serde_json::from_reader(body).expect("a document")
}
