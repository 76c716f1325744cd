//! A simulated platform: registry row, container with a disk, object storage, code host.

use std::collections::{BTreeMap, BTreeSet};

use ars_resident::lifecycle::{
    Action, Admission, Config, Failure, Input, Inspection, Markers, Output, Resident, Slot,
    StateWord, Step, TeardownPart, TreesState,
};
use ars_resident::names::{BackupId, LockfileKey, RuntimeId, Sha};
use ars_types::StrictRefName;

pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;
pub const TIMEOUT: i64 = 5 * MINUTE;

/// A started container with a disk.
#[derive(Debug, Clone)]
pub struct Runtime {
    pub id: RuntimeId,
    pub ready: Option<Sha>,
    pub mirror: Option<Sha>,
    /// The mirror came from an archive with other content than its stamp names.
    pub is_wrong: bool,
    /// A thread has unsaved work.
    pub is_dirty: bool,
    pub markers: Markers,
}

#[derive(Debug, Clone)]
pub struct World {
    pub now: i64,
    pub resident: Resident,
    pub has_row: bool,
    pub runtime: Option<Runtime>,
    pub host: u8,
    pub objects: BTreeMap<BackupId, Sha>,
    /// The step in progress.
    pub running: Option<(u64, Step)>,
    pub alarm: Option<i64>,
    /// Actions after the last input.
    pub actions: Vec<Action>,
    pub free_kib: Option<u64>,
    pub in_flight: u32,
    pub last_attach_at: Option<i64>,
    pub last_checkpoint_at: Option<i64>,
    pub is_image_current: bool,
    /// Answers from the registry and the object storage are lost.
    pub loses_answers: bool,
    pub runtimes: u32,
    pub uploads: u32,
    pub ended: Vec<(u64, Result<Output, Failure>)>,
}

pub fn sha(number: u8) -> Sha {
    Sha::parse(format!("{number:040x}")).unwrap()
}

/// Two commits share their lockfiles.
pub fn key(sha: &Sha) -> LockfileKey {
    let number = u64::from_str_radix(&sha.as_str()[24..], 16).unwrap();
    LockfileKey::of_listing(&(number / 2).to_string())
}

pub fn config() -> Config {
    let default_ref = StrictRefName::parse("main").unwrap();
    Config {
        default_ref,
        provisioning_timeout_ms: TIMEOUT,
        has_install: true,
    }
}

impl World {
    pub fn new() -> Self {
        Self {
            now: 1_000_000,
            resident: Resident::default(),
            has_row: false,
            runtime: None,
            host: 1,
            objects: BTreeMap::new(),
            running: None,
            alarm: None,
            actions: Vec::new(),
            free_kib: Some(1 << 22),
            in_flight: 0,
            last_attach_at: None,
            last_checkpoint_at: None,
            is_image_current: true,
            loses_answers: false,
            runtimes: 0,
            uploads: 0,
            ended: Vec::new(),
        }
    }

    /// A resident that was onboarded and is warm.
    pub fn warm() -> Self {
        let mut world = Self::new();
        world.onboard();
        world.run_until(|world| world.state() == StateWord::Warm);
        world
    }

    pub fn onboard(&mut self) {
        self.has_row = true;
        self.apply(Input::Onboard(config()));
    }

    pub fn state(&self) -> StateWord {
        self.resident.status().0
    }

    pub fn reason(&self) -> String {
        self.resident.status().1.unwrap_or_default()
    }

    /// Applies an input to the stored state, read back from JSON, and performs the actions.
    pub fn apply(&mut self, input: Input) {
        let before = serde_json::to_string(&self.resident).unwrap();
        self.resident = serde_json::from_str(&before).unwrap();
        self.actions = self.feed(input);
        self.check();
    }

    fn feed(&mut self, input: Input) -> Vec<Action> {
        let actions = self.resident.step(input, self.now);
        self.check();
        // Answers arrive after all actions were performed.
        let answers: Vec<Input> = actions
            .iter()
            .filter_map(|action| self.perform(action))
            .collect();
        let arrives = !self.loses_answers;
        for answer in answers.into_iter().filter(|_| arrives) {
            self.feed(answer);
        }
        actions
    }

    /// Performs an action and returns the answer.
    fn perform(&mut self, action: &Action) -> Option<Input> {
        match action {
            Action::RunStep { attempt, step, .. } => self.running = Some((*attempt, *step)),
            Action::CancelSteps { attempt } => {
                self.running = self.running.filter(|(newer, _)| newer > attempt);
            }
            Action::StopContainer => {
                assert!(!self.is_dirty(), "a container with unsaved work is stopped");
                self.stop_runtime();
            }
            Action::DeleteObjects(ids) => {
                self.objects.retain(|id, _| !ids.contains(id));
                return Some(Input::ObjectsDeleted(ids.clone()));
            }
            Action::ReleaseSlot => {
                self.has_row = false;
                return Some(Input::SlotReleased);
            }
            Action::TearDown(part) => {
                match part {
                    TeardownPart::Container => self.stop_runtime(),
                    TeardownPart::Objects => self.objects.clear(),
                    TeardownPart::Storage => self.alarm = None,
                }
                return Some(Input::TornDown {
                    part: *part,
                    ok: true,
                });
            }
            Action::Housekeep => {}
            Action::SetAlarm { at } => self.alarm = Some(*at),
        }
        None
    }

