//! The one place where routes are listed, grouped by audience.

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
    routing::{any, get, post},
};

use crate::{
    auth::viewer,
    state::HttpState,
    surfaces::{admin, health, ingress, runs},
};

/// Every route of the bot.
pub fn router(state: HttpState) -> Router {
    let machines = Router::new()
        // Holders of an ingress token; the gate checks the method itself, so that it is the first check.
        .route(ars_wire::ingress::ROUTE, any(ingress::post))
        .route(ars_wire::admin::CRASH_ROUTE, any(admin::crash))
        // The edge, which names whom it has authenticated.
        .route(ars_wire::admin::AUTHORIZE_ROUTE, any(admin::authorize));

    let operators = Router::new()
        // Viewers of the dashboard. A run's own routes also need its token, or a finished run.
        .route("/runs", get(runs::index))
        .route("/runs/", get(runs::index))
        .route("/runs/docs", get(runs::docs))
        .route("/runs/assets/{name}", get(runs::asset))
        .route("/runs/{id}", get(runs::page))
        .route("/runs/{id}/events", get(runs::events))
        .route("/runs/{id}/friction", get(runs::friction))
        .route("/runs/{id}/stop", post(runs::stop))
        .layer(from_fn_with_state(state.clone(), viewer::gate))
        .layer(from_fn(runs::page_headers));

    Router::new()
        .merge(machines)
        .merge(operators)
        // Anybody: the probe, which also answers every path that belongs to nobody.
        .route(ars_wire::health::ROUTE, any(health::probe))
        // Viewers of the dashboard, where the installation shows metrics; else a path of nobody.
        .route("/metrics", get(health::metrics))
        .fallback(health::fallback)
        .with_state(state)
}
