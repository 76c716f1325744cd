//! A simulated platform: clock, alarm, container, storage, code host, and an engine that can crash.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ars_resident::daemon::{
    FailureKind, GitCredential, Job, SecretText, StepEnd, StepFailure, StepRequest,
};
use ars_resident::disk::{Parts, Sample};
use ars_resident::names::{BackupId, Resource, RuntimeId, StrictThreadKey};
use ars_resident::plan::Operation;
use ars_resident::registry::Record;
use ars_resident::wire::{EngineView, OnboardRequest, parse_body};
use ars_resident_engine::{
    Call, Engine, Host, HostError, Minted, ObjectCounts, Reply, Started, TokenUse,
};
use ars_sql::{Row, Sql, SqlError, Value};
use ars_sql_native::NativeSql;
use futures::executor::{LocalPool, LocalSpawner};
use futures::future::LocalBoxFuture;
use futures::task::LocalSpawnExt as _;
use futures::{FutureExt as _, channel::oneshot, future};
use serde_json::{Value as Json, json};

use crate::container::{Branches, Container, sha};

pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;
pub const HOUR: i64 = 60 * MINUTE;

/// A single database for all instances of an engine.
#[derive(Clone)]
pub struct SharedSql(Rc<NativeSql>);

impl Sql for SharedSql {
    type Text = String;

    fn each(
        &self,
        sql: &str,
        params: &[Value],
        row: impl FnMut(Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.0.each(sql, params, row)
    }

    fn text(&self, sql: &str, params: &[Value]) -> Result<Option<String>, SqlError> {
        self.0.text(sql, params)
    }

    fn transaction<T, E: From<SqlError>>(
        &self,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.0.transaction(body)
    }
}

/// Simulates the platform for tests.
pub struct Platform {
    pub now: i64,
    pub alarm: Option<i64>,
    timers: Vec<(i64, oneshot::Sender<()>)>,
    pub container: Option<Container>,
    containers: u32,
    pub is_image_current: bool,
    pub branches: Branches,
    pub objects: BTreeMap<BackupId, Branches>,
    /// Resource objects that are no archives.
    pub other_objects: u32,
    backups: u32,
    fenced: u64,
    /// Jobs that were cancelled.
    cancelled: Vec<Job>,
    pub released: Vec<Resource>,
    pub free_kib: u64,
    /// How the object storage moves archives.
    pub transfers: Transfers,
    /// Time without a request or an alarm after which the platform stops the container.
    pub idle_limit_ms: Option<i64>,
    touched_at: i64,
    /// Failures for the next steps with a name.
    pub failures: Vec<(&'static str, StepFailure)>,
    /// A step that takes a minute.
    pub slow_step: Option<&'static str>,
    pub mint_fails: bool,
    /// For each minted token, whether a cached token was good enough.
    pub mints: Vec<bool>,
    pub storage_fails: bool,
    /// Names of the steps that ran.
    pub steps: Vec<String>,
    /// Effects until the container dies, before or after the effect.
    pub kill_in: Option<(u32, Crash)>,
    /// Effects until the engine stops, before or after the effect.
    pub crash_in: Option<(u32, Crash)>,
    pub is_crashed: bool,
    spawner: LocalSpawner,
}

/// How the object storage moves an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfers {
    /// It transfers at once.
    Fast,
    /// It transfers a piece a minute.
    Slow {
        /// Number of pieces to send.
        pieces: u64,
    },
    /// It responds with 503.
    Fails,
    /// It answers 503 so often, and is fast then.
    Recovers {
        /// How many responses fail.
        failures: u32,
    },
    /// It sends a partial archive.
    Truncates,
    /// It answers and sends nothing.
    Hangs,
}

/// When a crash happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The effect does not happen.
    Before,
    /// The effect happens and the answer is lost.
    After,
}

