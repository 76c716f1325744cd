//! The live run ledger, whichever store it is in.

use ars_bot_ports::{Claim, FlushBatch, FlushResponse, Owned, Stop, StoreError};
use ars_events::{Actor, ActorKind};
use ars_types::StopMode;
use ars_wire::{
    Moment,
    idempotency::{FirstUse, IdempotencyKey},
    ledger::{Beat, Call, Card, Followup, Holder, LEASE_MS, NewRun, Owner, Phase, StepRecord},
    transcript::{Part, Transcript},
};
use serde_json::{Map, Value, json, value::RawValue};

use super::{Fixture, generation, owner, run};

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn events(events: &[Value]) -> Vec<Box<RawValue>> {
    events
        .iter()
        .map(|event| RawValue::from_string(event.to_string()).unwrap())
        .collect()
}

fn new_run(fixture: &Fixture, id: &str, thread: &str, name: &str) -> NewRun {
    NewRun {
        run_id: run(id),
        thread_key: thread.into(),
        generation: generation(name),
        lease_ms: LEASE_MS,
        started_at: Moment::new(fixture.now as f64 - 0.25).unwrap(),
        meta: object(json!({ "agent": "coding", "channelId": "C1", "later": [1] })),
        card: Some(Card {
            channel: "C1".into(),
            ts: "1.2".into(),
        }),
        system: "Be brief. 🦀".into(),
        tools: vec![json!({ "name": "bash" })],
        state: None,
        idempotency: None,
    }
}

/// A live run `r1` on the thread `t1`, owned by `g1`.
async fn live(fixture: &Fixture) -> Owner {
    assert_eq!(
        fixture
            .ledger
            .claim(&new_run(fixture, "r1", "t1", "g1"))
            .await
            .unwrap(),
        Claim::Granted
    );
    owner("r1", "g1")
}

fn step(step: u64, inbox_consumed_seq: u64) -> StepRecord {
    let in_flight = vec![Call {
        call_id: "c1".into(),
        tool: "bash".into(),
    }];
    let extra = object(json!({ "later": true }));
    StepRecord {
        step,
        seq: 7,
        in_flight,
        inbox_consumed_seq,
        remaining_ms: 5000,
        extra,
        ..StepRecord::default()
    }
}

pub async fn second_claim_names_the_holder(fixture: Fixture) {
    live(&fixture).await;
    let started_at = Moment::new(fixture.now as f64 - 0.25).unwrap();
    let holder = Holder {
        run_id: run("r1"),
        agent: Some("coding".into()),
        started_at,
    };
    for (id, name) in [("r2", "g1"), ("r1", "g2")] {
        let claim = fixture
            .ledger
            .claim(&new_run(&fixture, id, "t1", name))
            .await
            .unwrap();
        assert_eq!(claim, Claim::ThreadLive(holder.clone()), "{id} {name}");
    }
    let mut nameless = new_run(&fixture, "r3", "t3", "g1");
    nameless.meta.remove("agent");
    fixture.ledger.claim(&nameless).await.unwrap();
    let claim = fixture
        .ledger
        .claim(&new_run(&fixture, "r4", "t3", "g1"))
        .await
        .unwrap();
    assert_eq!(
        claim,
        Claim::ThreadLive(Holder {
            run_id: run("r3"),
            agent: None,
            started_at
        })
    );
}

pub async fn claim_stores_its_idempotency_key(fixture: Fixture) {
    let key = |subject: &str| IdempotencyKey {
        subject: subject.into(),
        key: "k~!\"1".into(),
        fingerprint: "a1".repeat(32),
    };
    let keyed = |id: &str, thread: &str, subject: &str| NewRun {
        idempotency: Some(key(subject)),
        ..new_run(&fixture, id, thread, "g1")
    };
    let first = FirstUse {
        run_id: run("r1"),
        fingerprint: "a1".repeat(32),
    };
    assert_eq!(fixture.ledger.first_use(&key("ann")).await.unwrap(), None);
    for _ in 0..2 {
        assert_eq!(
            fixture
                .ledger
                .claim(&keyed("r1", "t1", "ann"))
                .await
                .unwrap(),
            Claim::Granted
        );
    }
    assert_eq!(
        fixture.ledger.first_use(&key("ann")).await.unwrap(),
        Some(first.clone())
    );
    // The key counts before the thread, and it outlasts the run.
    for thread in ["t1", "t2"] {
        let claim = fixture
            .ledger
            .claim(&keyed("r2", thread, "ann"))
            .await
            .unwrap();
        assert_eq!(claim, Claim::Repeated(first.clone()), "{thread}");
    }
    fixture
        .ledger
        .finish(&owner("r1", "g1"), &fixture.record("r1"))
        .await
        .unwrap();
    assert_eq!(
        fixture
            .ledger
            .claim(&keyed("r2", "t1", "ann"))
            .await
            .unwrap(),
        Claim::Repeated(first)
    );
    assert_eq!(
        fixture
            .ledger
            .claim(&keyed("r3", "t1", "bob"))
            .await
            .unwrap(),
        Claim::Granted
    );
    assert_eq!(fixture.ledger.live().await.unwrap().len(), 1);
}

