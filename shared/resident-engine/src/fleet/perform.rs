//! The work behind a request that passed all checks.

use ars_resident::document::value_of;
use ars_resident::lifecycle::{REFRESH_INTERVAL_MS, StateWord, TreesState};
use ars_resident::names::Resource;
use ars_resident::refusal::{Refusal, Token};
use ars_resident::registry::{Candidate, Record, Rejected, TestOverrides, select_coldest};
use ars_resident::wire::{
    EngineView, Evicted, Health, Live, OffboardReport, OnboardRequest, OnboardResponse,
    ReconfigureRequest, ReconfigureResponse, RegistryRow, ResidentsResponse, Unreachable,
};
use futures::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::port::{Fleet, Membership};
use super::prepare::Work;
use crate::{Activity, Call, Error, Fault, HostError, RegistryCall, RegistryResponse, Reply};

/// Maximum length of the error about an object that did not respond, in characters.
const UNREACHABLE_MAX_CHARS: usize = 200;

/// Performs a request's work.
pub async fn perform(fleet: &impl Fleet, work: Work) -> Reply {
    let result = match work {
        Work::Health => Reply::ok(&Health {
            ok: true,
            build: fleet.build(),
        }),
        Work::Onboard(request) => onboard(fleet, request).await,
        Work::Offboard { record, dry_run } => offboard(fleet, *record, dry_run).await,
        Work::Reconfigure { record, request } => reconfigure(fleet, &record, *request).await,
        Work::Residents => residents(fleet).await,
        Work::Object { resource, call, .. } => {
            fleet.resident(&resource, *call).await.map_err(Error::from)
        }
        Work::Watchdog => watchdog(fleet).await,
        Work::Overrides(overrides) => set_overrides(fleet, overrides).await,
    };
    result.unwrap_or_else(Reply::rejected)
}

async fn onboard(fleet: &impl Fleet, request: OnboardRequest) -> Result<Reply, Error> {
    let resource = request.resource.clone();
    let warning = match fleet.membership(&resource).await {
        Membership::Proven => None,
        Membership::Unconfigured => Some(
            "github-app-not-configured: the access to the repository was not verified".to_owned(),
        ),
        Membership::Absent(detail) => {
            return Err(Refusal::new(Token::NotInInstallation, &detail).into());
        }
        Membership::Unknown(detail) => return Err(Refusal::new(Token::MintFailed, &detail).into()),
    };
    let may_evict = request.evict_coldest;
    let record = Box::new(request.record(fleet.now()));
    let evicted = match fleet
        .registry(RegistryCall::Insert {
            record: record.clone(),
        })
        .await?
    {
        RegistryResponse::Refused { status: 429, .. } if may_evict => {
            match swap(fleet, &record).await {
                Ok(evicted) => Some(evicted),
                Err(SwapError::Rejected(reply)) => return Ok(reply),
                Err(SwapError::Failed(error)) => return Err(error),
            }
        }
        RegistryResponse::Refused { status, body } => return Ok(Reply { status, body }),
        _ => None,
    };
    let started = fleet
        .resident(
            &resource,
            Call::Onboard {
                record: record.clone(),
            },
        )
        .await;
    if !matches!(&started, Ok(reply) if reply.status == 200) {
        // The place is free again for the next try.
        remove(fleet, &record).await?;
        let detail = "provisioning could not be started; repeat the request";
        return Err(Refusal::new(Token::Internal, detail).into());
    }
    let answer = OnboardResponse {
        resource,
        state: StateWord::Onboarding,
        warning,
        evicted,
    };
    Reply::json(202, &answer)
}