/// Counts an effect. Returns the moment of a fault that is due.
fn count_down(fault: &mut Option<(u32, Crash)>) -> Option<Crash> {
    match fault {
        Some((0, _)) => fault.take().map(|(_, moment)| moment),
        Some((left, _)) => {
            *left -= 1;
            None
        }
        None => None,
    }
}

/// An engine's host.
#[derive(Clone)]
pub struct SimHost(pub Rc<RefCell<Platform>>);

impl SimHost {
    /// Counts an effect. A crash never returns.
    async fn effect<T>(&self, work: impl FnOnce(&mut Platform) -> T) -> T {
        let crash = {
            let mut platform = self.0.borrow_mut();
            platform.touched_at = platform.now;
            let crash = count_down(&mut platform.crash_in);
            platform.is_crashed |= crash.is_some();
            crash
        };
        if crash == Some(Crash::Before) {
            future::pending::<()>().await;
        }
        let kill = count_down(&mut self.0.borrow_mut().kill_in);
        if kill == Some(Crash::Before) {
            self.0.borrow_mut().container = None;
        }
        let result = work(&mut self.0.borrow_mut());
        if kill == Some(Crash::After) {
            self.0.borrow_mut().container = None;
        }
        if crash == Some(Crash::After) {
            future::pending::<()>().await;
        }
        result
    }
}

impl SimHost {
    /// Waits until a command ends. `hang` ends with the processes or the job, `sleep` after the
    /// milliseconds.
    async fn wait_for(&self, command: &str, user: &str, job: Job) -> Result<(), HostError> {
        let running = || {
            self.0
                .borrow()
                .container
                .as_ref()
                .map(|container| container.id.clone())
        };
        let started = running();
        if command == "hang" {
            let runs = |platform: &Platform| {
                let is_alive = platform
                    .container
                    .as_ref()
                    .is_some_and(|it| !it.killed.contains(user));
                is_alive && !platform.cancelled.contains(&job)
            };
            while runs(&self.0.borrow()) {
                self.sleep(100).await;
            }
        }
        if let Some(ms) = command.strip_prefix("sleep ") {
            self.sleep(ms.parse().unwrap()).await;
        }
        if running() == started {
            Ok(())
        } else {
            Err(HostError::Replaced)
        }
    }

    /// Moves an archive. Returns how a step ended that the object storage failed.
    async fn transfer(
        &self,
        request: &StepRequest,
        progress: &dyn Fn(u64),
    ) -> Option<Result<StepEnd, HostError>> {
        let is_extraction = request.step.operation.received().is_some();
        if !is_extraction && !matches!(request.step.operation, Operation::Archive { .. }) {
            return None;
        }
        let transfers = self.0.borrow().transfers;
        match transfers {
            Transfers::Fast => None,
            Transfers::Slow { pieces } => {
                for piece in 2..pieces + 2 {
                    self.sleep(MINUTE).await;
                    progress(piece);
                }
                None
            }
            Transfers::Recovers { failures: 0 } => None,
            Transfers::Recovers { failures } => {
                self.0.borrow_mut().transfers = Transfers::Recovers {
                    failures: failures - 1,
                };
                Some(Err(HostError::Failed(
                    "the object storage answered 503".to_owned(),
                )))
            }
            Transfers::Fails => Some(Err(HostError::Failed(
                "the object storage answered 503".to_owned(),
            ))),
            Transfers::Truncates if is_extraction => {
                let failure =
                    StepFailure::new(FailureKind::Corrupt, "the archive has another SHA-256");
                Some(Ok(StepEnd {
                    result: Err(failure),
                    lock_wait_ms: 0,
                    duration_ms: 1,
                }))
            }
            // The platform rejects an object that is shorter than declared.
            Transfers::Truncates => Some(Err(HostError::Failed("the stream broke off".to_owned()))),
            Transfers::Hangs => future::pending().await,
        }
    }
}

impl Host for SimHost {
    fn now(&self) -> i64 {
        self.0.borrow().now
    }

