//! The admin routes, for ingress token holders and for the edge.

use super::{authorize, crash};
use crate::{
    respond::no_such_route,
    route::{Route, Routes, Spelling},
};

/// The admin routes, the edge's included. Other paths below `/admin` belong to no surface.
const ADMIN: [&[&str]; 3] = [
    &["admin", "crash"],
    &["admin", "restart"],
    &["admin", "restart", "authorize"],
];

/// Returns the routes.
pub(crate) fn routes() -> Routes {
    Routes::new(vec![
        Route::all(ars_wire::admin::CRASH_ROUTE, crash),
        // The edge names the subject that it has authenticated.
        Route::all(ars_wire::admin::AUTHORIZE_ROUTE, authorize),
    ])
    .with_others(is_admin, no_such_route)
}

fn is_admin(path: &Spelling) -> bool {
    let segments = path.segments();
    ADMIN.iter().any(|route| {
        route.len() == segments.len()
            && route
                .iter()
                .zip(&segments)
                .all(|(a, b)| a.eq_ignore_ascii_case(b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::assert_owned;

    #[test]
    fn admin_paths_match_in_any_spelling() {
        let admin =
            "/admin/restart /Admin//restart/ /%61dmin/crash /admin/restart/authorize/ /admin/CRASH";
        assert_owned(is_admin, admin, "/admin /admin/nothing /admin/crash/x /");
    }
}
