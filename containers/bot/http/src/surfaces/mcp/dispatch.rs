//! The tool `dispatch`: a request for an agent, answered at the run's end.

use std::sync::Arc;

use ars_auth::{Actor, Ingress, TokenEntry};
use ars_types::RunId;
use ars_wire::{ErrorCode, ingress::Reply};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

use super::failure::ToolFailure;
use crate::{
    auth::gate::may_dispatch,
    state::HttpState,
    surfaces::ingress::{self, Address, HttpChannel},
};

/// A request after dispatch.
pub(super) struct Dispatched {
    io: Arc<HttpChannel>,
    ended: JoinHandle<()>,
}

/// Dispatches a request and returns the replies.
pub(super) async fn dispatch(
    state: &HttpState,
    entry: &TokenEntry,
    arguments: &Map<String, Value>,
) -> Result<Reply, ToolFailure> {
    begin(state, entry, arguments, false)?.ended().await
}

/// Starts a dispatch. The scope and the rate are checked before the arguments.
/// `has_task` is the caller's that receives a task and does not wait for the run's end.
pub(super) fn begin(
    state: &HttpState,
    entry: &TokenEntry,
    arguments: &Map<String, Value>,
    has_task: bool,
) -> Result<Dispatched, ToolFailure> {
    if !may_dispatch(entry) {
        return Err(ToolFailure::new(
            ErrorCode::Unauthorized,
            "the token lacks the scope dispatch",
        ));
    }
    state.count(&Actor::service(Ingress::Mcp, entry).id)?;
    let address = Address::parse(arguments)
        .map_err(|text| ToolFailure::new(ErrorCode::InvalidInput, text))?;
    let closed = |text| ToolFailure::new(ErrorCode::InvalidInput, text);
    address.check_open(entry, &state.tokens).map_err(closed)?;
    let message = ingress::message(Ingress::Mcp, entry, address, state.core.clock().now());
    let io = Arc::new(HttpChannel::new(Vec::new()).asynchronous(has_task));
    let ended = ingress::dispatch(state, message, &io);
    Ok(Dispatched { io, ended })
}

impl Dispatched {
    /// Returns the run's id once the core has created a run. Never completes without a run.
    pub(super) fn started(&self) -> impl Future<Output = RunId> + Send + 'static {
        self.io.started()
    }

    /// Returns the replies at the end.
    pub(super) async fn ended(self) -> Result<Reply, ToolFailure> {
        self.ended
            .await
            .map_err(|error| ToolFailure::internal(&error))?;
        if self.io.is_rejected_by_shutdown() {
            return Err(ToolFailure::new(
                ErrorCode::Unavailable,
                "the service is being restarted and did not start this request; try again",
            ));
        }
        match self.io.overload() {
            Some(overload) => Err(overload.into()),
            None => Ok(self.io.collected()),
        }
    }
}