    async fn sleep(&self, ms: i64) {
        let (sender, receiver) = oneshot::channel();
        {
            let mut platform = self.0.borrow_mut();
            let at = platform.now + ms;
            platform.timers.push((at, sender));
        }
        // A timer is dropped only together with the engine.
        let _ = receiver.await;
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        let spawner = self.0.borrow().spawner.clone();
        spawner.spawn_local(task).unwrap();
    }

    async fn set_alarm(&self, at: i64) -> Result<(), HostError> {
        self.effect(|platform| platform.alarm = Some(at)).await;
        Ok(())
    }

    async fn runtime(&self) -> Option<RuntimeId> {
        self.0
            .borrow()
            .container
            .as_ref()
            .map(|container| container.id.clone())
    }

    async fn start(&self) -> Result<Started, HostError> {
        self.effect(|platform| {
            if platform.container.is_none() {
                platform.containers += 1;
                platform.container = Some(Container::new(platform.containers));
            }
            let runtime = platform.container.as_ref().unwrap().id.clone();
            Ok(Started {
                runtime,
                is_image_current: platform.is_image_current,
            })
        })
        .await
    }

    async fn stop(&self) -> Result<(), HostError> {
        self.effect(|platform| {
            let is_dirty =
                |container: &Container| container.trees.values().any(|tree| tree.is_dirty);
            assert!(
                !platform.container.as_ref().is_some_and(is_dirty),
                "unsaved work is stopped"
            );
            platform.container = None;
        })
        .await;
        Ok(())
    }

    async fn run(
        &self,
        request: StepRequest,
        progress: &dyn Fn(u64),
    ) -> Result<StepEnd, HostError> {
        let name = request.step.name.clone();
        progress(1);
        if let Operation::ExecCommand { user, command, .. } = &request.step.operation {
            self.wait_for(command.as_str(), &user.to_string(), request.job)
                .await?;
        }
        if self.0.borrow().slow_step == Some(name.as_str()) {
            self.sleep(MINUTE).await;
        }
        if let Some(end) = self.transfer(&request, progress).await {
            return end;
        }
        self.effect(|platform| {
            platform.steps.push(name.clone());
            if matches!(request.job, Job::Cycle { attempt } if attempt <= platform.fenced) {
                let failure = StepFailure::new(FailureKind::Fenced, "an older attempt");
                return Ok(StepEnd {
                    result: Err(failure),
                    lock_wait_ms: 0,
                    duration_ms: 1,
                });
            }
            let planned = platform.failures.iter().position(|(step, _)| *step == name);
            if let Some(index) = planned {
                let (_, failure) = platform.failures.remove(index);
                return Ok(StepEnd {
                    result: Err(failure),
                    lock_wait_ms: 0,
                    duration_ms: 1,
                });
            }
            let (branches, objects) = (&platform.branches, &mut platform.objects);
            let container = platform.container.as_mut().ok_or(HostError::Replaced)?;
            let result = container.perform(&request.step, &request.input, branches, objects);
            Ok(StepEnd {
                result,
                lock_wait_ms: 0,
                duration_ms: 1,
            })
        })
        .await
    }

    async fn cancel(&self, job: Job) -> Result<(), HostError> {
        self.effect(|platform| {
            platform.cancelled.push(job);
            if let Job::Cycle { attempt } = job {
                platform.fenced = platform.fenced.max(attempt);
            }
        })
        .await;
        Ok(())
    }

    async fn measure(&self, _: Vec<StrictThreadKey>) -> Result<Sample, HostError> {
        let platform = self.0.borrow();
        let parts = Parts {
            checkout: Some(1024),
            deps: Some(1024),
            mirror: Some(1024),
            ..Parts::default()
        };
        Ok(Sample::new(
            platform.now,
            40 << 20,
            platform.free_kib,
            parts,
        ))
    }

    fn origin(&self, resource: &Resource) -> String {
        format!("https://host/{}.git", resource.slug())
    }

