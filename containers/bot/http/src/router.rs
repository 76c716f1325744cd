//! Every route of the bot, grouped by audience.

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{MethodRouter, any, get, post},
};

use crate::{
    auth::viewer,
    state::HttpState,
    surfaces::{admin, api, health, ingress, mcp, runs, session},
};

/// A path with its handlers.
type Route = (&'static str, MethodRouter<HttpState>);

/// Returns the router.
pub fn router(state: HttpState) -> Router {
    let operators = group(operators())
        .layer(from_fn_with_state(state.clone(), viewer::gate))
        .layer(from_fn_with_state(state.clone(), runs::page_headers));
    let people = group(people()).layer(from_fn_with_state(state.clone(), runs::page_headers));
    group(machines())
        .merge(people)
        .merge(operators)
        .merge(group(others()))
        .fallback(health::fallback)
        .with_state(state)
}

/// Returns the path of every route. All other paths reach the fallback.
pub fn paths() -> Vec<&'static str> {
    let routes = [machines(), operators(), people(), others()];
    routes.into_iter().flatten().map(|(path, _)| path).collect()
}

fn group(routes: Vec<Route>) -> Router<HttpState> {
    routes.into_iter().fold(Router::new(), |router, (path, handlers)| router.route(path, handlers))
}

fn machines() -> Vec<Route> {
    vec![
        // Holders of an ingress token. The gate checks the method itself, as its first check.
        (ars_wire::ingress::ROUTE, any(ingress::post)),
        (ars_wire::mcp::ROUTE, any(mcp::post)),
        (ars_wire::admin::CRASH_ROUTE, any(admin::crash)),
        // The edge, which names the subject that it has authenticated.
        (ars_wire::admin::AUTHORIZE_ROUTE, any(admin::authorize)),
    ]
}

/// Viewers of the dashboard. A live run also needs its token.
fn operators() -> Vec<Route> {
    vec![
        ("/runs", get(runs::index)),
        ("/runs/", get(runs::index)),
        ("/runs/docs", get(runs::docs)),
        ("/runs/scheduled", get(runs::schedules)),
        ("/schedules", get(runs::schedules)),
        ("/runs/assets/{name}", get(runs::asset)),
        ("/runs/{id}", get(runs::page)),
        ("/runs/{id}/events", get(runs::events)),
        ("/runs/{id}/friction", get(runs::friction)),
        ("/runs/{id}/earlier", get(runs::earlier)),
        ("/runs/{id}/steer", post(runs::steer)),
        ("/runs/{id}/stop", post(runs::stop)),
    ]
}

/// Everyone: people exchange the dashboard's secret for a session, and end it.
fn people() -> Vec<Route> {
    vec![
        (session::SIGN_IN, get(session::form).post(session::submit)),
        (session::STYLE, get(session::style)),
        (session::SIGN_OUT, post(session::leave)),
    ]
}

/// Routes that check the gate themselves.
fn others() -> Vec<Route> {
    vec![
        // Everyone. The probe also answers every path without a route.
        (ars_wire::health::ROUTE, any(health::probe)),
        // Callers that the dashboard admits. The fallback hands the handler every other spelling of these paths.
        (ars_wire::api::ROUTE, any(api::serve)),
        (ars_wire::api::OPENAPI, any(api::serve)),
        // Viewers of the dashboard, if the installation serves metrics.
        ("/metrics", get(health::metrics)),
    ]
}
