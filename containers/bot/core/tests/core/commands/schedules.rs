//! Schedules and their firing record.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use ars_auth::{Grants, Set};
use ars_bot_core::{
    Capabilities,
    commands::CommandDeps,
    settings::{ProposalSettings, Settings},
};
use ars_bot_ports::{Clock, Documents, Schedules, StoreError, StoreErrorKind};
use ars_bot_testkit::MemoryDocuments;
use ars_types::{RepoSlug, UnixMillis};
use ars_wire::schedules::{Firing, Outcome};
use async_trait::async_trait;
use serde_json::json;
use tokio::sync::oneshot;

use super::support::{Desk, browser, desk_at, desk_with, granted, none};
use crate::support::{MemoryHost, with_host};

/// The weekly schedule's actor.
const PROPOSER: &str = "schedule:self-improvement";
/// Monday, 5 January 1970, 14:00 UTC.
const MONDAY: UnixMillis = 396_000_000;
const WEEK: UnixMillis = 7 * 24 * 60 * 60 * 1_000;

struct Firings(Option<StoreErrorKind>);

#[async_trait]
impl Schedules for Firings {
    async fn record(&self, _firing: &Firing) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn latest(&self) -> Result<Vec<Firing>, StoreError> {
        match self.0 {
            None => Ok(Vec::new()),
            Some(kind) => Err(StoreError {
                kind,
                message: "as scripted".into(),
            }),
        }
    }
}

/// Adds a firing record.
pub fn with_schedules(capabilities: Capabilities) -> Capabilities {
    having(capabilities, None)
}

fn having(capabilities: Capabilities, failure: Option<StoreErrorKind>) -> Capabilities {
    let commands = CommandDeps {
        schedules: Some(Arc::new(Firings(failure))),
        ..capabilities.commands
    };
    Capabilities {
        commands,
        ..capabilities
    }
}

#[tokio::test]
async fn internal_schedules_are_not_listed() {
    let desk = desk_with(Vec::new(), with_schedules, |settings| settings);
    assert_eq!(
        desk.output(&browser(), "schedule.list", none()).await,
        json!({ "schedules": [] })
    );
}

#[tokio::test]
async fn outage_leaves_the_schedules() {
    let down = |capabilities| having(capabilities, Some(StoreErrorKind::Transient));
    let desk = desk_with(Vec::new(), down, |settings| settings);
    let listed = desk.output(&browser(), "schedule.list", none()).await;
    let reason = "the record of firings is not available right now";
    assert_eq!(
        listed,
        json!({ "schedules": [], "firingsUnavailable": reason })
    );
}

struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> UnixMillis {
        self.0.load(Ordering::SeqCst)
    }
}

/// An in-memory firing record.
#[derive(Default)]
struct Recorded {
    firings: Mutex<Vec<Firing>>,
    is_down: AtomicBool,
}

#[async_trait]
impl Schedules for Recorded {
    async fn record(&self, firing: &Firing) -> Result<u64, StoreError> {
        let mut firings = self.firings.lock().unwrap();
        firings.push(firing.clone());
        Ok(firings.len() as u64)
    }

    async fn latest(&self) -> Result<Vec<Firing>, StoreError> {
        if self.is_down.load(Ordering::SeqCst) {
            return Err(StoreError {
                kind: StoreErrorKind::Transient,
                message: "as scripted".into(),
            });
        }
        Ok(self
            .firings
            .lock()
            .unwrap()
            .last()
            .cloned()
            .into_iter()
            .collect())
    }
}

/// An installation with runs that share a friction cause, a second before the weekly firing.
struct Installation {
    clock: Arc<ManualClock>,
    host: Arc<MemoryHost>,
    recorded: Arc<Recorded>,
    desk: Desk,
}

/// What an installation's processes share.
#[derive(Clone, Default)]
struct Shared {
    host: Arc<MemoryHost>,
    recorded: Arc<Recorded>,
    claims: Arc<MemoryDocuments>,
}

/// Returns the installation, with these actions for the actor and this issue repository.
fn installation(actions: Option<&[&str]>, repository: Option<&str>) -> Installation {
    process(Shared::default(), actions, repository)
}

