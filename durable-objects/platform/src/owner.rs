//! A Durable Object's container: carries out the actions from `ars_container::lifecycle`.
//!
//! The object gives the policy: port, probe, version, environment and limits. The lifecycle lies in
//! the object's storage after every step, so an eviction loses no more than a pending probe.
//!
//! A retired instance takes no step. It hands its events over: the next instance wakes by an alarm,
//! looks at the container and observes it from then on.
//!
//! Not here: the decisions (`ars_container`), the requests that pass (`Upstream`).

use std::{cell::Cell, rc::Rc};

use ars_container::{
    Caller, HeldRequests,
    failure::{exit_code, is_unreachable},
    lifecycle::{Action, Input, Lifecycle, Limits, RETRY_AFTER_S, Verdict},
};
use js_sys::{
    Array, Object, Reflect,
    futures::{JsFuture, spawn_local},
};
use wasm_bindgen::JsValue;
use worker::{console_debug, console_error, console_warn};

use crate::{
    Changes, ContainerPort, Probe, Probed, Upstream, call::start_task, clock::now, clock::sleep,
    is_retired, is_timeout, named_alarms, raw, raw::describe,
};

/// The lifecycle's storage key.
const LIFECYCLE: &str = "lifecycle";
/// The lifecycle alarm's name.
pub const LIFECYCLE_ALARM: &str = "lifecycle";
/// Milliseconds between probes after a monitor failed: an ended container has closed the port by
/// then.
const LOST_PROBE_MS: f64 = 1_000.0;
/// Failed probes in a row after which such a container is taken to have ended.
const LOST_PROBES: u32 = 5;
/// Timeout for a probe in milliseconds.
const PROBE_TIMEOUT_MS: f64 = 5_000.0;
/// Maximum probe response in bytes.
const PROBE_BYTES: usize = 64 * 1024;
const SIGTERM: i32 = 15;

/// What the owning object decides about the container.
pub trait ContainerPolicy: 'static {
    /// The server's port inside the container.
    const PORT: u16;
    /// The path that answers 200 once the server can take requests.
    const PROBE_PATH: &'static str;
    /// Timeouts for the lifecycle.
    const LIMITS: Limits;

    /// Returns the version for a container that starts now. A running container with another
    /// version is replaced.
    fn version(&self) -> String;

    /// Returns the environment for a container that starts now.
    fn environment(&self) -> Vec<(String, String)>;
}

/// Whether a request may pass to the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The request may pass.
    Pass,
    /// It is refused, with `Retry-After` in seconds.
    Refuse(u32),
    /// Another module instance has the container now, and decides.
    Retired,
}

/// Owns a single object's container.
pub struct ContainerOwner<P>(Rc<Owned<P>>);

struct Owned<P> {
    context: raw::ObjectContext,
    container: raw::Container,
    upstream: Upstream,
    policy: P,
    /// Empty until the first call, and while a step has it: a step that panicked is followed by a wake-up.
    lifecycle: Cell<Option<Lifecycle>>,
    stored: Cell<Option<String>>,
    changes: Rc<Changes>,
    held: HeldRequests,
}

impl<P: ContainerPolicy> ContainerOwner<P> {
    /// Returns the owner for the object's container, or `None` for an object without a container.
    pub fn new(context: raw::ObjectContext, policy: P) -> Option<Self> {
        let container = context.container()?;
        let port = ContainerPort {
            container: container.clone(),
            port: P::PORT,
        };
        Some(Self(Rc::new(Owned {
            context,
            container,
            upstream: Upstream::Port(port),
            policy,
            lifecycle: Cell::new(None),
            stored: Cell::new(None),
            changes: Changes::new(),
            held: HeldRequests::default(),
        })))
    }

    /// Returns the server in the container.
    pub fn upstream(&self) -> &Upstream {
        &self.0.upstream
    }

    /// Starts the container if needed and waits until it can take a request. Refuses further
    /// requests by such callers while their maximum waits.
    pub async fn admit(&self, caller: Caller) -> Admission {
        let mut place = None;
        loop {
            if is_retired() {
                return Admission::Retired;
            }
            match self.0.want() {
                Verdict::Pass => return Admission::Pass,
                Verdict::Refuse { retry_after } => return Admission::Refuse(retry_after),
                Verdict::Hold => {
                    place = place.or_else(|| self.0.held.hold(caller));
                    if place.is_none() {
                        return Admission::Refuse(RETRY_AFTER_S);
                    }
                    self.0.changes.next().await;
                }
            }
        }
    }

