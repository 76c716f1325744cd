//! The route of the ingress, for ingress token holders.

use std::sync::Arc;

use super::{first_requests::FirstRequests, post};
use crate::route::{Route, Routes};

/// Returns the routes. The gate checks the method itself, as the first check.
pub fn routes() -> Routes {
    Routes::new(vec![Route::all(ars_wire::ingress::ROUTE, post)])
        .with_extension(&Arc::new(FirstRequests::default()))
}