    async fn mint(
        &self,
        _: &Resource,
        _: TokenUse,
        may_be_cached: bool,
    ) -> Result<Option<Minted>, HostError> {
        self.0.borrow_mut().mints.push(may_be_cached);
        if self.0.borrow().mint_fails {
            return Err(HostError::Failed("the code host answered 503".to_owned()));
        }
        let (origin, username) = ("https://host".to_owned(), "x-access-token".to_owned());
        let credential = GitCredential {
            origin,
            username,
            password: SecretText::new("s3cret"),
        };
        Ok(Some(Minted {
            credential,
            expires_at: Some(self.now() + 2 * HOUR),
        }))
    }

    fn new_backup(&self) -> BackupId {
        let mut platform = self.0.borrow_mut();
        platform.backups += 1;
        BackupId::parse(format!("backup-{}", platform.backups)).unwrap()
    }

    async fn delete_backups(&self, ids: &[BackupId]) -> Result<(), HostError> {
        self.effect(|platform| {
            if platform.storage_fails {
                return Err(HostError::Failed("the storage answered 503".to_owned()));
            }
            platform.objects.retain(|id, _| !ids.contains(id));
            Ok(())
        })
        .await
    }

    async fn count_objects(&self, _: &Resource) -> Result<ObjectCounts, HostError> {
        self.effect(|platform| {
            if platform.storage_fails {
                return Err(HostError::Failed("the storage answered 503".to_owned()));
            }
            let backups = u32::try_from(platform.objects.len()).unwrap();
            Ok(ObjectCounts {
                backups,
                others: platform.other_objects,
            })
        })
        .await
    }

    async fn delete_objects(&self, resource: &Resource) -> Result<ObjectCounts, HostError> {
        let counts = self.count_objects(resource).await?;
        self.effect(|platform| {
            platform.objects.clear();
            platform.other_objects = 0;
            Ok(counts)
        })
        .await
    }

    async fn release_slot(&self, resource: &Resource, _: i64) -> Result<(), HostError> {
        self.effect(|platform| platform.released.push(resource.clone()))
            .await;
        Ok(())
    }
}

/// A resident on the platform.
pub struct World {
    pub platform: Rc<RefCell<Platform>>,
    pub sql: SharedSql,
    pool: LocalPool,
    pub engine: Rc<Engine<SharedSql, SimHost>>,
}

pub fn resource() -> Resource {
    Resource::parse("repo:acme/app").unwrap()
}

pub fn record() -> Record {
    let body = json!({
        "resource": resource(), "defaultRef": "main",
        "commands": { "test": "true", "build": "make", "install": "npm ci" },
    });
    parse_body::<OnboardRequest>(&body.to_string())
        .unwrap()
        .record(0)
}

impl World {
    pub fn new() -> Self {
        let pool = LocalPool::new();
        let branches = [("main", 1), ("feature", 2)]
            .map(|(name, number)| (name.to_owned(), sha(number << 8)))
            .into();
        let platform = Rc::new(RefCell::new(Platform {
            now: 1_000_000,
            alarm: None,
            timers: Vec::new(),
            container: None,
            containers: 0,
            is_image_current: true,
            branches,
            objects: BTreeMap::new(),
            other_objects: 0,
            backups: 0,
            fenced: 0,
            cancelled: Vec::new(),
            released: Vec::new(),
            free_kib: 20 << 20,
            transfers: Transfers::Fast,
            idle_limit_ms: None,
            touched_at: 0,
            failures: Vec::new(),
            slow_step: None,
            mint_fails: false,
            mints: Vec::new(),
            storage_fails: false,
            steps: Vec::new(),
            kill_in: None,
            crash_in: None,
            is_crashed: false,
            spawner: pool.spawner(),
        }));
        let sql = SharedSql(Rc::new(NativeSql::in_memory().unwrap()));
        let engine = Engine::open(sql.clone(), SimHost(Rc::clone(&platform))).unwrap();
        Self {
            platform,
            sql,
            pool,
            engine,
        }
    }

