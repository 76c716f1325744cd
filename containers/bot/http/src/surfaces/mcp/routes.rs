//! The route of MCP, for ingress token holders.

use super::post;
use crate::{
    respond::no_such_route,
    route::{Route, Routes},
};

/// Returns the routes. The gate checks the method itself, as the first check.
pub fn routes() -> Routes {
    Routes::new(vec![Route::all(ars_wire::mcp::ROUTE, post)])
        .with_others(|path| path.first() == "mcp", no_such_route)
}
