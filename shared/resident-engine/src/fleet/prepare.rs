//! The checks of a request, in the order of docs/reference/residents.md#routes.

use ars_resident::names::Resource;
use ars_resident::refusal::{Refusal, Token};
use ars_resident::registry::{Record, TestOverrides};
use ars_resident::wire::{
    AttachRequest, CheckOutRequest, CheckpointRequest, Credential, DebugRequest, DetachRequest,
    ExecRequest, OffboardRequest, OnboardRequest, OpName, OpRequest, PushRequest, ReadRequest,
    ReconfigureRequest, Route, StatusRequest, WriteRequest, authorize, parse_body,
};
use serde_json::json;

use super::port::Fleet;
use crate::{Call, Error, Fault, RegistryCall, RegistryResponse, Reply};

/// The head of a request with an accepted route, scope and method.
#[derive(Debug, Clone, Copy)]
pub struct Admitted {
    route: Route,
    credential: Credential,
}

impl Admitted {
    /// Checks the head of a request after its bearer was compared.
    ///
    /// # Errors
    /// The answer of a rejected request. Its body need not be read.
    pub fn admit(path: &str, method: &str, credential: Credential) -> Result<Self, Reply> {
        let route = authorize(path, method, credential)
            .map_err(|refusal| Reply::rejected(refusal.into()))?;
        Ok(Self { route, credential })
    }
}

/// A request with its body.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Its head.
    pub admitted: Admitted,
    /// Value of `resource` in the query.
    pub resource: Option<&'a str>,
    /// Body.
    pub body: &'a str,
}

/// A request that passed its checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// `/healthz`
    Health,
    /// `/onboard`
    Onboard(OnboardRequest),
    /// `/offboard`
    Offboard {
        /// The record.
        record: Box<Record>,
        /// Only plan.
        dry_run: bool,
    },
    /// `/reconfigure`
    Reconfigure {
        /// The record before.
        record: Box<Record>,
        /// The request.
        request: Box<ReconfigureRequest>,
    },
    /// `/residents`
    Residents,
    /// Every route that one object answers.
    Object {
        /// The resource.
        resource: Resource,
        /// The call.
        call: Box<Call>,
    },
    /// `run-watchdog`
    Watchdog,
    /// `set-test-overrides`
    Overrides(TestOverrides),
}

impl Work {
    /// Returns whether the answer is streamed: headers, line feeds, then one document with status 200.
    pub fn is_streamed(&self) -> bool {
        match self {
            Self::Object { call, .. } => call.is_streamed(),
            Self::Health
            | Self::Onboard(_)
            | Self::Offboard { .. }
            | Self::Reconfigure { .. }
            | Self::Residents
            | Self::Watchdog
            | Self::Overrides(_) => false,
        }
    }
}

/// Checks a request. A rejection is its whole answer.
///
/// # Errors
/// The answer of a rejected request, with its own status.
pub async fn prepare(fleet: &impl Fleet, request: Request<'_>) -> Result<Work, Reply> {
    check(fleet, request).await.map_err(Reply::rejected)
}