pub async fn live_row_equals_the_claim(fixture: Fixture) {
    let mut later = new_run(&fixture, "r2", "t2", "g1");
    later.started_at = Moment::from(fixture.now + 1);
    later.card = None;
    later.state = Some(object(json!({ "plan": [] })));
    fixture.ledger.claim(&later).await.unwrap();
    let claimed = new_run(&fixture, "r1", "t1", "g1");
    fixture.ledger.claim(&claimed).await.unwrap();
    let rows = fixture.ledger.live().await.unwrap();
    let [first, second] = &rows[..] else {
        panic!("{rows:?}")
    };
    assert_eq!(
        (&first.run_id, &first.thread_key, &first.owner_gen),
        (&run("r1"), &claimed.thread_key, &generation("g1"))
    );
    assert_eq!(
        (first.started_at, first.phase, first.stop),
        (claimed.started_at, Phase::Live, None)
    );
    assert_eq!((&first.meta, &first.card), (&claimed.meta, &claimed.card));
    assert_eq!(
        (&first.system, &first.tools, first.state.len()),
        (&claimed.system, &claimed.tools, 0)
    );
    assert!(first.lease_until >= Moment::from(fixture.now + i64::from(LEASE_MS)));
    assert_eq!(
        (&second.run_id, &second.card, &second.state),
        (&run("r2"), &None, &later.state.unwrap())
    );
}

/// Returns the outcome of every owner write that does not end the run, without the content.
async fn owner_writes(fixture: &Fixture, owner: &Owner) -> Vec<Result<Owned, StoreError>> {
    let ledger = &fixture.ledger;
    vec![
        ledger.step(owner, &step(1, 0)).await,
        ledger
            .heartbeat(owner, LEASE_MS)
            .await
            .map(|beat| beat.map(drop)),
        ledger
            .append(owner, &events(&[json!({ "seq": 1, "type": "input" })]))
            .await,
        ledger.append(owner, &[]).await,
        ledger.state(owner, &object(json!({ "a": 1 }))).await,
        ledger.finishing(owner).await,
    ]
}

pub async fn only_the_owner_writes(fixture: Fixture) {
    let mine = live(&fixture).await;
    let (row, events) = (
        fixture.ledger.live().await.unwrap(),
        fixture.ledger.live_events(&run("r1"), 0).await.unwrap(),
    );
    let stranger = owner("r1", "g2");
    for outcome in owner_writes(&fixture, &stranger).await {
        assert_eq!(outcome.unwrap(), Owned::Fenced);
    }
    let finish = fixture
        .ledger
        .finish(&stranger, &fixture.record("r1"))
        .await
        .unwrap();
    assert_eq!(finish, Owned::Fenced);
    assert_eq!(
        fixture.ledger.live().await.unwrap(),
        row,
        "a fenced writer changes nothing"
    );
    assert_eq!(
        fixture.ledger.live_events(&run("r1"), 0).await.unwrap(),
        events
    );
    assert_eq!(fixture.runs.get(&run("r1")).await.unwrap(), None);
    for outcome in owner_writes(&fixture, &mine).await {
        assert_eq!(outcome.unwrap(), Owned::Done(()));
    }
    assert_eq!(
        fixture.ledger.live().await.unwrap()[0].state,
        object(json!({ "a": 1 }))
    );
    let appended = json!({ "seq": 1, "type": "input" });
    assert_eq!(
        fixture.ledger.live_events(&run("r1"), 0).await.unwrap(),
        [appended]
    );
}

