//! Paths outside the route table: absent subsystems, other spellings, surfaces without routes.
//!
//! No spelling of a surface's path may reach the health probe, because a client would read the 200
//! as an answer.

use ars_wire::ErrorCode;
use axum::{
    extract::{Request, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use percent_encoding::percent_decode_str;

use super::probe;
use crate::{
    auth::viewer::{self, Area},
    respond,
    state::HttpState,
    surfaces::{api, runs},
};

/// First path segments for surfaces that are not behind the dashboard gate. Metadata below
/// `.well-known` would describe an authorization server, and there is none.
const SURFACES: [&str; 2] = ["mcp", ".well-known"];
/// The admin routes, the edge's included. Other paths below `/admin` belong to no surface.
const ADMIN: [&[&str]; 3] = [
    &["admin", "crash"],
    &["admin", "restart"],
    &["admin", "restart", "authorize"],
];
/// Longest name for a costs group and for a sign-in link's secret part, in characters.
const MAX_WORD_CHARS: usize = 128;

/// Text for a path below a surface that has no route.
pub(crate) const NO_SUCH_ROUTE: &str = "no such route";
const NO_COSTS: &str = "This service shows no costs: this version has no costs pages.\n";
const NO_MCP: &str =
    "This service connects to no MCP servers: this version has no such connections.\n";

/// Who owns a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The residents pages, and every path below them.
    Residents,
    /// The run pages and the schedules, which have other routes.
    Runs,
    /// The costs pages; `true` for a path they have.
    Costs(bool),
    /// The pages that connect an MCP server.
    Connect,
    /// The command routes own it.
    Api,
    /// A surface that has no such route.
    Surface,
    /// Nothing owns the path.
    Nothing,
}

/// Paths that a person may type, with the page that is meant.
const MOVED: [(&str, &str); 4] = [
    ("", "/runs"),
    ("/docs", "/runs/docs"),
    ("/outcomes", "/runs/outcomes"),
    ("/sign-in", "/runs/sign-in"),
];

/// Answers a path outside the route table.
/// Below `/api` it answers as the command routes do, for absent subsystems and below `/runs` and `/schedules` behind
/// the gate, with 404 below a surface, and with the probe elsewhere, but for a person's browser.
pub(crate) async fn fallback(State(state): State<HttpState>, request: Request) -> Response {
    let owner = owner(request.uri().path());
    let route = match owner {
        Owner::Api => return api::serve(State(state), request).await,
        Owner::Residents => {
            return match runs::residents(&state, request).await {
                Some(response) => response,
                None => probe::probe(State(state)).await,
            };
        }
        Owner::Nothing => return unowned(&state, request).await,
        Owner::Surface => return no_such_route(),
        Owner::Costs(_) => "costs",
        Owner::Runs => "runs",
        Owner::Connect => "mcp.connect",
    };
    let (head, _) = request.into_parts();
    if let Err(mut refused) = viewer::admit(&state, &head, Area::Pages, route).await {
        runs::add_page_headers(refused.headers_mut());
        return refused;
    }
    let mut response = match owner {
        Owner::Costs(true) => absent(&head, NO_COSTS),
        Owner::Connect => absent(&head, NO_MCP),
        Owner::Runs => respond::not_found(),
        Owner::Residents | Owner::Costs(false) | Owner::Nothing | Owner::Api => {
            return probe::probe(State(state)).await;
        }
        Owner::Surface => no_such_route(),
    };
    runs::add_page_headers(response.headers_mut());
    response
}

/// Answers a machine with the probe. A person gets the page that the path means, or a page that
/// explains that there is none.
async fn unowned(state: &HttpState, request: Request) -> Response {
    let (head, _) = request.into_parts();
    if !viewer::is_browser(&head.method, &head.headers) {
        return probe::probe(State(state.clone())).await;
    }
    let path = head.uri.path().trim_end_matches('/');
    let mut response = match MOVED.iter().find(|(typed, _)| *typed == path) {
        Some((_, page)) => respond::see_other(page),
        None => match viewer::admit(state, &head, Area::Pages, "unknown").await {
            Ok(_) => respond::not_found(),
            Err(refused) => refused,
        },
    };
    runs::add_page_headers(response.headers_mut());
    response
}

fn no_such_route() -> Response {
    respond::coded(ErrorCode::NotFound, NO_SUCH_ROUTE)
}

fn absent(head: &Parts, text: &'static str) -> Response {
    if head.uri.path().ends_with(".json") {
        return respond::coded(ErrorCode::Disabled, text.trim_end());
    }
    respond::plain(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// Decodes percent-encoding once, and ignores repeated slashes and the first segment's letter case.
fn owner(path: &str) -> Owner {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let segments: Vec<&str> = decoded
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    let Some((first, rest)) = segments.split_first() else {
        return Owner::Nothing;
    };
    let first = first.to_ascii_lowercase();
    match (first.as_str(), rest) {
        ("api", _) => Owner::Api,
        ("residents", _) => Owner::Residents,
        ("runs" | "schedules", _) => Owner::Runs,
        ("costs" | "costs.json", []) => Owner::Costs(true),
        ("costs", [group]) => Owner::Costs(is_word(group.strip_suffix(".json").unwrap_or(group))),
        ("costs", _) => Owner::Costs(false),
        ("mcp", ["connect", nonce]) if is_word(nonce) => Owner::Connect,
        ("mcp", ["oauth", "callback"]) => Owner::Connect,
        (first, _) if SURFACES.contains(&first) => Owner::Surface,
        ("admin", _) if ADMIN.iter().any(|route| is_spelling(route, &segments)) => Owner::Surface,
        _ => Owner::Nothing,
    }
}

fn is_spelling(route: &[&str], segments: &[&str]) -> bool {
    route.len() == segments.len()
        && route
            .iter()
            .zip(segments)
            .all(|(a, b)| a.eq_ignore_ascii_case(b))
}

fn is_word(text: &str) -> bool {
    (1..=MAX_WORD_CHARS).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surface_paths_match_in_any_spelling() {
        for (paths, expected) in [
            (
                "/api /api/ //api//x /API/x /%61pi/x /%2Fapi/x /api/%zz /%61pi/%zz%ff",
                Owner::Api,
            ),
            (
                "/mcp /mcp/x /mcp/connect /mcp/connect/n%20n //MCP/",
                Owner::Surface,
            ),
            (
                "/admin/restart /Admin//restart/ /%61dmin/crash /admin/restart/authorize/",
                Owner::Surface,
            ),
            (
                "/runs/ /Runs /runs/a/b //runs//a/events/ /%72uns/a/nope /schedules/ /schedules/x",
                Owner::Runs,
            ),
            (
                "/residents //Residents/ /residents/acme/app /RESIDENTS/-a/b/c",
                Owner::Residents,
            ),
            (
                "/costs /costs.json /costs/main /costs/main.json /%63osts/",
                Owner::Costs(true),
            ),
            (
                "/costs/NOPE! /costs/a/b /costs/.json /costs/a.b.json",
                Owner::Costs(false),
            ),
            ("/mcp/connect/abc_D-1 /mcp/oauth/callback", Owner::Connect),
            (
                "/ /healthz /apis /x/api /run /runsx /%2561pi /admin /admin/nothing /residentsx /costs.jsonx",
                Owner::Nothing,
            ),
        ] {
            for path in paths.split(' ') {
                assert_eq!(owner(path), expected, "{path}");
            }
        }
        assert_eq!(owner(""), Owner::Nothing);
    }
}