    /// A resident that was onboarded and is warm.
    pub fn warm() -> Self {
        let mut world = Self::new();
        world.onboard();
        world.run_until(|world| world.state() == "warm");
        world
    }

    pub fn onboard(&mut self) {
        let reply = self.call(Call::Onboard {
            record: Box::new(record()),
        });
        assert_eq!(reply.status, 200, "{}", reply.body);
    }

    /// Makes a call and runs the world until it is answered.
    pub fn call(&mut self, call: Call) -> Reply {
        self.try_call(call).expect("no crash")
    }

    /// Makes a call. Returns `None` if the engine crashed.
    pub fn try_call(&mut self, call: Call) -> Option<Reply> {
        let answer = self.start(call);
        self.finish(answer)
    }

    /// Starts a call in the background.
    pub fn start(&mut self, call: Call) -> oneshot::Receiver<Reply> {
        self.start_while(call, future::pending())
    }

    /// Starts a call in the background whose caller leaves.
    pub fn start_while(
        &mut self,
        call: Call,
        left: impl Future<Output = ()> + 'static,
    ) -> oneshot::Receiver<Reply> {
        let (sender, receiver) = oneshot::channel();
        let engine = Rc::clone(&self.engine);
        let task = async move { drop(sender.send(engine.answer_while(call, left).await)) };
        self.pool.spawner().spawn_local(task).unwrap();
        self.pool.run_until_stalled();
        receiver
    }

    /// Starts a call. Its caller leaves.
    pub fn abandon(&mut self, call: Call) {
        let mut answer = self.engine.answer(call).boxed_local();
        assert!((&mut answer).now_or_never().is_none(), "the call is over");
        drop(answer);
        self.pool.run_until_stalled();
    }

    pub fn finish(&mut self, mut answer: oneshot::Receiver<Reply>) -> Option<Reply> {
        for _ in 0..20_000 {
            self.pool.run_until_stalled();
            if let Some(reply) = (&mut answer).now_or_never() {
                return Some(reply.expect("the call ended without a reply"));
            }
            if self.platform.borrow().is_crashed {
                return None;
            }
            self.tick();
        }
        panic!("the call has no reply: {:?}", self.view());
    }

    /// Advances the clock to the next timer or alarm.
    pub fn tick(&mut self) {
        let is_alarm = {
            let mut platform = self.platform.borrow_mut();
            platform.timers.retain(|(_, timer)| !timer.is_canceled());
            let timer = platform.timers.iter().map(|(at, _)| *at).min();
            let next = [timer, platform.alarm].into_iter().flatten().min();
            let Some(next) = next else {
                panic!("nothing is due")
            };
            platform.now = platform.now.max(next);
            if platform
                .idle_limit_ms
                .is_some_and(|limit| platform.now - platform.touched_at > limit)
            {
                platform.container = None;
            }
            let now = platform.now;
            let due = platform
                .timers
                .extract_if(.., |(at, _)| *at <= now)
                .collect::<Vec<_>>();
            for (_, timer) in due {
                let _ = timer.send(());
            }
            platform.alarm.take_if(|at| *at <= now).is_some()
        };
        if is_alarm {
            let engine = Rc::clone(&self.engine);
            self.pool
                .spawner()
                .spawn_local(async move { engine.alarm().await.unwrap() })
                .unwrap();
        }
        self.pool.run_until_stalled();
    }

