//! Residents in memory, which fail on demand. Threads cannot be attached.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use ars_bot_core::{Capabilities, commands::CommandDeps};
use ars_bot_ports::{Offboarded, OpReply, Residents, ResidentsError};
use ars_resident::{
    lifecycle::{Resident, StateWord},
    names::{Resource, Sha},
    refusal::{Refusal, Token},
    registry::{RESIDENTS_MAX, Record, check_insert},
    thread::Deps,
    wire::*,
};
use ars_types::StrictRefName;
use async_trait::async_trait;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Every operation's output.
pub const OUTPUT: &str = "1 test passed";

/// In-memory residents with scripted failures.
#[derive(Default)]
pub struct MemoryResidents {
    /// The rows, in onboarding order.
    pub rows: Mutex<Vec<RegistryRow>>,
    /// How the next calls fail.
    pub failures: Mutex<VecDeque<ResidentsError>>,
    /// The operations that ran.
    pub ops: Mutex<Vec<OpRequest>>,
    /// Changes have their answers and no effect.
    pub is_frozen: bool,
}

/// Adds residents as a capability.
pub fn with_residents(
    residents: &Arc<MemoryResidents>,
) -> impl FnOnce(Capabilities) -> Capabilities + use<> {
    let residents: Arc<dyn Residents> = Arc::<MemoryResidents>::clone(residents);
    |capabilities| {
        let commands = CommandDeps {
            residents: Some(residents),
            ..capabilities.commands
        };
        Capabilities {
            commands,
            ..capabilities
        }
    }
}

impl MemoryResidents {
    /// Returns residents with a single ready resident.
    pub fn with_one(slug: &str) -> Arc<Self> {
        let residents = Self::default();
        residents.insert(slug, StateWord::Warm, None);
        Arc::new(residents)
    }

    /// Returns residents with a single ready resident, on which changes have no effect.
    pub fn frozen(slug: &str) -> Arc<Self> {
        let residents = Self {
            is_frozen: true,
            ..Self::default()
        };
        residents.insert(slug, StateWord::Warm, None);
        Arc::new(residents)
    }

    /// Adds a resident in a state.
    pub fn insert(&self, slug: &str, state: StateWord, reason: Option<&str>) {
        let request = json!({
            "resource": format!("repo:{slug}"), "defaultRef": "main",
            "commands": { "install": "npm ci", "build": "true", "test": "npm test" },
        });
        let record = serde_json::from_value::<OnboardRequest>(request)
            .unwrap()
            .record(1_000);
        let mut view = engine_view(&record, &Resident::default(), &[], 0, None);
        view.state = state;
        view.reason = reason.map(str::to_owned);
        self.rows.lock().unwrap().push(RegistryRow {
            record,
            live: Live::View(Box::new(view)),
        });
    }

    /// Changes a resident's view.
    pub fn change(&self, slug: &str, change: impl FnOnce(&mut EngineView)) {
        let mut rows = self.rows.lock().unwrap();
        let row = rows
            .iter_mut()
            .find(|row| row.record.resource.slug() == slug)
            .unwrap();
        let Live::View(view) = &mut row.live else {
            unreachable!("rows have views")
        };
        change(view);
    }

    /// Lets the next call fail.
    pub fn fail(&self, error: ResidentsError) {
        self.failures.lock().unwrap().push_back(error);
    }

    fn up(&self) -> Result<(), ResidentsError> {
        self.failures
            .lock()
            .unwrap()
            .pop_front()
            .map_or(Ok(()), Err)
    }

    /// Returns a resource's row after a scripted failure.
    fn row(&self, resource: &Resource) -> Result<RegistryRow, ResidentsError> {
        self.up()?;
        let rows = self.rows.lock().unwrap();
        let unknown = || Refusal::new(Token::NotOnboarded, &format!("{resource} has no resident"));
        Ok(rows
            .iter()
            .find(|row| row.record.resource == *resource)
            .cloned()
            .ok_or_else(unknown)?)
    }
}

fn status(row: &RegistryRow) -> StatusResponse {
    let Live::View(view) = &row.live else {
        unreachable!("rows have views")
    };
    StatusResponse {
        state: view.state,
        reason: view.reason.clone(),
    }
}

fn ended(request: &OpRequest, record: &Record) -> OpResponse {
    let ok = request
        .git_ref
        .as_ref()
        .is_none_or(|name| name.as_str() != "broken");
    let (word, exit_code) = if ok { ("succeeded", 0) } else { ("failed", 1) };
    OpResponse {
        ok,
        op: request.op,
        resource: record.resource.clone(),
        git_ref: request
            .git_ref
            .clone()
            .unwrap_or_else(|| record.default_ref.clone()),
        sha: Sha::parse("a".repeat(40)).unwrap(),
        summary: format!("{} {word}", request.op.as_str()),
        stdout: format!("{OUTPUT}\n"),
        stderr: String::new(),
        exit_code,
        truncated: false,
        deps: Deps::Hardlink,
        reconciled: false,
        duration_ms: 5,
        trace: Vec::new(),
    }
}

