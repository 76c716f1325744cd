//! Every bot route, grouped by audience.

use axum::{
    Router,
    handler::Handler,
    middleware::from_fn_with_state,
    routing::{MethodRouter, any, get, post},
};

use crate::{
    auth::viewer,
    state::HttpState,
    surfaces::{admin, api, health, ingress, mcp, runs, session, webhook},
};

/// Methods for a route that checks the method itself.
const METHODS: &[&str] = &[
    "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE",
];

/// A path with the handler for a single method or all.
struct Route {
    methods: &'static [&'static str],
    path: &'static str,
    handler: MethodRouter<HttpState>,
}

/// Returns the router with every route.
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
        .layer(from_fn_with_state(state.clone(), runs::pages_for_browsers))
        .with_state(state)
}

/// Returns every route's method and path. All other paths reach the fallback.
pub fn routes() -> Vec<(&'static str, &'static str)> {
    let routes = [machines(), operators(), people(), others()];
    let pairs = |route: Route| {
        route
            .methods
            .iter()
            .map(move |method| (*method, route.path))
    };
    routes.into_iter().flatten().flat_map(pairs).collect()
}

fn group(routes: Vec<Route>) -> Router<HttpState> {
    routes.into_iter().fold(Router::new(), |router, route| {
        router.route(route.path, route.handler)
    })
}

fn read<H: Handler<T, HttpState>, T: 'static>(path: &'static str, handler: H) -> Route {
    Route {
        methods: &["GET", "HEAD"],
        path,
        handler: get(handler),
    }
}

fn write<H: Handler<T, HttpState>, T: 'static>(path: &'static str, handler: H) -> Route {
    Route {
        methods: &["POST"],
        path,
        handler: post(handler),
    }
}

fn all<H: Handler<T, HttpState>, T: 'static>(path: &'static str, handler: H) -> Route {
    Route {
        methods: METHODS,
        path,
        handler: any(handler),
    }
}

fn machines() -> Vec<Route> {
    vec![
        // Ingress token holders. The gate checks the method itself, as the first check.
        all(ars_wire::ingress::ROUTE, ingress::post),
        // The code host, which signs the events.
        all(ars_wire::ingress::GITHUB_ROUTE, webhook::post),
        all(ars_wire::mcp::ROUTE, mcp::post),
        all(ars_wire::admin::CRASH_ROUTE, admin::crash),
        // The edge, which names the subject that it has authenticated.
        all(ars_wire::admin::AUTHORIZE_ROUTE, admin::authorize),
    ]
}

/// Dashboard viewers. A live run also needs its token.
fn operators() -> Vec<Route> {
    vec![
        read("/runs", runs::index),
        read("/runs/", runs::index),
        read("/runs/docs", runs::docs),
        read("/runs/outcomes", runs::outcomes),
        read("/runs/scheduled", runs::schedules),
        read("/schedules", runs::schedules),
        read("/runs/assets/{name}", runs::asset),
        read("/runs/{id}", runs::page),
        read("/runs/{id}/events", runs::events),
        read("/runs/{id}/friction", runs::friction),
        read("/runs/{id}/earlier", runs::earlier),
        write("/runs/{id}/steer", runs::steer),
        write("/runs/{id}/stop", runs::stop),
    ]
}

/// Everyone: people exchange the dashboard's secret for a session, and end it.
fn people() -> Vec<Route> {
    vec![
        read(session::SIGN_IN, session::form),
        write(session::SIGN_IN, session::submit),
        read(session::STYLE, session::style),
        read(session::SCRIPT, session::script),
        write(session::SIGN_OUT, session::leave),
    ]
}

/// Routes that check the gate themselves.
fn others() -> Vec<Route> {
    vec![
        // Everyone. The probe also answers every path without a route.
        all(ars_wire::health::ROUTE, health::probe),
        // Callers that the dashboard admits. The fallback hands the handler every other spelling of these paths.
        all(ars_wire::api::ROUTE, api::serve),
        all(ars_wire::api::OPENAPI, api::serve),
        // Dashboard viewers. The fallback also answers every other path below.
        all("/residents", health::fallback),
        all("/residents/{owner}/{name}", health::fallback),
        // Dashboard viewers, if the installation serves metrics.
        read("/metrics", health::metrics),
    ]
}