    /// Runs until a condition holds. The engine restarts whenever it crashed.
    pub fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        for _ in 0..20_000 {
            self.pool.run_until_stalled();
            if self.platform.borrow().is_crashed {
                self.restart();
            }
            if done(self) {
                return;
            }
            self.tick();
        }
        panic!("still {}: {:?}", self.state(), self.view());
    }

    /// Runs for a time.
    pub fn run_for(&mut self, ms: i64) {
        let until = self.platform.borrow().now + ms;
        self.run_until(|world| world.platform.borrow().now >= until);
    }

    /// Drops the engine with everything in memory and opens it on the same database.
    pub fn restart(&mut self) {
        self.pool = LocalPool::new();
        {
            let mut platform = self.platform.borrow_mut();
            (platform.is_crashed, platform.spawner) = (false, self.pool.spawner());
            platform.timers.clear();
        }
        self.engine = Engine::open(self.sql.clone(), SimHost(Rc::clone(&self.platform))).unwrap();
        // The platform calls an object that has an alarm; a lost alarm is the watchdog's.
        let engine = Rc::clone(&self.engine);
        self.pool
            .spawner()
            .spawn_local(async move { drop(engine.answer(Call::Watchdog).await) })
            .unwrap();
        self.pool.run_until_stalled();
    }

    /// Replaces the container; the disk is lost.
    pub fn lose_container(&mut self) {
        self.platform.borrow_mut().container = None;
    }

    fn column(&self, name: &str) -> Json {
        let text = self
            .sql
            .text(&format!("SELECT {name} FROM resident"), &[])
            .unwrap();
        serde_json::from_str(&text.unwrap_or_else(|| "null".to_owned())).unwrap()
    }

    /// Returns the stored state machine.
    pub fn lifecycle(&self) -> Json {
        self.column("lifecycle")
    }

    pub fn state(&self) -> String {
        self.lifecycle()["stage"]["state"]
            .as_str()
            .unwrap_or("none")
            .to_owned()
    }

    /// Returns the archives that the snapshot and the dependencies name.
    pub fn named(&mut self) -> BTreeSet<BackupId> {
        let of_snapshot = self
            .view()
            .snapshot
            .into_iter()
            .flat_map(|snapshot| snapshot.backups());
        of_snapshot.chain(self.deps_archives()).collect()
    }

    /// Returns the complete dependency archives.
    pub fn deps_archives(&self) -> BTreeSet<BackupId> {
        let complete =
            "SELECT backup FROM deps_archives JOIN backups ON id = backup WHERE sha256 <> ''";
        let rows = self.sql.query(complete, &[]).unwrap();
        rows.iter()
            .map(|row| BackupId::parse(row.text(0).unwrap()).unwrap())
            .collect()
    }

    /// Returns the archives in the object storage.
    pub fn stored(&self) -> BTreeSet<BackupId> {
        self.platform.borrow().objects.keys().cloned().collect()
    }

    /// Returns how often a step with this name ran.
    pub fn count(&self, step: &str) -> usize {
        self.platform
            .borrow()
            .steps
            .iter()
            .filter(|name| *name == step)
            .count()
    }

    /// Returns who holds the pool users.
    pub fn pool(&self) -> Json {
        self.column("pool")
    }

    pub fn view(&mut self) -> EngineView {
        let reply = self.call(Call::Info);
        serde_json::from_value(reply.body).unwrap()
    }

    pub fn attach(&mut self, thread: &str, fields: Json) -> Json {
        let call = attach_call(thread, &fields);
        self.call(call).body
    }

    pub fn detach(&mut self, thread: &str, force: bool) -> Json {
        self.call(detach_call(thread, force)).body
    }

    pub fn exec(&mut self, thread: &str, command: &str) -> Json {
        let call = exec_call(thread, command);
        self.call(call).body
    }
}

pub fn detach_call(thread: &str, force: bool) -> Call {
    let body = json!({ "resource": resource(), "threadKey": thread, "force": force });
    Call::Detach {
        request: serde_json::from_value(body).unwrap(),
    }
}

pub fn attach_call(thread: &str, fields: &Json) -> Call {
    let mut body = json!({ "resource": resource(), "threadKey": thread });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    Call::Attach {
        request: serde_json::from_value(body).unwrap(),
        stale_after_s: None,
    }
}

pub fn exec_call(thread: &str, command: &str) -> Call {
    let body = json!({ "resource": resource(), "threadKey": thread, "command": command });
    Call::Exec {
        request: serde_json::from_value(body).unwrap(),
    }
}
