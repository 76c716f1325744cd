//! The dashboard's routes: pages behind the gate, the session of a viewer, and other spellings.

use axum::{Router, middleware::from_fn_with_state};

use super::{
    absent,
    docs::docs,
    gate,
    metrics::metrics,
    outcomes::outcomes,
    residents::residents,
    run::{earlier, events, friction, page, steer, stop},
    runs::index,
    schedules::schedules,
    session,
    shell::{asset, page_headers},
};
use crate::{
    route::{Route, Routes},
    state::HttpState,
};

/// Returns the routes.
pub(crate) fn routes() -> Vec<Routes> {
    vec![operators(), people(), others()]
}

/// Dashboard viewers. A live run also needs its token.
fn operators() -> Routes {
    let gated = |router: Router<HttpState>, state: &HttpState| {
        let router = router.layer(from_fn_with_state(state.clone(), gate::gate));
        with_headers(router, state)
    };
    Routes::new(vec![
        Route::read("/runs", index),
        Route::read("/runs/", index),
        Route::read("/runs/docs", docs),
        Route::read("/runs/outcomes", outcomes),
        Route::read("/runs/scheduled", schedules),
        Route::read("/schedules", schedules),
        Route::read("/runs/assets/{name}", asset),
        Route::read("/runs/{id}", page),
        Route::read("/runs/{id}/events", events),
        Route::read("/runs/{id}/friction", friction),
        Route::read("/runs/{id}/earlier", earlier),
        Route::write("/runs/{id}/steer", steer),
        Route::write("/runs/{id}/stop", stop),
    ])
    .wrapped(gated)
}

/// Everyone: people exchange the dashboard's secret for a session, and end it.
fn people() -> Routes {
    Routes::new(vec![
        Route::read(session::SIGN_IN, session::form),
        Route::write(session::SIGN_IN, session::submit),
        Route::read(session::STYLE, session::style),
        Route::read(session::SCRIPT, session::script),
        Route::write(session::SIGN_OUT, session::leave),
    ])
    .wrapped(with_headers)
}

/// Dashboard viewers. These handlers ask the gate themselves.
fn others() -> Routes {
    Routes::new(vec![
        Route::all("/residents", residents),
        Route::all("/residents/{owner}/{name}", residents),
        // Only if the installation serves metrics.
        Route::read("/metrics", metrics),
    ])
    .with_others(|path| path.first() == "residents", residents)
    .with_others(absent::is_below_runs, absent::runs)
    .with_others(absent::is_below_costs, absent::costs)
    .with_others(absent::is_connect_page, absent::connect)
}

fn with_headers(router: Router<HttpState>, state: &HttpState) -> Router<HttpState> {
    router.layer(from_fn_with_state(state.clone(), page_headers))
}