    /// Gives the mirror a thread's checkpoint.
    pub fn checkpoint(&mut self) {
        self.last_checkpoint_at = Some(self.now);
        self.apply(Input::CheckpointMade);
    }

    pub fn is_dirty(&self) -> bool {
        self.runtime
            .as_ref()
            .is_some_and(|runtime| runtime.is_dirty)
    }

    pub fn stop_runtime(&mut self) {
        self.runtime = None;
    }

    /// The sentences that always hold.
    pub fn check(&self) {
        let (state, reason) = self.resident.status();
        // A reason on every degraded and down.
        if matches!(state, StateWord::Degraded | StateWord::Down) {
            let reason = reason.clone().unwrap_or_default();
            assert!(
                reason
                    .split_once(": ")
                    .is_some_and(|(token, text)| !token.is_empty() && !text.is_empty()),
                "{reason}"
            );
        }
        // Never serve a tree without a verified stamp.
        let running = self.runtime.as_ref().map(|runtime| &runtime.id);
        if self.resident.admission(running) == Admission::Serve {
            let runtime = self.runtime.as_ref().unwrap();
            let fact = self.resident.facts().map(|facts| &facts.stamp.sha);
            assert!(
                !runtime.is_wrong && runtime.mirror.is_some(),
                "an unverified tree is served"
            );
            let marking = self.resident.cycle().and_then(|cycle| cycle.sha());
            let ready = runtime.ready.as_ref();
            assert!(
                ready.is_some() && (ready == fact || ready == marking),
                "a tree of another stamp is served"
            );
        }
        // The stored snapshot can be restored.
        for id in self
            .resident
            .snapshot()
            .iter()
            .flat_map(|snapshot| snapshot.backups())
        {
            assert!(self.objects.contains_key(&id), "a named backup was deleted");
        }
        // A slot is never leaked: a row without a holder is about to be released.
        if self.has_row && !self.resident.is_blank() {
            assert_ne!(self.resident.slot(), Slot::Released, "a row has no holder");
        }
    }

    /// Ends the running step as the platform would.
    pub fn finish(&mut self) {
        let Some((attempt, step)) = self.running.take() else {
            return;
        };
        let result = self.work(step);
        self.answer(attempt, result);
    }

    pub fn answer(&mut self, attempt: u64, result: Result<Output, Failure>) {
        self.ended.push((attempt, result.clone()));
        self.apply(Input::StepEnded { attempt, result });
    }

    /// Ends the running step with a failure.
    pub fn fail(&mut self, failure: Failure) {
        if let Some((attempt, _)) = self.running.take() {
            self.answer(attempt, Err(failure));
        }
    }

    pub fn start_runtime(&mut self) -> RuntimeId {
        self.runtimes += 1;
        let id = RuntimeId::parse(format!("runtime-{}", self.runtimes)).unwrap();
        let (ready, mirror, markers) = (None, None, Markers::default());
        self.runtime = Some(Runtime {
            id: id.clone(),
            ready,
            mirror,
            is_wrong: false,
            is_dirty: false,
            markers,
        });
        id
    }