#[async_trait]
impl Residents for MemoryResidents {
    async fn onboard(
        &self,
        request: &OnboardRequest,
        _cancel: &CancellationToken,
    ) -> Result<OnboardResponse, ResidentsError> {
        self.up()?;
        let mut rows = self.rows.lock().unwrap();
        let known: Vec<Resource> = rows.iter().map(|row| row.record.resource.clone()).collect();
        check_insert(&request.resource, &known, RESIDENTS_MAX)?;
        let record = request.clone().record(1_000);
        let mut view = engine_view(&record, &Resident::default(), &[], 0, None);
        (view.state, view.reason) = (StateWord::Onboarding, None);
        if !self.is_frozen {
            rows.push(RegistryRow {
                record,
                live: Live::View(Box::new(view)),
            });
        }
        let resource = request.resource.clone();
        Ok(OnboardResponse {
            resource,
            state: StateWord::Onboarding,
            warning: None,
            evicted: None,
        })
    }

    async fn offboard(
        &self,
        request: &OffboardRequest,
        _cancel: &CancellationToken,
    ) -> Result<Offboarded, ResidentsError> {
        self.row(&request.resource)?;
        let resource = request.resource.clone();
        if request.dry_run {
            let would_remove =
                json!({ "registryRecord": true, "threadBindings": 2, "container": "warm" });
            return Ok(Offboarded::Plan(OffboardPlan {
                resource,
                dry_run: true,
                would_remove,
            }));
        }
        self.rows
            .lock()
            .unwrap()
            .retain(|row| self.is_frozen || row.record.resource != resource);
        Ok(Offboarded::Report(OffboardReport {
            resource,
            registry_removed: true,
            schedules_cancelled: 1,
            container_stopped: true,
            storage_cleared: true,
            backup_objects_deleted: 4,
            r2_objects_deleted: 0,
            errors: vec!["r2: 503".to_owned()],
        }))
    }

    async fn reconfigure(
        &self,
        request: &ReconfigureRequest,
        _cancel: &CancellationToken,
    ) -> Result<ReconfigureResponse, ResidentsError> {
        let record = request
            .clone()
            .apply(&self.row(&request.resource)?.record, 2_000)?;
        let mut rows = self.rows.lock().unwrap();
        let row = rows
            .iter_mut()
            .find(|row| row.record.resource == request.resource)
            .unwrap();
        if !self.is_frozen {
            row.record = record.clone();
        }
        Ok(ReconfigureResponse {
            resource: request.resource.clone(),
            record,
        })
    }

    async fn rebuild(
        &self,
        request: &RebuildRequest,
        _cancel: &CancellationToken,
    ) -> Result<RebuildPlan, ResidentsError> {
        let row = self.row(&request.resource)?;
        if !(request.dry_run || self.is_frozen) {
            self.change(request.resource.slug(), |view| {
                view.state = StateWord::Onboarding;
            });
        }
        Ok(RebuildPlan {
            resource: request.resource.clone(),
            dry_run: request.dry_run,
            from: status(&row),
            discards: Discards {
                snapshot: None,
                backup_objects: 4,
            },
            reprovision: Reprovision {
                default_ref: row.record.default_ref.clone(),
                provisioning_timeout_ms: row.record.provisioning_timeout_ms,
            },
            keeps: Keeps {
                registry_record: true,
                thread_bindings: 2,
                checkpoints: 2,
            },
            backup_objects_deleted: (!request.dry_run).then_some(4),
            state: (!request.dry_run).then_some(StateWord::Onboarding),
        })
    }

    async fn list(&self, _cancel: &CancellationToken) -> Result<ResidentsResponse, ResidentsError> {
        self.up()?;
        Ok(ResidentsResponse::new(
            self.rows.lock().unwrap().clone(),
            RESIDENTS_MAX,
            None,
        ))
    }

    async fn status(
        &self,
        request: &StatusRequest,
        _cancel: &CancellationToken,
    ) -> Result<StatusResponse, ResidentsError> {
        self.row(&request.resource).map(|row| status(&row))
    }

    async fn op(
        &self,
        request: &OpRequest,
        _cancel: &CancellationToken,
    ) -> Result<OpReply, ResidentsError> {
        let record = self.row(&request.resource)?.record;
        request.op.resolve(&record)?;
        if request.git_ref == StrictRefName::parse("gone").ok() {
            return Err(
                Refusal::new(Token::UnknownRef, "the repository has no branch gone").into(),
            );
        }
        self.ops.lock().unwrap().push(request.clone());
        Ok(OpReply::Ended(Box::new(ended(request, &record))))
    }

    async fn attach(
        &self,
        _request: &AttachRequest,
        _cancel: &CancellationToken,
    ) -> Result<AttachResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }

    async fn detach(
        &self,
        _request: &DetachRequest,
        _cancel: &CancellationToken,
    ) -> Result<DetachResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }

    async fn exec(
        &self,
        _request: &ExecRequest,
        _cancel: &CancellationToken,
    ) -> Result<ExecResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }

    async fn read(
        &self,
        _request: &ReadRequest,
        _cancel: &CancellationToken,
    ) -> Result<ReadResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }

    async fn write(
        &self,
        _request: &WriteRequest,
        _cancel: &CancellationToken,
    ) -> Result<WriteResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }

    async fn push(
        &self,
        _request: &PushRequest,
        _cancel: &CancellationToken,
    ) -> Result<PushResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }

    async fn check_out(
        &self,
        _request: &CheckOutRequest,
        _cancel: &CancellationToken,
    ) -> Result<CheckOutResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }

    async fn checkpoint(
        &self,
        _request: &CheckpointRequest,
        _cancel: &CancellationToken,
    ) -> Result<CheckpointResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }

    async fn restore(
        &self,
        _request: &CheckpointRequest,
        _cancel: &CancellationToken,
    ) -> Result<RestoreResponse, ResidentsError> {
        Err(ResidentsError::Busy)
    }
}
