//! The tool `dispatch`: a request for an agent, answered at the run's end.

use std::sync::Arc;

use ars_auth::{Ingress, TokenEntry};
use ars_wire::{
    ErrorCode,
    mcp::{RpcError, ToolResult},
};
use serde_json::{Map, Value};

use super::call::internal;
use crate::{
    auth::gate::may_dispatch,
    state::HttpState,
    surfaces::ingress::{self, Address, HttpChannel},
};

/// Dispatches. The scope is checked before the arguments are looked at.
pub(super) async fn dispatch(
    state: &HttpState,
    entry: &TokenEntry,
    arguments: &Map<String, Value>,
) -> Result<ToolResult, RpcError> {
    if !may_dispatch(entry) {
        return Err(RpcError::of_tool(ErrorCode::Unauthorized, "the token lacks the scope dispatch"));
    }
    let address =
        Address::parse(arguments).map_err(|text| RpcError::of_tool(ErrorCode::InvalidInput, text))?;
    let message = ingress::message(Ingress::Mcp, entry, address, state.core.clock().now());
    let io = Arc::new(HttpChannel::new(Vec::new()));
    ingress::dispatch(state, message, &io).await.map_err(|error| internal(&error))?;
    if io.is_rejected_by_shutdown() {
        return Err(RpcError::of_tool(
            ErrorCode::Unavailable,
            "the service is being restarted and took nothing of this request; try again",
        ));
    }
    Ok(ToolResult::text(io.collected().reply))
}