    /// Returns whether a container runs, as far as the lifecycle knows.
    /// `true` in a retired instance: [`Self::restart`] then refuses.
    pub fn is_running(&self) -> bool {
        is_retired()
            || self
                .0
                .with(|lifecycle| (lifecycle.is_running(), Vec::new()))
    }

    /// Begins a restart. `force` ends a drain that is under way. Returns `false` in a retired instance.
    pub fn restart(&self, force: bool) -> bool {
        if is_retired() {
            return false;
        }
        self.0.step(Input::Restart { force });
        true
    }

    /// Handles the lifecycle's alarm.
    pub fn alarm(&self) {
        self.0.step(Input::AlarmFired);
    }
}

impl<P: ContainerPolicy> Owned<P> {
    fn want(self: &Rc<Self>) -> Verdict {
        self.with(|lifecycle| {
            let actions = lifecycle.step(Input::Wanted, now());
            (lifecycle.verdict(now()), actions)
        })
    }

    /// Reports a lifecycle event.
    fn step(self: &Rc<Self>, input: Input) {
        if self.is_handed_over() {
            return;
        }
        self.with(|lifecycle| ((), lifecycle.step(input, now())));
        self.changes.notify();
    }

    /// Returns whether the instance is retired. The next instance then handles the lifecycle's
    /// alarm at once, and sets a later alarm again if it is not due yet.
    fn is_handed_over(&self) -> bool {
        if is_retired() {
            self.set_alarm(now());
        }
        is_retired()
    }

    fn set_alarm(&self, at: i64) {
        let set = named_alarms(self.context.storage());
        if let Err(error) = set.and_then(|alarms| alarms.set(LIFECYCLE_ALARM, at)) {
            console_error!("fault: the lifecycle's alarm was not set: {error}");
        }
    }

    /// Runs a single lifecycle step, stores the result and carries out the actions.
    fn with<T>(self: &Rc<Self>, step: impl FnOnce(&mut Lifecycle) -> (T, Vec<Action>)) -> T {
        let mut actions = Vec::new();
        let mut lifecycle = self.lifecycle.take().unwrap_or_else(|| {
            let (lifecycle, first) = self.wake();
            actions = first;
            lifecycle
        });
        let (result, more) = step(&mut lifecycle);
        actions.extend(more);
        self.store(lifecycle.stored());
        self.lifecycle.set(Some(lifecycle));
        for action in actions {
            self.perform(action);
        }
        result
    }

    fn wake(&self) -> (Lifecycle, Vec<Action>) {
        let stored = self
            .context
            .storage()
            .kv()
            .get(LIFECYCLE)
            .ok()
            .and_then(|stored| stored.as_string());
        let mut lifecycle =
            Lifecycle::restore(stored.as_deref(), &self.policy.version(), P::LIMITS);
        let actions = lifecycle.step(
            Input::Woke {
                running: self.container.running(),
            },
            now(),
        );
        self.stored.set(stored);
        (lifecycle, actions)
    }

    /// Writes the lifecycle when it changed.
    /// The platform holds back every answer until the write is on disk.
    fn store(&self, text: String) {
        let stored = self.stored.take();
        if stored.as_ref() != Some(&text)
            && let Err(thrown) = self
                .context
                .storage()
                .kv()
                .put(LIFECYCLE, &JsValue::from_str(&text))
        {
            console_error!("fault: the lifecycle was not stored: {}", describe(&thrown));
        }
        self.stored.set(Some(text));
    }

    fn perform(self: &Rc<Self>, action: Action) {
        let this = Rc::clone(self);
        match action {
            Action::Start { start } => self.start(start),
            Action::Monitor { start } => self.in_background(async move { this.watch(start).await }),
            Action::Probe { start, after } => {
                self.in_background(async move { this.look(start, after).await });
            }
            Action::Signal => {
                if let Err(thrown) = self.container.signal(SIGTERM) {
                    console_warn!("SIGTERM could not be sent: {}", describe(&thrown));
                    self.in_background(async move { this.abort_if_lost().await });
                }
            }
            Action::Destroy => self.in_background(async move { this.destroy().await }),
            Action::SetAlarm { at } => self.set_alarm(at),
        }
    }

    /// Keeps the object in memory until the task ends.
    fn in_background(&self, task: impl Future<Output = ()> + 'static) {
        self.context.wait_until(&start_task(task));
    }

    fn start(self: &Rc<Self>, start: u32) {
        let Err(thrown) = self.container.start(&options(self.policy.environment())) else {
            return;
        };
        console_error!(
            "fault: the container was not started: {}",
            describe(&thrown)
        );
        // A container that runs already cannot be started, and has not ended either. A separate
        // task reports it, because this step is not complete.
        let this = Rc::clone(self);
        spawn_local(async move {
            match this.container.running() {
                true => this.step(Input::MonitorLost { start }),
                false => this.step(Input::Ended { start, code: None }),
            }
        });
    }

