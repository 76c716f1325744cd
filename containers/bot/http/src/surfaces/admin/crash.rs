//! `POST /admin/crash`: ends the process like a crash, to test recovery.

use std::{process, sync::Arc, time::Duration};

use ars_wire::admin::{Crashing, Failed};
use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};

use crate::{auth::admin, respond, state::HttpState};

/// Delay between the answer and the end, so that the answer is delivered.
const DELAY: Duration = Duration::from_millis(50);

/// Answers, then ends the process without a drain or a handoff.
pub(crate) async fn crash(State(state): State<HttpState>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let subject = match admin::by_bearer(&state, &head) {
        Ok(subject) => subject,
        Err(rejection) => {
            tracing::info!(route = "admin/crash", reason = %rejection, "rejected");
            return admin::reject(rejection);
        }
    };
    let Some(end) = state.crash.as_ref().map(Arc::clone) else {
        return respond::json(
            StatusCode::SERVICE_UNAVAILABLE,
            &Failed::new("this process cannot be ended"),
        );
    };
    tracing::warn!(subject, "a crash was asked for: the process ends now");
    tokio::spawn(async move {
        tokio::time::sleep(DELAY).await;
        end();
    });
    let generation = state.core.generation().cloned();
    respond::json(
        StatusCode::ACCEPTED,
        &Crashing {
            ok: true,
            generation,
            pid: process::id(),
        },
    )
}
