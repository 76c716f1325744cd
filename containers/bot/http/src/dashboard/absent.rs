//! Answers to paths without a page: absent subsystems, mistyped addresses, and everything else.

use ars_wire::ErrorCode;
use axum::{
    extract::{Request, State},
    http::{StatusCode, request::Parts},
    response::Response,
};

use super::{
    gate::{admit, is_browser},
    shell::add_page_headers,
};
use crate::{respond, route::Spelling, state::HttpState, surfaces::health};

/// Longest name for a costs group and for a sign-in link's secret part, in characters.
const MAX_WORD_CHARS: usize = 128;

const NO_COSTS: &str = "This service shows no costs: this version has no costs pages.\n";
const NO_MCP: &str =
    "This service connects to no MCP servers: this version has no such connections.\n";

/// Paths that a person may type, with the page that is meant.
const MOVED: [(&str, &str); 4] = [
    ("", "/runs"),
    ("/docs", "/runs/docs"),
    ("/outcomes", "/runs/outcomes"),
    ("/sign-in", "/runs/sign-in"),
];

/// Returns whether a path is below the run pages or the schedules.
pub(super) fn is_below_runs(path: &Spelling) -> bool {
    ["runs", "schedules"].contains(&path.first())
}

/// Returns whether a path is at or below the costs pages.
pub(super) fn is_below_costs(path: &Spelling) -> bool {
    matches!(*path.segments(), ["costs.json"] | ["costs", ..])
}

/// Returns whether a path is a page that connects an MCP server.
pub(super) fn is_connect_page(path: &Spelling) -> bool {
    match *path.segments() {
        ["mcp", "connect", nonce] => is_word(nonce),
        ["mcp", "oauth", "callback"] => true,
        _ => false,
    }
}

/// Answers below the run pages, where there is no such page.
pub(super) async fn runs(State(state): State<HttpState>, request: Request) -> Response {
    gated(&state, request, "runs", |_| respond::not_found()).await
}

/// Answers that there are no pages that connect an MCP server.
pub(super) async fn connect(State(state): State<HttpState>, request: Request) -> Response {
    gated(&state, request, "mcp.connect", |head| absent(head, NO_MCP)).await
}

/// Answers that there are no costs pages. A malformed path below them names nothing.
pub(super) async fn costs(State(state): State<HttpState>, request: Request) -> Response {
    if is_costs_page(&Spelling::parse(request.uri().path())) {
        return gated(&state, request, "costs", |head| absent(head, NO_COSTS)).await;
    }
    let (head, _) = request.into_parts();
    match admit(&state, &head, "costs").await {
        Ok(_) => health::probe(State(state)).await,
        Err(mut refused) => {
            add_page_headers(refused.headers_mut());
            refused
        }
    }
}

/// Answers a path that no surface claims: a machine gets the probe, a person a page.
///
/// The page is the one that the path means, or explains that there is none.
pub(crate) async fn elsewhere(State(state): State<HttpState>, request: Request) -> Response {
    if !is_browser(request.method(), request.headers()) {
        return health::probe(State(state)).await;
    }
    let path = request.uri().path().trim_end_matches('/');
    if let Some((_, page)) = MOVED.iter().find(|(typed, _)| *typed == path) {
        let mut response = respond::see_other(page);
        add_page_headers(response.headers_mut());
        return response;
    }
    gated(&state, request, "unknown", |_| respond::not_found()).await
}

/// Answers an admitted viewer. All answers have the pages' headers.
pub(super) async fn gated(
    state: &HttpState,
    request: Request,
    route: &'static str,
    answer: impl FnOnce(&Parts) -> Response,
) -> Response {
    let (head, _) = request.into_parts();
    let mut response = match admit(state, &head, route).await {
        Ok(_) => answer(&head),
        Err(refused) => refused,
    };
    add_page_headers(response.headers_mut());
    response
}

fn absent(head: &Parts, text: &'static str) -> Response {
    if head.uri.path().ends_with(".json") {
        return respond::coded(ErrorCode::Disabled, text.trim_end());
    }
    respond::plain(StatusCode::SERVICE_UNAVAILABLE, text)
}

fn is_costs_page(path: &Spelling) -> bool {
    match *path.segments() {
        ["costs" | "costs.json"] => true,
        ["costs", group] => is_word(group.strip_suffix(".json").unwrap_or(group)),
        _ => false,
    }
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
    use crate::route::assert_owned;

    /// Paths that nothing owns.
    const NOTHING: &str = "/ /healthz /run /runsx /%2572uns /costs.jsonx /costs.json/x /residentsx";

    #[test]
    fn run_paths_match_in_any_spelling() {
        let runs =
            "/runs/ /Runs /runs/a/b //runs//a/events/ /%72uns/a/nope /schedules/ /schedules/x";
        assert_owned(is_below_runs, runs, NOTHING);
    }

    #[test]
    fn costs_paths_match_in_any_spelling() {
        let pages = "/costs /costs.json /costs/main /costs/main.json /%63osts/";
        let malformed = "/costs/NOPE! /costs/a/b /costs/.json /costs/a.b.json";
        assert_owned(is_below_costs, pages, NOTHING);
        assert_owned(is_below_costs, malformed, NOTHING);
        assert_owned(is_costs_page, pages, malformed);
    }

    #[test]
    fn connect_pages_need_a_word() {
        let pages = "/mcp/connect/abc_D-1 /mcp/oauth/callback";
        assert_owned(
            is_connect_page,
            pages,
            "/mcp /mcp/x /mcp/connect /mcp/connect/n%20n //MCP/",
        );
    }
}
