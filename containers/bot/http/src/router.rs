//! The one router: the dashboard, the service's own routes, and the surfaces of the installation.

use axum::{
    Router,
    extract::{Request, State},
    middleware::from_fn_with_state,
};

use crate::{
    dashboard,
    route::{Others, Routes},
    state::HttpState,
    surfaces::{admin, api, health},
};

/// Returns the router with every route. `surfaces` come from the installation.
pub fn router(state: HttpState, surfaces: Vec<Routes>) -> Router {
    let mut router = Router::new();
    let mut others = Vec::new();
    for routes in own().into_iter().chain(surfaces) {
        let (part, other) = routes.into_parts(&state);
        router = router.merge(part);
        others.extend(other);
    }
    let others = Others::new(others);
    let fallback = async move |State(state): State<HttpState>, request: Request| match others
        .answer(request)
        .await
    {
        Ok(response) => response,
        Err(request) => dashboard::elsewhere(State(state), request).await,
    };
    router
        .fallback(fallback)
        .layer(from_fn_with_state(
            state.clone(),
            dashboard::pages_for_browsers,
        ))
        .with_state(state)
}

/// Returns every route's method and path. All other paths reach the fallback.
pub fn routes(surfaces: &[Routes]) -> Vec<(&'static str, &'static str)> {
    own()
        .iter()
        .chain(surfaces)
        .flat_map(Routes::listed)
        .collect()
}

/// Returns the routes that every installation has. The dashboard's come first, because it answers
/// some paths below those of other surfaces.
fn own() -> Vec<Routes> {
    let mut own = dashboard::routes();
    own.extend([admin::routes(), health::routes(), api::routes()]);
    own
}