/// Why no resident was replaced.
enum SwapError {
    /// No resident can make room. The reply explains it.
    Rejected(Reply),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for SwapError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Replaces the coldest resident in a single registry change, and tears it down afterwards.
async fn swap(fleet: &impl Fleet, record: &Record) -> Result<Evicted, SwapError> {
    let (records, _, _) = list(fleet).await?;
    let candidates = join_all(records.iter().map(|row| candidate(fleet, &row.resource))).await;
    let coldest = match select_coldest(&candidates, fleet.now()) {
        Ok(coldest) => coldest,
        Err(rejected) => return Err(SwapError::Rejected(no_room(&rejected)?)),
    };
    let Some(old) = records
        .into_iter()
        .find(|row| row.resource == coldest.resource)
    else {
        return Err(SwapError::Rejected(no_room(&[])?));
    };
    let call = RegistryCall::Swap {
        evicted: old.resource.clone(),
        onboarded_at: old.onboarded_at,
        record: Box::new(record.clone()),
    };
    if let RegistryResponse::Refused { status, mut body } = fleet.registry(call).await? {
        body["wouldHaveEvicted"] = json!(old.resource);
        return Err(SwapError::Rejected(Reply { status, body }));
    }
    let report = tear_down(fleet, &old).await;
    Ok(Evicted {
        last_activity_at: coldest.last_activity_at,
        report,
    })
}

fn no_room(rejected: &[Rejected]) -> Result<Reply, Error> {
    let refusal = Refusal::new(Token::OverCap, "no resident can make room");
    let mut body = value_of(&refusal).map_err(Fault::from)?;
    body["rejected"] = json!(rejected);
    Ok(Reply {
        status: refusal.status(),
        body,
    })
}

async fn candidate(fleet: &impl Fleet, resource: &Resource) -> Candidate {
    let activity: Option<Activity> = match fleet.resident(resource, Call::Activity).await {
        Ok(reply) if reply.status == 200 => serde_json::from_value(reply.body).ok(),
        _ => None,
    };
    Candidate {
        resource: resource.clone(),
        last_activity_at: activity.map_or(i64::MAX, |activity| activity.last_activity_at),
        state: activity.map_or(StateWord::Down, |activity| activity.state),
        in_flight: activity.map(|activity| activity.in_flight),
        trees: activity.map_or(TreesState::Unknown, |activity| activity.trees),
    }
}

async fn offboard(fleet: &impl Fleet, record: Record, dry_run: bool) -> Result<Reply, Error> {
    if dry_run {
        let resource = record.resource.clone();
        let call = Call::Offboard {
            record: Box::new(record),
            dry_run,
        };
        return Ok(fleet.resident(&resource, call).await?);
    }
    remove(fleet, &record).await?;
    Reply::ok(&tear_down(fleet, &record).await)
}

/// Tears down a resident after the row was removed. A part that fails becomes an entry in the
/// report.
async fn tear_down(fleet: &impl Fleet, record: &Record) -> OffboardReport {
    let call = Call::Offboard {
        record: Box::new(record.clone()),
        dry_run: false,
    };
    let error = match fleet.resident(&record.resource, call).await {
        Ok(reply) if reply.status == 200 => match serde_json::from_value(reply.body) {
            Ok(report) => return report,
            Err(error) => error.to_string(),
        },
        Ok(reply) => format!("the object answered {}", reply.status),
        Err(fault) => fault.to_string(),
    };
    OffboardReport {
        resource: record.resource.clone(),
        registry_removed: true,
        schedules_cancelled: 0,
        container_stopped: false,
        storage_cleared: false,
        backup_objects_deleted: 0,
        r2_objects_deleted: 0,
        errors: vec![ars_events::clean(&error, UNREACHABLE_MAX_CHARS)],
    }
}

async fn remove(fleet: &impl Fleet, record: &Record) -> Result<(), Error> {
    let (resource, onboarded_at) = (record.resource.clone(), Some(record.onboarded_at));
    fleet
        .registry(RegistryCall::Remove {
            resource,
            onboarded_at,
        })
        .await?;
    Ok(())
}

async fn reconfigure(
    fleet: &impl Fleet,
    before: &Record,
    request: ReconfigureRequest,
) -> Result<Reply, Error> {
    let record = request.apply(before, fleet.now())?;
    if record != *before {
        let update = RegistryCall::Update {
            record: Box::new(record.clone()),
        };
        if let RegistryResponse::Refused { status, body } = fleet.registry(update).await? {
            return Ok(Reply { status, body });
        }
    }
    // Also for the values in force: the object may have missed an earlier call.
    let call = Call::Reconfigure {
        record: Box::new(record.clone()),
    };
    let reply = fleet.resident(&record.resource, call).await?;
    match reply.status {
        200 => Reply::ok(&ReconfigureResponse {
            resource: record.resource.clone(),
            record,
        }),
        _ => Ok(reply),
    }
}

async fn residents(fleet: &impl Fleet) -> Result<Reply, Error> {
    let (records, cap, overrides) = list(fleet).await?;
    let rows = records.into_iter().map(|record| async {
        let reply = fleet.resident(&record.resource, Call::Info).await;
        let live = match reply.map_err(Error::from).and_then(view) {
            Ok(view) => Live::View(Box::new(view)),
            Err(error) => Live::Unreachable(Unreachable {
                error: ars_events::clean(error.into_refusal().error(), UNREACHABLE_MAX_CHARS),
            }),
        };
        RegistryRow { record, live }
    });
    let overrides = overrides.map(|set| json!(set));
    Reply::ok(&ResidentsResponse::new(
        join_all(rows).await,
        cap,
        overrides,
    ))
}

fn view(reply: Reply) -> Result<EngineView, Error> {
    match reply.status {
        200 => parse(reply.body),
        status => {
            Err(Fault::from(HostError::Failed(format!("the object answered {status}"))).into())
        }
    }
}

fn parse<T: DeserializeOwned>(body: Value) -> Result<T, Error> {
    serde_json::from_value(body).map_err(|error| Fault::from(error).into())
}

/// Performs a watchdog pass over all residents. A resident that fails does not affect the others.
///
/// # Errors
/// The registry did not respond.
pub async fn watchdog(fleet: &impl Fleet) -> Result<Reply, Error> {
    let (records, cap, _) = list(fleet).await?;
    let count = records.len();
    let results = join_all(records.into_iter().map(|record| async move {
        match fleet.resident(&record.resource, Call::Watchdog).await {
            Ok(reply) if reply.status == 200 => reply.body,
            Ok(reply) => json!({ "resource": record.resource, "error": reply.body["error"] }),
            Err(fault) => json!({ "resource": record.resource, "error": fault.to_string() }),
        }
    }))
    .await;
    Reply::ok(&json!({ "cap": cap, "count": count, "results": results }))
}

async fn set_overrides(fleet: &impl Fleet, overrides: TestOverrides) -> Result<Reply, Error> {
    let floor_s = overrides.floor_s;
    fleet.registry(RegistryCall::Override { overrides }).await?;
    let (_, cap, stored) = list(fleet).await?;
    Reply::ok(&json!({
        "op": "set-test-overrides",
        "cap": cap,
        "capDefault": ars_resident::registry::RESIDENTS_MAX,
        "floorS": floor_s.map(|seconds| i64::from(seconds).min(REFRESH_INTERVAL_MS / 1_000)),
        "floorDefaultS": REFRESH_INTERVAL_MS / 1_000,
        "override": stored,
    }))
}

async fn list(fleet: &impl Fleet) -> Result<(Vec<Record>, u32, Option<TestOverrides>), Error> {
    match fleet.registry(RegistryCall::List).await? {
        RegistryResponse::Records {
            records,
            cap,
            overrides,
        } => Ok((records, cap, overrides)),
        _ => Err(Fault::from(HostError::Failed(
            "the registry gave another answer".to_owned(),
        ))
        .into()),
    }
}
