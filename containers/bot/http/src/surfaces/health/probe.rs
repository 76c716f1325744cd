//! `GET /healthz`, and every path without a route.
//!
//! Never authenticated, so it contains no secret.

use ars_bot_core::DRAIN_DEADLINE;
use ars_wire::health::{BotHealth, Process};
use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::process;
use crate::{respond, state::HttpState, time::iso};

/// Answers with the process's health.
pub(crate) async fn probe(State(state): State<HttpState>) -> Response {
    let mut response = respond::json(StatusCode::OK, &health(&state));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn health(state: &HttpState) -> BotHealth {
    let load = state.core.load();
    let sandbox = state.core.sandbox();
    let chat = state.chat.as_ref().map(|chat| chat());
    let chat = chat.unwrap_or_default();
    let (rss_mb, heap_used_mb) = process::memory_mb();
    BotHealth {
        ok: true,
        in_flight: load.in_flight,
        draining: load.draining,
        drain_deadline_ms: u64::try_from(DRAIN_DEADLINE.as_millis()).unwrap_or(u64::MAX),
        build: (*state.build).clone(),
        slack: chat.chat,
        catch_up: chat.catch_up,
        process: Process {
            rss_mb,
            heap_used_mb,
            event_loop_lag_p99_ms: state.lag.p99_ms(),
        },
        started_at: iso(load.started_at),
        drain_started_at: load.drain_started_at.map(iso),
        generation: state.core.generation().cloned(),
        sandbox: sandbox.as_ref().map(|sandbox| sandbox.kind),
        network: sandbox.as_ref().map(|sandbox| sandbox.network),
        cgroup: sandbox.as_ref().map(|sandbox| sandbox.cgroup),
    }
}
