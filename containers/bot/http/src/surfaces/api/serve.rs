//! The order in which a command route checks, and the response.

use ars_auth::Denied;
use ars_bot_core::commands::{Caller, Commands, Success};
use ars_commands::{Definition, RawInput, Surface, Target};
use ars_wire::{ErrorCode, api::OPENAPI};
use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};

use super::{
    error::{ApiError, OTHER_SITE},
    input, openapi,
};
use crate::{
    auth::{
        gate::has_ingress_token,
        is_own,
        viewer::{Area, authenticate},
    },
    respond,
    state::HttpState,
};

/// Text for a caller with an ingress token. It tells a stranger nothing, because the caller has
/// that token.
const INGRESS_TOKEN: &str = "forbidden: this is a token of /ingress and /mcp; this route takes the credential of the dashboard";
/// Prefix for a command's route.
const PREFIX: &str = "/api/";
/// Media type for every response.
const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// Answers every request at or below `/api`, in any spelling. Only an exact id is a command.
pub(crate) async fn serve(State(state): State<HttpState>, request: Request) -> Response {
    match answer(&state, request).await {
        Ok(json) => with_headers(respond::with_type(StatusCode::OK, "application/json", json)),
        Err(error) => error.into_response(),
    }
}

/// Adds the headers for every response. Pages from other origins can read no response.
pub(super) fn with_headers(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, CONTENT_TYPE);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn answer(state: &HttpState, request: Request) -> Result<String, ApiError> {
    let (head, body) = request.into_parts();
    let actor = authenticate(state, &head, Area::Api)
        .await
        .map_err(|reason| gate_error(state, &head, &reason))?;
    let caller = Caller::dashboard(actor);
    let commands = state.core.commands();

    if head.uri.path() == OPENAPI {
        check_method(&head.method, "GET")?;
        return Ok(openapi::document(state, &commands).to_string());
    }
    let id = head.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let Some(definition) = commands.registry().get(id, Surface::Api) else {
        // An unknown command has an audit line too.
        return commands
            .admit(&caller, id)
            .map(|_| String::new())
            .map_err(ApiError::from);
    };
    check_head(state, &head, definition)?;
    commands.admit(&caller, id)?;
    state.count_command(&caller.actor.id, definition.effect.is_write())?;
    let raw = input::read(&head, body).await?;
    if matches!(definition.target, Target::Repo(_)) {
        // Authorizing such a command reads the input.
        definition.check_names(&raw)?;
    }
    Ok(invoke(commands, caller, definition, raw).await?.json)
}

/// Returns the error for a rejected caller, which names the right gate if the token belongs to it.
fn gate_error(state: &HttpState, head: &Parts, reason: &Denied) -> ApiError {
    let error = ApiError::gate(reason);
    let is_ingress = matches!(reason, Denied::BadCredential) && has_ingress_token(state, head);
    if is_ingress {
        error.with_text(INGRESS_TOKEN)
    } else {
        error
    }
}

/// Runs the checks that need no body and no permission.
fn check_head(state: &HttpState, head: &Parts, definition: &Definition) -> Result<(), ApiError> {
    let is_write = definition.effect.is_write();
    check_method(&head.method, if is_write { "POST" } else { "GET, POST" })?;
    input::check_type(head)?;
    let base = state.core.settings().public_base_url.as_deref();
    if is_write && !is_own(&head.headers, base) {
        return Err(ApiError::new(ErrorCode::ForbiddenOrigin, OTHER_SITE));
    }
    Ok(())
}

fn check_method(method: &Method, allow: &'static str) -> Result<(), ApiError> {
    let is_allowed = allow.split(", ").any(|allowed| allowed == method.as_str());
    if is_allowed {
        Ok(())
    } else {
        Err(ApiError::method(allow))
    }
}

/// Invokes in a task, so that a write and the audit line complete when the caller disconnects.
async fn invoke(
    commands: Commands,
    caller: Caller,
    definition: &'static Definition,
    raw: RawInput,
) -> Result<Success, ApiError> {
    let invoked = tokio::spawn(async move { commands.invoke(&caller, definition.id, &raw).await });
    match invoked.await {
        Ok(result) => Ok(result?),
        Err(error) => {
            tracing::error!(error = %error, command = definition.id, "command ended outside its own handling");
            Err(ApiError::new(ErrorCode::Internal, "internal error"))
        }
    }
}
