//! The residents' client: the routes over a transport.

use std::time::Duration;

use ars_bot_ports::{Offboarded, OpReply, Residents, ResidentsError};
use ars_resident::{
    plan::OP_TIMEOUT_MS,
    wire::{
        AttachRequest, AttachResponse, CheckOutRequest, CheckOutResponse, CheckpointRequest,
        CheckpointResponse, DetachRequest, DetachResponse, ExecRequest, ExecResponse,
        OffboardRequest, OnboardRequest, OnboardResponse, OpName, OpRequest, PushRequest,
        PushResponse, ReadRequest, ReadResponse, RebuildPlan, RebuildRequest, ReconfigureRequest,
        ReconfigureResponse, ResidentsResponse, RestoreResponse, Route, StatusRequest,
        StatusResponse, WriteRequest, WriteResponse,
    },
};
use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use super::{
    answer::parse,
    transport::{ResidentCall, ResidentTransport},
};

/// Probe timeout, unless the configuration sets it.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout for a call that sets none: the time for an operation's command.
const CALL_TIMEOUT: Duration = Duration::from_millis(OP_TIMEOUT_MS.unsigned_abs());
/// Timeout for detaching a tree.
const DETACH_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that a response may need besides the command.
const MARGIN: Duration = Duration::from_secs(30);
/// Timeout for the response to such a call. A caller of the service waits longer.
pub const ANSWER_TIMEOUT: Duration = CALL_TIMEOUT.saturating_add(MARGIN);

/// A client for residents.
pub struct ResidentsClient<T> {
    transport: T,
    probe_timeout: Duration,
}

impl<T: ResidentTransport> ResidentsClient<T> {
    /// Makes a client over a transport.
    pub fn over(transport: T, probe_timeout: Duration) -> Self {
        Self {
            transport,
            probe_timeout,
        }
    }

    async fn post<B: Serialize + Sync, A: DeserializeOwned>(
        &self,
        route: Route,
        body: &B,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<A, ResidentsError> {
        let body = serde_json::to_string(body)
            .map_err(|error| ResidentsError::Failed(error.to_string()))?;
        self.send(
            ResidentCall {
                route,
                resource: None,
                body,
                timeout,
            },
            cancel,
        )
        .await
    }

    async fn send<A: DeserializeOwned>(
        &self,
        call: ResidentCall,
        cancel: &CancellationToken,
    ) -> Result<A, ResidentsError> {
        let timeout = call.timeout;
        let sent = tokio::time::timeout(timeout, self.transport.send(call));
        let response = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ResidentsError::Cancelled),
            sent = sent => sent.map_err(|_| ResidentsError::Unreachable(format!("no answer in {timeout:?}")))??,
        };
        parse(&response)
    }
}