async fn check(fleet: &impl Fleet, request: Request<'_>) -> Result<Work, Error> {
    let Request {
        admitted: Admitted { route, credential },
        resource,
        body,
    } = request;
    Ok(match route {
        Route::Health => Work::Health,
        Route::Residents => Work::Residents,
        Route::Onboard => Work::Onboard(parse_body(body)?),
        Route::Offboard => {
            let OffboardRequest { resource, dry_run } = parse_body(body)?;
            Work::Offboard {
                record: Box::new(onboarded(fleet, &resource).await?),
                dry_run,
            }
        }
        Route::Reconfigure => {
            let request: ReconfigureRequest = parse_body(body)?;
            let record = onboarded(fleet, &request.resource).await?;
            Work::Reconfigure {
                record: Box::new(record),
                request: Box::new(request),
            }
        }
        Route::Rebuild => {
            let OffboardRequest { resource, dry_run } = parse_body(body)?;
            onboarded(fleet, &resource).await?;
            object(resource, Call::Rebuild { dry_run })
        }
        Route::Debug => debug(fleet, body, credential).await?,
        Route::Status => {
            let query = json!({ "resource": resource }).to_string();
            let StatusRequest { resource } = parse_body(&query)?;
            onboarded(fleet, &resource).await?;
            object(resource, Call::Status)
        }
        Route::Attach => attach(fleet, body).await?,
        Route::Op => op(fleet, body).await?,
        // These are fast, so they do without the registry: an object without state rejects them.
        Route::Detach => {
            let request: DetachRequest = parse_body(body)?;
            object(request.resource.clone(), Call::Detach { request })
        }
        Route::Exec => {
            let request: ExecRequest = parse_body(body)?;
            object(request.resource.clone(), Call::Exec { request })
        }
        Route::Read => {
            let request: ReadRequest = parse_body(body)?;
            object(request.resource.clone(), Call::Read { request })
        }
        Route::Write => {
            let request: WriteRequest = parse_body(body)?;
            object(request.resource.clone(), Call::Write { request })
        }
        Route::Push => {
            let request: PushRequest = parse_body(body)?;
            object(request.resource.clone(), Call::Push { request })
        }
        Route::CheckOut => {
            let request: CheckOutRequest = parse_body(body)?;
            object(request.resource.clone(), Call::CheckOut { request })
        }
        Route::Checkpoint => {
            let request: CheckpointRequest = parse_body(body)?;
            object(request.resource.clone(), Call::Checkpoint { request })
        }
        Route::Restore => {
            let request: CheckpointRequest = parse_body(body)?;
            object(request.resource.clone(), Call::Restore { request })
        }
    })
}

fn object(resource: Resource, call: Call) -> Work {
    Work::Object {
        resource,
        call: Box::new(call),
    }
}

async fn attach(fleet: &impl Fleet, body: &str) -> Result<Work, Error> {
    let request: AttachRequest = parse_body(body)?;
    let resource = request.resource.clone();
    let (_, stale_after_s) = row(fleet, &resource).await?;
    let call = Call::Attach {
        request,
        stale_after_s,
    };
    Ok(object(resource, call))
}

async fn op(fleet: &impl Fleet, body: &str) -> Result<Work, Error> {
    let request: OpRequest = parse_body(body)?;
    let record = onboarded(fleet, &request.resource).await?;
    if request.op != OpName::Status {
        request.op.resolve(&record)?;
    }
    Ok(object(request.resource.clone(), Call::Op { request }))
}

async fn debug(fleet: &impl Fleet, body: &str, credential: Credential) -> Result<Work, Error> {
    let (resource, call) = match DebugRequest::parse(body, credential, &fleet.build().commit)? {
        DebugRequest::Watchdog => return Ok(Work::Watchdog),
        DebugRequest::Overrides(overrides) => return Ok(Work::Overrides(overrides)),
        DebugRequest::Resident { op, resource } => (resource, Call::Debug { op }),
        DebugRequest::ForceDown { resource, reason } => (resource, Call::ForceDown { reason }),
        DebugRequest::Backdate {
            resource,
            thread_key,
            days,
        } => (resource, Call::Backdate { thread_key, days }),
        DebugRequest::Purge { resource, prefix } => (resource, Call::Purge { prefix }),
    };
    onboarded(fleet, &resource).await?;
    Ok(object(resource, call))
}

/// Returns the record of a resource, or rejects the request.
async fn onboarded(fleet: &impl Fleet, resource: &Resource) -> Result<Record, Error> {
    row(fleet, resource).await.map(|(record, _)| record)
}

/// Returns the record of a resource with the test override of its attaches, or rejects the request.
async fn row(fleet: &impl Fleet, resource: &Resource) -> Result<(Record, Option<u32>), Error> {
    match fleet
        .registry(RegistryCall::Get {
            resource: resource.clone(),
        })
        .await?
    {
        RegistryResponse::Record {
            record: Some(record),
            stale_after_s,
        } => Ok((*record, stale_after_s)),
        RegistryResponse::Record { record: None, .. } => {
            Err(Refusal::new(Token::NotOnboarded, &format!("{resource} has no resident")).into())
        }
        _ => Err(Fault::from(crate::HostError::Failed(
            "the registry gave another answer".to_owned(),
        ))
        .into()),
    }
}