pub async fn unknown_run_is_no_error(fixture: Fixture) {
    for outcome in owner_writes(&fixture, &owner("no", "g1")).await {
        assert_eq!(outcome.unwrap(), Owned::UnknownRun);
    }
    let finish = fixture
        .ledger
        .finish(&owner("no", "g1"), &fixture.record("no"))
        .await
        .unwrap();
    assert_eq!(finish, Owned::UnknownRun);
    assert_eq!(
        fixture
            .ledger
            .stop(&run("no"), StopMode::Soft, None)
            .await
            .unwrap(),
        Stop::NotLive
    );
    assert_eq!(
        fixture.ledger.inbox(&run("no"), &Map::new()).await.unwrap(),
        None
    );
    assert_eq!(
        fixture
            .ledger
            .handoff(&generation("g1"), &[run("no")])
            .await
            .unwrap(),
        []
    );
    assert_eq!(
        fixture.ledger.live_events(&run("no"), 0).await.unwrap(),
        Vec::<Value>::new()
    );
    assert_eq!(fixture.ledger.live().await.unwrap(), []);
    assert_eq!(
        fixture
            .ledger
            .reclaim(&generation("g2"), LEASE_MS, None, &[])
            .await
            .unwrap(),
        []
    );
}

pub async fn heartbeat_returns_the_stop(fixture: Fixture) {
    let mine = live(&fixture).await;
    let beat = |stop, phase| {
        Owned::Done(Beat {
            stop,
            phase,
            stop_actor: None,
        })
    };
    assert_eq!(
        fixture.ledger.heartbeat(&mine, LEASE_MS).await.unwrap(),
        beat(None, Phase::Live)
    );
    for mode in [StopMode::Soft, StopMode::Hard] {
        let asked = fixture.ledger.stop(&run("r1"), mode, None).await.unwrap();
        assert_eq!(asked, Stop::Recorded { owner_live: true });
        let heard = fixture.ledger.heartbeat(&mine, LEASE_MS).await.unwrap();
        assert_eq!(heard, beat(Some(mode), Phase::Live));
    }
    fixture.ledger.finishing(&mine).await.unwrap();
    let heard = fixture.ledger.heartbeat(&mine, LEASE_MS).await.unwrap();
    assert_eq!(heard, beat(Some(StopMode::Hard), Phase::Finishing));
}

fn news(id: &str, events: Vec<Box<RawValue>>, inbox_after: u64) -> FlushBatch {
    FlushBatch {
        run: run(id),
        events,
        inbox_after,
    }
}

pub async fn flush_answers_each_run(fixture: Fixture) {
    live(&fixture).await;
    for (id, thread, name) in [("r2", "t2", "g2"), ("r3", "t3", "g1")] {
        fixture
            .ledger
            .claim(&new_run(&fixture, id, thread, name))
            .await
            .unwrap();
    }
    for (text, seq) in [("one", 1), ("two", 2)] {
        let message = object(json!({ "text": text }));
        assert_eq!(
            fixture.ledger.inbox(&run("r1"), &message).await.unwrap(),
            Some(seq)
        );
    }
    let actor = Actor::new(ActorKind::Access, "access:ops");
    fixture
        .ledger
        .stop(&run("r3"), StopMode::Hard, Some(&actor))
        .await
        .unwrap();
    let event = |text: &str| json!({ "type": "text", "seq": 1, "text": text });
    let said = |id| news(id, events(&[event(id)]), 1);
    let runs = ["r2", "r1", "no", "r3"].map(said);
    let two = Followup {
        seq: 2,
        message: object(json!({ "text": "two" })),
    };
    let told = [
        Owned::Fenced,
        Owned::Done(FlushResponse {
            inbox: vec![two],
            ..FlushResponse::default()
        }),
        Owned::UnknownRun,
        Owned::Done(FlushResponse {
            stop: Some(StopMode::Hard),
            stop_actor: Some(actor),
            inbox: Vec::new(),
        }),
    ];
    let hour = 3_600_000;
    for lease_ms in [None, Some(hour)] {
        assert_eq!(
            fixture
                .ledger
                .flush(&generation("g1"), lease_ms, &runs)
                .await
                .unwrap(),
            told
        );
        let until = Moment::from(fixture.now + i64::from(hour));
        let extended: Vec<_> = fixture
            .ledger
            .live()
            .await
            .unwrap()
            .iter()
            .map(|row| row.lease_until >= until)
            .collect();
        let expected = lease_ms.is_some();
        assert_eq!(extended, [expected, false, expected], "with {lease_ms:?}");
    }
    for (id, kept) in [
        ("r1", vec![event("r1")]),
        ("r2", vec![]),
        ("r3", vec![event("r3")]),
    ] {
        assert_eq!(
            fixture.ledger.live_events(&run(id), 0).await.unwrap(),
            kept,
            "{id}"
        );
    }
}

