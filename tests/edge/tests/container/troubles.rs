//! Whatever ends the container during a run: another takes over, and there are never two.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ars_testkit::Reply;
use ars_tests_edge::{Watch, World};
use ars_wire::admin::{CRASH_ROUTE, RESTART_ROUTE};
use serde_json::{Value, json};

/// The model's last words.
const DONE: &str = "The work is done.";

/// Commit in the image that replaces the first.
const NEXT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A world with a model that never answers each run's first call.
struct Stage {
    world: World,
    silences: Arc<AtomicUsize>,
    runs: Arc<AtomicUsize>,
}

#[test]
fn run_survives_every_end_of_its_container() {
    let (silences, runs) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (counted, begun) = (Arc::clone(&silences), Arc::clone(&runs));
    let model = move |_: &Value| {
        let silent = counted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |silences| {
            (silences < begun.load(Ordering::SeqCst)).then_some(silences + 1)
        });
        if silent.is_ok() {
            Reply::silent()
        } else {
            Reply::text(DONE)
        }
    };
    let (mut world, _) = World::start(model);
    let next = world.another_image(NEXT);
    let (engine, containers) = (Arc::clone(&world.engine), world.containers.clone());
    let watch = Watch::start(Arc::clone(&engine), containers.clone());
    let mut stage = Stage {
        world,
        silences,
        runs,
    };

    stage.trouble("kill -9", |world| {
        world.engine.kill(&world.container().id, "KILL").unwrap();
    });
    stage.trouble("a crash", |world| {
        let crashing = world.admin(CRASH_ROUTE, &json!({}));
        assert_eq!(
            (crashing.status, &crashing.body["ok"]),
            (202, &json!(true)),
            "{:?}",
            crashing.body
        );
        assert!(crashing.body["generation"].is_string() && crashing.body["pid"].is_number());
    });
    stage.trouble("a restart", |world| {
        let refused = world.admin(RESTART_ROUTE, &json!({}));
        assert_eq!(
            (refused.status, &refused.body["refused"]),
            (409, &json!(true)),
            "{:?}",
            refused.body
        );
        let forced = world.admin(RESTART_ROUTE, &json!({ "force": true }));
        assert_eq!(
            (forced.status, &forced.body["forced"]),
            (202, &json!(true)),
            "{:?}",
            forced.body
        );
        // A look for runs to take over counts while it lasts.
        assert!(
            forced.body["inFlight"].as_u64() >= Some(1),
            "{:?}",
            forced.body
        );
    });
    let replaced = stage.trouble("a new image", |world| world.deploy(&next));
    assert_eq!(replaced["build"]["commit"], NEXT, "{replaced}");

    let seen = watch.seen();
    assert_eq!(seen.most, 1, "{seen:?}");
    // The first, and another after each trouble.
    assert_eq!(seen.ids.len(), 5, "{seen:?}");
    assert!(seen.looks > 50, "{seen:?}");

    drop((watch, stage));
    assert_eq!(
        engine.containers_named(&containers).unwrap(),
        [],
        "its world is gone"
    );
}

impl Stage {
    /// Begins a run, makes trouble and waits until it ends; returns the next bot's health.
    fn trouble(&mut self, what: &str, make: impl FnOnce(&mut World)) -> Value {
        println!("{what}");
        let runs = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let asked = self
            .world
            .ask(&json!({ "text": "do the work", "thread": what, "async": true }));
        assert_eq!(asked.status, 202, "{what}: {:?}", asked.body);
        let run = asked.body["runId"].as_str().unwrap().to_owned();
        self.world.until("the run is live", |world| {
            world
                .live()
                .iter()
                .any(|live| live["runId"] == run.as_str())
        });
        let silences = Arc::clone(&self.silences);
        self.world.until("the model is asked", |_| {
            silences.load(Ordering::SeqCst) == runs
        });
        let before = self.world.healthy("the run is in flight", |health| {
            health["inFlight"] == json!(1)
        });
        make(&mut self.world);
        // Before the next bot asks what was left: it asks at startup, and then only every 30
        // seconds.
        self.world.shorten_leases();
        let after = self.world.started_after(&before);
        self.world.shorten_leases();
        // As each minute's tick does, which starts a bot that has ended.
        self.world.until("no run is live", |world| {
            world.tick();
            world.live().is_empty()
        });
        let records = self.world.records();
        let of_run: Vec<_> = records
            .iter()
            .filter(|record| record["id"] == run.as_str())
            .collect();
        let [record] = of_run.as_slice() else {
            panic!("{what}: {} records of one run", of_run.len())
        };
        completed(what, record);
        println!("{what}: {} -> {}", before["startedAt"], after["startedAt"]);
        assert_ne!(before["build"]["commit"], NEXT, "{what}");
        after
    }
}

/// Checks the record of a run that went on to its end, with every event. All do: the run's
/// conversation was stored before the model was called (`shared/agent/src/resume/decide.rs`).
fn completed(what: &str, record: &Value) {
    let events = record["events"].as_array().unwrap();
    let seqs: Vec<_> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!(
        seqs,
        (1..=events.len() as u64).collect::<Vec<_>>(),
        "{what}"
    );
    assert_eq!(record["status"], "completed", "{what}: {events:?}");
    let answers = events
        .iter()
        .filter(|event| event["type"] == "answer")
        .count();
    assert_eq!(answers, 1, "{what}: {events:?}");
}