#[async_trait]
impl<T: ResidentTransport> Residents for ResidentsClient<T> {
    async fn onboard(
        &self,
        request: &OnboardRequest,
        cancel: &CancellationToken,
    ) -> Result<OnboardResponse, ResidentsError> {
        self.post(Route::Onboard, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn offboard(
        &self,
        request: &OffboardRequest,
        cancel: &CancellationToken,
    ) -> Result<Offboarded, ResidentsError> {
        let timeout = ANSWER_TIMEOUT;
        if request.dry_run {
            return self
                .post(Route::Offboard, request, timeout, cancel)
                .await
                .map(Offboarded::Plan);
        }
        self.post(Route::Offboard, request, timeout, cancel)
            .await
            .map(Offboarded::Report)
    }

    async fn reconfigure(
        &self,
        request: &ReconfigureRequest,
        cancel: &CancellationToken,
    ) -> Result<ReconfigureResponse, ResidentsError> {
        self.post(Route::Reconfigure, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn rebuild(
        &self,
        request: &RebuildRequest,
        cancel: &CancellationToken,
    ) -> Result<RebuildPlan, ResidentsError> {
        self.post(Route::Rebuild, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn list(&self, cancel: &CancellationToken) -> Result<ResidentsResponse, ResidentsError> {
        let (resource, body) = (None, String::new());
        let call = ResidentCall {
            route: Route::Residents,
            resource,
            body,
            timeout: MARGIN,
        };
        self.send(call, cancel).await
    }

    async fn status(
        &self,
        request: &StatusRequest,
        cancel: &CancellationToken,
    ) -> Result<StatusResponse, ResidentsError> {
        let (resource, body) = (Some(request.resource.to_string()), String::new());
        let call = ResidentCall {
            route: Route::Status,
            resource,
            body,
            timeout: self.probe_timeout,
        };
        self.send(call, cancel).await
    }

    async fn attach(
        &self,
        request: &AttachRequest,
        cancel: &CancellationToken,
    ) -> Result<AttachResponse, ResidentsError> {
        self.post(Route::Attach, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn detach(
        &self,
        request: &DetachRequest,
        cancel: &CancellationToken,
    ) -> Result<DetachResponse, ResidentsError> {
        self.post(Route::Detach, request, DETACH_TIMEOUT, cancel)
            .await
    }

    async fn op(
        &self,
        request: &OpRequest,
        cancel: &CancellationToken,
    ) -> Result<OpReply, ResidentsError> {
        let timeout = ANSWER_TIMEOUT;
        match request.op {
            OpName::Status => self
                .post(Route::Op, request, timeout, cancel)
                .await
                .map(OpReply::Status),
            OpName::Test | OpName::Build => {
                let ended = self.post(Route::Op, request, timeout, cancel).await?;
                Ok(OpReply::Ended(Box::new(ended)))
            }
        }
    }

    async fn exec(
        &self,
        request: &ExecRequest,
        cancel: &CancellationToken,
    ) -> Result<ExecResponse, ResidentsError> {
        let budget = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or_default());
        self.post(Route::Exec, request, budget + MARGIN, cancel)
            .await
    }

    async fn read(
        &self,
        request: &ReadRequest,
        cancel: &CancellationToken,
    ) -> Result<ReadResponse, ResidentsError> {
        self.post(Route::Read, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn write(
        &self,
        request: &WriteRequest,
        cancel: &CancellationToken,
    ) -> Result<WriteResponse, ResidentsError> {
        self.post(Route::Write, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn push(
        &self,
        request: &PushRequest,
        cancel: &CancellationToken,
    ) -> Result<PushResponse, ResidentsError> {
        self.post(Route::Push, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn check_out(
        &self,
        request: &CheckOutRequest,
        cancel: &CancellationToken,
    ) -> Result<CheckOutResponse, ResidentsError> {
        self.post(Route::CheckOut, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn checkpoint(
        &self,
        request: &CheckpointRequest,
        cancel: &CancellationToken,
    ) -> Result<CheckpointResponse, ResidentsError> {
        self.post(Route::Checkpoint, request, ANSWER_TIMEOUT, cancel)
            .await
    }

    async fn restore(
        &self,
        request: &CheckpointRequest,
        cancel: &CancellationToken,
    ) -> Result<RestoreResponse, ResidentsError> {
        self.post(Route::Restore, request, ANSWER_TIMEOUT, cancel)
            .await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::residents::ResidentResponse;

    /// No answer ever comes.
    struct Silent;

    #[async_trait]
    impl ResidentTransport for Silent {
        async fn send(&self, _: ResidentCall) -> Result<ResidentResponse, ResidentsError> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_late_30_s_after_its_command() {
        let client = ResidentsClient::over(Silent, PROBE_TIMEOUT);
        for command_ms in [1_000, 1_200_000] {
            let request = serde_json::from_value(json!({
                "resource": "repo:acme/app", "threadKey": "load:1", "command": "true",
                "timeoutMs": command_ms,
            }));
            let start = Instant::now();
            let answer = client
                .exec(&request.unwrap(), &CancellationToken::new())
                .await;
            assert!(
                matches!(&answer, Err(ResidentsError::Unreachable(_))),
                "{answer:?}"
            );
            let late_after = Duration::from_millis(command_ms) + Duration::from_secs(30);
            let waited = start.elapsed();
            assert!(
                (late_after..late_after + Duration::from_secs(1)).contains(&waited),
                "{waited:?}"
            );
        }
    }
}