    async fn watch(self: &Rc<Self>, start: u32) {
        let watched = match self.container.monitor() {
            Ok(promise) => JsFuture::from(promise).await,
            Err(thrown) => Err(thrown),
        };
        let Err(thrown) = watched else {
            return self.ended(start, Some(0), "exit code 0");
        };
        let cause = describe(&thrown);
        let code = Reflect::get(&thrown, &"exitCode".into())
            .ok()
            .and_then(|code| code.as_f64());
        if let Some(code) = code.map(|code| code as i32).or_else(|| exit_code(&cause)) {
            return self.ended(start, Some(code), &cause);
        }
        console_warn!("the container's monitor failed: {cause}");
        self.probe_lost().await;
        match self.container.running() {
            true => self.step(Input::MonitorLost { start }),
            false => self.ended(start, None, &cause),
        }
    }

    fn ended(self: &Rc<Self>, start: u32, code: Option<i32>, cause: &str) {
        console_warn!("the container ended: {cause}");
        self.step(Input::Ended { start, code });
    }

    /// Waits until a container ends after its monitor failed. The runtime may have given up a
    /// container that still runs, and a start would kill it. Returns early when the runtime knows
    /// it again.
    async fn probe_lost(&self) {
        let mut failed = 0;
        while failed < LOST_PROBES {
            sleep(LOST_PROBE_MS).await;
            if self.container.running() || is_retired() {
                return;
            }
            match self.is_listening().await {
                Some(false) => return,
                Some(true) => failed = 0,
                None => failed += 1,
            }
        }
    }

    /// Returns whether the server in the container listens; `None` if the probe does not show it.
    async fn is_listening(&self) -> Option<bool> {
        let Err(thrown) = self.probe().await else {
            return Some(true);
        };
        let cause = describe(&thrown);
        if is_timeout(&thrown) {
            return Some(true);
        }
        if is_unreachable(&cause) {
            return Some(false);
        }
        console_warn!("a probe of the container failed: {cause}");
        None
    }

    async fn probe(&self) -> Result<Option<Probed>, JsValue> {
        let probe = Probe {
            path: P::PROBE_PATH,
            max_bytes: PROBE_BYTES,
            timeout_ms: PROBE_TIMEOUT_MS,
            ..Probe::default()
        };
        self.upstream.ask(probe).await
    }

    async fn look(self: &Rc<Self>, start: u32, after_ms: i64) {
        sleep(after_ms as f64).await;
        let healthy = match self.probe().await {
            Ok(answer) => answer.is_some_and(|(status, _)| status == 200),
            Err(thrown) => {
                // Expected until the server listens.
                console_debug!("the container does not answer yet: {}", describe(&thrown));
                false
            }
        };
        self.step(Input::Probed { start, healthy });
    }

    async fn destroy(&self) {
        if self.is_handed_over() {
            return;
        }
        if !self.container.running() {
            return self.abort_if_lost().await;
        }
        let destroyed = match self.container.destroy() {
            Ok(promise) => JsFuture::from(promise).await.map(drop),
            Err(thrown) => Err(thrown),
        };
        if let Err(thrown) = destroyed {
            console_error!(
                "fault: the container was not destroyed: {}",
                describe(&thrown)
            );
        }
    }

    /// Ends the object when the container runs unknown to the runtime: only a new object can reach
    /// it.
    async fn abort_if_lost(&self) {
        sleep(LOST_PROBE_MS).await;
        // Mostly it did end, and the monitor reports that.
        if self.container.running()
            || self.is_listening().await != Some(true)
            || self.is_handed_over()
        {
            return;
        }
        if let Ok(promise) = self.context.storage().sync() {
            drop(JsFuture::from(promise).await);
        }
        if let Err(thrown) = raw::abort_soon(&self.context, "the runtime lost the container") {
            console_error!("fault: the object was not ended: {}", describe(&thrown));
        }
    }
}

/// Returns the argument for `container.start`.
pub(crate) fn options(environment: Vec<(String, String)>) -> JsValue {
    let entries: Array = environment
        .into_iter()
        .map(|(name, value)| Array::of2(&name.into(), &value.into()))
        .collect();
    let options = Object::new();
    // Setting a property on a plain object cannot fail.
    let _ = Reflect::set(&options, &"enableInternet".into(), &JsValue::TRUE);
    if let Ok(environment) = Object::from_entries(&entries) {
        let _ = Reflect::set(&options, &"env".into(), &environment);
    }
    options.into()
}