/// Returns a process in an installation.
fn process(shared: Shared, actions: Option<&[&str]>, repository: Option<&str>) -> Installation {
    let clock = Arc::new(ManualClock(AtomicI64::new(MONDAY - 1_000)));
    let Shared {
        host,
        recorded,
        claims,
    } = shared;
    let claims: Arc<dyn Documents> = claims;
    let store: Arc<dyn Schedules> = Arc::<Recorded>::clone(&recorded);
    let hosted = with_host(&host);
    let capable = |capabilities| {
        let capabilities: Capabilities = hosted(capabilities);
        let commands = CommandDeps {
            schedules: Some(store),
            ..capabilities.commands
        };
        Capabilities {
            commands,
            claims: Some(claims),
            ..capabilities
        }
    };
    let repository = repository.map(|name| RepoSlug::parse(name).unwrap());
    let grants = actions.map(|actions| {
        let grants = Grants {
            actions: Set::only(actions),
            channels: Set::All,
            ..Grants::default()
        };
        (PROPOSER.to_owned(), grants)
    });
    let set = |settings| Settings {
        proposals: ProposalSettings {
            repository,
            ..ProposalSettings::default()
        },
        grants: grants.into_iter().collect::<BTreeMap<_, _>>(),
        ..settings
    };
    let desk = desk_at(Arc::<ManualClock>::clone(&clock), Vec::new(), capable, set);
    for (run, at) in [("r1", 1_000_000), ("r2", 1_000_010)] {
        desk.runs.seed(run, at, |record| {
            record["diagnosis"]["findings"] = json!([{
                "category": "slow_tool", "severity": "high", "tool": "bash", "eventIndex": 1,
                "durationMs": 60_000, "summary": "bash took 60.0s: $ cargo test",
            }]);
        });
    }
    Installation {
        clock,
        host,
        recorded,
        desk,
    }
}

impl Installation {
    fn issues(&self) -> usize {
        self.host.issues.lock().unwrap().len()
    }

