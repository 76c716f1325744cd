//! The one place where routes are listed, grouped by audience.

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
    routing::{any, get, post},
};

use crate::{headers, routes, state::HttpState, viewer};

/// Every route of the bot.
pub fn router(state: HttpState) -> Router {
    let machines = Router::new()
        // Holders of an ingress token; the gate checks the method itself, so that it is the first check.
        .route(ars_wire::ingress::ROUTE, any(routes::ingress::post))
        .route(ars_wire::admin::CRASH_ROUTE, any(routes::admin::crash))
        // The edge, which names whom it has authenticated.
        .route(ars_wire::admin::AUTHORIZE_ROUTE, any(routes::admin::authorize));

    let operators = Router::new()
        // Viewers of the dashboard. A run's own routes also need its token, or a finished run.
        .route("/runs", get(routes::runs::index))
        .route("/runs/", get(routes::runs::index))
        .route("/runs/docs", get(routes::runs::docs))
        .route("/runs/assets/{name}", get(routes::runs::asset))
        .route("/runs/{id}", get(routes::runs::page))
        .route("/runs/{id}/events", get(routes::runs::events))
        .route("/runs/{id}/friction", get(routes::runs::friction))
        .route("/runs/{id}/stop", post(routes::runs::stop))
        .layer(from_fn_with_state(state.clone(), viewer::gate))
        .layer(from_fn(headers::pages));

    Router::new()
        .merge(machines)
        .merge(operators)
        // Anybody: the probe, which also answers every path that belongs to nobody.
        .route(ars_wire::health::ROUTE, any(routes::healthz::probe))
        // Viewers of the dashboard, where the installation shows metrics; else a path of nobody.
        .route("/metrics", get(routes::metrics::metrics))
        .fallback(routes::elsewhere::answer)
        .with_state(state)
}