pub async fn finish_stores_the_record_and_frees_the_thread(fixture: Fixture) {
    let mine = live(&fixture).await;
    fixture.transcripts.set_owner(&mine).await.unwrap();
    let part = Part {
        idx: 0,
        part: 0,
        json: "{}".into(),
    };
    fixture
        .transcripts
        .write(&mine, std::slice::from_ref(&part), &[])
        .await
        .unwrap();
    fixture
        .ledger
        .append(&mine, &events(&[json!({ "type": "text", "seq": 9 })]))
        .await
        .unwrap();
    let record = fixture.record("r1");
    let finished = fixture.ledger.finish(&mine, &record).await.unwrap();
    assert!(
        matches!(finished, Owned::Done(stored) if stored.stored),
        "{finished:?}"
    );
    assert_eq!(
        fixture.runs.get(&run("r1")).await.unwrap(),
        Some(record.clone()),
        "its events are the record's"
    );
    assert_eq!(fixture.ledger.live().await.unwrap(), []);
    assert_eq!(
        fixture.transcripts.read(&run("r1")).await.unwrap(),
        Transcript::default()
    );
    assert_eq!(
        fixture
            .transcripts
            .write(&mine, &[part], &[])
            .await
            .unwrap(),
        Owned::UnknownRun
    );
    assert_eq!(
        fixture.ledger.finish(&mine, &record).await.unwrap(),
        Owned::UnknownRun
    );
    assert_eq!(
        fixture
            .ledger
            .claim(&new_run(&fixture, "r2", "t1", "g1"))
            .await
            .unwrap(),
        Claim::Granted
    );
}

pub async fn handoff_is_reclaimed_with_its_state(fixture: Fixture) {
    let old = live(&fixture).await;
    fixture.transcripts.set_owner(&old).await.unwrap();
    for text in ["one", "two", "three"] {
        fixture
            .ledger
            .inbox(&run("r1"), &object(json!({ "text": text })))
            .await
            .unwrap();
    }
    for record in [step(0, 0), step(2, 1), step(1, 0)] {
        fixture.ledger.step(&old, &record).await.unwrap();
    }
    fixture
        .ledger
        .stop(&run("r1"), StopMode::Soft, None)
        .await
        .unwrap();
    let marked = fixture
        .ledger
        .handoff(&generation("g1"), &[run("no"), run("r1")])
        .await
        .unwrap();
    assert_eq!(marked, [run("r1")]);

    let taken = fixture
        .ledger
        .reclaim(&generation("g2"), LEASE_MS, None, &[])
        .await
        .unwrap();
    let [taken] = &taken[..] else {
        panic!("{taken:?}")
    };
    assert_eq!(
        (taken.row.run_id.as_str(), taken.row.owner_gen.as_str()),
        ("r1", "g2")
    );
    assert_eq!(
        (taken.row.phase, taken.reclaimed_from),
        (Phase::Live, Phase::Handoff)
    );
    assert_eq!(
        (taken.row.stop, &taken.last_step),
        (Some(StopMode::Soft), &Some(step(2, 1)))
    );
    let inbox: Vec<_> = taken
        .inbox
        .iter()
        .map(|left| (left.seq, &left.message["text"]))
        .collect();
    assert_eq!(inbox, [(2, &json!("two")), (3, &json!("three"))]);
    assert_eq!(taken.jobs, []);

    let new = owner("r1", "g2");
    assert_eq!(
        fixture.transcripts.write(&new, &[], &[]).await.unwrap(),
        Owned::Fenced
    );
    fixture.transcripts.set_owner(&new).await.unwrap();
    assert_eq!(
        fixture.ledger.heartbeat(&old, LEASE_MS).await.unwrap(),
        Owned::Fenced
    );
    assert_eq!(
        fixture.transcripts.write(&old, &[], &[]).await.unwrap(),
        Owned::Fenced
    );
    assert_eq!(
        fixture.transcripts.write(&new, &[], &[]).await.unwrap(),
        Owned::Done(())
    );
}

pub async fn expired_lease_is_reclaimed_unless_excepted(fixture: Fixture) {
    live(&fixture).await;
    let lapsed = Some(Moment::from(fixture.now + 10 * i64::from(LEASE_MS)));
    let at_work = [run("no"), run("r1")];
    let asked = [
        ("g2", None, &[][..], 0),
        ("g1", lapsed, &[], 0),
        ("g2", lapsed, &at_work, 0),
        ("g2", lapsed, &at_work[..1], 1),
        ("g2", lapsed, &[], 0),
    ];
    for (name, now, except, taken) in asked {
        let runs = fixture
            .ledger
            .reclaim(&generation(name), LEASE_MS, now, except)
            .await
            .unwrap();
        assert_eq!(runs.len(), taken, "{name} at {now:?}");
        assert!(
            runs.iter()
                .all(|run| run.reclaimed_from == Phase::Live && run.last_step.is_none())
        );
    }
}