    fn firings(&self) -> Vec<Firing> {
        self.recorded.firings.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn weekly_schedule_files_issues_once() {
    let installation = installation(Some(&["friction:write"]), Some("acme/app"));
    let mut scheduler = installation.desk.core.scheduler().unwrap();
    scheduler.fire_due().await;
    assert_eq!(
        (installation.issues(), installation.firings()),
        (0, Vec::new()),
        "it is not Monday, 14:00"
    );
    for (at, issues, firings) in [
        (MONDAY + 5, 1, 1),
        (MONDAY + 60_000, 1, 1),
        (MONDAY + WEEK - 1, 1, 1),
        // The pattern has an open issue.
        (MONDAY + WEEK, 1, 2),
    ] {
        installation.clock.0.store(at, Ordering::SeqCst);
        scheduler.fire_due().await;
        // Another process fires nothing again.
        installation.desk.core.scheduler().unwrap().fire_due().await;
        assert_eq!(
            (installation.issues(), installation.firings().len()),
            (issues, firings),
            "{at}"
        );
    }
    let first = &installation.firings()[0];
    assert_eq!(
        (first.outcome, first.fired_at, &first.detail),
        (Outcome::Completed, MONDAY + 5, &None)
    );
    let listed = installation
        .desk
        .output(&browser(), "schedule.list", none())
        .await;
    let schedule = &listed["schedules"][0];
    assert_eq!(
        (
            &schedule["name"],
            &schedule["worker"],
            &schedule["command"],
            &schedule["identity"]
        ),
        (
            &json!("self-improvement"),
            &json!("bot"),
            &json!("friction propose"),
            &json!(PROPOSER)
        )
    );
    let last = installation.firings().pop().unwrap();
    assert_eq!(schedule["nextFireAt"], MONDAY + 2 * WEEK);
    assert_eq!(
        (&schedule["last"]["outcome"], &schedule["last"]["runId"]),
        (&json!("completed"), &json!(last.run_id.unwrap()))
    );
}

/// Two processes that find the firing due at the same time fire once, and file each issue once.
#[tokio::test]
async fn two_schedulers_fire_once() {
    let shared = Shared::default();
    let [one, two] =
        [(), ()].map(|()| process(shared.clone(), Some(&["friction:write"]), Some("acme/app")));
    for process in [&one, &two] {
        process.clock.0.store(MONDAY + 5, Ordering::SeqCst);
    }
    let ((began, has_begun), (go_on, may_go_on)) = (oneshot::channel(), oneshot::channel());
    *shared.host.hold.lock().unwrap() = Some((began, may_go_on));
    let mut first = one.desk.core.scheduler().unwrap();
    let first = tokio::spawn(async move { first.fire_due().await });
    has_begun.await.unwrap();
    two.desk.core.scheduler().unwrap().fire_due().await;
    assert_eq!(
        (two.issues(), two.firings().len()),
        (0, 0),
        "the first process has the firing"
    );
    // Nor does the other process file the same issues.
    let caller = granted(&["friction:write"], Set::All);
    let (code, text) = two.desk.failure(&caller, "friction.propose", none()).await;
    assert!(
        code == "conflict" && text.contains("another process files issues"),
        "{code} {text}"
    );
    go_on.send(()).unwrap();
    first.await.unwrap();
    assert_eq!((one.issues(), one.firings().len()), (1, 1));
    two.desk.output(&caller, "friction.propose", none()).await;
    assert_eq!(
        two.issues(),
        1,
        "the claim was released, and the pattern has an open issue"
    );
}

/// Another process's call that files issues, and may have died, does not use up the week's firing.
#[tokio::test]
async fn firing_waits_for_another_filing() {
    let shared = Shared::default();
    let [one, two] =
        [(), ()].map(|()| process(shared.clone(), Some(&["friction:write"]), Some("acme/app")));
    one.clock.0.store(MONDAY + 5, Ordering::SeqCst);
    let ((began, has_begun), (go_on, may_go_on)) = (oneshot::channel(), oneshot::channel());
    *shared.host.hold.lock().unwrap() = Some((began, may_go_on));
    let caller = granted(&["friction:write"], Set::All);
    let mut scheduler = one.desk.core.scheduler().unwrap();
    let refused = async {
        has_begun.await.unwrap();
        scheduler.fire_due().await;
        assert_eq!(
            (one.issues(), one.firings().len()),
            (0, 0),
            "the other call files the issues"
        );
        go_on.send(()).unwrap();
    };
    tokio::join!(
        two.desk.output(&caller, "friction.propose", none()),
        refused
    );
    scheduler.fire_due().await;
    assert_eq!((one.issues(), one.firings().len()), (1, 1));
    assert_eq!(one.firings()[0].outcome, Outcome::Completed);
}

#[tokio::test]
async fn weekly_schedule_is_off_until_configured() {
    for (actions, repository) in [
        (None, Some("acme/app")),
        (Some(&["friction:write"][..]), None),
    ] {
        let installation = installation(actions, repository);
        assert!(installation.desk.core.scheduler().is_none(), "{actions:?}");
        let listed = installation
            .desk
            .output(&browser(), "schedule.list", none())
            .await;
        assert_eq!(listed, json!({ "schedules": [] }), "{actions:?}");
    }
}

/// The schedule actor's grants come from the entry.
#[tokio::test]
async fn denied_firing_has_its_reason() {
    let installation = installation(Some(&["friction:read"]), Some("acme/app"));
    installation.clock.0.store(MONDAY, Ordering::SeqCst);
    installation.desk.core.scheduler().unwrap().fire_due().await;
    let [firing] = &installation.firings()[..] else {
        panic!("one firing")
    };
    assert_eq!(
        (firing.outcome, &firing.run_id, installation.issues()),
        (Outcome::NoRun, &None, 0)
    );
    assert!(
        firing
            .detail
            .as_ref()
            .unwrap()
            .contains("do not have permission"),
        "{firing:?}"
    );
}

/// Without the record it is not known whether another process fired.
#[tokio::test]
async fn outage_of_the_record_fires_nothing() {
    let installation = installation(Some(&["friction:write"]), Some("acme/app"));
    installation.clock.0.store(MONDAY, Ordering::SeqCst);
    installation.recorded.is_down.store(true, Ordering::SeqCst);
    let mut scheduler = installation.desk.core.scheduler().unwrap();
    scheduler.fire_due().await;
    assert_eq!(installation.issues(), 0);
    installation.recorded.is_down.store(false, Ordering::SeqCst);
    scheduler.fire_due().await;
    assert_eq!(installation.issues(), 1);
}
