//! The engines' thread: serves requests until every handle is dropped.

use std::{rc::Rc, time::Duration};

use ars_resident::wire::Credential;
use ars_resident_engine::{
    Reply,
    fleet::{Admitted, Request, Work, perform, prepare, watchdog},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::fleet::LocalFleet;

/// Interval between watchdog passes.
const WATCHDOG_INTERVAL: Duration = Duration::from_secs(600);

/// A request and where the reply goes.
pub(crate) struct EngineJob {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) resource: Option<String>,
    pub(crate) body: String,
    /// The receiver may be gone; work except a command runs to the end, as it does over HTTP.
    pub(crate) reply: oneshot::Sender<Reply>,
    /// Cancelled once the caller has left.
    pub(crate) left: CancellationToken,
}

/// Serves until every sender is dropped.
pub(crate) async fn serve(fleet: LocalFleet, mut jobs: mpsc::UnboundedReceiver<EngineJob>) {
    let fleet = Rc::new(fleet);
    if let Err(fault) = fleet.resume().await {
        tracing::error!(
            error = &fault as &dyn std::error::Error,
            "residents could not continue"
        );
    }
    let mut passes = tokio::time::interval(WATCHDOG_INTERVAL);
    // The first tick is immediate.
    passes.tick().await;
    loop {
        tokio::select! {
            job = jobs.recv() => match job {
                Some(job) => drop(tokio::task::spawn_local(answer(Rc::clone(&fleet), job))),
                None => return,
            },
            _ = passes.tick() => {
                let fleet = Rc::clone(&fleet);
                tokio::task::spawn_local(async move { drop(watchdog(&*fleet).await) });
            }
        }
    }
}

async fn answer(fleet: Rc<LocalFleet>, job: EngineJob) {
    let EngineJob {
        method,
        path,
        resource,
        body,
        reply,
        left,
    } = job;
    let prepared = match Admitted::admit(path, method, Credential::Admin) {
        Ok(admitted) => {
            prepare(
                &*fleet,
                Request {
                    admitted,
                    resource: resource.as_deref(),
                    body: &body,
                },
            )
            .await
        }
        Err(rejected) => Err(rejected),
    };
    let answer = match prepared {
        Ok(Work::Object { resource, call, .. }) => fleet.call(&resource, *call, left).await,
        Ok(work) => perform(&*fleet, work).await,
        Err(rejected) => rejected,
    };
    // The caller may have cancelled.
    let _ = reply.send(answer);
}
