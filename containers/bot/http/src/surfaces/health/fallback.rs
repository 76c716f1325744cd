//! Paths outside the route table: surfaces without routes, and everything else.
//!
//! No spelling of a surface's path may reach the health probe, because a client would read its 200 as an answer.

use ars_wire::ErrorCode;
use axum::{
    extract::{Request, State},
    response::Response,
};

use percent_encoding::percent_decode_str;

use super::probe;
use crate::{respond, state::HttpState};

/// First path segments of surfaces, served or not.
const SURFACES: [&str; 5] = ["api", "mcp", "residents", "costs", "admin"];

/// Answers 404 below a surface and the probe elsewhere.
pub(crate) async fn fallback(State(state): State<HttpState>, request: Request) -> Response {
    if belongs_to_a_surface(request.uri().path()) {
        return respond::coded(ErrorCode::NotFound, "no such route");
    }
    probe::probe(State(state)).await
}

/// Decodes percent-encoding once, and ignores repeated slashes and letter case.
fn belongs_to_a_surface(path: &str) -> bool {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let first = decoded.split('/').find(|segment| !segment.is_empty()).unwrap_or_default();
    SURFACES.iter().any(|surface| first.eq_ignore_ascii_case(surface))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surface_paths_match_in_any_spelling() {
        for path in "/api /api/ //api//x /API/x /%61pi/x /%2Fapi/x /mcp /mcp/connect/n /residents/a/b \
            /costs /costs/x.json /admin/nothing /api/%zz /%61pi/%zz%ff"
            .split(' ')
        {
            assert!(belongs_to_a_surface(path), "{path}");
        }
        for path in ["/", "", "/healthz", "/apis", "/x/api", "/run", "/%2561pi"] {
            assert!(!belongs_to_a_surface(path), "{path}");
        }
    }
}
