//! The command routes. Callers that the dashboard admits; the handler asks the gate itself.

use super::serve;
use crate::route::{Route, Routes};

/// Returns the routes. The handler also gets every other spelling of these paths.
pub(crate) fn routes() -> Routes {
    Routes::new(vec![
        Route::all(ars_wire::api::ROUTE, serve),
        Route::all(ars_wire::api::OPENAPI, serve),
    ])
    .with_others(|path| path.first() == "api", serve)
}