    /// Applies a step's effect to the disk, and returns the result.
    pub fn work(&mut self, step: Step) -> Result<Output, Failure> {
        if self.runtime.is_none() && step != Step::Mint {
            self.start_runtime();
        }
        let cycle_sha = self.resident.cycle().and_then(|cycle| cycle.sha()).cloned();
        let trees = if self.is_dirty() {
            TreesState::Dirty
        } else {
            TreesState::Clean
        };
        let host = sha(self.host);
        let replaced = || Failure {
            runtime_replaced: true,
            ..Failure::default()
        };
        if step == Step::Mint {
            return Ok(Output::Done);
        }
        let runtime = self.runtime.as_mut().unwrap();
        let needs_mirror = !matches!(
            step,
            Step::Inspect
                | Step::AwaitRestores
                | Step::UnmountRestores
                | Step::CleanWorkspace
                | Step::CleanBeforeRestore
                | Step::GitSetup
                | Step::Clone
                | Step::RestoreMirror
        );
        if needs_mirror && runtime.mirror.is_none() {
            return Err(replaced());
        }
        let mirror = runtime.mirror.clone();
        Ok(match step {
            Step::Inspect => Output::Inspected(Box::new(Inspection {
                runtime: Some(runtime.id.clone()),
                markers: Markers {
                    ready: runtime.ready.clone(),
                    ..runtime.markers.clone()
                },
                is_image_current: self.is_image_current,
                free_kib: self.free_kib,
                in_flight: self.in_flight,
                last_attach_at: self.last_attach_at,
                trees,
                last_checkpoint_at: self.last_checkpoint_at,
            })),
            Step::CleanWorkspace | Step::CleanBeforeRestore => {
                (runtime.mirror, runtime.ready, runtime.is_wrong) = (None, None, false);
                runtime.markers = Markers::default();
                Output::Done
            }
            Step::Clone | Step::Fetch => {
                runtime.mirror = Some(host);
                Output::Done
            }
            Step::DetectDefaultBranch => Output::Branch(config().default_ref),
            Step::RevParse => Output::Commit(mirror.unwrap()),
            Step::LockfileKey => Output::Key(key(&mirror.unwrap())),
            Step::CheckoutClone | Step::CheckoutUpdate => {
                runtime.markers.head = cycle_sha;
                Output::Done
            }
            Step::LinkDeps => {
                runtime.markers.deps_key = cycle_sha.as_ref().map(key);
                Output::Done
            }
            Step::Unmark => {
                runtime.markers.built = None;
                Output::Done
            }
            Step::Build => {
                runtime.markers.built = cycle_sha;
                Output::Done
            }
            Step::Snapshot => {
                self.uploads += 1;
                let [mirror, checkout] = ["m", "c"]
                    .map(|part| BackupId::parse(format!("{part}{}", self.uploads)).unwrap());
                for id in [&mirror, &checkout] {
                    self.objects.insert(id.clone(), cycle_sha.clone().unwrap());
                }
                Output::Uploaded { mirror, checkout }
            }
            Step::RestoreMirror => {
                let snapshot = self.resident.snapshot().unwrap();
                let content = self.objects[&snapshot.mirror_backup_id].clone();
                runtime.is_wrong = content != snapshot.stamp.sha;
                runtime.mirror = Some(content);
                Output::Done
            }
            Step::Verify => {
                let sha = mirror.unwrap();
                Output::Verified {
                    key: key(&sha),
                    sha,
                }
            }
            Step::Mark => {
                runtime.ready = cycle_sha;
                Output::Marked {
                    runtime: runtime.id.clone(),
                }
            }
            _ => Output::Done,
        })
    }

    /// Advances the clock to the alarm and fires it.
    pub fn tick(&mut self) {
        let Some(at) = self.alarm.take() else { return };
        self.now = self.now.max(at);
        self.apply(Input::AlarmFired);
    }

    /// The object dies and starts anew. Its running step is lost.
    pub fn crash(&mut self) {
        self.running = None;
        self.apply(Input::Woke);
    }

    /// A thread requests the tree: the container starts if needed, and is compared with the facts.
    pub fn attach(&mut self) -> Admission {
        let running = self.runtime.as_ref().map(|runtime| runtime.id.clone());
        let mut admission = self.resident.admission(running.as_ref());
        if admission == Admission::Verify {
            if self.runtime.is_none() {
                self.start_runtime();
            }
            self.probe();
            admission = self
                .resident
                .admission(self.runtime.as_ref().map(|runtime| &runtime.id));
        }
        if admission == Admission::Serve {
            self.last_attach_at = Some(self.now);
            self.apply(Input::Attached);
        }
        admission
    }

    pub fn probe(&mut self) {
        let runtime = self.runtime.clone();
        let trees = if self.is_dirty() {
            TreesState::Dirty
        } else {
            TreesState::Clean
        };
        let ready = runtime.as_ref().and_then(|runtime| runtime.ready.clone());
        self.apply(Input::Probed {
            runtime: runtime.map(|runtime| runtime.id),
            ready,
            trees,
        });
    }

    /// Replaces the container. Its disk and the work on it are lost.
    pub fn replace_runtime(&mut self) {
        self.start_runtime();
        self.fail(Failure {
            runtime_replaced: true,
            ..Failure::default()
        });
    }

    pub fn watchdog(&mut self) {
        let is_running = self.running.is_some();
        self.apply(Input::Watchdog { is_running });
    }

    /// Runs steps and alarms without faults until a condition holds.
    pub fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        for _ in 0..500 {
            if done(self) {
                return;
            }
            if self.running.is_some() {
                self.finish();
            } else {
                self.tick();
            }
        }
        panic!(
            "still {:?} ({}) at {:?}",
            self.state(),
            self.reason(),
            self.resident.cycle()
        );
    }

    /// Runs the cycle until a step is in progress.
    pub fn run_to(&mut self, step: Step) {
        self.run_until(|world| world.running.is_some_and(|(_, running)| running == step));
    }

    pub fn kinds(&self) -> BTreeSet<&'static str> {
        let kinds = self.actions.iter().map(|action| match action {
            Action::RunStep { .. } => "run",
            Action::CancelSteps { .. } => "cancel",
            Action::StopContainer => "stop",
            Action::DeleteObjects(_) => "delete",
            Action::ReleaseSlot => "release",
            Action::TearDown(_) => "teardown",
            Action::Housekeep => "housekeep",
            Action::SetAlarm { .. } => "alarm",
        });
        kinds.collect()
    }
}

/// Makes a failure of the step itself.
pub fn failure(text: &str) -> Failure {
    Failure {
        exit_code: Some(1),
        stderr: text.to_owned(),
        free_kib: Some(1 << 22),
        ..Failure::default()
    }
}
