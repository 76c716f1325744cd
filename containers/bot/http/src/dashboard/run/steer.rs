//! `POST /runs/<id>/steer?t=`: adds a follow-up to a live run.

use ars_auth::{Actor, Viewer};
use ars_bot_core::FollowUpError;
use ars_bot_ports::{Refusal, texts};
use ars_types::RunId;
use ars_wire::ErrorCode;
use axum::{
    Extension,
    extract::{FromRequestParts as _, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::{Deserialize, Serialize};

use super::run_ref::{RunRef, reject};
use crate::{respond, server::read_body, state::HttpState};

/// Maximum body size in bytes.
const STEER_MAX_BYTES: usize = 65_536;

#[derive(Deserialize)]
struct Body {
    text: String,
}

#[derive(Serialize)]
struct Queued {
    id: RunId,
    state: &'static str,
}

/// Reads the body before the run. So the response to a malformed body reveals nothing about the
/// run.
pub(crate) async fn steer(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    Extension(actor): Extension<Actor>,
    request: Request,
) -> Response {
    let (mut head, body) = request.into_parts();
    let run = match RunRef::from_request_parts(&mut head, &state).await {
        Ok(run) => run,
        Err(response) => return response,
    };
    let Ok(bytes) = read_body(body, STEER_MAX_BYTES).await else {
        return respond::coded(
            ErrorCode::InvalidInput,
            "the body is not readable or has more than 64 KiB",
        );
    };
    let text = match serde_json::from_slice(&bytes) {
        Ok(Body { text }) if !text.trim().is_empty() => text,
        _ => return respond::coded(ErrorCode::InvalidInput, "text must be a non-blank string"),
    };
    if let Err(overload) = state.count(&actor.id) {
        return refused(&overload.into());
    }
    // In a separate task, so that a follow-up is queued completely when the viewer disconnects.
    let core = state.core.clone();
    let RunRef { id, token } = run;
    let queued = tokio::spawn(async move {
        let reader = ars_bot_core::queries::Reader {
            viewer: &viewer,
            token: &token,
            route: "runs.steer",
        };
        let queued = core.follow_up(&reader, actor, &id, text).await;
        (queued, id, viewer)
    });
    match queued.await {
        Ok((Ok(()), id, viewer)) => {
            tracing::info!(run = %id, viewer = viewer.id(), "follow-up queued");
            respond::json(
                StatusCode::OK,
                &Queued {
                    id,
                    state: "queued",
                },
            )
        }
        Ok((Err(FollowUpError::Run(error)), ..)) => reject(error),
        Ok((Err(FollowUpError::Refused(refusal)), ..)) => refused(&refusal),
        Err(error) => {
            tracing::error!(error = %error, "follow-up ended outside its own handling");
            respond::coded(ErrorCode::Internal, "internal error")
        }
    }
}

fn refused(refusal: &Refusal) -> Response {
    let mut response = respond::coded(refusal.error_code(), &texts::refusal(refusal));
    if let Refusal::Overloaded(overload) = refusal {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(overload.wait_s()));
    }
    response
}
