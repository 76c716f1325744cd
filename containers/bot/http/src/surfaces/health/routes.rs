//! The probe's route. The probe also answers every path that no surface claims.

use super::probe;
use crate::{
    respond::no_such_route,
    route::{Route, Routes},
};

/// Returns the routes.
pub(crate) fn routes() -> Routes {
    Routes::new(vec![Route::all(ars_wire::health::ROUTE, probe)])
        // Metadata here would describe an authorization server, and there is none.
        .with_others(|path| path.first() == ".well-known", no_such_route)
}
