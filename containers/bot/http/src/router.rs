//! Every route of the bot, grouped by audience.

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
    routing::{any, get, post},
};

use crate::{
    auth::viewer,
    state::HttpState,
    surfaces::{admin, api, health, ingress, mcp, runs, session},
};

/// Returns the router.
pub fn router(state: HttpState) -> Router {
    let machines = Router::new()
        // Holders of an ingress token. The gate checks the method itself, as its first check.
        .route(ars_wire::ingress::ROUTE, any(ingress::post))
        .route(ars_wire::mcp::ROUTE, any(mcp::post))
        .route(ars_wire::admin::CRASH_ROUTE, any(admin::crash))
        // The edge, which names the subject that it has authenticated.
        .route(ars_wire::admin::AUTHORIZE_ROUTE, any(admin::authorize));

    let operators = Router::new()
        // Viewers of the dashboard. A live run also needs its token.
        .route("/runs", get(runs::index))
        .route("/runs/", get(runs::index))
        .route("/runs/docs", get(runs::docs))
        .route("/runs/scheduled", get(runs::schedules))
        .route("/schedules", get(runs::schedules))
        .route("/runs/assets/{name}", get(runs::asset))
        .route("/runs/{id}", get(runs::page))
        .route("/runs/{id}/events", get(runs::events))
        .route("/runs/{id}/friction", get(runs::friction))
        .route("/runs/{id}/earlier", get(runs::earlier))
        .route("/runs/{id}/steer", post(runs::steer))
        .route("/runs/{id}/stop", post(runs::stop))
        .layer(from_fn_with_state(state.clone(), viewer::gate))
        .layer(from_fn(runs::page_headers));

    let people = Router::new()
        // Everyone: people exchange the dashboard's secret for a session, and end it.
        .route(session::SIGN_IN, get(session::form).post(session::submit))
        .route(session::STYLE, get(session::style))
        .route(session::SIGN_OUT, post(session::leave))
        .layer(from_fn(runs::page_headers));

    Router::new()
        .merge(machines)
        .merge(people)
        .merge(operators)
        // Everyone. The probe also answers every path without a route.
        .route(ars_wire::health::ROUTE, any(health::probe))
        // Callers that the dashboard admits. The handler checks gate and method itself; the fallback hands it every other
        // spelling of these paths.
        .route(ars_wire::api::ROUTE, any(api::serve))
        .route(ars_wire::api::OPENAPI, any(api::serve))
        // Viewers of the dashboard, if the installation serves metrics.
        .route("/metrics", get(health::metrics))
        .fallback(health::fallback)
        .with_state(state)
}
